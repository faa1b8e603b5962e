"""Takes secrets and personal data out of a text, for good, before it is kept.

The rules are data (``secrets.toml``); this is the only place that makes ``CleanText``. What the
settings choose is how it is shown and told that something was taken out, never whether it is:

- ``redact`` puts ``[redacted:name]`` in its place.
- ``mask`` shows its ends as well, as in ``[redacted:name:ab…yz]``: two, three or four characters
  at either end of what has 16, 24 or 32 of them, so never more than a quarter. Of passwords, of
  whatever a person may have chosen, of key blocks and of what is shorter, nothing is shown.
- ``block`` declines a capture that holds any.
- ``warn`` keeps the text as ``redact`` does, and the user is warned.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import replace

from ...bus.events import CaptureDetected, CaptureRequested, CaptureSettled, StoreRequested
from ...bus.signals import emit, redacted
from ...bus.triggers import Trigger
from ...bus.values import MAX_QUESTION_CHARS, CleanText, Kept, Memory, Provenance
from ...config.characters import PLAIN
from ...config.patterns import regex
from ..capture.task_record import NAMESPACE as TASKS
from ..text.markup import clean_tags, strip_private
from ..text.summary import summarise
from ..text.unicode import cut, visible
from .breaks import spans_over_breaks
from .rules import RULES_FILE, Allowance, Rule, Rules, Span, read_rules
from .values import KnownSecrets
from .views import spans_of_views

T = TypeVar("T")

Mode = Literal["redact", "mask", "block", "warn"]

PRIVATE = "private"
"""The name under which ``<private>`` spans are reported."""

WARNING = (
    "this was not stored, but whoever read the text before has seen it: replace it if in doubt"
)

_END = r"[\w.+/=@~%$-]{2,4}"
_REDACTED = regex(rf"(\[redacted:[a-z0-9-]{{1,40}}(?::{_END}…{_END})?\])", re.ASCII)
_WORTH_KEEPING = regex(r"\w")
_MASKABLE = regex(r"[\w.+/=@~%$-]{16,}", re.ASCII)
_NOTHING = CleanText("", ())
_UNKNOWN = Provenance()
_DECISIONS = {"redact": "redacted", "mask": "masked", "block": "blocked", "warn": "warned"}


class Redactor:
    """The secret filter. It has no switch."""

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        mode: Mode = "redact",
        personal: bool = True,
        allow: Sequence[str] = (),
    ) -> None:
        """Make all of ``rules`` ready.

        ``allow`` names values, or rules for personal data, that are let through. Raises
        ``BadRule`` if there are no rules or one is unusable, and ``BadAllowance``.
        """
        every = tuple(rules)
        allowance = Allowance(allow, every)
        in_force = (
            rule
            for rule in every
            if rule.kind != "personal" or (personal and rule.name not in allowance.names)
        )
        self.mode = mode
        self._names = frozenset(rule.name for rule in every)
        self._personal = frozenset(rule.name for rule in every if rule.kind == "personal")
        self._rules = Rules(in_force, spares=allowance.spares)

    @classmethod
    def load(
        cls,
        file: Path = RULES_FILE,
        *,
        mode: Mode = "redact",
        personal: bool = True,
        allow: Sequence[str] = (),
    ) -> Redactor:
        """The filter with the rules of ``file``. Raises as the constructor, and ``OSError``."""
        return cls(read_rules(file), mode=mode, personal=personal, allow=allow)

    def compile_pending(self) -> Iterator[None]:
        """Compile what no text has needed yet, a rule with each step. Raises ``BadRule``."""
        return self._rules.compile_pending()

    def redact(self, text: str, known: KnownSecrets | None = None) -> CleanText:
        """``text`` without private spans, and with each secret replaced by ``[redacted:name]``.

        What a reader cannot see goes first, since it could divide a secret. A value that is given
        away is replaced wherever it stands, also in later texts with the same ``known``. The names
        of what was replaced come with it, each once, in order. Redacting twice changes nothing.
        """
        return self.examine(text, known)[0]

    def finds(self, text: str) -> bool:
        """Whether anything is to be redacted in ``text``."""
        return bool(self.redact(text).redactions)

    def examine(
        self, text: str, known: KnownSecrets | None = None
    ) -> tuple[CleanText, Counter[str]]:
        """What ``redact`` returns, and how often each name was found."""
        if not text:
            return _NOTHING, Counter()
        known = KnownSecrets() if known is None else known
        seen = _composed(visible(text))
        public = strip_private(seen)
        names = [PRIVATE] if public != seen else []
        parts: list[str] = []
        left = _REDACTED.split(public)[::-1]
        while left:
            part = left.pop()
            spans = [] if _REDACTED.fullmatch(part) else _spans(part, self._rules)
            names.extend(span.name for span in spans)
            self._note(part, spans, known)
            if spans:  # taking a secret away can bare another one beside it, so look again
                left.extend(self._pieces(part, spans)[::-1])
            else:
                parts.append(part)
        clean, repeated = known.hide("".join(parts))
        found = Counter(names) + repeated
        return CleanText(clean, tuple(found)), found

    def _note(self, text: str, spans: Iterable[Span], known: KnownSecrets) -> None:
        for span in spans:
            if span.name not in self._personal:
                known.note(text[span.start : span.end], span.name)

    def marks(self, text: str) -> Counter[str]:
        """How often each rule has left its ``[redacted:name]`` in ``text`` before."""
        names = (mark[1:-1].split(":")[1] for mark in _REDACTED.findall(text))
        return Counter(name for name in names if name in self._names)

    def _pieces(self, text: str, spans: list[Span]) -> list[str]:
        pieces: list[str] = []
        end = 0
        for span in spans:
            ends = _ends(text[span.start : span.end]) if self.mode == "mask" and span.shows else ""
            pieces += (text[end : span.start], f"[redacted:{span.name}{ends}]")
            end = span.end
        return [*pieces, text[end:]]


def _composed(text: str) -> str:
    """``text`` with each letter and its accents as one character, as the rules have them."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _spans(text: str, rules: Rules) -> list[Span]:
    if not text.isascii():  # each character stays where it is
        text = text.translate(PLAIN)
    found = rules.spans(text) + spans_of_views(text, rules)
    return _merged([*found, *spans_over_breaks(text, found, rules)])


def _ends(secret: str) -> str:
    """What a mask shows of ``secret``: its ends, a quarter of it at most, or nothing."""
    if _MASKABLE.fullmatch(secret) is None:
        return ""
    shown = min(4, len(secret) // 8)
    return f":{secret[:shown]}…{secret[-shown:]}"


def _merged(spans: list[Span]) -> list[Span]:
    """``spans`` in order, overlapping ones made one under the name of the first and longest.

    One that is made of several shows its ends only if each of them would.
    """
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            shows = last.shows and span.shows
            merged[-1] = last._replace(end=max(last.end, span.end), shows=shows)
        else:
            merged.append(span)
    return merged


# --- the stage -----------------------------------------------------------------------------------


def redact(
    event: CaptureDetected, *, redactor: Redactor, known: KnownSecrets | None = None
) -> StoreRequested | CaptureSettled:
    """Redact what is to be kept, and everything that goes with it.

    ``known`` is what was given away in its session before; by itself nothing.

    Declined where nothing is left but what was redacted, and in the mode ``block`` where text or
    tags hold anything to be redacted. Tells ``redacted`` where there was something.
    """
    request, cleaner = event.request, _Cleaner(redactor, known)
    content, tags = cleaner(event.content), _clean_tags(event, cleaner)
    questions = _clean_questions(event.questions, cleaner)
    triggers = _clean_triggers(event.triggers, cleaner)
    if redactor.mode == "block" and event.namespace == TASKS and not request.explicit:
        # Who wrote the record of a task had to redact the parts of it before cutting them.
        cleaner.counts += redactor.marks(content.text)
    if refusal := _refusal(content, cleaner, redactor.mode):
        decision, reason = refusal
        _tell(request, cleaner, decision)
        return _declined(event, cleaner, reason)
    provenance = clean_provenance(request.provenance, cleaner)
    _tell(request, cleaner, _DECISIONS[redactor.mode])
    return StoreRequested(
        trace=event.trace,
        # The stages to come must not see the raw text again.
        request=replace(
            request,
            text=content.text,
            namespace=event.namespace,
            tags=tags,
            questions=questions,
            triggers=triggers,
            provenance=provenance,
        ),
        namespace=event.namespace,
        tags=tags,
        content=CleanText(content.text, tuple(cleaner.counts)),
        summary=_summary(content, request.summary, cleaner),
        questions=questions,
        triggers=triggers,
    )


def _summary(content: CleanText, given: str, cleaner: _Cleaner) -> CleanText:
    """Of a text without a secret its own words need not be read again."""
    if given:
        return cleaner.clean(given)
    summary = summarise(content.text)
    if not content.redactions and summary.rstrip("… ") in content.text:
        return CleanText(summary, ())
    return cleaner.clean(summary)


def with_warning(event: CaptureSettled) -> CaptureSettled:
    """The same, with a warning for the user where something was taken out of what was kept."""
    kept = event.kept
    if kept.outcome not in {"stored", "merged"} or not set(kept.redactions) - {PRIVATE}:
        return event
    reason = f"{WARNING}; {kept.reason}" if kept.reason else WARNING
    return replace(event, kept=replace(kept, reason=reason))


class _Cleaner:
    """Redacts the parts of one capture, and counts what was found."""

    def __init__(self, redactor: Redactor, known: KnownSecrets | None) -> None:
        self._redactor = redactor
        self._known = KnownSecrets() if known is None else known
        self.counts: Counter[str] = Counter()

    def clean(self, text: str) -> CleanText:
        """``text`` redacted, and not counted."""
        return self._redactor.redact(text, self._known)

    def __call__(self, text: str) -> CleanText:
        clean, counts = self._redactor.examine(text, self._known)
        if counts:
            self.counts += counts
        return clean


def clean_provenance(origin: Provenance, clean: Callable[[str], CleanText]) -> Provenance:
    """``origin``, each of its texts redacted by ``clean``."""
    if origin == _UNKNOWN:
        return origin
    return Provenance(
        **{name: clean(getattr(origin, name)).text for name in origin.__struct_fields__}
    )


def _clean_tags(event: CaptureDetected, cleaner: _Cleaner) -> tuple[str, ...]:
    """The tags without those that are secrets, as they came or as they were made of what came.

    A tag is made lower case and cut, after which not every secret can be recognised.
    """
    came = (*event.request.tags, event.request.namespace or "")
    secret = {tag for raw in came if cleaner(raw).redactions for tag in clean_tags((raw,))}
    return tuple(tag for tag in event.tags if tag not in secret and not cleaner(tag).redactions)


def _clean_questions(
    questions: tuple[str, ...] | None, cleaner: Callable[[str], CleanText]
) -> tuple[str, ...] | None:
    """The questions without those that hold a secret, cut."""
    kept = without(questions, lambda one: bool(cleaner(one).redactions))
    return kept and tuple(cut(one, MAX_QUESTION_CHARS) for one in kept)


def _clean_triggers(
    triggers: tuple[Trigger, ...] | None, cleaner: Callable[[str], CleanText]
) -> tuple[Trigger, ...] | None:
    """The triggers without those that hold a secret."""
    return without(triggers, lambda one: bool(cleaner("\n".join(one.texts)).redactions))


def without(given: tuple[T, ...] | None, holds_secret: Callable[[T], bool]) -> tuple[T, ...] | None:
    """What is ``given`` but for those with a secret; None, as if none were, where that is all."""
    kept = tuple(one for one in given or () if not holds_secret(one))
    return None if given and not kept else given and kept


def _refusal(content: CleanText, cleaner: _Cleaner, mode: Mode) -> tuple[str, str] | None:
    """The decision not to keep it and the reason for the user, or None."""
    found = [name for name in cleaner.counts if name != PRIVATE]
    if mode == "block" and found:
        return "blocked", (
            f"it holds what must not be kept ({', '.join(found)}), and redaction.mode is block"
        )
    if _WORTH_KEEPING.search(_REDACTED.sub("", content.text)) is None:
        return "declined", "nothing was left after secrets and private text were taken out"
    return None


def _declined(event: CaptureDetected, cleaner: _Cleaner, reason: str) -> CaptureSettled:
    kept = Kept(
        outcome="declined",
        namespace=event.namespace,
        reason=reason,
        redactions=tuple(cleaner.counts),
    )
    return CaptureSettled(trace=event.trace, kept=kept)


def _tell(request: CaptureRequested, cleaner: _Cleaner, decision: str) -> None:
    if cleaner.counts:
        emit(
            redacted,
            "redact",
            trace=request.trace,
            memory=request.id,
            rules=dict(cleaner.counts),
            scope=request.scope.kind,
            decision=decision,
        )


# --- what may leave the machine -------------------------------------------------------------------


# What is ours and no text: redacting it would only do harm.
_OURS = frozenset({"gate", "author"})
_MARK = regex(r"\[redacted:[^\]]*\]")


def release(memory: Memory, *, redactor: Redactor) -> Memory | None:
    """``memory`` as it may leave; itself where nothing is to be taken out.

    None where it stays here: nothing would be left of it, or it holds what ``block`` keeps from
    being stored. Private spans and secrets were taken out when it was stored; this is for what
    came before there was a rule, or another way. The hash of the content is the caller's to make
    anew. Takes up to a millisecond: not for the event loop.
    """
    content = redactor.redact(memory.content)
    found = set(content.redactions) - {PRIVATE}
    if found and redactor.mode == "block":
        return None
    if _WORTH_KEEPING.search(_MARK.sub("", content.text)) is None:
        return None
    return replace(
        memory,
        content=content.text,
        summary=redactor.redact(memory.summary).text,
        tags=tuple(tag for tag in memory.tags if not redactor.redact(tag).redactions),
        questions=_clean_questions(memory.questions, redactor.redact) or (),
        triggers=_clean_triggers(memory.triggers, redactor.redact) or (),
        provenance=_clean(memory.provenance, redactor),
        sources=tuple(_clean(source, redactor) for source in memory.sources),
    )


def _clean(origin: Provenance, redactor: Redactor) -> Provenance:
    texts = {name: getattr(origin, name) for name in origin.__struct_fields__ if name not in _OURS}
    return replace(origin, **{name: redactor.redact(text).text for name, text in texts.items()})
