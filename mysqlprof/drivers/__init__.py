"""Drivers: how the work reaches the server, each as its users run it."""
