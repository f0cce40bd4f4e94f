"""No server is blamed for what it does not do: the command line against servers that are correct but for one thing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.engine.connections import Connections
from conformance.engine.units import Workshop
from conformance.model import Limits, Target
from conformance.revisions import BY_DATE

SERVER = Path(__file__).resolve().parent / "servers" / "wrongly_blamed.py"
EXITS = "transport-stdio/exits-on-stdin-close-implied"
BAD = Path(__file__).resolve().parent / "bad_servers.py"


@dataclass(frozen=True)
class Said:
    """The outcome of a run of the command line."""

    status: int
    printed: str
    report: dict[str, Any]

    @property
    def severities(self) -> dict[str, str]:
        """Requirement → the worst severity in any run."""
        found: dict[str, str] = {}
        for judged in self._judged:
            if judged["severity"] is not None and found.get(judged["requirement"]) != "violation":
                found[judged["requirement"]] = judged["severity"]
        return found

    @property
    def grave(self) -> dict[str, str]:
        """The same without advice."""
        return {name: severity for name, severity in self.severities.items() if severity != "advice"}

    def verdict(self, requirement: str) -> str:
        """What is known about it."""
        return str(next(judged["verdict"] for judged in self._judged if judged["requirement"] == requirement))

    def reason(self, requirement: str) -> str:
        """Why it has no verdict that counts."""
        return str(next(judged["reason"] for judged in self._judged if judged["requirement"] == requirement))

    def findings(self, requirement: str) -> list[dict[str, Any]]:
        """All findings of it."""
        return [f for judged in self._judged if judged["requirement"] == requirement for f in judged["findings"]]

    @property
    def _judged(self) -> list[dict[str, Any]]:
        return [judged for run in self.report["runs"] for judged in run["verdicts"]]


def run(folder: Path, mode: str, *options: str, words: str = "") -> Said:
    """A run against the server in that mode; `words` are further ones of its command."""
    return against(folder, f"{sys.executable} {SERVER} {mode} {folder} {words}", *options)


def against(folder: Path, server: str, *options: str) -> Said:
    """A run against the server of that command."""
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", "--server", server, "--json", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return Said(done.returncode, done.stdout + done.stderr, json.loads(file.read_text()))


def test_the_correct_server_has_no_finding_in_any_revision(tmp_path: Path) -> None:
    said = run(tmp_path, "correct", "--fuzz", "60", "--revision", "all")
    assert (said.status, said.severities) == (0, {}), said.printed
    assert len(said.report["runs"]) == 4


def test_a_server_is_not_blamed_for_arguments_of_ours_that_it_puts_into_its_contents(tmp_path: Path) -> None:
    said = run(tmp_path, "embeds", "--fuzz", "60", "--revision", "newest")
    assert (said.status, said.grave) == (0, {}), said.printed


def test_a_server_that_waits_for_an_answer_which_cannot_come_any_more_is_not_said_to_stay(tmp_path: Path) -> None:
    said = run(tmp_path, "asks-at-the-end", "--only", EXITS, "--revision", "2025-11-25")
    assert said.grave == {}


def test_a_server_that_is_at_work_on_a_tool_which_was_given_up_is_not_said_to_stay(tmp_path: Path) -> None:
    target = Target((sys.executable, str(SERVER), "works-to-the-end", str(tmp_path)))
    connections = Connections(target, Limits(answer=5, shutdown=0.5), 0)
    ledger = Ledger()
    stage = Workshop(connections, load_invariants(), {}).stage(BY_DATE["2025-11-25"], {}, ledger, own_process=True)
    stage.open()
    call = stage.session.send("tools/call", {"name": "echo", "arguments": {}})
    stage.session.wait(call, timeout=0.1)
    stage.session.give_up(call)
    stage.close()
    connections.close()
    assert (call.answers, ledger.findings) == ([], [])


def test_a_session_that_only_an_unusual_client_opens_is_not_ended_before_its_questions_are_answered(
    tmp_path: Path,
) -> None:
    only = ("--only", "discovery/unknown-client-capabilities", "--only", EXITS)
    said = run(tmp_path, "waits-for-roots", *only, "--revision", "2024-11-05")
    assert said.grave == {}
    assert said.verdict(EXITS) == "passed"


@pytest.mark.parametrize("mode", ["takes-its-time", "slow-together"])
@pytest.mark.parametrize("case", ["jsonrpc/many-at-once", "fuzz/conversation"])
def test_a_server_that_takes_its_time_for_one_request_after_another_is_not_said_to_be_silent(
    mode: str, case: str, tmp_path: Path
) -> None:
    options = ("--only", f"{case}:jsonrpc/every-request-answered-once", "--timeout", "2", "--revision", "newest")
    said = run(tmp_path, mode, *options, "--fuzz", "40")
    assert (said.status, said.severities) == (0, {}), said.printed


@pytest.mark.parametrize("how", ["by-error", "in-results"])
@pytest.mark.parametrize("number", [6, 60])
def test_a_server_that_limits_how_often_it_is_asked_is_not_blamed_for_what_it_refuses(
    how: str, number: int, tmp_path: Path
) -> None:
    said = run(tmp_path, "limits-requests", "--fuzz", "60", "--revision", "newest", words=f"{number} {how}")
    assert (said.status, said.grave) == (0, {}), said.printed
    assert "the server limits how often it can be asked" in said.printed


# -- what a request lacks is not what goes wrong inside


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_resource_that_is_not_read_before_the_user_was_asked_is_no_internal_failure(
    revision: str, tmp_path: Path
) -> None:
    said = run(tmp_path, "asks-before-reading", "--only", "resources/read-each", "--revision", revision)
    assert "resources/internal-error-32603" not in said.severities, said.printed
    assert "no listed resource fails" in said.reason("resources/internal-error-32603")


# -- spoken is what the server says it speaks


@pytest.mark.parametrize("mode", ["initialize-fails", "initialize-unanswered"])
def test_a_server_whose_handshake_fails_is_not_tested_in_a_revision_that_it_does_not_speak(
    mode: str, tmp_path: Path
) -> None:
    said = run(tmp_path, mode, "--start-timeout", "2", "--only", "jsonrpc", "--only", "caching", "--fuzz", "0")
    assert (said.status, said.severities) == (3, {}), said.printed
    assert "initialize is" in said.report["problem"]


def test_insisting_on_a_revision_that_the_server_does_not_speak_blames_nobody(tmp_path: Path) -> None:
    said = run(tmp_path, "correct", "--revision", "2026-07-28", "--fuzz", "0")
    assert (said.status, said.severities) == (3, {}), said.printed


def test_an_empty_result_for_any_method_is_not_taken_for_speaking_the_stateless_era(tmp_path: Path) -> None:
    said = run(tmp_path, "anything-succeeds", "--only", "caching", "--only", "jsonrpc/result-type-present")
    assert "2026-07-28" not in {each["revision"] for each in said.report["runs"]}
    assert said.grave == {}


@pytest.mark.parametrize("revision", [(), ("--revision", "newest")], ids=["all", "newest"])
def test_a_server_whose_first_start_takes_too_long_is_tested_in_the_revision_that_it_speaks(
    revision: tuple[str, ...], tmp_path: Path
) -> None:
    said = run(tmp_path, "late-the-first-time", "--start-timeout", "2", "--only", "jsonrpc/ids", *revision)
    assert (said.status, said.severities) == (0, {}), said.printed
    assert "2025-11-25" in {each["revision"] for each in said.report["runs"]}


COUNTEROFFERED = "versioning/unsupported-version-counteroffered"


@pytest.mark.parametrize(
    ("version", "status", "severities", "why"),
    [
        ("2025-6-18", 1, {COUNTEROFFERED: "violation"}, "which does not exist"),
        ("1.0", 1, {COUNTEROFFERED: "violation"}, "which does not exist"),
        ("2024-10-07", 3, {COUNTEROFFERED: "warning"}, "which is not a published revision"),
        ("2031-01-01", 3, {}, "which mcp-conform does not know"),
    ],
)
def test_a_version_that_nobody_knows_is_the_finding_and_nothing_else_is_judged(
    version: str, status: int, severities: dict[str, str], why: str, tmp_path: Path
) -> None:
    said = run(tmp_path, "version", "--fuzz", "0", words=version)
    assert (said.status, said.severities) == (status, severities), said.printed
    sentence = f"the server answers with version {version}, {why}"
    assert sentence in said.report["problem"]
    if severities:
        (finding,) = said.findings(COUNTEROFFERED)
        assert sentence in finding["message"]
        assert finding["confirmed"] is True
        assert said.printed.index(sentence) < said.printed.index("Blocked")


def test_a_handshake_without_a_version_is_told_as_what_it_is(tmp_path: Path) -> None:
    said = run(tmp_path, "version", "--fuzz", "0", words="none")
    assert (said.status, said.grave) == (1, {"lifecycle/initialize-result-complete": "violation"}), said.printed


def test_a_stateless_server_without_discover_breaks_that_rule_and_is_judged_by_no_other(tmp_path: Path) -> None:
    said = run(tmp_path, "modern-without-discover", "--fuzz", "0")
    assert (said.status, said.severities) == (1, {"discovery/discover-implemented": "violation"}), said.printed


@pytest.mark.parametrize("name", ["discovers-once", "discovers-once-and-is-silent"])
def test_server_discover_that_is_answered_once_is_no_matter_of_versions(name: str, tmp_path: Path) -> None:
    only = [word for case in ("unsupported-first", "context") for word in ("--only", f"versioning/{case}")]
    words = ("--revision", "2026-07-28", "--timeout", "2", "--fuzz", "0", *only)
    said = against(tmp_path, f"{sys.executable} {BAD} {name}", *words)
    assert [each for each in said.grave if each.startswith("versioning/")] == []
    assert said.report["counts"]["passed"] > 0


def test_a_request_without_meta_is_of_the_handshake_era_for_a_server_that_has_both(tmp_path: Path) -> None:
    said = run(tmp_path, "both-eras", "--fuzz", "0", "--only", "meta")
    assert (said.status, said.severities) == (0, {}), said.printed
    assert [each["revision"] for each in said.report["runs"]] == ["2025-11-25", "2026-07-28"]


# -- what JSON-RPC leaves open, and what we provoke

FRAMES = ("fuzz/malformed", "fuzz/invalid-requests", "jsonrpc/invalid-requests", "jsonrpc/ids", "jsonrpc/notifications")
ILLEGAL = ("--revision", "2025-11-25", "--fuzz", "100", *(word for case in FRAMES for word in ("--only", case)))


@pytest.mark.parametrize("mode", ["correct", "odd-numbers"])
def test_an_id_that_comes_back_as_the_same_number_is_right_however_it_is_written(mode: str, tmp_path: Path) -> None:
    said = run(tmp_path, mode, *ILLEGAL)
    assert (said.status, said.severities) == (0, {}), said.printed


def test_an_answer_behind_what_was_printed_in_its_line_is_no_silence(tmp_path: Path) -> None:
    said = run(tmp_path, "progress-bar", "--revision", "2025-11-25", "--only", "tools/malformed-calls")
    assert said.grave == {"transport-stdio/stdout-only-messages": "violation"}, said.printed
    assert said.reason("tools/malformed-call-refused") == "transport-stdio/stdout-only-messages"


def test_unknown_methods_that_are_dropped_are_told_by_the_rule_about_them_alone(tmp_path: Path) -> None:
    names = ("versioning/interleaved", "jsonrpc/unknown-method-refused")
    only = [word for name in names for word in ("--only", name)]
    said = run(tmp_path, "drops-unknown", "--revision", "2026-07-28", "--timeout", "2", *only)
    assert list(said.grave) == ["jsonrpc/unknown-method-refused"], said.printed


def test_an_array_that_answers_our_array_is_not_judged(tmp_path: Path) -> None:
    said = run(tmp_path, "answers-arrays", *ILLEGAL)
    assert (said.status, said.severities) == (0, {}), said.printed


def test_what_answers_a_frame_that_is_no_message_is_a_warning_at_most(tmp_path: Path) -> None:
    said = run(tmp_path, "refuses-sloppily", *ILLEGAL)
    assert said.status == 0, said.printed
    assert "violation" not in said.severities.values()
    assert said.severities["jsonrpc/version-member"] == "warning"


def test_a_server_that_answers_nothing_anyway_is_not_said_to_be_hurt_by_a_message(tmp_path: Path) -> None:
    cases = ["cancellation/race", "cancellation/invalid", "jsonrpc/invalid-requests", "transport-stdio/chunks"]
    only = [word for case in cases for word in ("--only", case)]
    said = run(tmp_path, "silent-once-open", "--timeout", "1", *only)
    assert said.severities == {"jsonrpc/every-request-answered-once": "violation"}, said.printed


def test_the_shape_of_what_had_to_be_refused_is_a_warning_at_most(tmp_path: Path) -> None:
    chosen = ("--only", "jsonrpc/invalid-params", "--only", "resources")
    said = run(tmp_path, "reads-nothing", "--revision", "2025-11-25", "--fuzz", "0", *chosen)
    assert said.grave.get("resources/read-shape") == "warning", said.printed
    assert said.severities["jsonrpc/invalid-params-refused"] in ("warning", "violation")


@pytest.mark.parametrize(
    ("mode", "cause"),
    [
        ("answers-notifications", "jsonrpc/notification-never-answered"),
        ("ids-as-text", "jsonrpc/response-id-echoed"),
    ],
)
def test_an_answer_to_another_message_is_not_taken_for_one_to_a_malformed_frame(
    mode: str, cause: str, tmp_path: Path
) -> None:
    said = run(tmp_path, mode, *ILLEGAL)
    assert said.severities == {cause: "violation"}, said.printed


# -- what does not come back

IDS = ("--revision", "2025-11-25", "--fuzz", "0", "--only", "jsonrpc/ids", "--only", "tools/unknown-tool")


def test_what_happened_once_is_flaky_and_fails_nobody(tmp_path: Path) -> None:
    said = run(tmp_path, "once-only", *IDS)
    assert (said.status, said.severities) == (0, {}), said.printed
    assert said.reason("jsonrpc/error-code-integer").startswith(
        "flaky, in 1 of 7 tries: an error code is not an integer"
    )
    assert "flaky, in 1 of 7 tries" in said.printed
    assert '"code": "once"' in said.printed


def test_what_depends_on_other_cases_is_confirmed_with_them_and_can_be_shown_again(tmp_path: Path) -> None:
    said = run(tmp_path, "after-others", *IDS)
    assert (said.status, said.severities["jsonrpc/error-code-integer"]) == (1, "violation"), said.printed
    (finding,) = said.findings("jsonrpc/error-code-integer")
    assert (finding["confirmed"], finding["after"]) == (True, ["jsonrpc/ids"])
    assert finding["tries"] == {"shown": 3, "of": 3}
    again = next(line.split("again", 1)[1] for line in said.printed.splitlines() if line.startswith("  again"))
    words = shlex.split(again)
    done = subprocess.run(
        [sys.executable, "-m", "conformance", *words[1:]], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout
    assert "jsonrpc/error-code-integer" in done.stdout


ONCE = "jsonrpc/every-request-answered-once"


@pytest.mark.parametrize(
    ("dies", "status", "tries"),
    [
        ("11", 1, None),
        ("1011", 1, {"shown": 3, "of": 4}),
        ("100101", 1, {"shown": 3, "of": 6}),
        ("10001", 0, {"shown": 2, "of": 7}),
        ("1", 0, {"shown": 1, "of": 7}),
    ],
    ids=["at once", "soon", "twice of five times", "once of five times", "never again"],
)
def test_a_race_counts_if_it_shows_itself_twice_in_five_more_tries(
    dies: str, status: int, tries: dict[str, int] | None, tmp_path: Path
) -> None:
    said = run(tmp_path, "race", *IDS, words=dies)
    assert said.status == status, said.printed
    if status:
        assert said.findings(ONCE)[0].get("tries") == tries
    else:
        assert tries is not None
        assert said.reason(ONCE).startswith(f"flaky, in {tries['shown']} of {tries['of']} tries: ")


def test_a_death_among_generated_frames_that_no_frame_shows_again_is_flaky(tmp_path: Path) -> None:
    generated = ("--revision", "2025-11-25", "--only", "fuzz/malformed", "--fuzz", "40")
    said = run(tmp_path, "dies-of-garbage-once", *generated)
    assert (said.status, said.severities) == (0, {}), said.printed
    assert said.reason("jsonrpc/parse-error-code").startswith("flaky, in 1 of 6 tries: of ")


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("dies 20", "the server ends while it is sent nothing but harmless requests"),
        ("dies 200", "the server ends while it is sent nothing but harmless requests"),
        ("is-silent 20", "the server falls silent while it is sent nothing but harmless requests"),
    ],
)
def test_where_a_server_gives_up_whatever_it_is_sent_no_message_is_to_blame(
    does: str, words: str, tmp_path: Path
) -> None:
    said = run(tmp_path, "tired-out", "--revision", "2025-11-25", "--timeout", "2", words=does)
    assert (said.status, said.severities) == (1, {ONCE: "violation"}), said.printed
    (found,) = said.findings(ONCE)
    assert (found["message"], found["confirmed"]) == (words, True)
    assert "flaky" not in said.printed.lower()


def test_what_kills_a_server_that_goes_on_otherwise_is_to_blame(tmp_path: Path) -> None:
    said = run(tmp_path, "limited", "--only", "fuzz/conversation", "--revision", "2025-11-25", words="dies")
    assert said.severities, said.printed
    assert "harmless" not in said.printed


def test_what_is_wrong_in_every_message_does_not_pass_for_a_server_that_gives_up(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    server = f"{sys.executable} -m conformance.reference --fault dies-of-refused-model --fault version-member-missing"
    chosen = ["--revision", "2025-11-25", "--only", "sampling", "--only", "jsonrpc", "--fuzz", "0"]
    command = [sys.executable, "-m", "conformance", "--server", server, "--json", str(file), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = Said(done.returncode, done.stdout + done.stderr, json.loads(file.read_text()))
    assert said.grave == {"jsonrpc/version-member": "violation", "sampling/rejection-survived": "warning"}, said.printed


# -- what is large


def test_a_text_of_more_than_a_megabyte_hinders_nothing(tmp_path: Path) -> None:
    generated = ("--only", "fuzz/conversation", "--only", "fuzz/unknown-methods", "--fuzz", "150", "--fuzz-time", "60")
    said = run(tmp_path, "large-text", "--revision", "2025-11-25", *generated)
    assert (said.status, said.grave) == (0, {}), said.printed
    (ran,) = said.report["runs"]
    told = [(each["frames"] - each["planned"], each.get("note", "")) for each in ran["campaigns"]]
    assert told == [(0, ""), (0, "")]


# -- what a JSON parser may refuse


@pytest.mark.parametrize("does", ["drops", "refuses", "dies"])
def test_limits_that_json_allows_are_a_warning_at_most_and_only_beside_a_smaller_message_that_passes(
    does: str, tmp_path: Path
) -> None:
    generated = ("--only", "fuzz/conversation", "--only", "fuzz/unknown-methods", "--fuzz", "150", "--fuzz-time", "60")
    said = run(tmp_path, "limited", "--revision", "2025-11-25", "--timeout", "2", *generated, words=does)
    assert said.status == 0, said.printed
    assert set(said.grave.values()) == {"warning"}
    for requirement in said.grave:
        for finding in said.findings(requirement):
            assert "with smaller values, shorter and less deep, it passes" in finding["actual"]
