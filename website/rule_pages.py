"""The pages of rules, as Markdown: one for each requirement, one for each area, and two lists of all.

Everything comes from the catalogue when the site is built, from the same source as `mcp-conform explain`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator

from conformance.catalogue import mistakes, sdks
from conformance.catalogue.cases import Case
from conformance.model import Severity
from conformance.reporters.catalogue import demo, levels
from conformance.reporters.knowledge import UNOBSERVABLE, Catalogue, Known, flat
from conformance.revisions import REVISIONS

FOLDER = "rules"
INDEX = f"{FOLDER}/index.md"
BY_REVISION = f"{FOLDER}/revisions.md"
SDKS = f"{FOLDER}/sdks.md"
MISTAKES = f"{FOLDER}/mistakes.md"
LANGUAGE = "language.md"
DATES = [revision.date for revision in REVISIONS]

_MARKUP = re.compile(r"[\\`*_{}\[\]<>&|~^#$:]")
_CODE = re.compile(r"`([^`]+)`")
_IDENTIFIER = re.compile(r"(?<![\w/.-])[a-z][a-z0-9-]*/[a-z0-9][a-z0-9-]*(?![\w/])")

BASES = {
    "text": "a keyword in capitals (MUST, SHOULD, MAY) on a page of the specification",
    "schema": "the JSON Schema of the specification",
    "jsonrpc": "JSON-RPC 2.0, which the specification builds on",
    "prose": "a sentence of the specification without such a keyword, or what follows from one",
    "security-guide": "the guide on security that comes with the specification",
    "client": "what a client program is known to do, with date and source; no rule of the specification",
}


def address(identifier: str) -> str:
    """The file of the page of a requirement or rule; its address on the site is without `.md`."""
    return f"{FOLDER}/{identifier}.md"


def area_address(area: str) -> str:
    """The file of the page of an area."""
    return f"{FOLDER}/{area}/index.md"


class RulePages:
    """Makes the pages of a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known = {name: catalogue.of(name) for name in (*catalogue.requirements, *catalogue.rules)}

    def pages(self) -> dict[str, str]:
        """Path of each page within the site's sources → its Markdown."""
        found = {INDEX: self._index(), BY_REVISION: self._by_revision()}
        found |= {SDKS: self._by_sdk(), MISTAKES: self._mistakes()}
        for area in self._catalogue.areas:
            found[area_address(area)] = self._area(area)
        found |= {address(name): self._rule(known) for name, known in self._known.items()}
        return found

    def nav(self) -> list[dict[str, object]]:
        """The pages of rules for the navigation: title → path, or what is below it."""
        below: list[dict[str, object]] = [{"All rules": INDEX}, {"By revision": BY_REVISION}]
        below += [{"Common mistakes": MISTAKES}, {"Official SDKs": SDKS}]
        for area in self._catalogue.areas:
            names: list[object] = [area_address(area)]
            names += [{each.requirement.id.partition("/")[2]: address(each.requirement.id)} for each in self._of(area)]
            below.append({area: names})
        return below

    # -- a rule

    def _rule(self, known: Known) -> str:
        requirement = known.requirement
        here = address(requirement.id)
        parts = [
            _front(requirement.id, requirement.text),
            f"# {requirement.id}",
            f"**{self._text(requirement.text, here)}**",
            _table(("Revision", "Level", "Basis", "A breach is", "Source"), self._levels(known)),
            "\n".join(f"- {line}" for line in self._conditions(known, here)),
            "## How it is checked",
            *self._how(known, here),
        ]
        if requirement.caution:
            parts += [
                "## What clients do" if known.for_clients else "## Cautions",
                self._text(requirement.caution, here),
            ]
        if known.mistakes:
            rows = (f"- **{self._text(row.diagnosis, here)}** {self._text(row.hint, here)}" for row in known.mistakes)
            parts += ["## Common causes", "\n".join(rows)]
        if known.sdks:
            parts += ["## In the SDKs", *self._sdks(known)]
        parts += self._scenario(known)
        if known.faults:
            parts += ["## Faults that prove the check", *self._faults(known)]
        parts += ["## On the command line", *_commands(known)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _levels(self, known: Known) -> Iterator[tuple[str, ...]]:
        requirement = known.requirement
        for revision in requirement.revisions[: 1 if known.for_clients else None]:
            severity = known.severity(revision)
            yield (
                "any" if known.for_clients else _date(revision),
                requirement.levels[revision],
                f"[{requirement.bases[revision]}]({_to(INDEX, address(requirement.id))}#basis)",
                f"**{severity}**" if severity is Severity.VIOLATION else str(severity or "–"),
                "<br>".join(f"[{_escaped(_page_name(url))}]({url})" for url in requirement.urls[revision]),
            )

    def _conditions(self, known: Known, here: str) -> Iterator[str]:
        requirement = known.requirement
        yield f"Area: [{requirement.area}]({_to(area_address(requirement.area), here)})"
        if requirement.transports:
            yield f"Concerns only {', '.join(map(_code, requirement.transports))}"
        if requirement.capabilities:
            yield f"Applies to servers that declare {' or '.join(map(_code, requirement.capabilities))}"
        if requirement.client:
            yield f"The client has to declare {' or '.join(map(_code, requirement.client))}"
        if requirement.needs and known.state != UNOBSERVABLE:
            yield f"To be tested it needs {self._text(requirement.needs, here)}"

    def _how(self, known: Known, here: str) -> Iterator[str]:
        requirement = known.requirement
        if known.state == UNOBSERVABLE:
            yield f"It is not, because no client can observe it: {self._text(requirement.unobservable, here)}."
        if requirement.probe:
            yield self._text(requirement.probe, here)
        rows = [
            f"invariant `{name}`, on every message: {self._text(self._catalogue.invariants[name], here)}"
            for name in known.named("invariant")
        ]
        for case in known.cases:
            why = "" if _judges(case, known) else " (so that an invariant gets to see it)"
            rows.append(f"case [{case.id}](#{_anchor(case)}): {self._text(case.title, here)}{why}")
        for name in known.named("probe"):
            kind = "campaign" if name.startswith("fuzz.") else "probe"
            place = "reports.md#generated-frames" if kind == "campaign" else f"{LANGUAGE}#observations"
            rows.append(f"{kind} [{name}]({_to(place, here)})")
        rows += [f"profile `{name}`: `--profile {name}`" for name in known.named("profile")]
        yield "\n".join(f"- {row}" for row in rows)
        if known.named("invariant") and not known.cases:
            yield "It has no case of its own: it is judged by what the server says in all the others."

    def _scenario(self, known: Known) -> Iterator[str]:
        if not known.cases:
            return
        yield "## Scenario { data-search-exclude }"
        yield f"In the [language of cases]({_to(LANGUAGE, address(known.requirement.id))}), as it is played:"
        for number, case in enumerate(sorted(known.cases, key=lambda case: _rank(case, known))):
            text = self._catalogue.case_texts[case.id]
            fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", text))])
            block = "\n".join(
                f"    {line}".rstrip() for line in [f"{fence}yaml{_marked(text, known)}", *text.split("\n"), fence]
            )
            mark = "???+" if number == 0 else "???"
            yield f'<a id="{_anchor(case)}"></a>\n\n{mark} example "{case.id}"\n\n{block}'

    def _sdks(self, known: Known) -> Iterator[str]:
        yield "Looked up in the source of these versions; others may differ."
        yield "\n".join(
            f"- **{_escaped(note.sdk.name)}** ({_code(note.sdk.package)} {_escaped(note.sdk.version)}): "
            f"{_escaped(note.does)}"
            + (f" *What you can do:* {_escaped(note.fix)}" if note.fix else "")
            + f" (Seen in {_escaped(note.seen)}.)"
            for note in known.sdks
        )

    def _faults(self, known: Known) -> Iterator[str]:
        yield "The reference server can be told to break the rule; each of these must be found."
        rows = ((f"`{demo(known, fault)}`", self._text(fault["text"], "")) for fault in known.faults)
        yield _table(("Command", "What the server then does"), rows)

    # -- lists

    def _area(self, area: str) -> str:
        here = area_address(area)
        title = self._catalogue.areas[area]
        rows = (
            (
                f"[{each.requirement.id.partition('/')[2]}]({_to(address(each.requirement.id), here)})",
                self._text(each.requirement.text, here),
                "any" if each.requirement.area == "client" else levels(each),
                "any" if each.requirement.area == "client" else _span(each.requirement.revisions),
                each.state,
            )
            for each in self._of(area)
        )
        parts = [
            _front(area, f"{title}: all rules of the area {area}"),
            f"# {_escaped(title)}",
            f"All rules of the area `{area}`. `mcp-conform --only {area}` tests only these.",
            _table(("Rule", "What a good server does", "Level", "Revisions", "State"), rows),
        ]
        return "\n\n".join(parts) + "\n"

    def _index(self) -> str:
        number = len(self._catalogue.requirements)
        rows = []
        for area, title in self._catalogue.areas.items():
            known = self._of(area)
            checked = sum(each.state != UNOBSERVABLE for each in known)
            rows.append((f"[{area}]({_to(area_address(area), INDEX)})", _escaped(title), str(len(known)), str(checked)))
        bases = [(f"`{name}`", _escaped(meaning)) for name, meaning in BASES.items()]
        parts = [
            _front("Rules", f"The {number} requirements that mcp-conform knows, by area"),
            "# Rules",
            f"The catalogue has {number} requirements of {len(DATES)} revisions of the specification, {DATES[0]} to "
            f"{DATES[-1]}. [One page lists them by revision]({_to(BY_REVISION, INDEX)}), others the "
            f"[common mistakes]({_to(MISTAKES, INDEX)}) and what is known of the [official SDKs]({_to(SDKS, INDEX)}). "
            "`mcp-conform list` and `mcp-conform explain ID` print the same.",
            _table(("Area", "What it is about", "Rules", "Checked"), rows),
            "## Level",
            "MUST, MUST NOT, SHOULD, SHOULD NOT and MAY have the meaning of RFC 2119. A level can differ from revision "
            "to revision.",
            "## Basis",
            "What a rule rests on. Only a MUST or MUST NOT with the basis `text`, `schema` or `jsonrpc` fails a "
            "server; a breach of any other rule is a warning, and of a rule for clients advice. A case can make less "
            "of a finding than that, never more.",
            _table(("Basis", "Meaning"), bases),
            "## State",
            "- **checked**: there is a check, and a fault of the reference server that it must find",
            "- **unobservable**: no client can observe whether a server follows it; its page says why",
        ]
        return "\n\n".join(parts) + "\n"

    def _by_revision(self) -> str:
        parts = [
            _front("Rules by revision", "All requirements and their levels in each revision"),
            "# Rules by revision",
            "**Bold**: a breach is a violation, and fails the server. Plain: a warning. *Italics*: no client can "
            "observe it, or there is nothing to break. –: the rule does not hold in this revision.",
        ]
        for area, title in self._catalogue.areas.items():
            known = [each for each in self._of(area) if not each.for_clients]
            if known:
                rows = ((self._link(each, BY_REVISION), *(_cell(each, date) for date in DATES)) for each in known)
                heading = f"## {_escaped(title)} {{ #{area} }}"
                parts += [heading, _table((f"Rule of `{area}`", *map(_date, DATES)), rows)]
        totals = [sum(date in each.levels for each in self._catalogue.requirements.values()) for date in DATES]
        parts += ["## Number of rules", _table(("Revision", "Rules"), zip(DATES, map(str, totals), strict=True))]
        return "\n\n".join(parts) + "\n"

    def _by_sdk(self) -> str:
        parts = [
            _front("Official SDKs", "What the official SDKs do about rules, and what authors of servers can do"),
            "# Official SDKs",
            "What the SDKs do about some rules, and what you can do about it, looked up in the source of the versions "
            "that are named. The page of each rule has the same, and so has `mcp-conform explain ID`.",
        ]
        for sdk in dict.fromkeys(note.sdk for note in sdks.table().notes):
            rows = (
                (", ".join(self._named(note.requirements, SDKS)), _escaped(note.does), _escaped(note.fix) or "–")
                for note in sdks.table().notes
                if note.sdk == sdk
            )
            parts += [f"## {_escaped(sdk.name)}", f"{_code(sdk.package)} {_escaped(sdk.version)}"]
            parts.append(_table(("Rules", "What it does", "What you can do"), rows))
        return "\n\n".join(parts) + "\n"

    def _mistakes(self) -> str:
        rows = (
            (
                _escaped(row.diagnosis),
                _escaped(row.hint),
                ", ".join(self._named(row.requirements or row.concerns, MISTAKES)),
            )
            for row in mistakes.table()
        )
        parts = [
            _front("Common mistakes", "What often is behind a finding, and how to mend it"),
            "# Common mistakes",
            "Where a finding looks like one of these, the report says so, under `diagnosis` and `hint`.",
            _table(("What is behind it", "How to mend it", "Rules that it breaks"), rows),
        ]
        return "\n\n".join(parts) + "\n"

    # -- words

    def _named(self, identifiers: Iterable[str], here: str) -> Iterator[str]:
        return (f"[{name}]({_to(address(name), here)})" for name in identifiers)

    def _of(self, area: str) -> list[Known]:
        return [known for known in self._known.values() if known.requirement.area == area]

    def _link(self, known: Known, here: str) -> str:
        name = known.requirement.id
        return f"[{name.partition('/')[2]}]({_to(address(name), here)})"

    def _text(self, text: str, here: str) -> str:
        """A text of the catalogue as Markdown: what is in backticks is code, names of requirements are links."""
        return "".join(
            _code(part) if number % 2 else self._linked(part, here)
            for number, part in enumerate(_CODE.split(flat(text)))
        )

    def _linked(self, text: str, here: str) -> str:
        done, parts = 0, []
        for found in _IDENTIFIER.finditer(text):
            if here and found[0] in self._known and address(found[0]) != here:
                parts += [_escaped(text[done : found.start()]), f"[{found[0]}]({_to(address(found[0]), here)})"]
                done = found.end()
        return "".join([*parts, _escaped(text[done:])])


def _judges(case: Case, known: Known) -> bool:
    """Whether the case itself judges the requirement, and not only an invariant by what the case does."""
    return any(known.requirement.id in step.judges for step in case.plain_steps)


def _marked(text: str, known: Known) -> str:
    """Which lines of a case are about the requirement, as an option of a block of code."""
    found, indent = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        start = len(line) - len(line.lstrip())
        if re.search(rf"\brequirement: {known.requirement.id}(?![\w-])", line):
            indent = start + 1
        elif start < indent:
            indent = 0
        if indent:
            found.append(str(number))
    return f' hl_lines="{" ".join(found)}"' if found else ""


def _rank(case: Case, known: Known) -> int:
    """Cases whose expectations say when the rule is broken come first, then those in which a probe or campaign does."""
    expected = any(each.requirement == known.requirement.id for step in case.plain_steps for each in step.expect)
    return 0 if expected else 1 if _judges(case, known) else 2


def _commands(known: Known) -> Iterator[str]:
    name = known.requirement.id
    yield f"    mcp-conform explain {name}"
    if known.for_clients:
        yield f'    mcp-conform --server "python my_server.py" --profile {known.named("profile")[0]}'
    elif known.state != UNOBSERVABLE:
        yield f'    mcp-conform --server "python my_server.py" --only {name}'


def _cell(known: Known, date: str) -> str:
    if date not in known.requirement.levels:
        return "–"
    severity, level = known.severity(date), known.requirement.levels[date]
    return f"*{level}*" if severity is None else f"**{level}**" if severity is Severity.VIOLATION else str(level)


def _span(revisions: tuple[str, ...]) -> str:
    """The revisions in which a rule holds, in short."""
    first, last = DATES.index(revisions[0]), DATES.index(revisions[-1])
    dates = [_date(date) for date in revisions]
    if list(revisions) != DATES[first : last + 1]:
        return ", ".join(dates)
    if len(dates) == len(DATES):
        return "all"
    if len(dates) == 1:
        return f"only {dates[0]}"
    return f"since {dates[0]}" if revisions[-1] == DATES[-1] else f"{dates[0]} to {dates[-1]}"


def _date(revision: str) -> str:
    """A date that is not broken into two lines."""
    return f'<span class="date">{revision}</span>'


def _page_name(url: str) -> str:
    """What a link into the specification is called: the page and its section."""
    return re.sub(r"^https://modelcontextprotocol\.io/(specification/[^/]+|docs/[^/]+/tutorials)/?", "", url) or url


def _anchor(case: Case) -> str:
    return f"case-{case.id.replace('/', '-')}"


def _to(path: str, here: str) -> str:
    return posixpath.relpath(path, posixpath.dirname(here))


def _front(title: str, description: str) -> str:
    """The head of a page: JSON is YAML too."""
    return f"---\ntitle: {json.dumps(title)}\ndescription: {json.dumps(flat(description))}\n---"


def _escaped(text: str) -> str:
    """`text` without any markup of Markdown or HTML."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
