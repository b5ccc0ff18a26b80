"""`heapglass`, the command, and `python -m heapglass`."""

from __future__ import annotations

import sys


def main() -> int:
    # The module is imported here so that an interrupt during the import ends quietly too.
    try:
        from heapglass.cli.main import main as dispatch  # noqa: PLC0415

        return dispatch(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
