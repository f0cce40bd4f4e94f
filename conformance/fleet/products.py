"""What is made of the results of a run: summary, table, Parquet."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator
from pathlib import Path

from conformance.fleet import page, summary
from conformance.fleet.entries import Entry
from conformance.fleet.outcome import not_tested, row_of
from conformance.fleet.run import Manner, Plan
from conformance.fleet.store import PAGES, RESULTS, Store, replace
from conformance.fleet.summary import now
from conformance.model import Json
from conformance.reporters.json_report import readable

BEGUN = "begun.json"
"""When the run began, and the summary of the run before: kept for a run that resumes this one."""
INTERRUPTED = "the run was interrupted before it was tested"


def reopened(entries: list[Entry], store: Store, chosen: Collection[str]) -> list[Entry]:
    """Forget what came of the `chosen` servers; they, and the others that the table of the folder has."""
    there = summary.read(store.folder)["servers"] if (store.folder / summary.NAME).is_file() else []
    shown = {row["name"] for row in there}
    for entry in entries:
        if entry.name in chosen:
            store.forget_one(entry.key)
    store.forget_deaths({entry.key for entry in entries if entry.name in chosen})
    return [
        entry for entry in entries if entry.name in chosen or readable(entry.name) in shown or store.digest(entry.key)
    ]


def before(store: Store, earlier: Path | None, again: bool) -> Json:
    """The summary of the run before this one, None without one. With `again` it is what is there. Raises UsageError."""
    if again:
        there = summary.read(store.folder) if (store.folder / summary.NAME).is_file() else None
        store.forget()
        _keep(store, {"started": now(), "before": there})
        return there
    if earlier is not None:
        _keep(store, {**_kept(store), "before": summary.read(earlier)})
    return _kept(store).get("before")


def begun(store: Store) -> str:
    """When the run in this folder began: now, unless this one resumes it. ISO 8601, in UTC."""
    started = _kept(store).get("started")
    if not isinstance(started, str):
        started = now()
        _keep(store, {**_kept(store), "started": started})
    return started


def ended(started: str, complete: bool, manner: Manner) -> summary.About:
    """About a run that ends now."""
    return summary.About(started, now(), complete, manner.sandbox.kind, manner.words)


def write(plan: Plan, store: Store, about: summary.About, earlier: Json) -> Json:
    """Write all that is made of the results; the summary. Raises OSError."""
    total = summary.summary_of(about, _rows(plan, store), earlier)

    def link(key: str) -> str:
        if key not in tested:
            return ""
        return f"{PAGES}/{key}.html" if store.has_page(key) else f"{RESULTS}/{key}.json"

    tested = {entry.key for entry in _tested(plan, store)}
    replace(store.folder / page.NAME, page.as_html(total, link).encode("utf-8", "backslashreplace"))
    if not plan.manner.compact:
        _write_parquet(plan, store, total)
    # The summary comes last: where there is one, the rest is of the same run.
    replace(store.folder / summary.NAME, summary.as_text(total).encode())
    return total


def _write_parquet(plan: Plan, store: Store, total: Json) -> None:
    """Raises OSError."""
    from conformance.fleet import parquet

    parquet.write_servers(store.folder / parquet.SERVERS, total)
    parquet.write_verdicts(store.folder / parquet.VERDICTS, store.results(entry.key for entry in _tested(plan, store)))


def _tested(plan: Plan, store: Store) -> Iterator[Entry]:
    """The entries that have their result."""
    for entry in plan.entries:
        if not entry.problem and store.digest(entry.key) == entry.digest(plan.manner.words):
            yield entry


def _rows(plan: Plan, store: Store) -> Iterator[Json]:
    """A row for each server; of one that has no result, why."""
    tested = {entry.key for entry in _tested(plan, store)}
    for entry in plan.entries:
        result = store.read(entry.key) if entry.key in tested else None
        yield row_of(result or not_tested(entry, "", entry.problem or INTERRUPTED))


def _kept(store: Store) -> dict[str, Json]:
    with contextlib.suppress(OSError, ValueError):
        data = json.loads((store.folder / BEGUN).read_text("utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def _keep(store: Store, data: dict[str, Json]) -> None:
    replace(store.folder / BEGUN, json.dumps(data).encode())
