"""Probes: what watches a server during a window."""
