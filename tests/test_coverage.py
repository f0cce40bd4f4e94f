"""Every requirement is checked, unobservable, or counted as not yet checked."""

from conformance.catalogue.requirements import load
from conformance.checks.registry import checks
from conformance.revisions import HANDSHAKE

NOT_YET = 167
"""The number may only fall: lower it when checks are added."""


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
