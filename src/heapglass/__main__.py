"""`heapglass`, the command, and `python -m heapglass`."""

from __future__ import annotations

import sys


def main() -> int:
    # Imported here so that an interrupt meanwhile ends quietly too. Libraries make other errors of
    # one: until the command begins (see cli/main.py) it ends us as it ends other programs.
    try:
        import signal  # noqa: PLC0415

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from heapglass.cli.main import main as dispatch  # noqa: PLC0415

        return dispatch(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
