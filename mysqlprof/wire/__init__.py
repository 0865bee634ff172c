"""From captured packets to one row a command of the MySQL protocol. Pure: starts and opens nothing.

capture file -> frames (formats.pcap) -> TCP segments (packets) -> conversations (streams)
-> MySQL packets (framing, inflate) -> commands and their responses (session, responses)
"""
