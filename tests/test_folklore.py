"""Folklore: each row of the table is shown by a server that makes the mistake, and by no other."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.data import SCHEMAS
from conformance.folklore import TABLE, about, explained, of_problem, table
from conformance.model import Finding, Frame
from conformance.requirements import load
from conformance.yaml_files import FileError

BAD = Path(__file__).resolve().parent / "bad_servers.py"
REFERENCE = f"{sys.executable} -m conformance.reference"
HTTP = ("--url", "http://127.0.0.1:{port}/mcp")

FAULTS = {
    "banner": ("greeting-on-stdout", "transport-stdio/stdout-only-messages", "session/opening"),
    "greets-with-braces": ("braces-as-greeting", "jsonrpc/valid-messages", "session/opening"),
    "dotenv-on-stdout": ("dotenv-banner", "transport-stdio/stdout-only-messages", "session/opening"),
    "logs-on-stdout": ("log-on-stdout", "transport-stdio/stdout-only-messages", "tools"),
    "content-length-headers": ("content-length-framing", "transport-stdio/stdout-only-messages", "session/opening"),
    "pretty-printed": ("pretty-printed", "transport-stdio/no-embedded-newlines", "tools"),
    "id-pasted": ("id-unquoted", "transport-stdio/stdout-only-messages", "jsonrpc/ids"),
    "id-text-as-number": ("id-turned-number", "jsonrpc/response-id-echoed", "jsonrpc/ids"),
    "id-as-text": ("id-turned-string", "jsonrpc/response-id-echoed", "prompts"),
    "acknowledges-notifications": (
        "notification-acknowledged",
        "jsonrpc/notification-never-answered",
        "jsonrpc/notifications",
    ),
    "answers-notifications": ("notification-refused", "jsonrpc/notification-never-answered", "jsonrpc/notifications"),
    "ping-unknown": ("ping-unknown", "lifecycle/ping-answered-with-empty-result", "lifecycle/ping"),
    "serves-roots": ("roots-served", "jsonrpc/unknown-method-refused", "jsonrpc/client-method"),
    "streams-results": ("answers-as-stream", "jsonrpc/every-request-answered-once", "tools"),
    "capability-true": ("capability-as-boolean", "discovery/capabilities-shape", "session/opening"),
    "update-misnamed": ("change-misnamed", "resources/update-announced", "resources"),
    "input-schema-text": ("input-schema-as-text", "tools/input-schema-object", "session/survey"),
    "next-cursor-null": ("null-for-absent", "pagination/next-cursor-string", "session/survey"),
    "description-null": ("null-for-absent", "tools/list-shape", "session/survey"),
    "resource-mime-type-null": ("null-for-absent", "resources/list-shape", "session/survey"),
    "prompt-arguments-null": ("null-for-absent", "prompts/list-shape", "session/survey"),
    "structured-content-missing": ("structured-content-forgotten", "tools/structured-content-conforms", "tools"),
    "version-copied": ("version-copied", "versioning/unsupported-version-counteroffered", "versioning"),
    "notification-200": ("notification-answered-by-200", "transport-http/notification-accepted-202", "transport-http"),
    "dead-session-400": ("dead-session-not-404", "transport-http/terminated-session-404", "transport-http"),
    "stays-after-input": ("stays-after-input", "transport-stdio/exits-on-stdin-close-implied", "transport-stdio"),
}
"""Fault → the row that explains it, the requirement whose finding it explains, what to run to see it."""
