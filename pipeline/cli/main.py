"""``subcog``, as it is installed: nothing else is imported before Ctrl-C ends it without a word."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line, and exit.

    Before a command is loaded, and when it has ended, an interrupt ends the process by its signal,
    which a shell shows as 130, as an interrupted command ends. Where interrupts are ignored they
    stay so.
    """
    is_python_s = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_python_s:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from .command_line import run

        run()
    except KeyboardInterrupt:  # after the command, while its end was told
        sys.exit(128 + signal.SIGINT)
    finally:
        if is_python_s:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
