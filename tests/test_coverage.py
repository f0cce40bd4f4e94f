"""Every requirement is checked, unobservable, or counted as not yet checked; most of what cases decide they say."""

import re
from pathlib import Path

from fronts import conform

from conformance.catalogue.requirements import load
from conformance.checks.registry import cases, checks, coverage, extent
from conformance.revisions import HANDSHAKE, HTTP, HTTP_SSE, REVISIONS, STDIO

COLUMNS = (STDIO, HTTP, HTTP_SSE)

ROOT = Path(__file__).resolve().parent.parent

NOT_YET = 0
"""The number may only fall: lower it when checks are added."""

WITHOUT_PROBES = 178
"""Cases that hold no probe: the number may only rise."""

BY_YAML = 297
"""Requirements that an expectation in a case decides: the number may only rise."""


def not_yet() -> set[str]:
    """Requirements without a check and without a reason for that."""
    return {i for i, requirement in load().items() if not requirement.unobservable} - set(checks())


def test_each_requirement_is_either_checked_or_unobservable() -> None:
    both = {i for i, requirement in load().items() if requirement.unobservable} & set(checks())
    assert both == set()


def test_nothing_is_left_open_on_stdio_in_the_handshake_era() -> None:
    dates = {revision.date for revision in HANDSHAKE}
    left = {
        identifier
        for identifier in not_yet()
        if dates & set(load()[identifier].revisions) and "stdio" in (load()[identifier].transports or ("stdio",))
    }
    assert left == set()


def test_the_number_of_open_requirements_only_falls(capsys: object) -> None:
    left = not_yet()
    print(f"not yet checked: {len(left)}")
    assert len(left) == NOT_YET, "lower NOT_YET" if len(left) < NOT_YET else "a check was lost"


def test_every_check_names_requirements_that_exist() -> None:
    assert set(checks()) <= set(load())


def test_the_number_of_cases_without_a_probe_only_rises() -> None:
    found = coverage()
    print(f"cases without a probe: {found.without_probes} of {found.cases}")
    assert found.cases == len(cases())
    assert found.without_probes == WITHOUT_PROBES, (
        "raise it" if found.without_probes > WITHOUT_PROBES else "one is lost"
    )


def test_the_number_of_requirements_decided_in_yaml_only_rises() -> None:
    found = coverage()
    print(f"requirements decided by cases: {len(found.decided)}, in YAML: {len(found.by_yaml)}")
    assert found.by_yaml <= found.decided
    assert len(found.by_yaml) == BY_YAML, "raise it" if len(found.by_yaml) > BY_YAML else "one is lost"


def test_a_list_of_all_ends_with_what_cases_cover() -> None:
    found = coverage()
    cases_line = f"{found.cases} cases, {found.without_probes} of them without a probe"
    line = (
        f"{len(found.decided)} requirements decided by cases, campaigns left out, {len(found.by_yaml)} of them in YAML"
    )
    assert conform("list").stdout.splitlines()[-3:-1] == [cases_line, line]
    assert "without a probe" not in conform("list", "--area", "tools").stdout


def test_the_readme_says_how_much_is_checked() -> None:
    told = re.findall(r"^\| (20\S+) \| (.*?) \| (.*?) \| (.*?) \|$", (ROOT / "README.md").read_text("utf-8"), re.M)
    rows = []
    for revision in REVISIONS:
        each = [extent(revision.date, name) if name in revision.transports else None for name in COLUMNS]
        figures = [f"{it.checked} / {it.unobservable} / {it.unchecked}" if it else "(no such transport)" for it in each]
        rows.append((revision.date, *figures))
    assert told == rows
    assert f"{len(load())} requirements" in (ROOT / "README.md").read_text("utf-8")
