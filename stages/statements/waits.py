"""What stands in the way according to a blocker: what cannot be done, and what it waits for.

"We cannot deploy until the certificate is renewed" hinders a deploy, and waits for a renewal.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from ...config.patterns import regex
from ..language.words import TECHNOLOGIES, fold, spelled_words, words
from .canonical import canonical
from .statement import Statement, sentences_of

_READ_SENTENCES = 2
_PAST = {
    "sent": "send", "gave": "give", "given": "give", "got": "get", "ran": "run", "bought": "buy",
    "brought": "bring", "paid": "pay", "wrote": "write", "written": "write", "made": "make",
    "built": "build", "rebuilt": "rebuild", "put": "put", "took": "take", "taken": "take",
    "came": "come", "went": "go", "did": "do", "found": "find", "set": "set", "began": "begin",
    "chose": "choose", "chosen": "choose", "shut": "shut", "cut": "cut", "left": "leave",
}  # fmt: skip
_PAST_ENDING = regex(r"\w{2,20}(?:ed|en|pt|ilt|ade)")
_WAITS = regex(r"\b(?:until|till|before|unless|wait\w{0,3}|has to be|must be)\b", re.IGNORECASE)
# After these comes what is not there.
_LACKS = regex(
    r"\b(?:until|till|unless|wait\w{0,3}(?: for| on(?: \w+){1,2}? for\b| on)?|needs?|requires?"
    r"|blocked (?:by|on)|depends on|held up by|no|without|lacks?|missing)\b",
    re.IGNORECASE,
)
_CLAUSAL = frozenset(("until", "till", "unless"))
# What such a blocker is about is not there itself.
_IS_LACKING = regex(
    r"\b(?:stuck|missing|pending|outstanding|overdue|delayed|held up|on hold"
    r"|not (?:yet )?(?:here|there|in|available|ready|online|live|enabled|activated|granted)"
    r"|(?:has|have)(?:n['\u2019]t| not) (?:arrived|come))\b",
    re.IGNORECASE,
)
LEAVES = ("leave", "holiday", "holidays", "vacation", "sabbatical", "pto")
"""What somebody is on, or back from, who is away for a time."""

_IS_AWAY = regex(
    rf"\b(?:(?:on|takes) (?:\w+ )?(?:{'|'.join(LEAVES)})"
    r"|(?:is|are) (?:away|absent|sick|ill)|off sick|out of office|not back)\b",
    re.IGNORECASE,
)
_CANNOT = regex(r"\b(?:cannot|can not|can['\u2019]t) (?P<act>[^,;:.?!]{2,90})", re.IGNORECASE)
_WE = (
    r"(?:^(?:still |currently )?"
    r"|\b(?:we|i|nobody|no one|nothing)(?:['\u2019](?:re|m)| are| am)?\s+)"
)
# "We cannot ship until …", "Waiting on Oksana for …". Who is spoken to, or anybody, is told a rule.
_HELD_UP = regex(
    rf"(?:(?:{_WE}(?:still )?(?:can ?not|can['\u2019]?t|unable to|not able to)"
    r"|\b(?:nobody|no one|nothing)\s+can)\b[^;:.?!]{2,90}?\b(?:until|till|before|unless)"
    rf"|{_WE}(?:still )?(?:waiting|blocked|stuck|held up) (?:on|for|by|until|till))"
    r"\s+(?:(?:the|our)\s+)?(?P<awaited>\S+)",
    re.IGNORECASE,
)
# "The export cannot go live until Bram finishes it."
_BY_NAME = regex(
    r"^(?:the|our) [^;:.?!]{2,60}? can(?:not|['\u2019]?t) [^;:.?!]{2,90}?\b(?:until|till)"
    r"\s+(?P<awaited>[A-Z][a-z]+)\b"
)
# So begins what is awaited each time: "until two reviewers have approved", "before it is opened".
_EACH_TIME = regex(
    r"(?:it|its|they|their|you|your|all|every|each|any|both|some\w*|at|an?|one|two|three|four|\d.*"
    r"|after|further|that|this|these|those)",
    re.IGNORECASE,
)
# So is what every change waits for: "until CI passes", "before QA signs off".
_RECURS = regex(
    r"\b(?:until|till|before|unless) (?:the )?(?:ci|tests?|builds?|checks?|pipelines?|qa) "
    r"(?:pass\w*|(?:is|are) green|signs? off|finish\w*|succeeds?|approves?)\b",
    re.IGNORECASE,
)
_TURNED_DOWN = regex(r"\b(?:rejected|refused|declined|denied|turned down|failed)\b", re.IGNORECASE)
_TURNED_TO = frozenset("approved accepted granted confirmed signed passed".split())
_ENDING = regex(r"(?<=\w{2})(?:e?[sd]|e)$")
_WORD = regex(r"[\w.@/-]*\w")
_COMES = (
    "send give deliver provide ship bring hand issue grant create order buy get have include exist "
    "arrive come receive install enable publish renew here there available online ready live"
)
_COMING = frozenset(map(canonical, _COMES.split()))
_CLOSE = 4
_MODALS = frozenset("can could must may should will would".split())
_IS = frozenset("is are be been was were get gets".split())
_BREAKS_OFF = frozenset("of from by for in on at with about to that which".split())
_IS_ACT = regex(
    r"\w*(?:val|tion|sion|ment|review|sign-?off|signature|fix|merge|upgrade|release|rollout"
    r"|cleanup|test|tests)"
)


def is_held_up(content: str) -> bool:
    """Whether the first sentence says that we cannot go on with something before something else.

    "We cannot ship the app until Apple approves it", "Waiting on Oksana for the key".
    """
    first = next(sentences_of(content, 1), "")
    if by_name := _BY_NAME.match(first[:1].lower() + first[1:]):
        return fold(by_name["awaited"]) not in TECHNOLOGIES
    held_up = _HELD_UP.search(first)
    if held_up is None or _RECURS.search(first):
        return False
    return _EACH_TIME.fullmatch(held_up["awaited"]) is None


def is_past(word: str) -> bool:
    """Whether a folded ``word`` can say what was done: "renewed", "sent", "broken"."""
    return word in _PAST or _PAST_ENDING.fullmatch(word) is not None


class Wait:
    """The beginning of a blocker, read once. All words are canonical."""

    def __init__(self, content: str) -> None:
        self._content = content
        sentences = list(sentences_of(content, _READ_SENTENCES))
        self._begin = " ".join(sentences)
        self._read = [Statement(one) for one in sentences]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset().union(*(one.canonical_words for one in self._read))

    @property
    def topic(self) -> frozenset[str]:
        """What the first sentence begins with."""
        return self._read[0].topic if self._read else frozenset()

    @property
    def is_absence(self) -> bool:
        """Whether somebody is away."""
        return _IS_AWAY.search(self._begin) is not None

    def awaits(self, how: str, what: frozenset[str], who: frozenset[str]) -> bool:
        """Whether it waits for that to happen, and for ``who`` to do it, if it says by whom.

        "We cannot delete the old cluster" waits for its deletion.
        """
        does = who <= self.words
        if awaited := _WAITS.search(self._content):
            after = self._content[awaited.end() :]
            if _bare(how) in _acts(after) and (does or self._is_done_by_anybody(how, after)):
                return len(what) > 1 or what <= self.topic or _are_close(how, what, after)
        hindered = _CANNOT.search(self._content)
        if hindered is None or not does:
            return False
        act = _WAITS.split(hindered["act"])[0]
        return _bare(how) in _acts(act) and what <= _named(act)

    def hinders(self, how: str, what: frozenset[str]) -> bool:
        """Whether just that could not be done: "publishing to the store waits for legal"."""
        awaited = _WAITS.search(self._begin)
        if awaited is None:
            return False
        before = spelled_words(self._begin[: awaited.start()])
        acts = {
            canonical(word)
            for at, word in enumerate(before)
            if not is_past(word) or before[at - 1] in ("be", "get", "not")
        }
        act = canonical(_PAST.get(how, how))
        return act in acts and what <= set(map(canonical, before)) and what != {act}

    def denies(self, how: str) -> bool:
        """Whether it says that this was not done, or was turned down: "not enabled yet"."""
        spelled = spelled_words(self._begin)
        bare = _bare(how)
        for at, word in enumerate(spelled):
            is_state = word == "not" and spelled[at - 1] not in _MODALS
            if is_state and bare in map(_bare, spelled[at + 1 : at + 4]):
                return True
        return how in _TURNED_TO and _TURNED_DOWN.search(self._begin) is not None

    def lacks(self, what: frozenset[str]) -> bool:
        """Whether it waits for a thing that ``what`` names, and not for something done with it."""
        if (lacking := _IS_LACKING.search(self._begin)) and what <= _named(
            self._begin[: lacking.start()]
        ):
            return True
        return any(
            self._is_lacking(one[0].lower(), self._begin[one.end() :], what)
            for one in _LACKS.finditer(self._begin)
        )

    def _is_lacking(self, lead: str, after: str, what: frozenset[str]) -> bool:
        spelled = spelled_words(after)
        if what.isdisjoint(map(canonical, spelled)):
            return False
        if lead in _CLAUSAL or "to" in spelled:
            return "they" not in spelled and not _COMING.isdisjoint(map(canonical, spelled))
        ends = (at for at, word in enumerate(spelled) if word in _BREAKS_OFF)
        thing = spelled[: next(ends, len(spelled))]
        acts = (word for word in thing if _IS_ACT.fullmatch(word))
        return not what.isdisjoint(map(canonical, thing)) and what.issuperset(map(canonical, acts))

    def has_thing(self, what: frozenset[str]) -> bool:
        """Whether one of ``what`` is written small, or in capitals alone: no name of somebody."""
        written = _WORD.findall(self._begin)
        small = (word for at, word in enumerate(written) if not word.istitle() or not at)
        return not what.isdisjoint(canonical(fold(word)) for word in small)

    @staticmethod
    def _is_done_by_anybody(how: str, awaited: str) -> bool:
        """Whether ``awaited`` says "is renewed", and not by whom."""
        spelled = list(map(fold, _WORD.findall(awaited)))
        return any(
            _bare(word) == _bare(how)
            and not _IS.isdisjoint(spelled[max(0, at - 2) : at])
            and "by" not in spelled[at + 1 : at + 3]
            for at, word in enumerate(spelled)
        )


@lru_cache(maxsize=64)
def wait_of(content: str) -> Wait:
    """The same ones are compared with each thing that is said to be done."""
    return Wait(content)


def _are_close(how: str, what: frozenset[str], text: str) -> bool:
    """Whether ``text`` says ``how`` of one of ``what``, and not in passing of another thing."""
    spelled = spelled_words(text)
    at = [number for number, word in enumerate(spelled) if _bare(word) == _bare(how)]
    near = (spelled[max(0, one - _CLOSE) : one + _CLOSE + 1] for one in at)
    return any(not what.isdisjoint(map(canonical, part)) for part in near)


def _named(text: str) -> frozenset[str]:
    return frozenset(map(canonical, spelled_words(text)))


def _acts(text: str) -> set[str]:
    return {_bare(word) for word in words(text)}


def _bare(verb: str) -> str:
    """``verb`` as "renew", "renews" and "renewed" have it in common, but not "renewing"."""
    folded = fold(verb)
    return _ENDING.sub("", _PAST.get(folded, folded))
