"""Many servers: `fleet`, and `fleet diff`."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.options import FUZZ, ONLY, PROFILE, QUICK, REVISION, Number, Option, call_tools, option
from conformance.cli.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.fleet.reading import Listed
    from conformance.fleet.run import Manner
    from conformance.fleet.store import Store

NEEDED = ("cryptography", "distributed", "pyarrow")
SERVERS, WORKERS, BOUNDS, RESULTS = "Which servers", "Where they run", "Limits of each server", "Results"
CHOICE = "What is tested"
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])B?\Z", re.I)
UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


class Size(click.ParamType[int]):
    """Bytes, written as 512MB or 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = SIZE.match(str(value))
        if found is None:
            self.fail(f"{value!r} is not a size such as 512MB or 2GB", param, ctx)
        return int(float(found[1]) * UNITS[found[2].upper()])


class Fleet(click.Group):
    """What does not begin with the name of a command is for the command that tests."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] in (["diff"], ["run"]) else ["run", *args])


class Run(click.Command):
    """Its help has sections, and calls it by the name of the group."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        pieces = " ".join(self.collect_usage_pieces(ctx))
        formatter.write_usage("mcp-conform fleet", pieces)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                title = parameter.section if isinstance(parameter, Option) else "Options"
                sections.setdefault(title, []).append(record)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(cls=Fleet)
def fleet() -> None:
    """Test many servers on many machines; a table of them."""


@fleet.command(cls=Run)
@click.argument(
    "files", metavar="FILE|FOLDER...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)
)
@option(RESULTS, "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where the results go.")
@option(
    RESULTS,
    "--earlier",
    type=click.Path(exists=True, path_type=Path),
    metavar="DIR",
    help="The results of the run before this one, for trends.",
)
@option(
    RESULTS,
    "--again",
    is_flag=True,
    help="Test everything anew; what is in DIR becomes the run before this one. With --name: test only that anew, and "
    "keep all else that is in DIR.",
)
@option(
    RESULTS,
    "--compact",
    is_flag=True,
    help="Keep of each server only what failed; no pages, no Parquet: for a repository.",
)
@option(RESULTS, "--quiet", "-q", is_flag=True, help="Say only how it ended.")
@option(SERVERS, "--name", multiple=True, metavar="NAME", help="Only this server; * and ? are wildcards. Repeatable.")
@option(SERVERS, "--remotes", is_flag=True, help="Also test servers of a server.json that are only at a URL.")
@option(
    SERVERS,
    "--values",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="YAML with what servers of a server.json need: name of the server → name of the variable → value; $NAME takes "
    "it from the environment.",
)
@option(
    WORKERS,
    "--workers",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="How many servers are tested at once on this machine.  [default: the number of cores]",
)
@option(WORKERS, "--scheduler", metavar="ADDRESS", help="Use this Dask cluster, such as tcp://10.0.0.1:8786.")
@option(
    WORKERS,
    "--sandbox",
    type=click.Choice(["none", "bwrap", "docker"]),
    default="none",
    show_default=True,
    help="Run each server inside bubblewrap, or in a container.",
)
@option(WORKERS, "--image", metavar="IMAGE", help="The image of --sandbox docker.  [default: mcp-conform]")
@option(
    WORKERS,
    "--keep-env",
    multiple=True,
    metavar="NAME",
    help="Servers get this variable of the worker's environment, such as UV_CACHE_DIR. Repeatable.",
)
@option(
    BOUNDS,
    "--time",
    "seconds",
    type=Number(1),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="How long the test of a server may take.",
)
@option(BOUNDS, "--memory", type=Size(), default="2GB", show_default=True, help="Of all its processes.")
@option(BOUNDS, "--disk", type=Size(), default="2GB", show_default=True, help="What it may write.")
@option(
    BOUNDS, "--processes", type=click.IntRange(2), default=200, show_default=True, metavar="N", help="At the same time."
)
@REVISION
@ONLY
@option(CHOICE, "--skip", multiple=True, metavar="PATTERN", help="Leave out what matches. Repeatable.")
@QUICK
@PROFILE
@FUZZ
@call_tools(CHOICE)
@option(
    CHOICE,
    "--fail-on",
    type=click.Choice(["violation", "warning", "advice"]),
    help="The lowest severity that fails a server.  [default: violation]",
)
@option(
    CHOICE,
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="How many processes of one server run at once.  [default: 6]",
)
def run(files: tuple[Path, ...], out: Path, **given: Any) -> None:
    """Test all servers of lists, client configurations and server.json files.

    FILE: YAML or JSON: a list of servers, each with a name and the keys of a target file; the configuration of an MCP
    client; a server.json of the MCP registry, or a list of such. FOLDER: all such files in it.

    mcp-conform fleet servers.yaml --out results

    The same command goes on where a run was interrupted. `mcp-conform fleet diff OLD NEW` compares two runs.

    Exit status: 0 no violation; 1 violations; 2 wrong use; 3 not all could be tested.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        wrong(f"fleet needs {', '.join(missing)}: pip install 'mcp-conformance[fleet]'")
    from conformance.fleet.store import Store
    from conformance.model import UsageError

    store = None
    try:
        manner = _manner(given)
        listed = _listed(files, given)
        store = Store(out)
        status = _carry_out(listed, store, manner, given)
    except UsageError as error:
        wrong(str(error))
    finally:
        if store is not None:
            store.close()
    click.get_current_context().exit(status)


def _manner(given: dict[str, Any]) -> Manner:
    """How servers are tested. Raises UsageError."""
    from conformance.engine.runner import Runner
    from conformance.fleet.limits import Limits
    from conformance.fleet.run import Manner
    from conformance.fleet.sandbox import IMAGE, Sandbox
    from conformance.model import UsageError
    from conformance.settings.settings import Words, settle

    if given["scheduler"] and given["workers"]:
        raise UsageError("--workers is for a cluster of this machine: it cannot be used with --scheduler")
    if given["image"] and given["sandbox"] != "docker":
        raise UsageError("--image is for --sandbox docker")
    if given["earlier"] and given["again"] and not given["name"]:
        raise UsageError("--earlier and --again both say which run came before: use one of them")
    said = {
        "revisions": given["revision"], "only": given["only"], "skip": given["skip"], "profiles": given["profile"],
        "fuzz": given["fuzz"], "call_tools": given["call_tools"], "fail_on": given["fail_on"], "jobs": given["jobs"],
        "quick": given["quick"],
    }  # fmt: skip
    Runner(*settle(Words(server="true", **said), None))  # starts nothing, but knows what options mean
    sandbox = Sandbox(given["sandbox"], given["image"] or IMAGE)
    if not given["scheduler"] and (problem := sandbox.why_not_usable()):
        raise UsageError(problem)
    return Manner(
        words=tuple(_words(given)),
        keep=tuple(given["keep_env"]),
        limits=Limits(given["seconds"], given["memory"], given["disk"], given["processes"]),
        sandbox=sandbox,
        workers=given["workers"] or os.cpu_count() or 1,
        scheduler=given["scheduler"] or "",
        compact=given["compact"],
    )


def _words(given: dict[str, Any]) -> list[str]:
    """What is said to the command line of each server."""
    words: list[str] = []
    for name in ("revision", "only", "skip", "profile"):
        words += [word for value in given[name] for word in (f"--{name}", value)]
    for name in ("fuzz", "call_tools", "fail_on", "jobs"):
        if given[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(given[name])]
    return [*words, "--quick"] if given["quick"] else words


def _listed(files: tuple[Path, ...], given: dict[str, Any]) -> Listed:
    """The servers, with --name these only, unless others stay in the table (--again). Raises UsageError."""
    from conformance.fleet.choice import choice_of, programs_in
    from conformance.fleet.reading import read
    from conformance.model import UsageError

    elsewhere = bool(given["scheduler"]) or given["sandbox"] == "docker"
    if given["scheduler"]:
        from conformance.fleet.cluster import programs_at

        programs = programs_at(given["scheduler"])
    else:
        programs = programs_in(given["sandbox"])
    listed = read(files, choice_of(given["values"], given["remotes"], programs), elsewhere)
    for pattern in given["name"]:
        if not _chosen(listed, (pattern,)):
            raise UsageError(f"--name: no server that is listed is called {pattern!r}")
    if given["name"] and not given["again"]:
        names = _chosen(listed, given["name"])
        listed.entries = [entry for entry in listed.entries if entry.name in names]
    return listed


def _chosen(listed: Listed, patterns: tuple[str, ...]) -> set[str]:
    """The names of servers that a pattern is about."""
    from fnmatch import fnmatchcase

    return {each.name for each in listed.entries if any(fnmatchcase(each.name, pattern) for pattern in patterns)}


def _carry_out(listed: Listed, store: Store, manner: Manner, given: dict[str, Any]) -> int:
    """Test, write what is made of the results, and say how it ended; the exit status. Raises UsageError."""
    from conformance.cli.fleet_talk import Talk
    from conformance.engine.verdicts import EXIT_UNTESTED
    from conformance.fleet import products
    from conformance.fleet.run import carry_out, exit_status, planned
    from conformance.model import UsageError
    from conformance.system import interrupts

    chosen = _chosen(listed, given["name"]) if given["again"] and given["name"] else None
    try:
        if chosen is not None:
            listed.entries = products.reopened(listed.entries, store, chosen)
        before = products.before(store, given["earlier"], given["again"] and chosen is None)
    except OSError as error:
        raise UsageError(f"--out: {error.filename or store.folder} cannot be written: {error.strerror}") from None
    plan = planned(listed.entries, store, manner, chosen)
    talk = Talk(given["quiet"], len(plan.todo))
    talk.plan(listed, plan, manner)
    stops: list[Callable[[], None]] = []
    told: list[None] = []

    def stop() -> None:
        told.append(None)
        for each in stops:
            each()

    def stopping(each: Callable[[], None]) -> None:
        stops.append(each)
        if told:
            each()

    with interrupts.taken_by(stop):
        started = products.begun(store)
        complete = carry_out(plan, store, talk, stopping) and not told
        try:
            total = products.write(plan, store, products.ended(started, complete, manner), before)
        except OSError as error:
            talk.failed(f"{error.filename or store.folder} cannot be written: {error.strerror or error}")
            return EXIT_UNTESTED
    talk.end(total, store.folder, bool(told), given["again"])
    return exit_status(total)


@fleet.command()
@click.argument("old", metavar="OLD", type=click.Path(exists=True, path_type=Path))
@click.argument("new", metavar="NEW", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Compare two runs of fleet.

    OLD and NEW: what --out DIR named, or a summary.json.

    Exit status: 0 nothing is worse; 1 a server violates a rule that it did not, or can no longer be tested; 2 wrong
    use.
    """
    import json
    from dataclasses import asdict

    from conformance.fleet.compare import compare
    from conformance.fleet.summary import read
    from conformance.model import UsageError
    from conformance.reporters.words import shortened, visible

    try:
        differences = compare(read(old), read(new))
    except UsageError as error:
        wrong(str(error))
    status = 1 if any(each.worse for each in differences) else 0
    if as_json:
        rows = [{**asdict(each), "worse": each.worse} for each in differences]
        click.echo(json.dumps({"compared": "fleets", "servers": rows, "exit": status}, indent=2))
        click.get_current_context().exit(status)
    for each in differences:
        states = f"{each.before or 'not listed'} → {each.after or 'not listed'}"
        click.secho(visible(shortened(f"{each.name}: {states}", 400)), fg="red" if each.worse else None, bold=True)
        for word, rules in (("new", each.new), ("fixed", each.fixed)):
            for severity, names in rules.items():
                for name in names:
                    click.echo(visible(f"  {word:5} {severity:9} {name}"))
    worse = sum(each.worse for each in differences)
    servers = f"{len(differences)} server{'s' * (len(differences) != 1)}"
    click.echo(f"{servers} changed, {worse} for the worse." if differences else "Nothing changed.")
    click.get_current_context().exit(status)
