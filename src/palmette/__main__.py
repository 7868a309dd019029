"""The command `palmette`, also as `python -m palmette`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; a small file is tagged without waiting for its imports."""
    if sys.argv[1:2] == ["tag"]:
        from importlib import import_module

        try:
            if import_module("palmette.runtime.start").tagged(sys.argv[2:]):
                os._exit(0)  # nothing is open, and there is nothing to clean up
        except KeyboardInterrupt:
            sys.exit(130)
        except BrokenPipeError:  # the reader of the output is gone
            os._exit(0)
        except OSError as error:
            print(f"palmette: cannot write: {error.strerror or error}", file=sys.stderr)
            os._exit(1)
    from palmette.cli import main as run

    run()


if __name__ == "__main__":
    main()
