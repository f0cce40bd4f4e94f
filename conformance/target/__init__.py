"""The server under test: a process or a URL, its ports, and what must stay secret of it."""
