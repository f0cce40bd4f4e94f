"""The command that shows a finding again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from conformance.catalogue.selection import CAMPAIGNS
from conformance.engine.options import Options
from conformance.model import AUTHORIZATION, OWN, Limits, Target
from conformance.revisions import CHOSEN
from conformance.target.credentials import is_setting, says_secret
from conformance.target.mask import Mask
from conformance.target.process import command_line

Part = tuple[str, str]
"""A piece of a word as it was given, or the variable that stands for it: (text, "") or ("", NAME)."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

NEEDED = "must be set"
"""What a shell says of a variable that stands for a secret and is not set."""


def command(target: Target, options: Options, revision: str, *selection: str) -> str:
    """`mcp-conform …` for this target, with what was chosen for it; `selection` is what `--only` gets, one by one.

    A line for a POSIX shell. A secret is not in it: `${NAME:?must be set}` stands for it, by which a shell that does
    not have the variable says so and does not run it. All else is as it was given.
    """
    if target.config:
        options = replace(options, named_by=("--config", target.config, f"--name={target.name}"))
    stand_ins = _StandIns(target)
    line = [command_line(["mcp-conform", *options.named_by])]
    if target.command and not options.named_by:
        line += ["--server", _quoted(_nested(target.command, stand_ins))]
    if target.url and not options.named_by:
        line += ["--url", _quoted(stand_ins.parts(target.url))]
    if target.via and not options.named_by:
        line += ["--transport", next(word for word, name in CHOSEN.items() if name == target.via)]
    words: list[str] = []
    if options.policy.mode != "safe":
        words += ["--call-tools", options.policy.mode]
    for mention in options.mentions:
        if mention.where == "--call-tool":
            words += ["--call-tool", mention.name]
    for profile in options.profiles:
        words += ["--profile", profile]
    if options.own is not None and options.own.folder:
        words += ["--cases", options.own.folder]
    if options.harmful:
        words += ["--harmful"]
    if target.cwd and not options.named_by:
        words += ["--cwd", target.cwd]
    if options.limits.answer != Limits().answer:
        words += ["--timeout", f"{options.limits.answer:g}"]
    if any(each.startswith(f"{CAMPAIGNS}/") for each in selection):
        words += options.fuzzing.words
    line += [command_line(words)] if words else []
    for name, value in target.env.items():
        if not options.named_by or name in options.given:
            line += ["--env", _quoted([(f"{name}=", ""), stand_ins.whole(name, value)])]
    if target.registers:
        line.append("--register-client")
    if target.oauth is not None:
        line.append(command_line(["--oauth", "client-credentials"]))
        line += [command_line(["--scope", target.oauth.scope])] if target.oauth.scope else []
    for kind, token in target.tokens.items():
        said = "" if kind == OWN else f"{kind}="
        option = "--token-env" if kind == OWN else "--other-token"
        if not options.named_by or kind in options.given:
            line.append(command_line([option, said + target.secrets.get(token, variable(f"{kind}-token"))]))
    for name, value in target.headers.items():
        if OWN in target.tokens and name.lower() == AUTHORIZATION:
            continue
        if not options.named_by or name in options.given:
            line += ["--header", _quoted([(f"{name}: ", ""), stand_ins.whole(name, value)])]
    chosen = [word for each in selection for word in ("--only", each)]
    return " ".join([*line, command_line(["--revision", revision, *chosen])])


class _StandIns:
    """The variables that stand for what is secret; one that stands for two values would be wrong for one of them."""

    def __init__(self, target: Target) -> None:
        self._mask = _mask(tuple(target.secrets.items()))
        self._stands_for = {name: value for name, value in target.env.items() if self._secret(name, value)}

    def parts(self, word: str) -> list[Part]:
        """`word` with a variable for each secret in it."""
        return [("", self._variable(name, text)) if name else (text, "") for text, name in self._mask.parts(word)]

    def whole(self, name: str, value: str) -> Part:
        """The value of a variable or a header; a variable if anything in it is secret."""
        return ("", self._variable(name, value)) if self._secret(name, value) else (value, "")

    def quote(self, name: str) -> str:
        """The quotes in which the value that a variable stands for is one word of an inner command line."""
        return '"' if "'" in self._stands_for.get(name, "") else "'"

    def _secret(self, name: str, value: str) -> bool:
        # What is too short to be masked everywhere is left out at least here.
        return self._mask.text(value) != value or (says_secret(name) and value != "" and not is_setting(value))

    def _variable(self, name: str, text: str) -> str:
        wanted = found = name if self._stands_for.get(name) == text else variable(name)
        number = 1
        while self._stands_for.setdefault(found, text) != text:
            number += 1
            found = f"{wanted}_{number}"
        return found if _IDENTIFIER.fullmatch(found) else variable(found)


@lru_cache(maxsize=8)
def _mask(secrets: tuple[tuple[str, str], ...]) -> Mask:
    return Mask(dict(secrets))


def _nested(words: Iterable[str], stand_ins: _StandIns) -> list[Part]:
    """A command line as one word of another one."""
    parts: list[Part] = []
    for word in words:
        parts += [(" ", "")] if parts else []
        pieces = stand_ins.parts(word)
        if not any(name for _, name in pieces):
            parts.append((command_line([word]), ""))
            continue
        for text, name in pieces:
            # Quotes of the inner command line around the value, so that it stays one word.
            quote = stand_ins.quote(name)
            parts += [(quote, ""), ("", name), (quote, "")] if name else [(command_line([text]), "")]
    return parts


def _quoted(parts: list[Part]) -> str:
    """One word for a POSIX shell."""
    if not any(name for _, name in parts):
        return command_line(["".join(text for text, _ in parts)])
    # Within double quotes an interactive shell would take ! for a word of its history.
    plain = not any("!" in text for text, _ in parts)
    pieces = []
    for text, name in parts:
        if name:
            pieces.append(f"${{{name}:?{NEEDED}}}" if plain else f'"${{{name}:?{NEEDED}}}"')
        elif text:
            pieces.append(re.sub(r'([\\"$`])', r"\\\1", text) if plain else shlex.quote(text))
    return f'"{"".join(pieces)}"' if plain else "".join(pieces)


def variable(name: str) -> str:
    """The name of a shell variable for what is called `name`: a header, an option, a member of a URL's query."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
    return f"_{plain}" if not plain or plain[0].isdigit() else plain
