"""Conformance tests for servers of the Model Context Protocol (MCP)."""

__version__ = "0.1.0"
