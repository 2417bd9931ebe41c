"""The entry point of the command `latentgraph`: Ctrl-C ends it quietly from the first moment on."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the command line and run it; an interrupt gives 130, also while modules are still being loaded."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        from server.cli import app

        app()
    except KeyboardInterrupt:
        sys.exit(130)
