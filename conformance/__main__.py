"""`mcp-conform` and `python -m conformance`: a signal is minded from the first moment on."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from conformance.system import interrupts, standard_streams


def main() -> NoReturn:
    """The entry point `mcp-conform`."""
    standard_streams.prepare()
    sys.unraisablehook = interrupts.ignored
    with interrupts.taken_by(interrupts.interrupt):
        try:
            from conformance.cli.main import run

            status = run()
        except BaseException as error:
            if not interrupts.caused(error):
                raise
            interrupts.settle()
            standard_streams.say("interrupted before anything was tested")
            standard_streams.flush()
            status = standard_streams.FAILED
    # End the process without taking everything apart first, which takes a tenth of a second.
    os._exit(status)


if __name__ == "__main__":
    main()
