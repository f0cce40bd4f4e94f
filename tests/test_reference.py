"""The reference server, through its front door: a process on stdio, or an HTTP endpoint."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from conformance.catalogue.requirements import load
from conformance.checks.profiles.rules import load as rules
from conformance.checks.profiles.rules import requirements

COMMAND = (sys.executable, "-m", "conformance.reference")
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
PATIENCE = 20.0
Message = dict[str, Any]


def initialize(revision: str, capabilities: Message | None = None) -> Message:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 71, "method": "initialize", "params": params}


def meta(capabilities: Message | None = None, **more: Any) -> Message:
    return {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
        **more,
    }


class Client:
    """Writes lines to a server process, and reads the lines that it answers."""

    def __init__(self, *arguments: str, revision: str | None = None, capabilities: Message | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.watchdog = Timer(PATIENCE, self.process.kill)
        self.watchdog.start()
        self.stateless = revision == STATELESS
        self.capabilities = capabilities
        self.others: list[Message] = []
        self.next_id = 0
        if revision and not self.stateless:
            self.write(initialize(revision, capabilities))
            self.opened = self.response(71)
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.communicate()

    def write(self, *messages: Any) -> None:
        self.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def write_bytes(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server closed its output"
        return json.loads(line)

    def response(self, identity: Any) -> Message:
        """The response with this id; what came before it is kept in `others`."""
        while True:
            message: Message = self.read()
            if "method" not in message and message.get("id") == identity:
                return message
            self.others.append(message)

    def send(self, method: str, **params: Any) -> Any:
        """Send a request; returns its id."""
        self.next_id += 1
        if self.stateless:
            params["_meta"] = {**meta(self.capabilities), **params.get("_meta", {})}
        self.write({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def ask(self, method: str, **params: Any) -> Message:
        """The response to a request."""
        return self.response(self.send(method, **params))

    def result(self, method: str, **params: Any) -> Message:
        response = self.ask(method, **params)
        assert "result" in response, response
        result: Message = response["result"]
        return result

    def code(self, method: str, **params: Any) -> int:
        response = self.ask(method, **params)
        assert "error" in response, response
        code: int = response["error"]["code"]
        return code

    def everything(self, method: str, member: str) -> list[Message]:
        """All pages of a list."""
        page = self.result(method)
        items = list(page[member])
        while "nextCursor" in page:
            page = self.result(method, cursor=page["nextCursor"])
            items += page[member]
        return items

    def end(self) -> tuple[int, list[bytes]]:
        """Close the input; the exit status, and the lines that still came."""
        output, _ = self.process.communicate()
        return self.process.returncode, output.splitlines()


@cache
def faults() -> tuple[Message, ...]:
    printed = subprocess.run([*COMMAND, "--list-faults"], capture_output=True, check=True, text=True).stdout
    return tuple(json.loads(line) for line in printed.splitlines())


every_revision = pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])


# Opening


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_supported_version_is_answered_by_itself(revision: str) -> None:
    with Client(revision=revision) as client:
        assert client.opened["result"]["protocolVersion"] == revision


@pytest.mark.parametrize("requested", ["1999-01-01", STATELESS, "nonsense"])
def test_an_unsupported_version_is_answered_by_the_latest_of_the_handshake_era(requested: str) -> None:
    with Client("--revisions", "2024-11-05,2025-06-18") as client:
        client.write(initialize(requested))
        assert client.response(71)["result"]["protocolVersion"] == "2025-06-18"


def test_discover_names_the_stateless_version_and_the_server() -> None:
    with Client(revision=STATELESS) as client:
        result = client.result("server/discover")
        assert result["supportedVersions"] == [STATELESS]
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "mcp-conform-reference"


def test_the_first_request_fixes_the_era() -> None:
    with Client(revision="2025-11-25") as client:
        assert client.code("server/discover", _meta=meta()) == -32601
    with Client(revision=STATELESS) as client:
        client.result("tools/list")
        client.write(initialize("2025-11-25"))
        assert client.response(71)["error"]["code"] == -32022


def test_a_server_without_a_feature_neither_declares_nor_serves_it() -> None:
    with Client("--without", "prompts,logging", revision="2025-06-18") as client:
        assert set(client.opened["result"]["capabilities"]) == {"tools", "resources", "completions"}
        assert client.code("prompts/list") == -32601
        assert client.code("logging/setLevel", level="info") == -32601


def test_a_stateless_request_is_refused_for_what_its_meta_lacks() -> None:
    with Client(revision=STATELESS) as client:
        client.result("server/discover")
        client.write({"jsonrpc": "2.0", "id": "bare", "method": "tools/list"})
        assert client.response("bare")["error"]["code"] == -32602
        wanted = {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        error = client.ask("tools/list", _meta=wanted)["error"]
        assert (error["code"], error["data"]) == (-32022, {"supported": [STATELESS], "requested": "1900-01-01"})
        client.result("tools/list")


def test_methods_removed_from_the_stateless_era_are_unknown_there() -> None:
    with Client(revision=STATELESS) as client:
        assert client.code("ping") == -32601
        assert client.code("logging/setLevel", level="info") == -32601
        assert client.code("resources/subscribe", uri="reference://text/readme") == -32601


# Features


@every_revision
def test_every_list_spans_pages_and_ends(revision: str) -> None:
    with Client(revision=revision) as client:
        for method, member, key in (
            ("tools/list", "tools", "name"),
            ("resources/list", "resources", "uri"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate"),
            ("prompts/list", "prompts", "name"),
        ):
            assert "nextCursor" in client.result(method)
            names = [item[key] for item in client.everything(method, member)]
            assert len(names) == len(set(names)) > 5
            assert client.code(method, cursor="mcp-conform-invalid-cursor") == -32602


@every_revision
def test_content_types_are_those_of_the_revision(revision: str) -> None:
    with Client(revision=revision) as client:
        types = {block["type"] for block in client.result("tools/call", name="show_content")["content"]}
        later = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
        assert types == {"text", "image", "resource"} | {kind for kind, since in later.items() if since <= revision}


@every_revision
def test_every_listed_resource_and_prompt_can_be_had_but_the_broken_ones(revision: str) -> None:
    with Client(revision=revision) as client:
        for resource in client.everything("resources/list", "resources"):
            response = client.ask("resources/read", uri=resource["uri"])
            assert ("error" in response) == ("broken" in resource["uri"])
        for prompt in client.everything("prompts/list", "prompts"):
            values = {each["name"]: "x" for each in prompt.get("arguments", ())}
            response = client.ask("prompts/get", name=prompt["name"], arguments=values)
            assert ("error" in response) == (prompt["name"] == "broken")


@every_revision
def test_what_does_not_exist_is_refused_with_the_code_of_the_revision(revision: str) -> None:
    with Client(revision=revision) as client:
        assert client.code("mcp-conform/none") == -32601
        assert client.code("tools/call", name="none") == -32602
        assert client.code("prompts/get", name="none") == -32602
        assert client.code("prompts/get", name="greet") == -32602
        expected = -32602 if revision == STATELESS else -32002
        assert client.code("resources/read", uri="mcp-conform://none") == expected


@pytest.mark.parametrize("arguments", [{}, {"a": "1", "b": 2}, {"a": 1, "b": 2, "c": 3}])
def test_invalid_arguments_are_a_tool_error_from_2025_11_25_and_invalid_params_before(arguments: Message) -> None:
    with Client(revision="2025-06-18") as client:
        assert client.code("tools/call", name="add", arguments=arguments) == -32602
    with Client(revision="2025-11-25") as client:
        assert client.result("tools/call", name="add", arguments=arguments)["isError"] is True


def test_progress_rises_under_the_token_of_the_request_and_only_if_there_is_one() -> None:
    with Client(revision="2025-11-25") as client:
        client.result("tools/call", name="count", arguments={"steps": 4}, _meta={"progressToken": 0})
        assert [note["params"]["progress"] for note in client.others] == [1, 2, 3, 4]
        assert {note["params"]["progressToken"] for note in client.others} == {0}
        client.others.clear()
        client.result("tools/call", name="count")
        assert client.others == []


def test_log_messages_are_those_of_the_level_that_was_set() -> None:
    with Client(revision="2025-06-18") as client:
        client.result("logging/setLevel", level="alert")
        client.result("tools/call", name="log_levels")
        assert [note["params"]["level"] for note in client.others] == ["alert", "emergency"]
    with Client(revision=STATELESS) as client:
        client.result("tools/call", name="log_levels")
        assert client.others == []


def test_a_cancelled_call_is_not_answered_and_others_do_not_wait_for_it() -> None:
    with Client(revision="2025-06-18") as client:
        slow = client.send("tools/call", name="wait", arguments={"seconds": 600}, _meta={"progressToken": "t"})
        client.result("ping")
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        client.result("tools/call", name="wait")
        assert all(message.get("id") != slow for message in client.others)


def test_changes_are_announced_to_those_who_are_to_know() -> None:
    with Client(revision="2025-06-18") as client:
        client.result("resources/subscribe", uri="reference://live/counter")
        for tool in ("toggle_tool", "toggle_resource", "toggle_prompt", "touch_resource"):
            client.result("tools/call", name=tool)
        assert [note["method"].removeprefix("notifications/") for note in client.others] == [
            "tools/list_changed",
            "resources/list_changed",
            "prompts/list_changed",
            "resources/updated",
        ]
        client.others.clear()
        client.result("resources/unsubscribe", uri="reference://live/counter")
        client.result("tools/call", name="touch_resource")
        assert client.others == []


def test_a_subscription_gets_what_it_asked_for_under_its_id_until_it_is_cancelled() -> None:
    with Client(revision=STATELESS) as client:
        identity = client.send("subscriptions/listen", notifications={"toolsListChanged": True})
        client.result("tools/call", name="toggle_tool")
        client.result("tools/call", name="toggle_prompt")
        methods = [note["method"].removeprefix("notifications/") for note in client.others]
        assert methods == ["subscriptions/acknowledged", "tools/list_changed"]
        ids = {note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for note in client.others}
        assert ids == {identity}
        client.others.clear()
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": identity}})
        client.result("tools/call", name="toggle_tool")
        assert client.others == []


ANSWERS: Message = {
    "ask_weather": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "In Paris"}},
    "ask_name": {"action": "accept", "content": {"name": "Ada"}},
    "ask_consent": {"action": "decline"},
    "ask_model": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}},
    "ask_roots": {"roots": [{"uri": "file:///tmp"}]},
}
ALL: Message = {"sampling": {"tools": {}}, "roots": {}, "elicitation": {"form": {}, "url": {}}}


@pytest.mark.parametrize("tool", ANSWERS)
def test_a_tool_asks_a_client_that_can_answer_and_no_other(tool: str) -> None:
    with Client(revision="2025-11-25", capabilities=ALL) as client:
        identity = client.send("tools/call", name=tool)
        request = client.read()
        client.write({"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS[tool]})
        assert "isError" not in client.response(identity)["result"]
    with Client(revision="2025-11-25") as client:
        assert client.result("tools/call", name=tool)["isError"] is True
        assert client.others == []


@pytest.mark.parametrize("tool", ANSWERS)
def test_a_stateless_tool_asks_by_its_result(tool: str) -> None:
    with Client(revision=STATELESS, capabilities=ALL) as client:
        asked = client.result("tools/call", name=tool)
        assert asked["resultType"] == "input_required"
        (key,) = asked["inputRequests"]
        again = {"name": tool, "requestState": asked["requestState"]}
        done = client.result("tools/call", inputResponses={key: ANSWERS[tool]}, **again)
        assert done["resultType"] == "complete" and "isError" not in done
        assert client.result("tools/call", inputResponses={}, **again)["resultType"] == "input_required"
        forged = {"name": tool, "requestState": asked["requestState"][:-1] + "x"}
        assert client.code("tools/call", inputResponses={key: ANSWERS[tool]}, **forged) == -32602
    with Client(revision=STATELESS) as client:
        error = client.ask("tools/call", name=tool)["error"]
        assert error["code"] == -32021 and len(error["data"]["requiredCapabilities"]) == 1


USE: Message = {"type": "tool_use", "id": "use", "name": "get_weather", "input": {"city": "Paris"}}


def test_a_model_gets_the_results_of_its_tools_and_at_last_no_tools_any_more() -> None:
    with Client(revision="2025-11-25", capabilities=ALL) as client:
        identity = client.send("tools/call", name="ask_weather")
        for turn in range(1, 6):
            request = client.read()
            messages = request["params"]["messages"]
            assert request["params"]["toolChoice"] == {"mode": "none" if turn == 5 else "auto"}
            assert len(messages) == 2 * turn - 1
            if turn > 1:
                assert [block["toolUseId"] for block in messages[-1]["content"]] == ["use"]
            said = {"role": "assistant", "model": "m", "content": [USE], "stopReason": "toolUse"}
            client.write({"jsonrpc": "2.0", "id": request["id"], "result": said})
        assert client.response(identity)["result"]["isError"] is True


def test_a_url_to_be_opened_first_is_an_error_only_where_there_is_one_for_that() -> None:
    with Client(revision="2025-11-25", capabilities=ALL) as client:
        error = client.ask("tools/call", name="ask_account")["error"]
        (wanted,) = error["data"]["elicitations"]
        assert (error["code"], wanted["mode"]) == (-32042, "url") and wanted["elicitationId"]
    for revision, capabilities in (("2025-11-25", {"elicitation": {}}), ("2025-06-18", ALL)):
        with Client(revision=revision, capabilities=capabilities) as client:
            assert client.result("tools/call", name="ask_account")["isError"] is True


def test_a_file_is_read_only_in_the_roots_which_are_asked_for_again_when_they_change(tmp_path: Path) -> None:
    note, other = tmp_path / "a" / "note.txt", tmp_path / "b" / "note.txt"
    for path in (note, other):
        path.parent.mkdir()
        path.write_text("A note.")
    with Client(revision="2025-11-25", capabilities={"roots": {"listChanged": True}}) as client:
        for root, path, readable in ((note, note, True), (None, other, False), (other, other, True)):
            if root is other:
                client.write({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
            identity = client.send("tools/call", name="read_note", arguments={"path": str(path)})
            if root is not None:
                roots = {"roots": [{"uri": root.parent.as_uri()}]}
                client.write({"jsonrpc": "2.0", "id": client.read()["id"], "result": roots})
            result = client.response(identity)["result"]
            assert ("isError" not in result) == readable == (result["content"][0]["text"] == "A note.")


def test_what_the_official_suite_asks_for_by_name_is_there_only_with_fixtures() -> None:
    for arguments, there in (((), False), (("--fixtures",), True)):
        with Client(*arguments, revision="2025-11-25") as client:
            for kind in ("tools", "prompts"):
                names = {item["name"] for item in client.everything(f"{kind}/list", kind)}
                assert any(name.startswith("test_") for name in names) == there
            uris = {item["uri"] for item in client.everything("resources/list", "resources")}
            assert ("test://static-text" in uris) == there


NAMED: Message = {"action": "accept", "content": {"name": "Ada"}}
COLOURED: Message = {"action": "accept", "content": {"color": "grey"}}


def test_an_answer_of_an_earlier_round_is_carried_by_the_request_state() -> None:
    call = {"name": "test_input_required_result_multi_round"}
    with Client("--fixtures", revision=STATELESS, capabilities=ALL) as client:
        first = client.result("tools/call", **call)
        state = first["requestState"]
        second = client.result("tools/call", **call, requestState=state, inputResponses={"step1": NAMED})
        assert [list(each["inputRequests"]) for each in (first, second)] == [["step1"], ["step2"]]
        state = second["requestState"]
        done = client.result("tools/call", **call, requestState=state, inputResponses={"step2": COLOURED})
        assert ["Ada" in done["content"][0]["text"], "grey" in done["content"][1]["text"]] == [True, True]
        head, answered, tail = state.split(".")
        forged = f"{head}.{answered.swapcase()}.{tail}"
        assert client.code("tools/call", **call, requestState=forged, inputResponses={"step2": COLOURED}) == -32602


def test_of_several_questions_only_those_without_an_answer_are_asked_again() -> None:
    call = {"name": "test_input_required_result_multiple_inputs"}
    with Client("--fixtures", revision=STATELESS, capabilities=ALL) as client:
        asked = client.result("tools/call", **call)
        assert set(asked["inputRequests"]) == {"user_name", "greeting", "client_roots"}
        given = {"user_name": NAMED, "client_roots": {"roots": []}}
        again = client.result("tools/call", **call, requestState=asked["requestState"], inputResponses=given)
        assert list(again["inputRequests"]) == ["greeting"]
    with Client("--fixtures", revision=STATELESS, capabilities={"roots": {}}) as client:
        error = client.ask("tools/call", **call)["error"]
        assert error["data"]["requiredCapabilities"] == {"elicitation": {"form": {}}, "sampling": {}}


def test_an_unanswered_question_is_given_up_and_cancelled() -> None:
    with Client(revision="2025-11-25", capabilities=ALL) as client:
        assert client.result("tools/call", name="ask_roots")["isError"] is True
        question, cancelled = client.others
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == question["id"]


def test_completions_are_at_most_a_hundred_and_say_if_there_are_more() -> None:
    with Client(revision="2025-06-18") as client:
        ref = {"type": "ref/prompt", "name": "brainstorm"}
        argument = {"name": "topic", "value": ""}
        completion = client.result("completion/complete", ref=ref, argument=argument)["completion"]
        assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)
        unknown = {"type": "ref/prompt", "name": "none"}
        assert client.code("completion/complete", ref=unknown, argument=argument) == -32602


# Messages


def test_garbage_blank_lines_and_odd_writes_are_survived() -> None:
    with Client(revision="2025-06-18") as client:
        client.write_bytes(b"garbage\n\n\xff\xfe\n[]\n42\n{}\n")
        client.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n{"jsonrpc":"2.0","id":2,"meth')
        client.write_bytes(b'od":"ping"}\n')
        client.response(1), client.response(2)
        assert [each["error"]["code"] for each in client.others] == [-32700, -32700, -32600, -32600, -32600]
        assert [each["id"] for each in client.others] == [None] * 5
        text = "ä" * 1_000_000
        assert client.result("tools/call", name="echo", arguments={"text": text})["content"][0]["text"] == text


def test_what_cannot_be_read_is_answered_without_id_from_2025_11_25() -> None:
    with Client(revision="2025-11-25") as client:
        client.write_bytes(b"garbage\n")
        assert "id" not in client.read()


@pytest.mark.parametrize("identity", [0, 1, -1, 2**31 + 1, "", "7", "é"])
def test_an_id_comes_back_as_it_was(identity: Any) -> None:
    with Client(revision="2025-06-18") as client:
        client.write({"jsonrpc": "2.0", "id": identity, "method": "ping"})
        answer = client.read()
        assert answer["id"] == identity and type(answer["id"]) is type(identity)


@pytest.mark.parametrize("identity", [None, 1.5, True, [], {}])
def test_what_is_no_id_makes_no_request(identity: Any) -> None:
    with Client(revision="2025-06-18") as client:
        client.write({"jsonrpc": "2.0", "id": identity, "method": "ping"})
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_a_batch_is_answered_by_an_array_in_2025_03_26_and_refused_elsewhere() -> None:
    pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (7, 8)]
    note = {"jsonrpc": "2.0", "method": "notifications/none"}
    with Client(revision="2025-03-26") as client:
        client.write([*pings, note])
        assert sorted(each["id"] for each in client.read()) == [7, 8]
        client.write([note, note])
        client.write([])
        assert client.read()["error"]["code"] == -32600
    with Client(revision="2025-06-18") as client:
        client.write(pings)
        assert client.read()["error"]["code"] == -32600


# The process


def test_the_end_of_input_ends_the_process_with_status_0_and_nothing_more_is_said() -> None:
    with Client(revision="2025-06-18") as client:
        client.result("ping")
        assert client.end() == (0, [])


def test_sigterm_ends_the_process_with_status_0() -> None:
    with Client(revision="2025-06-18") as client:
        client.result("ping")
        client.process.terminate()
        assert client.process.wait() == 0


def test_the_end_of_input_ends_a_subscription_by_its_result() -> None:
    with Client(revision=STATELESS) as client:
        identity = client.send("subscriptions/listen", notifications={"toolsListChanged": True})
        client.read()
        status, lines = client.end()
        cancelled, response = (json.loads(line) for line in lines)
        assert (status, cancelled["params"]["requestId"], response["id"]) == (0, identity, identity)
        assert response["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == identity


@pytest.mark.parametrize(
    "arguments", [["--fault", "none"], ["--revisions", "1999-01-01"], ["--port", "x"], ["--nonsense"], ["--fault"]]
)
def test_wrong_use_is_said_on_stderr_with_status_2(arguments: list[str]) -> None:
    run = subprocess.run([*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert arguments[-1] in run.stderr


# HTTP


class Endpoint:
    """The server over HTTP."""

    def __init__(self, *arguments: str) -> None:
        command = [*COMMAND, "--transport", "http", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr
        said = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.process.stderr.readline())
        assert said
        self.port = int(said[1])
        self.token = ""

    def open(self, method: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        """Send a request; the response with its body still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.token:
            own["Authorization"] = f"Bearer {self.token}"
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body) if body is not None else None
        connection.request(method, "/mcp", data, {**own, **given})
        return connection.getresponse()

    def post(self, body: Any, **headers: str) -> tuple[int, list[Any]]:
        """Status and messages of a POST, from JSON or from server-sent events."""
        response = self.open("POST", body, **headers)
        text = response.read().decode()
        if (response.getheader("Content-Type") or "").startswith("text/event-stream"):
            events = re.findall(r"^data: (.+)$", text, re.MULTILINE)
            return response.status, [json.loads(event) for event in events]
        return response.status, [json.loads(text)] if text else []

    def session(self, revision: str) -> dict[str, str]:
        """Open a session; the headers of its requests."""
        response = self.open("POST", initialize(revision))
        response.read()
        headers = {"Mcp_Session_Id": str(response.getheader("Mcp-Session-Id")), "MCP_Protocol_Version": revision}
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers) == (202, [])
        return headers

    def modern(self, method: str, params: Message | None = None, **headers: str) -> tuple[int, list[Any]]:
        body = {"jsonrpc": "2.0", "id": "m", "method": method, "params": {"_meta": meta(), **(params or {})}}
        return self.post(body, **{"MCP_Protocol_Version": STATELESS, "Mcp_Method": method, **headers})


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.process.terminate()
    assert server.process.wait() == 0


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_a_session_over_http_answers_and_ends(endpoint: Endpoint, revision: str) -> None:
    headers = endpoint.session(revision)
    assert endpoint.post(PING, **headers) == (200, [{"jsonrpc": "2.0", "id": 1, "result": {}}])
    assert endpoint.open("DELETE", **headers).status == 200
    assert endpoint.post(PING, **headers)[0] == 404


def test_http_refuses_what_it_must(endpoint: Endpoint) -> None:
    headers = endpoint.session("2025-11-25")
    assert endpoint.post(PING)[0] == 400
    assert endpoint.post(PING, **{**headers, "MCP_Protocol_Version": "1999-01-01"})[0] == 400
    assert endpoint.post(PING, Origin="http://evil.example", **headers)[0] == 403
    assert endpoint.post(PING, Origin="http://localhost:1234", **headers)[0] == 200
    assert endpoint.post(b"{", **headers)[0] == 400


def test_progress_and_result_come_as_events_that_can_be_had_again(endpoint: Endpoint) -> None:
    headers = endpoint.session("2025-11-25")
    params = {"name": "count", "_meta": {"progressToken": 5}}
    response = endpoint.open("POST", {**PING, "method": "tools/call", "params": params}, **headers)
    text = response.read().decode()
    ids = re.findall(r"^id: (.+)$", text, re.MULTILINE)
    assert text.count('"progressToken":5') == 3
    assert text.startswith(f"id: {ids[0]}\ndata: \n\n")
    again = endpoint.open("GET", Last_Event_ID=ids[-2], **headers).read().decode()
    assert f"id: {ids[-1]}\n" in again and again.count("data:") == 1


def test_a_stream_that_is_closed_before_the_answer_can_be_resumed() -> None:
    server = Endpoint("--fixtures")
    try:
        headers = server.session("2025-11-25")
        params = {"name": "test_reconnection"}
        text = server.open("POST", {**PING, "method": "tools/call", "params": params}, **headers).read().decode()
        (identity,) = re.findall(r"^id: (.+)$", text, re.MULTILINE)
        assert text == f"id: {identity}\ndata: \n\nretry: 100\n\n"
        rest = server.open("GET", Last_Event_ID=identity, **headers).read().decode()
        (answer,) = re.findall(r"^data: (.+)$", rest, re.MULTILINE)
        assert json.loads(answer)["id"] == PING["id"] and "result" in json.loads(answer)
    finally:
        server.process.terminate()
        server.process.wait()


def test_a_get_stream_carries_the_changes(endpoint: Endpoint) -> None:
    headers = endpoint.session("2025-06-18")
    stream = endpoint.open("GET", **headers)
    endpoint.post({**PING, "method": "tools/call", "params": {"name": "toggle_prompt"}}, **headers)
    lines = [stream.readline() for _ in range(2)]
    assert b"notifications/prompts/list_changed" in lines[1]
    stream.close()


def test_stateless_http_checks_the_headers(endpoint: Endpoint) -> None:
    def code(answer: tuple[int, list[Any]]) -> tuple[int, int]:
        return answer[0], answer[1][0]["error"]["code"]

    assert endpoint.modern("server/discover")[0] == 200
    assert code(endpoint.modern("mcp-conform/none")) == (404, -32601)
    assert code(endpoint.modern("server/discover", Mcp_Method="tools/list")) == (400, -32020)
    assert code(endpoint.modern("server/discover", MCP_Protocol_Version="2025-06-18"))[0] == 400
    hello = {"name": "hello"}
    assert code(endpoint.modern("prompts/get", hello)) == (400, -32020)
    assert endpoint.modern("prompts/get", hello, Mcp_Name="hello")[0] == 200
    assert endpoint.modern("prompts/get", hello, Mcp_Name="=?base64?aGVsbG8=?=")[0] == 200
    assert endpoint.modern("prompts/get", hello, Mcp_Name=" \t hello \t ")[0] == 200
    region = {"name": "lookup_region", "arguments": {"region": "eu", "level": 2}}
    right = {"Mcp_Name": "lookup_region", "Mcp_Param_Region": "eu", "Mcp_Param_Level": "2.0"}
    assert endpoint.modern("tools/call", region, **right)[0] == 200
    assert code(endpoint.modern("tools/call", region, **{**right, "Mcp_Param_Region": "us"})) == (400, -32020)
    assert code(endpoint.modern("server/discover", {"_meta": {}})) == (400, -32602)


def test_a_server_of_the_stateless_era_alone_refuses_what_came_before() -> None:
    server = Endpoint("--revisions", STATELESS)
    try:
        status, (answer,) = server.post(initialize("2025-11-25"))
        assert status == 400 and STATELESS in json.dumps(answer["error"])
        assert [server.open(method).status for method in ("GET", "DELETE")] == [405, 405]
    finally:
        server.process.terminate()
        server.process.wait()


# Faults


def test_each_fault_names_requirements_of_the_catalogue_that_hold_where_it_shows() -> None:
    catalogue = {**load(), **requirements(rules()[1])}
    for fault in faults():
        assert set(fault["requirements"]) <= set(catalogue), fault["name"]
        held = set(catalogue[fault["requirements"][0]].revisions)
        assert fault["revisions"] and set(fault["revisions"]) <= held, fault["name"]


def test_fault_names_are_unique() -> None:
    names = [fault["name"] for fault in faults()]
    assert len(names) == len(set(names))


@cache
def tokens() -> dict[str, str]:
    """Kind → an access token."""
    listed: dict[str, str] = json.loads(subprocess.check_output([*COMMAND, "--list-tokens"]))
    return listed


def with_transport(transport: str) -> list[Message]:
    """The faults whose first transport this is, and whose text does not say that there is no handshake era."""
    return [each for each in faults() if each["transports"][0] == transport and "modern only" not in each["text"]]


@pytest.mark.parametrize("fault", with_transport("stdio"), ids=lambda fault: fault["name"])
def test_a_server_with_a_fault_answers_initialize(fault: Message) -> None:
    with Client("--fault", fault["name"]) as client:
        client.write(initialize("2025-11-25"))
        assert client.process.stdout
        lines = iter(client.process.stdout.readline, b"")
        assert any(b'"protocolVersion"' in line for line in lines)


@pytest.mark.parametrize("fault", with_transport("http"), ids=lambda fault: fault["name"])
def test_a_server_with_a_fault_answers_initialize_over_http(fault: Message) -> None:
    server = Endpoint("--fault", fault["name"])
    if fault["area"].startswith("authorization"):
        server.token = tokens()["own"]
    try:
        assert b'"protocolVersion"' in server.open("POST", initialize("2025-11-25")).read()
    finally:
        server.process.terminate()
        server.process.wait()


@pytest.mark.parametrize("fault", [each for each in faults() if "modern only" in each["text"]], ids=lambda f: f["name"])
def test_a_server_without_handshake_era_answers_discover(fault: Message) -> None:
    with Client("--fault", fault["name"], revision=STATELESS) as client:
        versions = client.result("server/discover")["supportedVersions"]
        assert (versions == [STATELESS]) == (fault["name"] != "advertised-handshake-refused")
