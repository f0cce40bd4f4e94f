"""Reads what mcp-conform wrote before: reports and snapshots."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

from conformance.cli.wrong_use import wrong
from conformance.model import Json
from conformance.reporters.json_report import readable

VERSIONS = {"snapshot": 1, "report": 1}
"""Kind of file → the newest version of its format that is understood."""

REPORT: Json = {
    "type": "object",
    "required": ["runs"],
    "properties": {"runs": {"type": "array", "items": {"$ref": "#/$defs/run"}}},
    "$defs": {
        "run": {
            "type": "object",
            "required": ["revision", "transport", "verdicts"],
            "properties": {
                "revision": {"type": "string"},
                "transport": {"type": "string"},
                "server": {"type": "object"},
                "verdicts": {"type": "array", "items": {"$ref": "#/$defs/verdict"}},
            },
        },
        "verdict": {
            "type": "object",
            "required": ["requirement", "verdict", "severity", "findings"],
            "properties": {
                "requirement": {"type": "string"},
                "verdict": {"type": "string"},
                "findings": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["message"],
                        "properties": {"message": {"type": "string"}},
                    },
                },
            },
        },
    },
}
"""What a comparison needs of a report; schemas/report.json would refuse what later versions may add."""

MAX_DEPTH = 200


def read(path: Path) -> tuple[str, Json]:
    """The kind of the file, a key of VERSIONS, and its data; Path("-") is stdin.

    Ends the program with status 2 if the file is wrong.
    """
    try:
        text = sys.stdin.buffer.read().decode() if path == Path("-") else path.read_text(encoding="utf-8")
        data = json.loads(text, parse_constant=_refuse)
    except OSError as error:
        wrong(f"{path} cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        wrong(f"{path} is not UTF-8")
    except json.JSONDecodeError as error:
        wrong(f"{path}:{error.lineno}: is not JSON: {error.msg}")
    except ValueError as error:
        wrong(f"{path} is not JSON: {error}")
    except RecursionError:
        wrong(f"{path} is nested too deep")
    kind = next((kind for kind in VERSIONS if isinstance(data, dict) and kind in data), None)
    if kind is None:
        wrong(f"{path} is neither a snapshot (--snapshot FILE) nor a report (--json FILE) of mcp-conform")
    version = data[kind]
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSIONS[kind]:
        wrong(f"{path} is a {kind} of version {version}; this mcp-conform reads version {VERSIONS[kind]}: update it")
    if version != VERSIONS[kind] or isinstance(version, bool):
        wrong(f"{path}: the version of the {kind} must be {VERSIONS[kind]}, not {json.dumps(version)[:60]}")
    if _depth(data) > MAX_DEPTH:
        wrong(f"{path} is nested too deep")
    data = readable(data, MAX_DEPTH)  # as we write it; another hand may have been in the file
    _check(path, kind, data)
    return kind, data


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _check(path: Path, kind: str, data: Json) -> None:
    from jsonschema_rs import Draft202012Validator

    from conformance.files.places import SCHEMAS

    schema = REPORT if kind == "report" else json.loads((SCHEMAS / "snapshot.json").read_text(encoding="utf-8"))
    problem = next(iter(Draft202012Validator(schema).iter_errors(data)), None)
    if problem is not None:
        place = "".join(f"/{step}" for step in problem.instance_path)
        wrong(f"{path}: is not a valid {kind}: at {place or 'its top'}: {problem.message[:300]}")


def _depth(data: Json) -> int:
    depth, level = 0, [data]
    while level:
        depth += 1
        containers = (value for value in level if isinstance(value, dict | list))
        level = [v for value in containers for v in (value.values() if isinstance(value, dict) else value)]
    return depth
