"""What lies between a client and a server: networks, links, tunnels, proxies, certificates.

Each is a context manager that removes what it made on every way out. Nothing is made in the host's
own network: namespaces have no name and no mount, and end with the processes that hold them.
"""
