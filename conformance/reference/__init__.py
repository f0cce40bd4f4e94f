"""A correct MCP server with every feature, in the standard library alone, and the faults it can be told to have.

`python -m conformance.reference` starts it. It is started hundreds of times in a run of the tests, so its modules
import little: no dataclasses, no typing, and `http.server` or the table of faults only when they are asked for.
"""
