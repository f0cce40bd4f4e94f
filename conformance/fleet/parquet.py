"""The results as two Parquet files: a row for each server, and a row for each verdict."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.fleet.outcome import verdicts_of
from conformance.model import Json

SERVERS, VERDICTS = "servers.parquet", "verdicts.parquet"
BATCH = 100_000
"""Verdicts that are held until they are written."""

SERVER = pa.schema(
    [
        ("key", pa.string()), ("name", pa.string()), ("version", pa.string()), ("outcome", pa.string()),
        ("reason", pa.string()), ("revisions", pa.list_(pa.string())), ("transports", pa.list_(pa.string())),
        ("violations", pa.int32()), ("warnings", pa.int32()), ("advice", pa.int32()), ("tested", pa.int32()),
        ("applicable", pa.int32()), ("seconds", pa.float64()), ("attempts", pa.int32()),
    ]
)  # fmt: skip
NAMES = ("revision", "transport", "requirement", "verdict", "severity", "message")
VERDICT = pa.schema([("key", pa.string()), *((name, pa.string()) for name in NAMES)])


def write_servers(path: Path, summary: Json) -> None:
    """A row for each server of a summary. Raises OSError."""
    rows = [
        {
            **{name: row[name] for name in SERVER.names if name in row},
            "violations": len(row["broken"]["violation"]),
            "warnings": len(row["broken"]["warning"]),
            "advice": len(row["broken"]["advice"]),
        }
        for row in summary["servers"]
    ]
    part = _part(path)
    pq.write_table(pa.Table.from_pylist(rows, SERVER), part, compression="zstd")
    part.replace(path)


def write_verdicts(path: Path, results: Iterable[Json]) -> None:
    """A row for each verdict of results, which are read one by one. Raises OSError."""
    part = _part(path)
    try:
        with pq.ParquetWriter(part, VERDICT, compression="zstd") as writer:
            columns: dict[str, list[str]] = {name: [] for name in VERDICT.names}
            for result in results:
                for each in verdicts_of(result["report"]) if result["report"] is not None else ():
                    columns["key"].append(result["key"])
                    for name, value in zip(NAMES, each, strict=True):
                        columns[name].append(value)
                if len(columns["key"]) >= BATCH:
                    writer.write_table(pa.table(columns, VERDICT))
                    columns = {name: [] for name in VERDICT.names}
            writer.write_table(pa.table(columns, VERDICT))
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")
