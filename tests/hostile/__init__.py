"""Hostile targets: servers that flood, lie, hang, fork and exhaust, and the measure of a run against one."""
