"""Reads an HTML report as strictly as no browser does: all that is in it must be what the templates put there."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser

VOID = {"meta", "input"}
TAGS = {
    *VOID, "html", "head", "title", "style", "script", "body", "header", "main", "footer", "aside", "section", "div",
    "a", "abbr", "button", "caption", "code", "dd", "details", "dl", "dt", "em", "fieldset", "h1", "h2", "h3", "h4",
    "h5", "label", "legend", "li", "mark", "ol", "option", "output", "p", "pre", "select", "span", "strong",
    "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "aria-hidden", "aria-label", "aria-live", "charset", "class", "content", "data-area", "data-on", "data-run",
    "hidden", "href", "http-equiv", "id", "lang", "name", "open", "placeholder", "rel", "role", "scope", "spellcheck",
    "tabindex", "type", "value",
}  # fmt: skip
LINK = re.compile(
    r"#|reports/[a-z0-9._-]+\.html\Z|https://(modelcontextprotocol\.io|www\.jsonrpc\.org|example\.com|code\.claude\.com)/"
)
TEXT = {"style", "script", "title"}


@dataclass
class Page(HTMLParser):
    """A page that was read; anything that is not well formed, or not ours, raises AssertionError."""

    source: str
    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    policy: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == []
        assert len(set(self.ids)) == len(self.ids)
        for link in self.links:
            assert LINK.match(link), link
            assert not link.startswith("#") or link[1:] in self.ids, link

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        names = [name for name, _ in attrs]
        assert set(names) <= ATTRIBUTES and len(set(names)) == len(names), names
        told = dict(attrs)
        self.tags.append(tag)
        if told.get("id"):
            self.ids.append(str(told["id"]))
        if "href" in told:
            assert tag == "a"
            self.links.append(str(told["href"]))
        if told.get("http-equiv"):
            assert told["http-equiv"] == "Content-Security-Policy"
            self.policy = str(told["content"])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self._text.append(data)
        if self._open and self._open[-1] in TEXT:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data
        elif not self._open:
            assert data.strip() == ""

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    @property
    def text(self) -> str:
        """All text of the page."""
        return "".join(self._text)

    def allows_only_itself(self) -> bool:
        """Whether the policy of the page allows its one style and its one script, and nothing else."""
        hashes = [b64encode(sha256(self.texts[tag].encode()).digest()).decode() for tag in ("style", "script")]
        return self.tags.count("style") == self.tags.count("script") == 1 and self.policy == (
            f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
            "base-uri 'none'; form-action 'none'"
        )
