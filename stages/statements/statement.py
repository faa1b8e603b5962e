"""One sentence as the comparison sees it: what it is about, what it states, what it denies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from ...config.patterns import regex
from ..language.words import WORD, fold, spelled_out
from .canonical import (
    ACTS,
    DENIALS,
    LIGHT,
    ORDINARY,
    POLES,
    ROLES,
    SAME,
    SLOTS,
    SURROUNDINGS,
    TELLINGS,
    TIMES,
    UNITS,
    Measure,
    canonical,
    is_technology,
    measure,
    steps_of,
)
from .changes import replaced_phrases, says_new, turned_down

MOST_TOKENS = 48
"""What a longer sentence adds is no claim."""

_TOKEN = regex(rf"\d\d?:\d\d|{WORD}|[,;:.!?()]|[\u2013\u2014]|->|\u2192")
_CLOCK = regex(r"\d\d?:\d\d|\d\d?[ap]m")
_ORDINAL = regex(r"\d+(?:st|nd|rd|th)")
# What is no plain word: a path, a file, an identifier, a version.
_CODE = regex(r"[/_@\\]|\w\.\w|\d[a-z]|[a-z]\d")
_IS_BACK = regex(
    r" (?:(?:the|our|a|and|but|so|now|ok) )*(?P<what>[^,;:.]{2,60}?) (?:is|are) back "
    r"(?!up |online |to |end |ed )"
)
_BREAK = regex(r"(?<=[\w)`\"'][.!?])\s+(?=\S)|\n+")
_TOGETHER = regex(
    r"\b(?:end to end|pull requests?|on call|(?:sign|signs|signed|signing) off|opt (?:in|out)"
    r"|read only|two factor|off limits)\b"
)
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m")
_SWITCHED = {"on": "enabled", "off": "disabled"}
_AFTER_SWITCH = frozenset(", ; : . ) by unless until again now for if when".split())
_UNIVERSAL = frozenset(
    "all every each always any anyone anybody everybody everyone everything never nothing nobody "
    "none no whole entire both anywhere everywhere".split()
)
_RESTRICTS = frozenset("only solely exclusively alone just merely reserved".split())
_EXCEPTS = frozenset("except unless apart excluding but aside besides exception exceptions".split())
_ADDS = frozenset(
    "also too additionally besides moreover furthermore another further either".split()
)
_GIVES_REASON = frozenset("because since reason reasons why therefore otherwise".split())
_BEGINS_REASON = frozenset(("because", "since", "as"))
# A number after these is a name, not a value.
_COUNTED = frozenset(
    "number no issue ticket pr pull-request bug task item step part phase adr chapter section "
    "milestone sprint error code page revision appendix figure line".split()
)
ENDS_LEAD = frozenset((",", ";", "(", "\u2013", "\u2014", "because", "since", "so"))
# "From now on the relay …": the subject is still to come.
_SAYS_WHEN = frozenset((("now", "on"), ("here", "on"), ("today", "on"), ("as", "of")))
_ENDS_SLOT = frozenset(", ; : ( ) . and but or when while if that which because since so".split())
_MODALS = frozenset("can may must should shall will never to".split())
_PASSED_OVER = frozenset("not be always only never also still now the a an".split())
_ARTICLES = frozenset(("a", "an", "the"))
_NO_ACTION = frozenset(
    "longer any more been have has had do does did get gets got use uses used using is are was "
    "were one of in to for on at , ; .".split()
)
_LITTLE = frozenset(
    map(
        canonical,
        "the a an our its his her their of for in on to with and it that this any".split(),
    )
)
_TURNS_DOWN = frozenset(
    "instead rather place against over rejected ruled turned forbidden banned".split()
)
# After a word with a capital letter at the beginning of a sentence these make a person of it.
_PERSONAL = frozenset("does took left handed".split())
_IN_CHARGE = frozenset(
    (
        ("is", "responsible"),
        ("is", "our"),
        ("is", "in"),
        ("is", "the"),
        ("has", "the"),
        ("has", "left"),
    )
)
_AFTER_NOUN = frozenset(
    "is are was were be have has had must may can should will do does did get got need run go use "
    "take start come live stay contain end belong happen expire count work".split()
)
_NO_DEED = frozenset("is was has does as this its".split())
_OFTEN = {
    "day": "daily", "days": "daily", "night": "nightly", "week": "weekly", "month": "monthly",
    "quarter": "quarterly", "year": "yearly", "hour": "hourly",
}  # fmt: skip
TESTS = frozenset("test tests scripts notebooks".split())
"""Where something else may hold: "in tests", "for scripts"."""

# "written in Go" says what it is, "in Go" where something else holds.
_MADE = frozenset("written rewritten implemented reimplemented coded programmed ported".split())
_ORDINALS = frozenset("first second third fourth fifth last next previous".split())
# The word before the month, rather than a permission.
_BEFORE_MAY = frozenset("in by until till since from of before after early mid late this".split())
_AT = frozenset("in for during under".split())
_PER = frozenset("every each once a per an twice".split())
_TURNED_BY_DENIAL = ("default", "duty", "change", "safety", "possibility")


# "We do not use Sentry" says that there is no Sentry.
_HAVING = frozenset(map(canonical, "use have offer support".split()))


class Statement:
    """A sentence, read once. Its words are what ``canonical`` makes of them.

    ``content`` are the words that it is about, ``names`` those that name something, ``light`` the
    others; ``order`` has content and names as they come, ``lead`` those before it gives a reason.
    ``slots`` has those of the subject and those after a preposition or "is", ``modifiers`` for each
    of them the one right before it; ``aside`` are those that it gives as a reason. ``numbers`` are
    the values by the kind of their unit, ``figures`` the same as written, ``keyed`` the words
    before them with that kind.
    """

    def __init__(self, text: str) -> None:
        self.tokens, self._shown = _tokens(text)
        self.words = frozenset(self.tokens)
        self.names: set[str] = set()
        self.light: set[str] = set()
        self.times: set[str] = set()
        self.units: set[str] = set()
        self.around: set[str] = set()
        self.numbers: dict[int, set[str]] = {}
        self.figures: set[str] = set()
        self.keyed: set[tuple[str, int]] = set()
        self.modifiers: dict[str, str] = {}
        self.slots: dict[str, set[str]] = {}
        self.roles: dict[str, set[str]] = {}
        self.order: list[str] = []
        self.lead: set[str] = set()
        self.aside: set[str] = set()
        self.content: set[str] = set()
        self._read()
        self.heavy = frozenset(self.content | self.names)
        self.topic = frozenset(self.order[:2])

    def _read(self) -> None:
        slot, before, last, leading, aside = "subject", "", "", True, False
        for at, word in enumerate(self.tokens):
            reason = word in _BEGINS_REASON or (word == "that" and self.tokens[at - 1] == "now")
            aside = aside or (reason and len(self.order) > 1)
            leading = leading and not (word in ENDS_LEAD and len(self.order) > 1)
            if not (at and (self.tokens[at - 1], word) in _SAYS_WHEN):
                slot = "" if word in _ENDS_SLOT else SLOTS.get(word, slot)
            following = self.tokens[at + 1] if at + 1 < len(self.tokens) else ""
            if not (word[0].isalnum() or word[0] == "_"):
                last = ""
            elif number := measure(word, following):
                self._note_number(at, number, following, before)
                last = ""
            elif self._is_time(at, word):
                last = ""
            elif kind := self._kind(at, word, following):
                one = canonical(word)
                if word in ROLES and last:
                    one = self._joined_role(last, one)
                self._note_word(one, kind, slot, last, leading)
                if aside:
                    self.aside.add(one)
                before = last = one
            else:
                before, last = canonical(word), ""
                self.light.add(before)
                slot = "" if slot == "subject" and self.order else slot

    def _note_number(self, at: int, number: Measure, following: str, before: str) -> None:
        if at and self.tokens[at - 1] in _COUNTED:
            self.around.add(f"{before} {number.value}")
            return
        self.numbers.setdefault(number.kind, set()).update(number.values)
        self.figures.add(number.value)
        if number.unit and not number.is_scaled:
            self.units.add(number.unit)
        if before:
            self.keyed.add((before, number.kind))
        if at and self.tokens[at - 1] == "every" and number.kind >= 0:
            self.times.add(f"every {number.value} {number.unit or following}")
        if _CLOCK.fullmatch(self.tokens[at]) or following in ("am", "pm", "o'clock"):
            self.times.add(number.value)

    def _is_time(self, at: int, word: str) -> bool:
        """Whether ``word`` is a time or a unit, which is noted."""
        if word in TIMES or _ORDINAL.fullmatch(word):
            self.times.add(word[:-1] if word[-1] == "s" else word)
            return True
        if word not in UNITS:
            return False
        number = measure(self.tokens[at - 1], word) if at else None
        if number is None or not number.is_scaled:
            self.units.add(word)
        if word in _OFTEN and at and self.tokens[at - 1] in _PER:
            self.times.add(_OFTEN[word])
        return True

    def _kind(self, at: int, word: str, following: str) -> str:
        """What a word is: "name", "content", or "" where it says little."""
        one = canonical(word)
        if self._is_around(at, word, one):
            self.around.add(one)
        if self._is_name(at, word, following):
            return "name"
        if word in LIGHT or one in LIGHT:
            return ""
        return "name" if is_technology(word) else "content"

    def _is_around(self, at: int, word: str, one: str) -> bool:
        if word in TESTS and at and self.tokens[at - 1] in _AT:
            return True
        if at > 1 and self.tokens[at - 1] in ("in", "to") and self.tokens[at - 2] in _MADE:
            return False
        known = one in SURROUNDINGS or word in SURROUNDINGS
        return known and (word != "us" or self._shown[at] == "US")

    def _note_word(self, one: str, kind: str, slot: str, last: str, leading: bool) -> None:
        (self.names if kind == "name" else self.content).add(one)
        self.order.append(one)
        if leading:
            self.lead.add(one)
        if last:
            self.modifiers[one] = last
        if slot:
            self.slots.setdefault(slot, set()).add(one)
        if kind == "name":
            begun = slot == "subject" and len(self.order) > 1
            self.roles.setdefault("object" if begun else slot, set()).add(one)

    def _joined_role(self, before: str, role: str) -> str:
        """Whose role it is belongs to its name: "security team"."""
        self.order.remove(before)
        self.content.discard(before)
        for noted in (self.lead, self.aside, *self.slots.values()):
            noted.discard(before)
        return f"{before} {role}"

    def _is_name(self, at: int, word: str, following: str) -> bool:
        if word in ROLES:
            return True
        if word in LIGHT and word not in ORDINARY:
            return False
        shown = self._shown[at]
        if _CODE.search(word) or shown[1:].lower() != shown[1:]:
            return True
        return shown[0].isupper() and self._is_capital_for_a_reason(at, word, following)

    def _is_capital_for_a_reason(self, at: int, word: str, following: str) -> bool:
        """Whether a capital letter is more than the beginning of a sentence."""
        if at and self.tokens[at - 1] not in ".!?:":
            return True
        if word in SAME or word[-1] == "s":
            return False
        then = self.tokens[at + 2] if at + 2 < len(self.tokens) else ""
        does = following[-1:] == "s" and following not in _NO_DEED and then not in _AFTER_NOUN
        return does or following in _PERSONAL or tuple(self.tokens[at + 1 : at + 3]) in _IN_CHARGE

    # --- how it is said --------------------------------------------------------------------------

    @cached_property
    def denies(self) -> bool:
        return not self.words.isdisjoint(DENIALS)

    @cached_property
    def universal(self) -> bool:
        return not self.words.isdisjoint(_UNIVERSAL)

    @cached_property
    def restricts(self) -> bool:
        return not self.words.isdisjoint(_RESTRICTS)

    @cached_property
    def excepts(self) -> bool:
        return not self.words.isdisjoint(_EXCEPTS)

    @cached_property
    def adds(self) -> bool:
        return not self.words.isdisjoint(_ADDS)

    @cached_property
    def reasons(self) -> bool:
        return not self.words.isdisjoint(_GIVES_REASON)

    @cached_property
    def is_new(self) -> bool:
        """Whether it has a word of change."""
        return says_new(self.line)

    @cached_property
    def subject(self) -> frozenset[str]:
        """The words of its subject."""
        return frozenset(self.slots.get("subject", ()))

    @cached_property
    def opening(self) -> frozenset[str]:
        """The words that it begins with, without names."""
        return self.subject - self.names

    @cached_property
    def canonical_words(self) -> frozenset[str]:
        return frozenset(map(canonical, self.words))

    @cached_property
    def values(self) -> frozenset[str]:
        """Its words, as they come, that are names, numbers or times; and the first, if it has one.

        A sentence may begin with a name that is told by nothing but its capital letter.
        """
        known = self.names | self.times
        return frozenset(
            word
            for at, word in enumerate(self.tokens)
            if (one := canonical(word)) in known
            or word in known
            or word in TIMES
            or word in _ORDINALS
            or one[:1].isdigit()
            or (word == "may" and at and self.tokens[at - 1] in _BEFORE_MAY)
            or (not at and one in self.heavy)
        )

    @cached_property
    def stated(self) -> frozenset[str]:
        """What it is about, and its times and numbers, but for what it says is no more itself."""
        values = frozenset(map(canonical, chain(self.times, self.figures)))
        return (self.heavy | values).difference(*self.replaced)

    @cached_property
    def tellings(self) -> frozenset[str]:
        """What it says of its subject."""
        return frozenset(TELLINGS[word] for word in self.words & TELLINGS.keys())

    def roles_of(self, names: frozenset[str]) -> frozenset[str]:
        """The parts that ``names`` have in it: "subject", "be", "by", "in", "of", "object"."""
        return frozenset(role for role, found in self.roles.items() if not names.isdisjoint(found))

    @cached_property
    def joined(self) -> tuple[frozenset[str], ...]:
        """The two words around each "and"."""
        ands = [at for at, word in enumerate(self.tokens[:-1]) if at and word == "and"]
        return tuple(frozenset(map(canonical, self.tokens[at - 1 : at + 2 : 2])) for at in ands)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The words without articles and marks."""
        return tuple(word for word in self.tokens if word not in _ARTICLES and word[-1].isalnum())

    @cached_property
    def line(self) -> str:
        """Its words and marks, each between two blanks."""
        return f" {' '.join(self.tokens)} "

    @cached_property
    def poles(self) -> dict[str, int]:
        """The pole of each axis that it names, turned over by a negation; 0 where it names both."""
        found = _named(self.words, POLES)
        if self.denies:
            found |= {axis: -found[axis] for axis in _TURNED_BY_DENIAL if axis in found}
            found["permission"] = -1
        return found

    @cached_property
    def acts(self) -> dict[str, int]:
        """The same of acts that have a counterpart."""
        return _named(self.words, ACTS)

    @cached_property
    def polar(self) -> frozenset[str]:
        """The words that name a pole."""
        return frozenset(map(canonical, self.words & POLES.keys()))

    @cached_property
    def is_against(self) -> bool:
        """Whether it denies, forbids, switches off or calls something gone."""
        negative = self.poles.get("default", 0) < 0 or self.poles.get("permission", 0) < 0
        return self.denies or negative or bool(self.replaced)

    @cached_property
    def _replaced_phrases(self) -> tuple[tuple[frozenset[str], bool], ...]:
        found = (
            (frozenset(map(canonical, phrase.split())) - _LITTLE, plainly)
            for phrase, plainly in replaced_phrases(self.line, self.words)
        )
        return tuple((words, plainly) for words, plainly in found if words)

    @cached_property
    def replaced(self) -> tuple[frozenset[str], ...]:
        """What it says is no more: the words of each phrase."""
        return tuple(words for words, _ in self._replaced_phrases)

    @cached_property
    def gone(self) -> frozenset[str]:
        """The words that name what it says is no more."""
        return frozenset().union(*self.replaced)

    @cached_property
    def turned_down(self) -> frozenset[str]:
        """What it is about and says was not chosen."""
        if not self.denies and self.words.isdisjoint(_TURNS_DOWN):
            return frozenset()
        words = (word for phrase in turned_down(self.line) for word in phrase.split())
        return self.heavy & frozenset(map(canonical, words))

    @cached_property
    def left_behind(self) -> tuple[frozenset[str], ...]:
        """Those of ``replaced`` that it plainly says are gone."""
        return tuple(words for words, plainly in self._replaced_phrases if plainly)

    @property
    def given_up(self) -> tuple[frozenset[str], ...]:
        """Those of them that name something."""
        return tuple(words for words in self.left_behind if words & self.names)

    @cached_property
    def back(self) -> frozenset[str]:
        """What it says is there again."""
        found = _IS_BACK.match(self.line) if "back" in self.words else None
        return frozenset(map(canonical, found["what"].split())) - _LITTLE if found else frozenset()

    @property
    def ruled_out(self) -> tuple[frozenset[str], ...]:
        """What it says there is not, or no more: the words of each phrase."""
        return (*(phrase - _HAVING for phrase in self._denied_phrases), *self.replaced)

    @cached_property
    def denied(self) -> frozenset[str]:
        """The words after a negation, to the end of the clause."""
        return frozenset().union(*self._denied_phrases)

    @cached_property
    def _denied_phrases(self) -> tuple[frozenset[str], ...]:
        found: list[set[str]] = []
        left = 0
        for word in self.tokens:
            if word in DENIALS:
                found.append(set())
                left = 6
            elif word in _ENDS_SLOT:
                left = 0
            elif left:
                found[-1].add(canonical(word))
                left -= 1
        return tuple(frozenset(words) - _LITTLE for words in found)

    @cached_property
    def denied_acts(self) -> frozenset[str]:
        """The first word after each negation that says what is denied."""
        return _first_after(self.tokens, DENIALS, _PASSED_OVER | _NO_ACTION)

    @cached_property
    def actions(self) -> frozenset[str]:
        """What may, must or can be done."""
        return _first_after(self.tokens, _MODALS, _PASSED_OVER)

    @cached_property
    def steps(self) -> tuple[frozenset[str], frozenset[str]]:
        """What it says comes first, and what comes then; both empty where it tells no order."""
        return steps_of([word for word in self.tokens if word[0].isalnum() or word in ",;."])


def sentences_of(text: str, most: int) -> Iterator[str]:
    """At most ``most`` sentences of ``text``."""
    found = (part for part in _BREAK.split(text.strip()) if part.strip())
    for part, _ in zip(found, range(most), strict=False):
        yield part


def _tokens(text: str) -> tuple[list[str], list[str]]:
    """The first words and marks of ``text``: folded, contractions spelled out; and as written."""
    tokens: list[str] = []
    shown: list[str] = []
    folded = _TOGETHER.sub(lambda found: found[0].replace(" ", "-"), fold(text))
    for match in _TOKEN.finditer(folded):
        word = match[0]
        if word.endswith(_CLITICS):
            word = word[: word.rindex("'")]
        parts = spelled_out(word) if word[0].isalpha() else (word,)
        tokens += parts
        shown += [text[match.start() : match.end()]] * len(parts)
        if len(tokens) >= MOST_TOKENS:
            break
    for at, word in enumerate(tokens):
        if word in _SWITCHED and at and (at + 1 == len(tokens) or tokens[at + 1] in _AFTER_SWITCH):
            tokens[at] = _SWITCHED[word]
    return tokens, shown


def _named(words: frozenset[str], axes: dict[str, dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words & axes.keys():
        for axis, pole in axes[word].items():
            found[axis] = pole if found.get(axis, pole) == pole else 0
    return found


def _first_after(
    tokens: Sequence[str], marks: frozenset[str], passed_over: frozenset[str]
) -> frozenset[str]:
    found: set[str] = set()
    awaited = False
    for word in tokens:
        if word in marks:
            awaited = True
        elif awaited and word not in passed_over:
            found.add(canonical(word))
            awaited = False
    return frozenset(found)
