"""Who this server says it is: its name, its revisions, its features."""

from __future__ import annotations

from conformance.reference.shape import ICON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.wire import Message

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
STATELESS = "2026-07-28"
FEATURES = ("tools", "resources", "prompts", "completions", "logging", "tasks")

INFO: Message = {
    "name": "mcp-conform-reference",
    "title": "Reference server",
    "version": "1.0.0",
    "description": "A correct server with every feature, for trying out clients and test suites",
    "websiteUrl": "https://modelcontextprotocol.io",
    "icons": [ICON],
}
INSTRUCTIONS = "Every tool is harmless. Tools whose readOnlyHint is false change only what this process lists or holds."
