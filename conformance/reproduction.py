"""The command that shows a finding again."""

from __future__ import annotations

import shlex
from dataclasses import replace

from conformance.model import Limits, Target
from conformance.options import Options
from conformance.selection import CAMPAIGNS
from conformance.target import command_line


def command(target: Target, options: Options, revision: str, *selection: str) -> str:
    """`mcp-conform …` for this target, with what was chosen for it; `selection` is what `--only` gets, one by one."""
    if target.config:
        options = replace(options, named_by=("--config", target.config, f"--name={target.name}"))
    words = ["mcp-conform", *options.named_by]
    if target.command and not options.named_by:
        words += ["--server", command_line(target.command)]
    if target.url and not options.named_by:
        words += ["--url", target.url]
    if options.policy.mode != "safe":
        words += ["--call-tools", options.policy.mode]
    for mention in options.mentions:
        if mention.where == "--call-tool":
            words += ["--call-tool", mention.name]
    for profile in options.profiles:
        words += ["--profile", profile]
    if options.own is not None and options.own.folder:
        words += ["--cases", options.own.folder]
    if target.cwd and not options.named_by:
        words += ["--cwd", target.cwd]
    if options.limits.answer != Limits().answer:
        words += ["--timeout", f"{options.limits.answer:g}"]
    if any(each.startswith(f"{CAMPAIGNS}/") for each in selection):
        words += options.fuzzing.words
    chosen = [word for each in selection for word in ("--only", each)]
    # Values may be secret: a shell that has the variable fills it in.
    named = set() if options.named_by else {*target.env, *target.headers}
    given = "".join(f'--env {shlex.quote(name)}="${name}" ' for name in target.env if name in named)
    given += "".join(f"--header {shlex.quote(name + ': …')} " for name in target.headers if name in named)
    return f"{command_line(words)} {given}" + command_line(["--revision", revision, *chosen])
