"""The flame-graph gallery: run directories in, the files of a static site out.

A site works from disk and from any web server: no remote asset, and nothing runs that is not a
file of its own. Data comes in by `<script src>`, because a page from disk may not fetch.
"""
