"""What a text has that nobody writes in prose: names from code, places in it, printed lines."""

from __future__ import annotations

from ...config.patterns import regex

CODE_NAME = regex(r"[^\W\d][._/]\w|[a-z][A-Z]|[^\W\d]-?\d")
"""What is written like the name of a file, a symbol or a version has one of these in it."""

BACKTICKED = regex(r"`([^`\n]{3,80})`")

LOCATION = regex(r":\d{1,6}(?::\d{1,6})?\Z")
"""The line, or line and column, that a path ends with."""

PRINTED = (
    r"at \S+\(|File \"|Traceback \(most recent|Caused by:|goroutine \d|panicked at|npm ERR!"
    r"|error\[E\d|diff --git |index [0-9a-f]{7}|@@ |\+\+\+ |--- \S|\$ |>>> "
)
"""How a line begins that a program printed, such as a trace, a diff or a session in a shell."""

COMMIT = (
    r"(?:feat|fix|docs|chore|refactor|tests?|perf|build|ci|style|revert|wip)"
    r"(?:\([^)\n]{0,80}\))?!?: "
)
"""How the subject of a conventional commit begins."""
