"""Imports that only some runs need, and only late."""

import threading

importing = threading.Lock()
"""Held by the one thread that imports: where imports rewrite what they load, as in pytest, two at once crash Python."""
