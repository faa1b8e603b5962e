"""Redaction of what comes out of the store: a text is read for secrets once."""

from __future__ import annotations

import threading
from collections.abc import Callable

MAX_TEXTS = 50_000


class RedactionCache:
    """Redacts texts, and remembers which of them had nothing to redact; not the texts themselves.

    By Python's own hash, which is keyed anew in each process: nobody can make two texts meet.
    """

    def __init__(self, redact: Callable[[str], str], *, max_texts: int = MAX_TEXTS) -> None:
        self._redact = redact
        self._max_texts = max_texts
        self._spotless: dict[int, None] = {}
        self._lock = threading.Lock()  # a review cleans in a thread

    def __call__(self, text: str) -> str:
        key = hash(text)
        if key in self._spotless:
            return text
        cleaned = self._redact(text)
        if cleaned == text:
            with self._lock:
                self._spotless[key] = None
                if len(self._spotless) > self._max_texts:
                    del self._spotless[next(iter(self._spotless))]
        return cleaned
