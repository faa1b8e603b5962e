"""Finds where the user says that something is done, and which open blocker or task that means.

"The CI runner is fixed now", "we finished the import of the old orders", "the key is here, Henrike
sent it". Whoever says so names it; what is asked, supposed, ordered or said of a way of working
("deploys are done by ArgoCD") ends nothing, and neither does what may mean two of them, or failed
after all ("the key is here, it is rejected"). What a blocker waits for is read in
``stages/statements/waits.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...bus.values import Memory
from ...config.patterns import regex
from ..language.time_expressions import WEEKDAYS
from ..language.words import STOP_WORDS, is_negation, spelled_words, words
from ..statements.canonical import canonical
from ..statements.waits import LEAVES, Wait, is_past, wait_of
from .statements import statements

MOST_SAID = 8
"""So many clauses of one look are followed."""

_MOST_WORDS = 32
_MOST_CLAUSE_WORDS = 16
_CLAUSE = regex(r"[,;:](?=\s)|\s(?:[-\u2013\u2014]+|and(?! forth)|so|because|as)(?=\s)|[()]")
_SHORT_IS = regex(r"['\u2019](?:s|re|m)(?=\s)", re.IGNORECASE)
_SHORT_HAVE = regex(r"['\u2019]ve(?=\s)", re.IGNORECASE)
_ADDRESS = regex(r"\w+://\S+")

_IS = frozenset("is are was were been got am".split())
_IS_HABIT = frozenset(("is", "are"))
_NOW = frozenset(
    "now finally already all just meanwhile fully completely again since so both it".split()
)
# A leak that is "back" is open again, and a port that is closed is shut.
_DONE = frozenset(
    "done fixed resolved solved finished complete completed unblocked over sorted settled".split()
)
_BACK = frozenset("up online normal".split())
_THERE = frozenset(
    "here there online live available ready out up through in merged deployed published "
    "released delivered received provided installed enabled accessible reachable".split()
)
# These end a clause, or it says where or how something is.
_ENDS_THERE = frozenset("in out up through".split())
_AFTER_THERE = frozenset("now again place here there since today yesterday finally too".split())
# Who is back from these was away; from anywhere else, if the blocker says that they are there.
_ABSENCES = frozenset((*LEAVES, "sick"))
# A review that is through is what somebody waits for whose words are "until it is finished".
_AS_MUCH = {"through": ("through", "finished", "done", "completed", "over", "passed")}
_AFTER_OVER = _AFTER_THERE - {"place", "here", "there"}
_WORKS = frozenset("works work runs passes builds starts boots loads responds".split())
_AGAIN = frozenset("again now fine everywhere today finally".split())
_ENVIRONMENTS = frozenset("staging prod production live test dev".split())
_ARRIVED = frozenset("arrived came landed passed".split())
_GAVE = frozenset(
    "sent gave delivered provided handed shipped brought supplied issued granted".split()
)
_GOT = frozenset("got received have".split())
_WE = frozenset(("we", "i"))
_OURS = frozenset(("us", "me"))
_THE = frozenset("the our my your its this that their his her".split())
_WHEN = frozenset(
    "today yesterday tonight morning noon afternoon evening night week minute minutes hour hours "
    "ago good".split()
).union(WEEKDAYS)
# "The certificate is renewed on Friday", or by certbot.
_PLANNED = frozenset("by tonight evening".split()).union(WEEKDAYS)
_PRODUCTION = frozenset("prod production".split())
_TROUBLE = frozenset(
    "problem problems issue issues bug bugs error errors trouble question questions".split()
)
_TICKETS = frozenset(
    "issue ticket bug task pr pull merge mr milestone issues tickets bugs tasks prs".split()
)
_TICKET_NAME = regex(r"[a-z]{2,10}-\d{1,6}")
_NO_REPORT = regex(
    r"\b(?:if|when|whenever|once|until|unless|after|before|as soon as|whether|should|would|could"
    r"|must|need|needs|make sure|think|thought|hope|hopefully|almost|nearly|half|partly|mostly"
    r"|maybe|perhaps|probably|says?|said|every|each|always|usually|only|except|but|though"
    r"|although|however|will|tomorrow|next|soon|later|still|supposed|expect\w*|promis\w+"
    r"|apparently|allegedly|going to|about to|in (?:an?|the|\d+|some|two|three)(?: few| next)?"
    r" (?:minute|hour|day|week|month)s?)\b",
    re.IGNORECASE,
)
_ORDERS = regex(r"\b(?:please|pls|can you|could you|let|let's)\b", re.IGNORECASE)
# "On my machine, the upload works."
_SOMEWHERE = regex(r"\W*(?:in|on|at|for|with|from|under|per|according)\b", re.IGNORECASE)
_STILL = regex(
    r"\bstill (?:fail|block|wait|broke|stuck|not\b|need|no\b|red\b|down\b|can|does|open|miss|get"
    r"|show|hang|crash)",
    re.IGNORECASE,
)
_FAILS = regex(
    r"\b(?:fail\w*|crash\w*|reject\w*|refus\w*|denied|declined|expired?|invalid|wrong\w*|broken?"
    r"|errors?|corrupt\w*|incomplete|missing|revoked|unusable|useless|unreadable|dead|empty|hangs?"
    r"|throws|bounced|tim(?:es|ed) out|blew up|deadlock\w*|too (?:late|old|short|small|weak)"
    r"|roll(?:ed|s)? (?:it |that |them )?back"
    r"|(?:with|returns?|gives?|gave|gets?|got|says?|http|an?) [45]\d\d"
    r"|(?:not|\w{2,6}n['\u2019]t|cannot|never) (?:\w+ )?"
    r"(?:work|r[ua]n|start|build|load|accept|valid|match|help|enough|usable|respond|pass|complete|finish|right|correct)\w*)\b",
    re.IGNORECASE,
)
_FAULT_IS_OVER = regex(
    r"\b(?:is|are|was|were|been|we|i)(?: now)? (?:gone|over$|fixed|solved|resolved|repaired)\b"
    r"|\b(?:we|i) (?:replaced|swapped|renewed)\b",
    re.IGNORECASE,
)
# "CI is fixed now, it was a broken disk", but not "the key arrived, it was a wrong one".
_WAS_CAUSE = regex(
    r"\b(?:had|(?:it|that|problem|reason|cause|culprit) was (?:an?|the|just|only|our|my))\b",
    re.IGNORECASE,
)
_SAYS_OF_IT = regex(
    r"\b(?:rejects?|refuses?|declines?|accepts?|with) (?:it|them)\W*$"
    r"|^\W*(?:but|however|sadly|alas|unfortunately|result|every|all"
    r"|(?:\w+ ){0,2}?(?:it|they|this|that|these|those))\b",
    re.IGNORECASE,
)
_FREE = regex(
    r"(?P<what>.{2,90}?)(?: (?:is|are)|['\u2019]s)(?: no longer|(?P<no>n['\u2019]t| not))"
    r" (?:blocked|stuck|held up)(?(no) (?:any ?more|any longer))\b",
    re.IGNORECASE,
)
_NOBODY: frozenset[str] = frozenset()
_SAYS_LITTLE = frozenset(
    "it this that these those they everything all thing things stuff one problem problems issue "
    "bug task blocker ticket".split()
)


class Closing(NamedTuple):
    """That something is done: the canonical words of ``what``; ``how`` where no plain word says so.

    ``who`` are the words of who did it; ``arrives`` where that is there now, ``is_thing`` where it
    is no name. ``said`` is the sentence, ``said_at_ms`` counts Unix milliseconds.
    """

    said: str
    what: frozenset[str]
    how: str = ""
    who: frozenset[str] = _NOBODY
    arrives: bool = False
    is_thing: bool = False
    said_at_ms: int = 0


def find_closings(text: str) -> tuple[Closing, ...]:
    """What the user says in ``text``, their own words, to be done, in order."""
    if _STILL.search(text):
        return ()
    said = statements(text, role="user")
    following = [*(part.text for part in said[1:]), ""]
    return tuple(
        one
        for part, after in zip(said, following, strict=False)
        if not part.is_item
        for one in _closings(part.text)
        if not _fails_next(one, after)
    )[:MOST_SAID]


def _fails_next(closing: Closing, said: str) -> bool:
    """Whether ``said``, the sentence after it, has that it failed."""
    if not _is_fault(said, closing):
        return False
    told = closing.what | closing.who
    is_of_it = not told.isdisjoint(map(canonical, spelled_words(said)))
    return is_of_it or _SAYS_OF_IT.search(said) is not None


def _is_fault(said: str, closing: Closing) -> bool:
    """Whether ``said`` has a fault of what ``closing`` is about, and not what it was due to."""
    if not _FAILS.search(said) or _FAULT_IS_OVER.search(said):
        return False
    return bool(closing.how) or not _WAS_CAUSE.search(said)


def _closings(said: str) -> Iterator[Closing]:
    spelled = spelled_words(said)
    if len(spelled) > _MOST_WORDS or said.endswith("?") or _NO_REPORT.search(said):
        return
    line = _ADDRESS.sub(" ", " ".join(said.split()))
    if free := [one for clause in _CLAUSE.split(line) if (one := _FREE.match(clause))]:
        told = (_named(spelled_words(one["what"])) for one in free)
        yield from (Closing(said, what) for what in told if what)
        return
    if any(map(is_negation, spelled)):
        return
    line = _SHORT_HAVE.sub(" have", _SHORT_IS.sub(" is", line))
    clauses = [clause for clause in _CLAUSE.split(line) if clause.strip()]
    if len(clauses) > 1 and _SOMEWHERE.match(clauses[0]):
        return
    for at, clause in enumerate(clauses, start=1):
        tokens = list(words(clause))
        is_report = len(tokens) <= _MOST_CLAUSE_WORDS and not _ORDERS.search(clause)
        if not is_report or not (found := _read(said, tokens)):
            continue
        if not any(_is_fault(one, found) for one in clauses[at:]):
            yield found


def _read(said: str, tokens: Sequence[str]) -> Closing | None:
    """What a clause says to be done, by its first word that can say so."""
    for at, word in enumerate(tokens):
        if found := _read_from(said, tokens[:at], word, tokens[at + 1 :]):
            is_fault = found.how and _FAILS.search(" ".join(tokens[at + 1 :]))
            return None if is_fault else found  # "it is signed by the wrong person"
    return None


def _read_from(said: str, before: Sequence[str], word: str, after: Sequence[str]) -> Closing | None:
    """What ``word``, if it is a verb, says of what stands around it."""
    if word in _IS and ((found := _state(said, before, after, word)) or word != "got"):
        return found
    if word in _WORKS and before and _is_for_good(after):
        return _plain(said, (*before, *after))
    if word in ("have", "has"):
        return _possession(said, before, after)
    if word == "can":
        return _possibility(said, before, after)
    if before and (before[-1] in _IS or before[-1] in _THE or before[-1] in ("a", "an")):
        return None
    is_told = before or (after and (after[0] in _THE or word in _GOT))
    return _act(said, before or ("we",), word, after) if is_told and is_past(word) else None


def _is_for_good(after: Sequence[str]) -> bool:
    """Whether it works, after all: again, or where it counts."""
    if after[:1] in (["in"], ["on"]):
        return not _ENVIRONMENTS.isdisjoint(after[1:3])
    if after[:1] == ["since"]:
        return not _WHEN.isdisjoint(after[1:3])
    return not _AGAIN.isdisjoint(after[:1])


def _plain(said: str, named: Sequence[str]) -> Closing | None:
    what = _named(named)
    return Closing(said, what) if what else None


def _state(said: str, before: Sequence[str], after: Sequence[str], verb: str) -> Closing | None:
    """What ``before`` is now, according to ``after``."""
    start = next((at for at, word in enumerate(after) if word not in _NOW), len(after))
    state, rest = "".join(after[start : start + 1]), after[start + 1 :]
    is_habit = verb in _IS_HABIT and start == 0 and "now" not in rest
    if is_habit and "since" not in rest and not _PLANNED.isdisjoint(rest):
        return None
    if "by" in rest:
        rest = rest[: rest.index("by")]
    if _is_ended(state, rest) or (state == "back" and not _BACK.isdisjoint(rest[:2])):
        return _plain(said, (*before, *(word for word in rest if word not in _BACK)))
    if state == "closed" and _names_ticket(before):
        return _plain(said, (*before, *rest))
    return _turned(said, before, rest, state) if _named(before) else None


def _turned(said: str, before: Sequence[str], rest: Sequence[str], state: str) -> Closing | None:
    """That ``before`` is there, or back, or what ``state`` says was done to it."""
    if state in _THERE and _is_there(state, rest):
        return _arrival(said, _named((*before, *rest)), state, before)
    if state == "back":
        return _return(said, before, rest)
    if not is_past(state):
        return None
    return Closing(said, _named((*before, *rest)), state)


def _return(said: str, before: Sequence[str], rest: Sequence[str]) -> Closing | None:
    """Somebody is back: from where, or since when, and nothing else, such as "at 5"."""
    if rest[:1] != ["from"]:
        is_said = rest[:1] == ["since"] or (_AFTER_THERE | _WHEN).issuperset(rest)
        return Closing(said, _named(before), "back", _named(before)) if is_said else None
    whence = rest if _ABSENCES.isdisjoint(rest) else ()
    return Closing(said, _named((*before, *whence)), "back", _named(before))


def _is_ended(state: str, rest: Sequence[str]) -> bool:
    """Not "over its quota", nor "done for"."""
    goes_on = state == "over" or (state == "done" and rest[:1] == ["for"])
    if goes_on and rest and rest[0] not in _AFTER_OVER and rest[:2] != ["for", "good"]:
        return False
    return state in _DONE


def _is_there(state: str, rest: Sequence[str]) -> bool:
    """Whether nothing follows that says for what, or where: "ready for the review"."""
    if state in _ENDS_THERE and rest and rest[0] not in _AFTER_THERE:
        return False
    return rest[:1] not in (["for"], ["to"]) or not _OURS.isdisjoint(rest[1:2])


def _arrival(
    said: str, what: frozenset[str], how: str, named: Sequence[str], who: Sequence[str] = ()
) -> Closing | None:
    """That something is there; no trouble, of which nobody wants to have any."""
    if not what or not _TROUBLE.isdisjoint(named):
        return None
    thing = not _THE.isdisjoint(named)
    return Closing(said, what, how, _named(who), arrives=True, is_thing=thing)


def _possession(said: str, before: Sequence[str], after: Sequence[str]) -> Closing | None:
    """Somebody has what they waited for: "we have the key", "the image has Node 22 now"."""
    if not after or after[0] in ("to", "been") or is_past(after[0]):
        return None
    ours = not _WE.isdisjoint(before[-1:]) and (after[0] in _THE or after[0] == "got")
    if not ours and "now" not in after:
        return None
    return _arrival(said, _named((*before, *after)), "have", after)


def _possibility(said: str, before: Sequence[str], after: Sequence[str]) -> Closing | None:
    """It can be done again: "we can deploy again", "the upload can be tested now"."""
    rest = [word for word in after if word not in _NOW and word != "be"]
    if len(rest) == len(after) or not rest or not before or {"now", "again"}.isdisjoint(after):
        return None
    what = _named((*before, *rest[1:]))
    return Closing(said, what, rest[0]) if what else None


def _act(said: str, who: Sequence[str], how: str, rest: Sequence[str]) -> Closing | None:
    """What somebody did, or what happened to it."""
    what, agent = _named(rest), _named(who)
    is_ticket = _names_ticket(rest)
    if how in _DONE or (how == "closed" and is_ticket):
        return _plain(said, rest)
    if is_ticket:  # to write one about a thing does nothing to it
        return None
    if how in _ARRIVED or (how == "went" and not _THERE.isdisjoint(rest[:1])):
        return _arrival(said, agent | what, how, who)
    is_ours = not _WE.isdisjoint(who[-2:])
    if what and how in _GOT and is_ours:
        return _arrival(said, what, how, rest)
    if what and how in _GAVE and not is_ours and _is_to_us(rest):
        return _arrival(said, what, how, rest, who if _OURS.isdisjoint(rest) else ())
    return Closing(said, what or agent, how, agent if what else _NOBODY) if what | agent else None


def _is_to_us(rest: Sequence[str]) -> bool:
    return "to" not in rest or not _OURS.isdisjoint(rest[rest.index("to") :])


def _named(tokens: Sequence[str]) -> frozenset[str]:
    """The canonical words of what ``tokens`` name, without when, and thanks to whom, it happened.

    What is in production is so everywhere.
    """
    cut = next((at for at, word in enumerate(tokens) if word in ("since", "thanks")), len(tokens))
    passed_over = STOP_WORDS | _SAYS_LITTLE | _WHEN | _PRODUCTION | {"btw", "fyi"}
    return frozenset(canonical(word) for word in tokens[:cut] if word not in passed_over)


def _names_ticket(tokens: Sequence[str]) -> bool:
    return not _TICKETS.isdisjoint(tokens) or any(map(_TICKET_NAME.fullmatch, tokens))


# --- which one is meant ---------------------------------------------------------------------------


def meant_by(closing: Closing, open_ones: Iterable[Memory]) -> list[Memory]:
    """Those of ``open_ones`` that ``closing`` may mean: it is clear which where there is one.

    It may be each whose beginning has all that the closing names; a single word has to be what the
    memory is about or waits for, or the number of its ticket.
    """
    named = [memory for memory in open_ones if _names_all(closing, memory)]
    if len(named) != 1 or len(closing.what) > 1 or _is_about(closing, wait_of(named[0].content)):
        return named
    return []


def _names_all(closing: Closing, memory: Memory) -> bool:
    wait = wait_of(memory.content)
    if not closing.what <= wait.words:
        return False
    hows = _AS_MUCH.get(closing.how, (closing.how,))
    if not closing.how or any(wait.awaits(how, closing.what, closing.who) for how in hows):
        return True
    if closing.how == "back":
        return closing.who <= wait.topic and (wait.is_absence or wait.denies(closing.how))
    is_by_whom = closing.who <= wait.words
    is_anybody = len(closing.what) > 1 and closing.who.isdisjoint(wait.words)
    if (is_by_whom or is_anybody) and wait.hinders(closing.how, closing.what):
        return True
    is_there = closing.arrives and _arrives(closing, wait)
    return is_by_whom and (wait.denies(closing.how) or is_there)


def _arrives(closing: Closing, wait: Wait) -> bool:
    """Whether that is a thing that ``wait`` is for."""
    is_thing = closing.is_thing or (len(closing.what) > 1 and wait.has_thing(closing.what))
    return is_thing and wait.lacks(closing.what)


def _is_about(closing: Closing, wait: Wait) -> bool:
    if closing.how:
        return True
    if closing.what and all(map(_TICKET_NAME.fullmatch, closing.what)):
        return closing.what == set(filter(_TICKET_NAME.fullmatch, wait.words))
    return closing.what <= wait.topic
