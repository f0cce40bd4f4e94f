"""Servers that tests start."""
