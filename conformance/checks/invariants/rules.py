"""Which requirement is broken where a message does not fit its schema: method and place → requirement."""

from __future__ import annotations

import re


def _table(*rows: tuple[str, str, str]) -> tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]:
    return tuple((re.compile(method + r"\Z"), re.compile(place), rule) for method, place, rule in rows)


UNIONS = re.compile(r"(^|/)content(/\*)?(/type)?$|^content/\*|/content/type$|^messages/\*/content")
"""Places of unions that grew from revision to revision."""

RULES = _table(
    (r".*", r"(^|/)_meta$", "meta/meta-is-object"),
    (r"initialize", r"^capabilities/", "discovery/capabilities-shape"),
    (r"initialize", r"^serverInfo/", "discovery/server-info-shape"),
    (r"initialize", r"", "lifecycle/initialize-result-complete"),
    (r".*", r"^_meta/io\.modelcontextprotocol/serverInfo", "discovery/server-info-shape"),
    (r"server/discover", r"^capabilities/extensions", "discovery/extension-settings-object"),
    (r"server/discover", r"^capabilities/", "discovery/capabilities-shape"),
    (r"server/discover", r"", "discovery/discover-result-shape"),
    (r"ping", r"", "lifecycle/ping-answered-with-empty-result"),
    (r"[a-z/]+/list", r"^nextCursor$", "pagination/next-cursor-string"),
    (r"tools/list", r"^tools/\*/inputSchema", "tools/input-schema-object"),
    (r"tools/list", r"^tools/\*/inputSchema", "tools/input-schema-object-any-vocabulary"),
    (r"tools/list", r"^tools/\*/outputSchema", "tools/output-schema-object"),
    (r"tools/list", r"^tools/\*/outputSchema", "tools/output-schema-any-root"),
    (r"tools/list", r"^tools/\*/annotations", "tools/annotations-shape"),
    (r"tools/list", r"^tools/\*/execution", "tools/execution-shape"),
    (r"tools/list", r"", "tools/list-shape"),
    (r".* input_required", r"^inputRequests/", "input-required/known-request-types"),
    (r".* input_required", r"^requestState$", "input-required/request-state-is-string"),
    (r".* input_required", r"", "input-required/requests-or-state-present"),
    (r"tools/call", r"^task/taskId$", "tasks/id-is-string"),
    (r"tools/call", r"^task(/|$)", "tasks/task-shape"),
    (r"tasks/(get|cancel)", r"^taskId$", "tasks/id-is-string"),
    (r"tasks/get", r"^ttl$", "tasks/ttl-reported"),
    (r"tasks/(get|cancel)", r"", "tasks/task-shape"),
    (r"tasks/list", r"^tasks/\*/taskId$", "tasks/id-is-string"),
    (r"tasks/list", r"^tasks/\*", "tasks/task-shape"),
    (r"tasks/list", r"", "tasks/list-shape"),
    (r"notifications/tasks/status", r"", "tasks/task-shape"),
    (r"tools/call task", r"", "tasks/flat-task-shape"),
    (r"tasks/get", r"^error(/|$)", "tasks/failed-carries-error"),
    (r"tasks/get", r"", "tasks/get-carries-status-payload"),
    (r"notifications/tasks", r"", "tasks/notification-carries-whole-task"),
    (r"tools/call", r"^structuredContent", "tools/structured-content-is-object"),
    (r"tools/call", r"", "tools/call-result-shape"),
    (r"resources/list", r"", "resources/list-shape"),
    (r"resources/templates/list", r"", "resources/templates-list-shape"),
    (r"resources/read", r"", "resources/read-shape"),
    (r"resources/(un)?subscribe", r"", "resources/subscribe-answered"),
    (r"notifications/resources/updated", r"", "resources/updated-shape"),
    (r"prompts/list", r"", "prompts/list-shape"),
    (r"prompts/get", r"", "prompts/get-shape"),
    (r"completion/complete", r"", "completion/result-shape"),
    (r"notifications/message", r"", "logging/message-shape"),
    (r"notifications/progress", r"", "progress/shape"),
    (r"notifications/cancelled", r"", "cancellation/shape"),
    (r"sampling/createMessage", r"", "sampling/request-shape"),
    (r"elicitation/create", r"^params/requestedSchema/properties/", "elicitation/form-schema-flat"),
    (r"elicitation/create", r"^params/(url|elicitationId)$", "elicitation/url-shape"),
    (r"elicitation/create", r"", "elicitation/form-shape"),
    (r"roots/list", r"", "roots/request-shape"),
    (r"notifications/subscriptions/acknowledged", r"", "subscriptions/acknowledgment-shape"),
)
"""The first row that fits and whose requirement holds in the revision decides.

A place is the path of the problem, `*` for any index.
"""

PRESENT = tuple(
    (re.compile(method + r"\Z"), tuple(place.split()), rule)
    for method, place, rule in (
        ("initialize", "", "lifecycle/initialize-result-complete"),
        ("(initialize|server/discover)", "capabilities", "discovery/capabilities-shape"),
        ("initialize", "serverInfo", "discovery/server-info-shape"),
        ("server/discover", "_meta io.modelcontextprotocol/serverInfo", "discovery/server-info-shape"),
        ("server/discover", "", "discovery/discover-result-shape"),
        ("server/discover", "capabilities extensions", "discovery/extension-settings-object"),
        ("ping", "", "lifecycle/ping-answered-with-empty-result"),
        ("[a-z/]+/list", "nextCursor", "pagination/next-cursor-string"),
        ("tools/list", "", "tools/list-shape"),
        ("tools/list", "tools * inputSchema", "tools/input-schema-object"),
        ("tools/list", "tools * inputSchema", "tools/input-schema-object-any-vocabulary"),
        ("tools/list", "tools * outputSchema", "tools/output-schema-object"),
        ("tools/list", "tools * outputSchema", "tools/output-schema-any-root"),
        ("tools/list", "tools * annotations", "tools/annotations-shape"),
        ("tools/list", "tools * execution", "tools/execution-shape"),
        ("tools/call", "content", "tools/call-result-shape"),
        ("tools/call", "task", "tasks/task-shape"),
        ("tools/call", "task taskId", "tasks/id-is-string"),
        ("tasks/get", "taskId", "tasks/id-is-string"),
        ("tasks/get", "ttl", "tasks/ttl-reported"),
        ("tasks/(get|cancel)", "", "tasks/task-shape"),
        ("tasks/list", "", "tasks/list-shape"),
        ("tasks/list", "tasks *", "tasks/task-shape"),
        ("notifications/tasks/status", "", "tasks/task-shape"),
        ("tools/call task", "", "tasks/flat-task-shape"),
        ("tasks/get", "", "tasks/get-carries-status-payload"),
        ("tasks/get", "error", "tasks/failed-carries-error"),
        ("notifications/tasks", "", "tasks/notification-carries-whole-task"),
        (".* input_required", "", "input-required/requests-or-state-present"),
        ("resources/(un)?subscribe", "", "resources/subscribe-answered"),
        ("tools/call", "structuredContent", "tools/structured-content-is-object"),
        ("(tools/call|prompts/get)", "", "versioning/negotiated-version-respected"),
        ("resources/list", "", "resources/list-shape"),
        ("resources/templates/list", "", "resources/templates-list-shape"),
        ("resources/read", "", "resources/read-shape"),
        ("notifications/resources/updated", "", "resources/updated-shape"),
        ("prompts/list", "", "prompts/list-shape"),
        ("prompts/get", "", "prompts/get-shape"),
        (".*", "_meta", "meta/meta-is-object"),
        ("completion/complete", "", "completion/result-shape"),
        ("notifications/message", "", "logging/message-shape"),
        ("notifications/progress", "", "progress/shape"),
        ("notifications/cancelled", "", "cancellation/shape"),
        (".* input_required", "inputRequests", "input-required/known-request-types"),
        (".* input_required", "requestState", "input-required/request-state-is-string"),
        ("elicitation/create", "params requestedSchema properties", "elicitation/form-schema-flat"),
        ("elicitation/create", "params requestedSchema", "elicitation/form-shape"),
        ("elicitation/create", "params url", "elicitation/url-shape"),
        ("sampling/createMessage", "", "sampling/request-shape"),
        ("roots/list", "", "roots/request-shape"),
        ("notifications/subscriptions/acknowledged", "", "subscriptions/acknowledgment-shape"),
    )
)
"""What is put to the test, and held, when a valid message of the method has something at the place ("" always)."""
