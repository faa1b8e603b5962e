"""Resource URIs: ``subcog://KIND`` and ``subcog://KIND/REST``, percent-encoded, taken literally.

What follows the kind is text and no path: slashes, ``..``, ``?`` and ``#`` in it mean themselves.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from msgspec import Struct

from .notifications import Changed

SCHEME = "subcog://"
MAX_URI = 8192
# kind → whether a text may, must or must not follow
PLAIN = ("topics", "namespaces", "session", "sessions", "help")
WITH_TEXT = ("search", "topics", "memory", "namespaces", "session", "help")


class UnknownUri(ValueError):
    """No such resource; the message says which there are."""


class Uri(Struct, frozen=True):
    """A resource: its ``kind``, and the decoded ``text`` after it, empty for none."""

    kind: str
    text: str = ""

    def __str__(self) -> str:
        return f"{SCHEME}{self.kind}" + (f"/{quote(self.text, safe='')}" if self.text else "")


def parse(uri: str) -> Uri:
    """Read a URI. Raises ``UnknownUri``. Bytes that are no UTF-8 become replacement marks."""
    if len(uri) > MAX_URI:
        raise UnknownUri(f"a URI has at most {MAX_URI} characters; this one has {len(uri)}")
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    text = unquote(rest, errors="replace").encode("utf-8", "replace").decode()
    known = kind in (WITH_TEXT if text.strip() else PLAIN)
    if not uri.startswith(SCHEME) or not known:
        kinds = [f"{SCHEME}{kind}" for kind in PLAIN]
        kinds += [f"{SCHEME}{kind}/…" for kind in WITH_TEXT]
        raise UnknownUri(f"no such resource; there are {', '.join(kinds)}")
    return Uri(kind, text.strip())


def is_touched(uri: Uri, changed: Changed) -> bool:
    """Whether reading ``uri`` may give something else after ``changed``."""
    if uri.kind in {"help", "sessions"} or (uri.kind == "session" and uri.text):
        return False
    if uri.kind == "memory":
        return changed.ids is None or bare_id(uri.text) in changed.ids
    if uri.kind == "namespaces" and uri.text:
        return changed.namespaces is None or uri.text in changed.namespaces
    return True


def bare_id(given: str) -> str:
    """A memory's id with its prefix, as it is stored."""
    return given if given.startswith("mem_") else f"mem_{given}"
