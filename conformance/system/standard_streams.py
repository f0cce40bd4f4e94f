"""stdin, stdout and stderr of the command line, which may be closed, full, or read by nobody."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TextIO

from conformance.system.github_actions import guard, on_github

STDIN, STDOUT, STDERR = range(3)

FAILED = 3
"""The exit status if mcp-conform itself failed, was interrupted, or could not write what it was asked for."""


def prepare() -> None:
    """Let no text fail for its characters, stand in for what is closed, and guard the streams on GitHub Actions.

    Otherwise the next file that is opened would get the number of a closed stream, and what is meant for the stream.
    Writing to a stdout that was closed still fails; a closed stderr takes all and shows nothing.
    """
    for number, how in ((STDIN, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, how)  # gets the lowest number that is free
    if sys.stdout is None:
        sys.stdout = _stream(STDOUT)
    if sys.stderr is None:
        sys.stderr = _stream(STDERR)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if on_github():
        guard()


def _stream(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", closefd=False)


def say(sentence: str) -> None:
    """Print `mcp-conform: …` on stderr, if it takes it."""
    # UnicodeError: a stream that a caller of ours put in its place.
    with contextlib.suppress(OSError, ValueError, UnicodeError):
        sys.stderr.write(f"mcp-conform: {sentence}\n")
        sys.stderr.flush()


def why(error: OSError) -> str:
    """Why something could not be written, for people."""
    if error.errno == errno.EBADF:
        return "it is closed"
    return error.strerror or str(error) or type(error).__name__


def flush() -> str:
    """Write what stdout still holds; why that failed, "" if it did not or if nobody reads it any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return ""
    except (OSError, ValueError) as error:
        return why(error) if isinstance(error, OSError) else str(error)
    return ""


def silence() -> None:
    """What is left in the buffer of stdout goes nowhere: nobody reads it, or it cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
