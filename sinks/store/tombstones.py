"""What was forgotten, by its id and by its wording; for the writer's thread, but for ``covers``.

A tombstone by id keeps a memory from coming back under its own id. The same statement read again in
a transcript, imported from a file or sent by a colleague has another id, so each text that was
forgotten leaves a digest of its wording as well: BLAKE2b with a random key of this database, over
the scope and the text. It cannot be turned back into the text, and without the database nobody can
try whether a text was the one.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from ...config.patterns import regex
from .rows import Record, naive, to_memory
from .writes import Insert, among, delete_uses, delete_where, heads, insert

_KEY_BYTES = 32
_DIGEST_BYTES = 16
_TICK = timedelta(microseconds=1)
# Scopes that are read in every project: what was forgotten of them no project gets by itself.
EVERYWHERE = ("user", "org")

FORGOTTEN_TYPES = {
    "key": "BLOB",
    "digest": "BLOB",
    "noted_at": "TIMESTAMP",
    "lifted": "BOOLEAN",
}
MERGED_TYPES = {"id": "VARCHAR", "key": "BLOB", "digest": "BLOB"}
_FORGOTTEN = Insert("store.forgotten_texts", FORGOTTEN_TYPES)
_MERGED = Insert("store.merged_texts", MERGED_TYPES)
_LATEST = (
    "SELECT key, digest, max(noted_at), arg_max(lifted, noted_at) "
    "FROM store.forgotten_texts GROUP BY key, digest"
)
# Rows of a memory that is forgotten: colleagues deleted it, with a text that they may bring back.
_OF_FORGOTTEN = (
    "FROM store.merged_texts WHERE key = ? AND digest = ? AND id IN "
    "(SELECT id FROM store.memories WHERE forgotten_at IS NOT NULL)"
)
# What a reader cannot see: controls, soft hyphens, joiners, bidi marks, variation selectors, tags.
_HIDDEN = regex(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛´", "'")
    | dict.fromkeys("“”„‟«»‹›", '"')
    | dict.fromkeys("‐‒–−", "-")
    | dict.fromkeys("—―", " ")
    | dict.fromkeys("。、·", ".")
)
_LINK = regex(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_EMPHASIS = regex(r"`+|\*{2,}|~{2,}")
_LINE_START = regex(r"^[ \t]*+(?:(?:[#>+*•-]++|\d{1,3}[.)])[ \t]++)+", re.MULTILINE)
# A comma between two digits is part of a number.
_COMMA = regex(r"(?<!\d)[,;]|[,;](?!\d)")
_OPENING = "\"'*_~()[]{}¿¡"
_CLOSING = _OPENING + ".:!?"


class Print(NamedTuple):
    """The digest of a text in a scope, and the key that it was made with."""

    key: bytes
    digest: bytes


class Note(NamedTuple):
    """What was noted last of a text: when, in UTC without zone, and whether it may come back."""

    noted_at: datetime
    lifted: bool


def latest_notes(connection: DuckDBPyConnection) -> dict[Print, Note]:
    """What was noted last of each text that was ever forgotten."""
    found = connection.execute(_LATEST).fetchall()
    return {Print(key, digest): Note(at, lifted) for key, digest, at, lifted in found}


def last_forgotten(connection: DuckDBPyConnection, prints: Iterable[Print]) -> datetime:
    """When one of these was forgotten last, in UTC without zone; the least datetime for none."""
    asked = "SELECT max(noted_at) FROM store.forgotten_texts WHERE key = ? AND digest = ?"
    found = [connection.execute(asked, print_).fetchall() for print_ in prints]
    return max((at for [(at,)] in found if at is not None), default=datetime.min)  # noqa: DTZ901


def add_notes(connection: DuckDBPyConnection, notes: Iterable[tuple[Print, Note]]) -> None:
    """Append ``notes``."""
    rows = [(*print_, *note) for print_, note in notes]
    if rows:
        insert(connection, _FORGOTTEN, rows)


def print_of(key: bytes, scope: str, wording: str) -> Print:
    """The print of a wording in ``scope``, which is a ``str(scope)``.

    A database has one user and is in one team, so of their scopes the kind alone counts.
    """
    kind = scope.partition(":")[0]
    said = f"{kind if kind in EVERYWHERE else scope}\0{wording}"
    made = blake2b(said.encode("utf-8", "surrogatepass"), key=key, digest_size=_DIGEST_BYTES)
    return Print(key, made.digest())


def random_key() -> bytes:
    """A new key."""
    return secrets.token_bytes(_KEY_BYTES)


class Tombstones:
    """The tombstones of one database, known in memory so that a write need not ask for them.

    Methods that take a connection work within its transaction; ``commit`` and ``roll_back`` say
    how it ended.
    """

    def __init__(self, new_key: Callable[[], bytes] = random_key) -> None:
        self._new_key = new_key
        self._keys: tuple[bytes, ...] = ()
        self._barred: set[Print] = set()
        self._pending: list[tuple[Print, bool]] = []
        self._last = datetime.min  # noqa: DTZ901 - as the tables hold it

    def open(self, connection: DuckDBPyConnection) -> None:
        """Read what is in the tables."""
        notes = latest_notes(connection)
        merged = connection.execute("SELECT DISTINCT key FROM store.merged_texts").fetchall()
        self._keys = tuple(sorted({p.key for p in notes} | {key for (key,) in merged}))
        self._barred = {print_ for print_, note in notes.items() if not note.lifted}
        self._last = max((note.noted_at for note in notes.values()), default=self._last)
        self._pending = []

    # --- looking up ------------------------------------------------------------------------------

    def covers(self, text: str, *scopes: str) -> bool:
        """Whether ``text``, in whatever form, was forgotten in one of ``scopes``. On any thread."""
        return bool(self._barred) and not self._barred.isdisjoint(self.prints(text, scopes))

    def barred(self, texts: Iterable[str], scopes: Sequence[str]) -> list[Print]:
        """The prints of those of ``texts`` that were forgotten in ``scopes``. On any thread."""
        if not self._barred:
            return []
        return [p for text in texts for p in self.prints(text, scopes) if p in self._barred]

    def bars(self, record: Record) -> bool:
        """Whether ``record`` may begin no new memory."""
        return not record.wanted and self.covers(record.memory.content, record.scope)

    def barred_among(self, records: Iterable[Record]) -> list[Record]:
        """Those of ``records`` whose text is forgotten, by this transaction or before."""
        barred = self._barred_now()
        if not barred:
            return []
        said = [(each, self.prints(each.memory.content, [each.scope])) for each in records]
        return [each for each, prints in said if not barred.isdisjoint(prints)]

    def prints(self, text: str, scopes: Sequence[str]) -> list[Print]:
        """The prints of ``text`` in ``scopes`` under each key."""
        wording = wording_of(text)
        return [print_of(key, scope, wording) for key in self._keys for scope in scopes]

    # --- forgetting ------------------------------------------------------------------------------

    def forget(
        self, connection: DuckDBPyConnection, memory_id: str, scopes: Sequence[str], now: datetime
    ) -> bool:
        """Delete every version of a memory and leave its tombstones; whether there was one."""
        head = heads(connection, [memory_id]).get(memory_id)
        if head is None or head.forgotten or head.scope not in scopes:
            return False
        self.delete(connection, [memory_id], now)
        return True

    def delete(
        self,
        connection: DuckDBPyConnection,
        ids: Sequence[str],
        now: datetime,
        *,
        by_team: bool = False,
    ) -> None:
        """Delete every version of memories that are not forgotten, leaving tombstones.

        ``by_team``: a colleague forgot them, and may take that back (``lift``). What is forgotten
        here as well is not theirs to bring back.
        """
        if not ids:
            return
        said = self._prints_of_memories(connection, ids)
        barred = self._barred_now()
        new = dict.fromkeys(print_ for _, print_ in said if print_ not in barred)
        self._note(connection, new, now, lifted=False)
        delete_where(connection, "versions", "id", ids)
        delete_where(connection, "merged_texts", "id", ids)
        if not by_team:
            self._make_final(connection, {print_ for _, print_ in said})
        elif lifted := [row for row in said if row[1] in new or self._is_teams(connection, row[1])]:
            insert(connection, _MERGED, [(id_, *print_) for id_, print_ in lifted])
        delete_uses(connection, ids)
        condition, parameters = among("id", ids)
        connection.execute(
            "UPDATE store.memories SET key = '', namespace = '', fingerprint = NULL, "  # noqa: S608 - placeholders
            "valid_from = NULL, valid_to = NULL, superseded_by = NULL, forgotten_at = ? "
            f"WHERE {condition}",
            [naive(now), *parameters],
        )

    def _prints_of_memories(
        self, connection: DuckDBPyConnection, ids: Sequence[str]
    ) -> list[tuple[str, Print]]:
        """The id and the print of every text that these memories ever had or took in."""
        condition, parameters = among("id", ids)
        said = connection.execute(
            f"SELECT id, scope, body FROM store.versions WHERE {condition}",  # noqa: S608 - placeholders
            parameters,
        ).fetchall()
        merged = connection.execute(
            f"SELECT id, key, digest FROM store.merged_texts WHERE {condition}",  # noqa: S608 - placeholders
            parameters,
        ).fetchall()
        key = self._key()
        own = [
            (id_, print_of(key, scope, wording_of(to_memory(body).content)))
            for id_, scope, body in said
        ]
        return list(dict.fromkeys([*own, *((id_, Print(*row)) for id_, *row in merged)]))

    # --- a colleague takes it back ---------------------------------------------------------------

    def _is_teams(self, connection: DuckDBPyConnection, print_: Print) -> bool:
        """Whether a text is forgotten because colleagues forgot it, and not here as well."""
        return bool(connection.execute(f"SELECT 1 {_OF_FORGOTTEN}", print_).fetchall())

    def _make_final(self, connection: DuckDBPyConnection, prints: Iterable[Print]) -> None:
        """The user forgot these texts: no colleague brings them back."""
        for print_ in prints:
            connection.execute(f"DELETE {_OF_FORGOTTEN}", print_)

    def lift(
        self, connection: DuckDBPyConnection, memory_id: str, record: Record, now: datetime
    ) -> bool:
        """Let the text of ``record`` be kept again, if colleagues forgot it with ``memory_id``.

        Returns whether they did. Nothing is lifted that was forgotten here as well.
        """
        prints = self.prints(record.memory.content, [record.scope])
        known = connection.execute(
            "SELECT key, digest FROM store.merged_texts WHERE id = ?", [memory_id]
        ).fetchall()
        theirs = {Print(*row) for row in known}.intersection(prints)
        barred = self._barred_now().intersection(prints)
        if not barred or not barred <= theirs:
            return False
        self._note(connection, barred, now, lifted=True)
        return True

    # --- what is written -------------------------------------------------------------------------

    def note_written(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        """Lift the tombstones of what somebody asked to keep, and note what a memory took in."""
        for record in records:
            if record.wanted and self._barred:
                prints = self.prints(record.memory.content, [record.scope])
                self._note(connection, self._barred.intersection(prints), now, lifted=True)
            if record.merged:
                self._note_merged(connection, record)

    def _note_merged(self, connection: DuckDBPyConnection, record: Record) -> None:
        wording = wording_of(record.merged)
        if wording == wording_of(record.memory.content):
            return
        row = (record.id, *print_of(self._key(), record.scope, wording))
        known = "SELECT 1 FROM store.merged_texts WHERE id = ? AND key = ? AND digest = ?"
        if not connection.execute(known, row).fetchall():
            insert(connection, _MERGED, [row])

    def _note(
        self,
        connection: DuckDBPyConnection,
        prints: Iterable[Print],
        now: datetime,
        *,
        lifted: bool,
    ) -> None:
        noted: list[tuple[Print, Note]] = []
        for print_ in prints:
            # Each later than the one before, whatever the clock says: the last one counts.
            self._last = max(self._last + _TICK, naive(now))
            noted.append((print_, Note(self._last, lifted)))
        add_notes(connection, noted)
        self._pending += [(print_, lifted) for print_, _ in noted]

    def _key(self) -> bytes:
        """The key of new prints; made when there is none, and kept in each row that it made."""
        if not self._keys:
            self._keys = (self._new_key(),)
        return self._keys[0]

    def _barred_now(self) -> set[Print]:
        """What bars as far as this transaction has got."""
        if not self._pending:
            return self._barred
        barred = set(self._barred)
        for print_, lifted in self._pending:
            (barred.discard if lifted else barred.add)(print_)
        return barred

    # --- how a transaction ended -----------------------------------------------------------------

    def commit(self) -> None:
        """What was noted since the last one is in force."""
        for print_, lifted in self._pending:
            (self._barred.discard if lifted else self._barred.add)(print_)
        self._pending = []

    def roll_back(self) -> None:
        """What was noted since the last one is not."""
        self._pending = []


def wording_of(text: str) -> str:
    """``text`` as it is compared: equal for texts that differ in nothing but their form.

    Case, white space, the Unicode form of characters, what cannot be seen, Markdown's emphasis,
    links, headings and list marks, quotation marks and the punctuation around words make no
    difference. Words, their order, digits and signs such as ``+``, ``#``, ``=`` and a leading
    ``!``, ``.`` or ``-`` do. A text of nothing but punctuation stays as it is. Takes 10 µs for a
    sentence, and time linear in ``text``.
    """
    plain = text
    if "](" in plain:
        plain = _LINK.sub(r"\1", plain)
    plain = _folded(plain)
    if "`" in plain or "**" in plain or "~~" in plain:
        plain = _EMPHASIS.sub("", plain)
    if "\n" in plain or not plain[:1].isalpha():
        plain = _LINE_START.sub("", plain)
    if "," in plain or ";" in plain:
        plain = _COMMA.sub(" ", plain)
    said = [word if word.isalnum() else _bare(word) for word in plain.split()]
    return " ".join(filter(None, said)) or " ".join(text.split())


def _bare(word: str) -> str:
    """``word`` without the punctuation around it; "" for a dash."""
    bare = word.lstrip(_OPENING).rstrip(_CLOSING)
    return bare if bare.strip("-") else ""


def _folded(text: str) -> str:
    """``text`` in one case and one Unicode form, without what cannot be seen."""
    if text.isascii():
        return (text if text.isprintable() else _HIDDEN.sub("", text)).lower()
    folded = unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_TYPOGRAPHY)
