"""The reference server, where each requestState is good for one retry: `single_use.py [option of that server]…`."""

from __future__ import annotations

import sys

from conformance.reference import state
from conformance.reference.__main__ import main
from conformance.reference.call import Call

USED: dict[str, Call] = {}
token, verified = state.token, state.verified


def another(call: Call) -> str:
    """A state that differs from all others."""
    state.LIFETIME += 1
    return token(call)


def once(given: str, call: Call) -> bool:
    """Whether it was handed out for such a request, and has not come back with another one."""
    return USED.setdefault(given, call) is call and verified(given, call)


if __name__ == "__main__":
    state.token, state.verified = another, once
    main(sys.argv[1:])
