"""Conformance tests for servers of the Model Context Protocol (MCP)."""
