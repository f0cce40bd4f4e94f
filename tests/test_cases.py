"""Cases: what a file may say, what is said about a wrong one, and which cases the user's patterns select."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue.case_files import load_cases
from conformance.catalogue.case_names import Known
from conformance.catalogue.cases import Case, Expectation, Step
from conformance.catalogue.patterns import ABSENT
from conformance.catalogue.selection import Selection, select
from conformance.checks.registry import cases as cases_of_the_suite
from conformance.files.yaml_files import FileError
from conformance.model import Basis, Level, Requirement, Severity, UsageError

DATES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def requirement(identifier: str, since: str = DATES[0], **changes: Any) -> Requirement:
    dates = [date for date in DATES if date >= since]
    return Requirement(
        id=identifier,
        text="An example.",
        levels=dict.fromkeys(dates, Level.MUST),
        bases=dict.fromkeys(dates, Basis.TEXT),
        urls=dict.fromkeys(dates, ("https://example.com/",)),
        observable="yes",
        **changes,
    )


REQUIREMENTS = {
    each.id: each
    for each in (
        requirement("tools/unknown-tool-refused"),
        requirement("tools/list-shape"),
        requirement("tools/late", since="2026-07-28"),
        requirement("jsonrpc/valid-messages"),
        requirement("jsonrpc/parse-error-code"),
        requirement("transport-http/status", since="2025-03-26", transports=("http",)),
        requirement("tools/hidden", unobservable="nobody can see it"),
    )
}


@dataclass(frozen=True)
class Judge:
    requirements: tuple[str, ...]
    illegal: bool = False


PROBES = {
    "resources.observed": Judge(()),
    "tools.walk": Judge(("tools/list-shape", "tools/late")),
    "fuzz.malformed": Judge(("jsonrpc/parse-error-code",)),
}
PICKS = {"tool-call", "resource-uri"}
KNOWN = Known(REQUIREMENTS, PICKS, PROBES)

HEAD = "area: tools\ncases:\n"
FULL = """\
  - id: full
    title: A case with every word
    requires: [tools, [resources, prompts.listChanged]]
    since: "2025-03-26"
    until: "2026-07-28"
    eras: [handshake, stateless]
    transports: [http]
    client: {roots: {}}
    isolation: process
    open: false
    harmful: true
    steps:
      - request: tools/call
        params: {$pick: tool-call}
        id: 7
        illegal: true
        meta: false
        headers: {x-test: "1", Mcp-Name: null}
        save: {content: result.content.0}
        expect:
          - requirement: tools/unknown-tool-refused
            response: {result: {content: [{$saved: content}]}}
            severity: advice
            silence: inconclusive
            message: The sentence of the finding
          - requirement: transport-http/status
            status: {$any: [200, 202]}
      - notify: notifications/x
        params: {again: {$saved: content}}
        expect: [{requirement: jsonrpc/valid-messages, nothing: true}]
      - raw: '{"jsonrpc": '
      - raw64: /w==
      - http: {method: POST, headers: {accept: "*/*"}, body: x}
        expect: [{requirement: transport-http/status, headers: {content-type: {$matches: json}}}]
      - http: {body64: eA==}
      - batch: [{jsonrpc: "2.0", id: 1, method: ping}, {jsonrpc: "2.0", method: x, params: {$pick: resource-uri}}]
        illegal: true
        expect: [{requirement: jsonrpc/valid-messages, notifications: {$each: {method: {$type: string}}}}]
      - probe: tools.walk
        with: {pages: 3}
        requirements: [tools/list-shape]
      - close: true
        expect: [{requirement: jsonrpc/valid-messages, alive: true}]
"""
SMALL = """\
  - id: small
    title: A small case
    steps:
      - request: tools/call
        params: {name: none}
        expect:
          - requirement: tools/unknown-tool-refused
            response: {error: {code: {$type: integer}}}
"""


def loaded(folder: Path, cases: str, own: dict[str, Requirement] | None = None) -> tuple[Case, ...]:
    (folder / "tools.yaml").write_text(HEAD + cases, encoding="utf-8")
    return load_cases(folder, Known(REQUIREMENTS, PICKS, PROBES, own, {"jsonrpc/valid-messages"}))


def complaint(folder: Path, cases: str) -> str:
    """What is said about a file, without its folder; line 3 is the first of `cases`."""
    with pytest.raises(FileError) as caught:
        loaded(folder, cases)
    return str(caught.value).removeprefix(f"{folder}/")


# -- what a file may say


def test_a_small_case_has_the_defaults(tmp_path: Path) -> None:
    expectation = Expectation("tools/unknown-tool-refused", "response", {"error": {"code": {"$type": "integer"}}})
    step = Step(
        "request",
        method="tools/call",
        params={"name": "none"},
        expect=(expectation,),
        judges=("tools/unknown-tool-refused",),
    )
    assert loaded(tmp_path, SMALL) == (Case("tools/small", "tools", "A small case", steps=(step,)),)
    assert step.id is ABSENT


def test_every_word_of_a_case_arrives(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, FULL)
    assert (case.id, case.requires) == ("tools/full", (("tools",), ("resources", "prompts.listChanged")))
    assert (case.since, case.until) == ("2025-03-26", "2026-07-28")
    assert (case.eras, case.transports, case.client) == (("handshake", "stateless"), ("http",), {"roots": {}})
    assert (case.isolation, case.open, case.harmful) == ("process", False, True)


def test_every_word_of_a_request_arrives(tmp_path: Path) -> None:
    step = loaded(tmp_path, FULL)[0].steps[0]
    assert (step.kind, step.method, step.params, step.id) == ("request", "tools/call", {"$pick": "tool-call"}, 7)
    assert (step.illegal, step.meta, step.headers) == (True, False, {"x-test": "1", "Mcp-Name": None})
    assert step.save == {"content": "result.content.0"}
    assert step.expect[0] == Expectation(
        "tools/unknown-tool-refused",
        "response",
        {"result": {"content": [{"$saved": "content"}]}},
        Severity.ADVICE,
        "inconclusive",
        "The sentence of the finding",
    )
    assert (step.expect[1].subject, step.expect[1].pattern) == ("status", {"$any": [200, 202]})


def test_every_kind_of_step_arrives(tmp_path: Path) -> None:
    _, notify, raw, raw64, http, http64, batch, probe, close = loaded(tmp_path, FULL)[0].steps
    assert (notify.kind, notify.method, notify.illegal) == ("notify", "notifications/x", False)
    assert (raw.kind, raw.raw, raw.illegal) == ("raw", '{"jsonrpc": ', True)
    assert (raw64.kind, raw64.raw, raw64.raw64) == ("raw", "", "/w==")
    assert (http.kind, http.raw, http.headers, http.illegal) == ("http", "x", {"accept": "*/*"}, True)
    assert (http64.raw, http64.raw64) == ("", "eA==")
    assert (batch.kind, len(batch.batch), batch.illegal) == ("batch", 2, True)
    assert (probe.kind, probe.probe, probe.settings) == ("probe", "tools.walk", {"pages": 3})
    assert (close.kind, close.expect[0].pattern) == ("close", True)


def test_a_case_can_judge_what_its_steps_can_judge(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, FULL)
    assert case.requirements == (
        "tools/unknown-tool-refused",
        "transport-http/status",
        "jsonrpc/valid-messages",
        "tools/list-shape",
    )


def test_a_probe_judges_all_that_it_was_registered_for_unless_the_case_says_less(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, "  - {id: walk, title: Walk all of it, steps: [{probe: tools.walk}]}\n")
    assert case.requirements == ("tools/list-shape", "tools/late")


def test_what_a_probe_observes_is_judged_by_the_case(tmp_path: Path) -> None:
    steps = "[{probe: resources.observed, as: one, expect: [{requirement: tools/list-shape, saved: {one.name: x}}]}]"
    (case,) = loaded(tmp_path, f"  - {{id: seen, title: Something that is seen, steps: {steps}}}\n")
    (step,) = case.steps
    assert (step.kind, step.name, case.requirements) == ("probe", "one", ("tools/list-shape",))


def test_what_invariants_judge_may_be_left_undecided_and_what_nothing_judges_may_not(tmp_path: Path) -> None:
    steps = '    undecided: {jsonrpc/valid-messages: "nothing was heard"}\n    steps:'
    (case,) = loaded(tmp_path, SMALL.replace("    steps:", steps))
    assert case.requirements == ("tools/unknown-tool-refused", "jsonrpc/valid-messages")
    said = complaint(tmp_path, SMALL.replace("    steps:", steps.replace("jsonrpc/valid-messages", "tools/list-shape")))
    assert said == "tools.yaml:5: no step of tools/small judges tools/list-shape, nor does an invariant"


def test_an_id_that_is_null_is_not_an_id_that_is_left_out(tmp_path: Path) -> None:
    (case,) = loaded(tmp_path, SMALL.replace("params:", "id: null\n        params:"))
    assert case.steps[0].id is None


def test_conditions_may_ask_whether_the_server_lives(tmp_path: Path) -> None:
    row = "judge: [{alive: false, broken: It does not live}, {held: true}]"
    (case,) = loaded(tmp_path, SMALL.replace("response: {error: {code: {$type: integer}}}", row))
    assert [row.when.alive for row in case.steps[0].expect[0].rows] == [False, None]


def test_a_case_of_the_user_is_a_rule_where_it_names_none(tmp_path: Path) -> None:
    own: dict[str, Requirement] = {}
    text = SMALL.replace("requirement: tools/unknown-tool-refused\n            ", "")
    (case,) = loaded(tmp_path, text, own)
    assert (case.id, case.area, case.requirements) == ("own/tools/small", "own/tools", ("own/tools/small",))
    rule = own["own/tools/small"]
    assert set(rule.bases.values()) == {Basis.OWN}
    assert rule.urls["2025-11-25"] == (f"{tmp_path}/tools.yaml:3",)


def test_a_case_of_the_suite_must_name_a_requirement(tmp_path: Path) -> None:
    text = SMALL.replace("requirement: tools/unknown-tool-refused\n            ", "")
    assert complaint(tmp_path, text) == "tools.yaml:9: expect needs 'requirement'"


def test_the_cases_of_the_suite_are_well_formed() -> None:
    found = cases_of_the_suite()
    assert found
    assert len({case.id for case in found}) == len(found)


# -- what is said about a wrong file


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("title: A small case", "title: 2025-11-25", 4, "2025-11-25 means different things to YAML readers"),
        ("    title: A small case\n", "    id: again\n", 4, "the key 'id' stands twice"),
        ("    title: A small case\n", "", 3, "cases.0 needs 'title'"),
        (
            "title: A small case",
            "title: A small case\n    sice: 1",
            5,
            "'sice' is not known in cases.0; allowed are id,",
        ),
        ("    steps:", "\tsteps:", 5, "is not valid YAML"),
        ("id: small", "id: Small", 3, "cases.0.id: 'Small' does not match"),
        ("id: small", "id: small\n    since: '2025'", 4, "cases.0.since: '2025' is not one of"),
        ("id: small", "id: small\n    isolation: none", 4, "cases.0.isolation: 'none' is not one of"),
        ("id: small", "id: small\n    requires: [[]]", 4, "cases.0.requires.0"),
        ("id: small", "id: small\n    open: false", 4, "cannot share one"),
        ("id: small", "id: small\n    since: '2025-06-18'\n    until: '2025-03-26'", 3, "is about no revision"),
        ("id: small", "id: small\n    since: '2026-07-28'\n    eras: [handshake]", 3, "is about no revision"),
        ("request:", "reqest:", 6, "cases.0.steps.0 needs exactly one of request, notify, raw"),
        ("- request: tools/call", "- request: x\n        notify: x", 6, "not known in cases.0.steps.0"),
        ("params: {name: none}", "parms: {}", 7, "'parms' is not known in cases.0.steps.0; allowed are request,"),
        ("params: {name: none}", "illegal: false", 7, "cases.0.steps.0.illegal: True was expected"),
        ("{name: none}", "{a: [{$pick: tool}]}", 7, "there is no pick 'tool'; did you mean tool-call?"),
        (
            "{name: none}",
            "{$picks: tool-call}",
            7,
            "$picks is not known in what is sent; allowed are $pick, $saved, $in-base64",
        ),
        ("{name: none}", "{$pick: tool-call, a: 1}", 7, "$pick takes a name and stands alone"),
        ("{name: none}", "{$saved: [x]}", 7, "$saved takes a name and stands alone"),
        ("{name: none}", "{a: {$saved: x}}", 7, "nothing was saved as 'x' before"),
        ("{name: none}", "{a: $x.y}", 7, "nothing was saved as 'x' before"),
        ("{name: none}", "{a: {$saved: x}}\n        save: {x: result}", 7, "nothing was saved as 'x' before"),
        ("{name: none}", "{}\n        save: {x: a..b}", 8, "cases.0.steps.0.save.x"),
        ("{name: none}", "{}\n        headers: {a: $x}", 8, "nothing was saved as 'x' before"),
        ("{name: none}", "{}\n        headers: $x.y", 8, "nothing was saved as 'x' before"),
        ("{name: none}", "{}\n        headers: {a: {$in-base64: $x}}", 8, "nothing was saved as 'x' before"),
        (
            "{name: none}",
            "{}\n        headers: {a: {$in-base64: {}}}",
            8,
            "headers.a.$in-base64: {} is not of type 'string'",
        ),
        ("{name: none}", "{}\n        headers: x", 8, "cases.0.steps.0.headers: 'x' does not match"),
        (
            "id: small",
            "id: small\n    each: {x: [{$pick: tool}]}",
            4,
            "there is no pick 'tool'; did you mean tool-call?",
        ),
        ("id: small", "id: small\n    until-decided: true", 3, "'each' is a dependency of 'until-decided'"),
        ("unknown-tool-refused", "unknown-tol-refused", 9, "did you mean tools/unknown-tool-refused?"),
        ("unknown-tool-refused", "hidden", 9, "tools/hidden cannot be judged: nobody can see it"),
        (
            "        expect:\n          - requirement",
            "        expect:\n          - reqirement",
            9,
            "'reqirement' is not known",
        ),
        ("response:", "respons:", 10, "'respons' is not known in cases.0.steps.0.expect.0"),
        (
            "            response:",
            "            nothing: true\n            response:",
            9,
            "exactly one of response, answ",
        ),
        ("            response: {error: {code: {$type: integer}}}\n", "", 9, "exactly one of response, answered"),
        ("response: {error: {code: {$type: integer}}}", "alive: 1", 10, "expect.0.alive: True was expected"),
        ("$type: integer", "$type: int", 10, '"int" is not a JSON type'),
        ("$type: integer", "$typ: integer", 10, "$typ is not a word of the language"),
        ("$type: integer", "$matches: '('", 10, "is not a regular expression"),
        ("$type: integer", "$saved: x", 10, "nothing was saved as 'x' before"),
        (
            "            response:",
            "            severity: violation\n            response:",
            10,
            "'violation' is not one of",
        ),
        (
            "response: {error",
            "silence: allowed\n            notifications: {error",
            10,
            "it needs 'response' or 'judge'",
        ),
        ("response: {error", "status: {error", 6, "what only HTTP has needs transports: [http]"),
        ("request: tools/call\n        params: {name: none}", "notify: x", 6, "no response can follow 'notify'"),
        ("request: tools/call\n        params: {name: none}", "raw: x", 6, "'raw' cannot share a session"),
        (
            "request: tools/call\n        params: {name: none}",
            "raw64: x",
            6,
            "cases.0.steps.0.raw64: 'x' does not match",
        ),
        ("request: tools/call\n        params: {name: none}", "http: {}", 6, "needs exactly one of body, body64"),
        ("request: tools/call\n        params: {name: none}", "http: {body: x}", 6, "needs transports: [http]"),
        ("request: tools/call\n        params: {name: none}", "batch: [1]", 6, "cases.0.steps.0.batch.0"),
    ],
)
def test_a_wrong_case_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert old in SMALL
    said = complaint(tmp_path, SMALL.replace(old, new, 1))
    assert said.startswith(f"tools.yaml:{line}: "), said
    assert what in said


@pytest.mark.parametrize(
    ("steps", "line", "what"),
    [
        ("[{request: ping}]", 3, "tools/bare judges no requirement"),
        ("[{close: true}, {probe: tools.walk}]", 3, "a case that says 'close' cannot share a session"),
        ("[{probe: tools.wal}]", 3, "there is no probe 'tools.wal'; did you mean tools.walk?"),
        ("[{probe: tools.walk, requirements: [tools/none]}]", 3, "there is no requirement 'tools/none'"),
        (
            "[{probe: tools.walk, requirements: [jsonrpc/valid-messages]}]",
            3,
            "the probe tools.walk does not judge jsonrpc/valid-messages",
        ),
        (
            "[{probe: tools.walk, expect: [{requirement: tools/list-shape, answered: true}]}]",
            3,
            "the probe tools.walk judges by itself: there is nothing to expect",
        ),
        (
            "[{probe: resources.observed, expect: [{requirement: tools/list-shape, answered: true}]}]",
            3,
            "the probe resources.observed makes observations: it needs 'as'",
        ),
        (
            "[{request: ping, expect: [{requirement: tools/list-shape, judge: [{held: true, actual: x}]}]}]",
            3,
            "'broken' is a dependency of 'actual'",
        ),
        ("[{probe: tools.walk, params: {}}]", 3, "'params' is not known in cases.0.steps.0; allowed are probe, with,"),
    ],
)
def test_a_wrong_step_is_refused_with_its_line(tmp_path: Path, steps: str, line: int, what: str) -> None:
    said = complaint(tmp_path, f"  - {{id: bare, title: A bare case, steps: {steps}}}\n")
    assert said.startswith(f"tools.yaml:{line}: "), said
    assert what in said


def test_a_reference_within_a_text_that_is_sent_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace("    steps:", "    each: {x: [1]}\n    steps:").replace("{name: none}", "{name: no-$x}")
    assert "a reference stands alone in what is sent: 'no-$x'" in complaint(tmp_path, text)
    assert loaded(tmp_path, text.replace("no-$x", "no-$y"))


def test_names_of_headers_are_in_lower_case(tmp_path: Path) -> None:
    said = complaint(tmp_path, FULL.replace("headers: {content-type", "headers: {Content-Type"))
    assert "names of headers are compared in lower case: 'content-type'" in said


def test_a_requirement_that_holds_nowhere_in_the_window_of_the_case_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace("unknown-tool-refused", "late")
    assert loaded(tmp_path, text)
    said = complaint(tmp_path, text.replace("id: small", "id: small\n    until: '2025-11-25'"))
    assert said == "tools.yaml:10: tools/late holds in no revision over no transport of tools/small"


def test_a_requirement_of_another_transport_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace("tools/unknown-tool-refused", "transport-http/status")
    assert loaded(tmp_path, text)
    said = complaint(tmp_path, text.replace("id: small", "id: small\n    transports: [stdio]"))
    assert "transport-http/status holds in no revision over no transport" in said


def test_two_cases_of_one_id_are_refused(tmp_path: Path) -> None:
    assert complaint(tmp_path, SMALL + SMALL) == "tools.yaml:11: there is another case 'small'"


def test_the_area_is_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "prompts.yaml").write_text(HEAD + SMALL)
    with pytest.raises(FileError, match=r"prompts\.yaml:1: area must be the name of the file, 'prompts'"):
        load_cases(tmp_path, KNOWN)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no case"):
        load_cases(tmp_path, KNOWN)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="none:1: there is no such folder"):
        load_cases(tmp_path / "none", KNOWN)


@pytest.mark.parametrize("text", ["", "[]", "area: tools\ncases: []\n", "area: tools\n"])
def test_a_file_without_cases_is_refused_with_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "tools.yaml").write_text(text)
    with pytest.raises(FileError, match=r"tools\.yaml:[12]: "):
        load_cases(tmp_path, KNOWN)


# -- selection


def case(identifier: str, *judges: str, **changes: Any) -> Case:
    steps = (Step("probe", judges=judges),)
    return Case(identifier, identifier.rpartition("/")[0], "A case", steps=steps, **changes)


CASES = (
    case("tools/unknown-tool", "tools/unknown-tool-refused", "jsonrpc/valid-messages"),
    case("tools/walk", "tools/list-shape", isolation="process"),
    case("tools/late", "tools/unknown-tool-refused", isolation="process"),
    case("jsonrpc/garbage", "jsonrpc/parse-error-code", isolation="process"),
    case("fuzz/malformed", "jsonrpc/parse-error-code", isolation="process"),
)
INVARIANT = frozenset({"jsonrpc/valid-messages", "tools/late"})
EXTRA = ("session/opening", "session/survey")


def selected(only: str = "", skip: str = "") -> Selection:
    return select(CASES, REQUIREMENTS, only.split(), skip.split(), invariant=INVARIANT, extra=EXTRA)


def names(selection: Selection) -> list[str]:
    return [case.id for case in selection.cases]


def test_without_patterns_everything_is_selected() -> None:
    assert selected() == Selection(CASES, frozenset(REQUIREMENTS))


def test_a_requirement_selects_the_cases_that_judge_it_and_alone_is_reported() -> None:
    selection = selected("tools/unknown-tool-refused")
    assert names(selection) == ["tools/unknown-tool", "tools/late"]
    assert selection.requirements == {"tools/unknown-tool-refused"}


def test_an_area_selects_its_requirements_and_no_others() -> None:
    selection = selected("tools")
    assert selection.requirements == {i for i in REQUIREMENTS if i.startswith("tools/")}
    assert names(selection) == ["tools/unknown-tool", "tools/walk", "tools/late"]


def test_a_glob_means_requirements_before_cases() -> None:
    assert selected("tools/unknown-*").requirements == {"tools/unknown-tool-refused"}


def test_a_case_is_played_and_all_that_it_and_the_invariants_judge_is_reported() -> None:
    selection = selected("tools/unknown-tool")
    assert names(selection) == ["tools/unknown-tool"]
    assert selection.requirements == {"tools/unknown-tool-refused", "jsonrpc/valid-messages", "tools/late"}


def test_of_a_case_only_what_is_about_one_requirement_can_be_reported() -> None:
    selection = selected("tools/unknown-tool:jsonrpc/valid-messages session/survey:tools/list-shape")
    assert names(selection) == ["tools/unknown-tool"]
    assert selection.requirements == {"jsonrpc/valid-messages", "tools/list-shape"}


@pytest.mark.parametrize(
    ("only", "skip", "words"),
    [
        ("tools/unknown-tool:tools/walk", "", "is not of the form CASE:REQUIREMENT"),
        ("tools/list-shape:tools/list-shape", "", "is not of the form CASE:REQUIREMENT"),
        ("tools/unknown-tool:tools/list-shap", "", "did you mean tools/list-shape"),
        ("", "tools/unknown-tool:tools/list-shape", "is for --only"),
    ],
)
def test_a_pair_of_case_and_requirement_that_is_none_is_refused(only: str, skip: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        selected(only, skip)


def test_a_name_of_a_case_and_a_requirement_means_both() -> None:
    selection = selected("tools/late")
    assert "tools/late" in names(selection)
    assert selection.requirements == {"tools/late", "tools/unknown-tool-refused", "jsonrpc/valid-messages"}


def test_an_area_of_cases_only_means_its_cases() -> None:
    selection = selected("fuzz")
    assert names(selection) == ["fuzz/malformed"]
    assert "jsonrpc/parse-error-code" in selection.requirements


def test_a_requirement_of_an_invariant_is_put_to_the_test_by_its_area_and_the_shared_cases() -> None:
    selection = selected("jsonrpc/valid-messages")
    assert names(selection) == ["tools/unknown-tool", "jsonrpc/garbage"]
    assert selection.requirements == {"jsonrpc/valid-messages"}


def test_a_requirement_of_an_invariant_leaves_lone_and_harmful_cases_of_other_areas_alone() -> None:
    shared = case("ping/shared", "jsonrpc/parse-error-code")
    harmful = case("ping/harmful", "jsonrpc/parse-error-code", harmful=True)
    lone = case("ping/lone", "jsonrpc/parse-error-code", isolation="session")
    selection = select((shared, harmful, lone), REQUIREMENTS, ["tools/list-shape"], invariant={"tools/list-shape"})
    assert selection.cases == (shared,)


def test_what_is_said_outside_of_cases_can_be_selected_like_a_case() -> None:
    selection = selected("session/survey")
    assert selection == Selection((), INVARIANT)


def test_several_patterns_add_up() -> None:
    selection = selected("tools/list-shape jsonrpc/parse-error-code")
    assert selection.requirements == {"tools/list-shape", "jsonrpc/parse-error-code"}
    assert names(selection) == ["tools/walk", "jsonrpc/garbage", "fuzz/malformed"]


def test_skipped_requirements_are_not_reported_and_cases_of_them_alone_are_not_played() -> None:
    selection = selected(skip="tools")
    assert names(selection) == ["tools/unknown-tool", "jsonrpc/garbage", "fuzz/malformed"]
    assert selection.requirements == {i for i in REQUIREMENTS if not i.startswith("tools/")}


def test_a_skipped_case_takes_along_what_only_it_judges() -> None:
    selection = selected(skip="tools/walk")
    assert "tools/walk" not in names(selection)
    assert selection.requirements == set(REQUIREMENTS) - {"tools/list-shape"}


def test_a_skipped_case_leaves_what_others_judge() -> None:
    selection = selected(skip="fuzz")
    assert names(selection)[-1] == "jsonrpc/garbage"
    assert "jsonrpc/parse-error-code" in selection.requirements


def test_skip_takes_from_what_only_leaves() -> None:
    selection = selected("tools", "tools/walk")
    assert names(selection) == ["tools/unknown-tool", "tools/late"]
    assert "tools/list-shape" not in selection.requirements


@pytest.mark.parametrize("pattern", ["tool", "tools/unknown-tols", "x*", "jsonrpc/"])
@pytest.mark.parametrize("option", ["only", "skip"])
def test_a_pattern_that_matches_nothing_is_an_error_that_names_it(option: str, pattern: str) -> None:
    with pytest.raises(UsageError) as caught:
        selected(**{option: pattern})
    assert str(caught.value).startswith(f"nothing matches {pattern!r}")


def test_the_nearest_names_are_told() -> None:
    with pytest.raises(UsageError, match="did you mean tools/unknown-tool or tools/unknown-tool-refused"):
        selected("tools/unknown-tols")
    with pytest.raises(UsageError, match="did you mean tools"):
        selected("tool")


def test_patterns_that_leave_nothing_are_an_error() -> None:
    with pytest.raises(UsageError, match="leave nothing to test"):
        selected("tools/list-shape", "tools/list-shape")
