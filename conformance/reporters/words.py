"""How findings and frames are put into words. Nothing that a server sent leaves here unescaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.engine.verdicts import doubt
from conformance.model import Extent, Finding, Frame, Judged, Report, Severity, Target
from conformance.reporters.addresses import page
from conformance.target.process import BETWEEN, SAID, command_line

FRAME_LIMIT = 400
"""Characters of a frame that people are shown."""


def visible(text: str) -> str:
    """`text` on one line: control, format and surrogate characters escaped as in Python, all others as they are."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def lines(text: str) -> str:
    """`text` of ours, line by line made visible: what it quotes may be a server's."""
    return "\n".join(map(visible, text.split("\n")))


def sayings(text: str, limit: int) -> list[str]:
    """`text`, visible and shortened; what it quotes of the server's stderr is a line each, with `| ` before it."""
    before, said, quoted = text.partition(SAID)
    if not said:
        return [visible(shortened(text, limit))]
    quotes = [f"| {visible(shortened(line, limit))}" for line in quoted.split(BETWEEN)]
    return [visible(shortened(before, limit)) + said.rstrip(), *quotes]


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, limit: int) -> str:
    """`text` without its middle if it is longer than `limit`; tells how much is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit - limit // 4, limit // 4
    return f"{text[:head]} … [{len(text) - head - tail} characters left out] … {text[-tail:]}"


def decoded(data: bytes, limit: int) -> str:
    r"""Bytes as text, those outside UTF-8 as \xNN, shortened to about `limit` characters, with the length if so."""
    if len(data) > 8 * limit:
        left = len(data) - 2 * limit
        start, end = (part.decode("utf-8", "backslashreplace") for part in (data[:limit], data[-limit // 4 :]))
        return f"{start} … [{left} bytes left out] … {end}" if left else start + end
    text = data.decode("utf-8", "backslashreplace")
    return text if len(text) <= limit else f"{shortened(text, limit)} ({len(data)} bytes)"


HEADER = 200
"""Characters of a header that are shown."""

BARE = {
    "stdout": "(an empty line)",
    "get": "(GET, no body)",
    "resume": "(GET, no body)",
    "delete": "(DELETE, no body)",
}
"""Channel of a frame without bytes → what it is."""


def frame_text(frame: Frame, limit: int = FRAME_LIMIT) -> str:
    """What was sent, on one line: bytes as text, or the status line and content type of an HTTP answer."""
    if frame.channel == "head":
        kind = frame.headers.get("content-type", "")
        return visible(f"HTTP {frame.status}{f' ({kind})' if kind else ''}")
    if frame.channel == "end":
        return "(end of the answer)"
    if not frame.data:
        told = ", ".join(f"{name} {value}" for name, value in frame.fields.items())
        if told:
            return visible(f"(event without data: {told})")
        return BARE.get(frame.channel, "(no body)") + sent_headers(frame)
    if frame.channel == "stdout" and not frame.data.strip():
        return f"(a line of {len(frame.data)} blanks)"
    return visible(decoded(frame.data, limit)) + sent_headers(frame)


def sent_headers(frame: Frame) -> str:
    """The headers that a frame was sent with beside the usual ones, on one line, "" if there were none."""
    if frame.origin != "us" or not frame.headers:
        return ""
    shown = [f"{name}: {shortened(value, HEADER)}" for name, value in frame.headers.items()]
    return visible(f" with {', '.join(shown)}")


def frame_line(frame: Frame, limit: int = FRAME_LIMIT) -> str:
    """A frame with its direction and its time since the session began."""
    arrow = "→" if frame.origin == "us" else "←"
    return f"{frame.at:8.3f} s {arrow} {frame_text(frame, limit)}"


def standing(finding: Finding) -> str:
    """What putting it to the test again has shown."""
    if finding.confirmed is None:
        return "not tested again"
    if not finding.confirmed:
        return doubt(finding)
    if finding.replay and finding.ceiling is Severity.ADVICE:
        return "confirmed by the same frame alone"  # a campaign does so in the session that there is
    shown, tries = finding.tries
    if finding.after:
        cases = "other case" if len(finding.after) == 1 else f"{len(finding.after)} other cases"
        return f"confirmed on fresh servers in {shown} of {tries} tries, with the {cases} of the same session"
    return f"confirmed on fresh servers in {shown} of {tries} tries" if tries else "confirmed on a fresh server"


def facts(finding: Finding, frames: int | None = None) -> Iterator[tuple[str, str]]:
    """Label and line: expected, actual, diagnosis, hint, frames; with `frames`, at most that many, the last ones."""
    for label, text in (("expected", finding.expected), ("actual", finding.actual)):
        for line in sayings(text, 4 * FRAME_LIMIT) if text else ():
            yield label, line
            label = ""
    yield from diagnosis_of(finding)
    shown = finding.frames if frames is None else finding.frames[-frames:]
    if len(shown) < len(finding.frames):
        yield "frame", f"({len(finding.frames) - len(shown)} earlier frames left out)"
    for frame in shown:
        yield "frame", frame_line(frame)


def diagnosis_of(of: Finding | Report) -> Iterator[tuple[str, str]]:
    """Label and line: what probably is behind it, and how to mend that, if it is known."""
    if of.diagnosis:
        yield "diagnosis", of.diagnosis
        yield "hint", of.hint


def address(target: Target) -> str:
    """How the server is reached: the command line that starts it, its URL, or both."""
    return " at ".join(part for part in (command_line(target.command), target.url) if part)


def headline(judged: Judged) -> str:
    """Severity, requirement, level and basis."""
    return f"{judged.severity or judged.verdict}: {judged.requirement.id} [{judged.level}, {judged.basis}]"


def finding_text(judged: Judged) -> str:
    """A failed verdict as plain text: requirement, message, expected, actual, frames, links, command."""
    lines = [headline(judged), f"  {judged.requirement.text.strip()}"]
    for finding in judged.findings:
        again = f", {finding.occurrences} times" if finding.occurrences > 1 else ""
        message, *quotes = sayings(finding.message, 4 * FRAME_LIMIT)
        lines += ["", f"  {message} ({finding.case}; {standing(finding)}{again})", *(f"    {each}" for each in quotes)]
        lines += [f"    {label + ':' if label else '':9} {line}" for label, line in facts(finding, 20)]
    lines += ["", f"  see {judged.url}"]
    if address := page(judged.requirement.id):
        lines.append(f"  page {visible(address)}")
    if judged.reproduce:
        lines.append(f"  again: {visible(judged.reproduce)}")
    return "\n".join(lines)


SEVERITIES = {
    Severity.VIOLATION: ("violation", "violations"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.ADVICE: ("advice", "advice"),
}
"""One, many."""


def counted(number: int, word: Severity) -> str:
    """`1 violation`, `2 violations`."""
    return f"{number} {SEVERITIES[word][number != 1]}"


def covered(extent: Extent) -> str:
    """`228 requirements checked, 61 cannot be observed, 0 not checked yet`."""
    return (
        f"{extent.checked} requirements checked, {extent.unobservable} cannot be observed,"
        f" {extent.unchecked} not checked yet"
    )
