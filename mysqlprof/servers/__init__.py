"""Servers: where mysqld comes from, how it is started, how it is asked."""
