"""What prose says of a task.

A prompt says what is asked for and whether it works, an answer what cause and fix are and how the
task is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal, NamedTuple

from ...config.patterns import regex
from ..language.words import fold, is_negation, words
from ..text.summary import capitalised, summarise
from ..text.unicode import cut, fenced, one_line
from .records import find_records, is_record

MAX_CONCLUSION_CHARS = 320

_ENDS = regex(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)[\"')*_]{0,3}\s+(?=[\"'(*_`]{0,3}[A-Z0-9/]|`)|\n+"
)
_DECORATION = regex(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,3}[.)]\s+)+|\*\*|(?<!\w)__|__(?!\w)")
_LABEL = regex(
    r"^(?:the )?(?:root )?(?:(?P<cause>cause|reason|problem|issue|bug|what was wrong)"
    r"|(?:fix|solution|summary|what (?:changed|i did)|changes?(?: made)?))\s*[:–—-]\s+(?=\S)",
    re.IGNORECASE,
)
# What the prompts of a project share: it says how to work, and not what was wanted.
_BOILERPLATE = regex(
    r"\b(?:failing (?:repro\w*|test|tests|case|example)|repro(?:duction|ducer)?(?: script| test)?) "
    r"(?:is|are|can be found|lives|sits) (?:at|in|under)\b"
    r"|^(?:please )?(?:make sure|ensure|verify|check)(?: that)? (?:all |the |existing "
    r"|every )*(?:test|suite|lint|ci)"
    r"|^(?:please )?(?:do not|don't|never) (?:modify|change|edit|touch|delete|break) (?:the |any "
    r"|existing |other )*"
    r"(?:test|file|behaviou?r|api|public)"
    r"|^(?:please )?(?:run|execute) (?:the |all )*(?:tests?|suite|linter?)\b"
    r"|^(?:you are|you're) (?:an?|working|in)\b|^(?:the )?(?:repo\w*|code|project) is (?:at|in"
    r"|checked out)\b"
    r"|^(?:please )?(?:keep|make) (?:the )?(?:change|diff|fix)e?s? (?:minimal|small)"
    r"|^(?:work|stay) (?:only )?(?:in|inside|within)\b|^when (?:you are |you're )?(?:done"
    r"|finished)\b"
    r"|^(?:thanks?|thank you|please|hi|hello)\W*$",
    re.IGNORECASE,
)
_TRAILING = regex(
    r",? (?:and |but )?(?:without (?:breaking|changing|affecting) (?:any |the |existing |other )*"
    r"(?:behaviou?r|functionality|tests?|features?|code|apis?)"
    r"|(?:and )?(?:make sure|ensure) (?:that )?(?:all |the |existing )*tests? (?:still )?pass\w*"
    r"|so that (?:all |the )*tests? pass\w*)[^.!?]*(?=[.!?]|$)",
    re.IGNORECASE,
)
_CHEER = regex(
    r"^(?:i (?:do not|don't) know|i know nothing|no idea)\b"
    r"|^(?:(?:perfect|great|excellent|done|success|finished|nice|good|awesome|all set|ok|okay|yes"
    r"|now)\b[^\w]*)+$"
    r"|^(?:perfect|great|excellent|awesome)!"
    r"|\ball (?:\w+ ){0,4}(?:tasks?|tests?|checks?|steps|todos?|items|requirements)\b.*"
    r"\b(?:pass\w*|complet\w*|done|green|finished|succe\w+)\b"
    r"|\b(?:let me know|would you like|feel free|i hope|anything else|shall i|next steps?)\b"
    r"|\b(?:successfully (?:completed|implemented|fixed|resolved)|task is (?:now )?complete"
    r"|ready (?:for|to) "
    r"(?:review|merge|commit|use))\b|^(?:here(?:'s| is)|below)\b.*:?$|^(?:summary|changes"
    r"|overview)\W*$"
    r"|^(?:now )?(?:let me|i'll|i will|i'm going to)\b|\bverif(?:y|ied|ies)\b.*\b(?:works?|fix"
    r"|pass\w*|tests?)\b",
    re.IGNORECASE,
)
_CAUSE = regex(
    r"\b(?:because|root cause|caused by|cause was|cause is|due to|turn(?:s|ed) out|the reason"
    r"|was that|is that|ignores|(?<=, )(?:since|as) (?!a\b|an\b|the last\b|before\b|\d)"
    r"|happened when|came from|comes from|stems? from|didn't|did not|never|ignored|missing"
    r"|instead of|wrongly|incorrectly|race|leak(?:ed|s)|assumed|only (?:when|if)|before it"
    r"|silently|dropped|swallow\w*|the (?:bug|issue|problem) "
    r"(?:was|is))\b",
    re.IGNORECASE,
)
_FIX = regex(
    r"\b(?:fix(?:ed|es)?\b(?! (?:is|are) (?:minimal|focused|complete|simple|clean|small))"
    r"|now (?:\w+s|\w+ed)\b|chang(?:ed|es)|replac(?:ed|es)|add(?:ed|s)|mov(?:ed|es)|remov(?:ed|es)"
    r"|switch(?:ed|es) to|split|wrap(?:ped|s)|rewrote|rewritten|introduc(?:ed|es)|uses?|return(?:s"
    r"|ed)|compar(?:es|ed)|rais(?:es|ed)|updat(?:ed|es)|by \w+ing|so that|i now \w+"
    r"|i \w+ (?:[\w'-]+ ){1,6}now)\b",
    re.IGNORECASE,
)
# Said of oneself, or without a subject; of anything else it may be the error or a feature.
_COULD_NOT = (
    r"(?:\b(?:i|we)(?:'ve| have| was| were|'m| am| are|'re)?(?: \w+ly| still| also)* "
    r"|(?:^[^\w\n]*|[.!?:;]\s+)(?:(?:but|still|sadly|unfortunately),? )*)"
    r"(?:could ?n't|could not|can't|cannot|unable to|not able to|failed to)"
)
_GAVE_UP = regex(
    rf"{_COULD_NOT}\b(?! (?:test|verify|check|run|try|confirm)\b)"
    r"|\b(?:ga?ve up|(?:did|does)(?: not|n't) work(?! (?:because|since|as|when)\b)|rolled back"
    r"|no luck)\b",
    re.MULTILINE,
)
_LEFT_OPEN = regex(
    r"\b(?:not yet|unfinished|incomplete|partially|still (?:needs?|missing|open|to do|have to)"
    r"|remains? to be|left to do|is blocked|are blocked|todo"
    r"|still fail(?:s|ing)?|(?:look|go on|continue|finish|fix|do)\b[^.!?\n]{0,60}\btomorrow)\b",
)
# Passing tests do not find a reason.
_UNSOLVED = regex(
    rf"(?:{_COULD_NOT}|\b(?:i|we) (?:did not|didn't|have not|haven't))"
    r"(?: yet| really)* (?:find|found|figure|figured|see|seen|tell|work(?:ed)? out|pin(?:ned)? down"
    r"|identify|identified|determine|determined|locate|located|understand|understood|explain)"
    r"(?: out)?(?: yet)? (?:why|where|who|what (?:causes?|caused|triggers?)|(?:the|its|any|a)"
    r" (?!other\b)(?:\w+ )?(?:reason|cause|culprit|source))\b(?! the old\b)"
    r"|\b(?:i|we) (?:have )?(?:stopped|stop|paused) (?:t?here)\b(?=\s*(?:[.,;!]|$))",
    re.MULTILINE,
)
# What a user says of what was done. An order to undo it stands alone: else it goes on otherwise.
_SAYS_FAILS = regex(
    r"\b(?:still|again) (?:(?:is|are|get(?:s|ting)?|see(?:s|ing)?) )?(?:not|fail\w*|break\w*"
    r"|broke\w*|crash\w*|wrong|red|the same|happen\w*|throw\w*|hang\w*|errors?)\b"
    r"|\b(?:did|do|does|is|are|was|has|have)(?: not|n'?t) (?:work|help|fix|pass|compile|build|solve"
    r"|start|do)(?:s|ed|ing)?\b"
    r"|\b(?:it|that|this|they|tests?|build) (?:just |now |all )?(?:fails?|failed|breaks?|broke"
    r"|crash(?:es|ed)|is (?:broken|wrong|worse|red)|are (?:broken|red))\b"
    r"|\bnot (?:fixed|working|solved)\b"
    r"|\b(?:nothing|none|no longer|never) (?:[\w']+ ){0,4}works\b|\b(?:nothing|none of it) worked\b"
    r"|^no,? (?:that'?s |it'?s |this is )?(?:wrong|broken|worse)\b",
    re.IGNORECASE,
)
_SAYS_WORKS = regex(
    r"\b(?:works|(?:is|are|was|it'?s|that'?s) (?:fixed|solved|green)|lgtm"
    r"|(?:that|this|it) (?:worked|fixed it|did it|solved it))\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = regex(r"[.,;:!\n]+(?=\s|$)(?! but (?:only|not)\b)")
# Beside one of these "works" is wished for, doubted, or said of a part or of the past.
_NOT_ALL = regex(
    r"\b(?:hardly|barely|only|but not|doubt\w*|if|whether|sure|ensure|check|verify|until|unless"
    r"|once|when|how|why|what|should|must|wrongly|badly|(?<!as )(?<!like )(?<!than )before)\b"
)
_SAYS_UNDO = regex(
    r"(?:no[,.]? |please |ok(?:ay)?[,.]? |just |never ?mind[,.]? )*"
    r"(?:(?:revert|undo|drop|forget|scrap) "
    r"(?:it|that|this|them|all of it|everything|(?:all )?(?:the|your|those|these) changes?)"
    r"|(?:roll|take) (?:it|that|this|them|everything) back|never ?mind)"
    r"(?:,? (?:please|again|all))*\W*$",
    re.IGNORECASE,
)

# It is left for later with these words alone: "not now. leave it for later, remind me".
_WHEN = (
    r"(?:later|tomorrow|another (?:day|time)|next week|(?:on )?(?:mon|tues|wednes|thurs|fri)day)"
)
_LEAVES_FOR_LATER = regex(
    r"(?:[\w' ]{1,30}[,.!] ?|(?:ok(?:ay)?|no|hm+|but|so) ){0,2}"
    rf"(?:(?:let'?s |we(?:'ll| will)? |i(?:'ll| will)? |please )?(?:leave|do|finish|fix|continue"
    rf"|keep|look at|go on with|get back to|save|postpone)"
    rf" (?:it|that|this|the rest)(?: for| until| to)?"
    rf" {_WHEN}|not now|(?:we(?:'ll| will) )?continue {_WHEN}"
    r"|(?:skip|leave|park) (?:it|that|this) for now)(?:[,.]? (?:please|then|remind me))*\W*$",
    re.IGNORECASE,
)
# What the agent would do besides, once a task is done.
_OFFERS = regex(r"\?|\blet me know (?:if|whether)\b|\bi (?:can|could) also\b", re.IGNORECASE)
_OFFERS_REST = regex(
    r"\b(?:continue|go on|go ahead|keep going|proceed|finish|complete|fix|solve|retry|try|rest"
    r"|remain\w*|second|other half|next|investigate|look into|dig)\b",
    re.IGNORECASE,
)
_VERDICT_CHARS = 400
_LEAST_WORDS = 4
_LEAST_WORDS_OF_FIRST = 3


Verdict = Literal["", "works", "fails", "undone", "later"]


class Left(StrEnum):
    """How an agent's last words say that a task is left, where it is not done."""

    GIVEN_UP = "given up"
    UNSOLVED = "unsolved"
    OPEN = "open"


def asked_for(prompt: str) -> str:
    """The sentences of ``prompt`` that say what is wanted, in one line; all of it if none does."""
    wanted = (
        _TRAILING.sub("", said) for said in _sentences(prompt) if not _BOILERPLATE.search(said)
    )
    return one_line(" ".join(one for one in wanted if one.strip(" .!"))) or one_line(prompt)


class Conclusion(NamedTuple):
    """What an agent's last words tell of ``cause`` and fix; ``text`` has both, as far as told."""

    text: str
    cause: str


def conclusion_of(answer: str) -> Conclusion:
    """The sentences of an agent's last words that tell the cause and the fix, in their order.

    At most one of each; "" where it says only that it is done.
    """
    said = [(one, label) for label, one in _labelled(answer) if _tells(one)]
    causes = [one for one, label in said if label or _CAUSE.search(one)][:1]
    fixes = [one for one, _ in said if one not in causes and _FIX.search(one)][:1]
    text = " ".join(one for one, _ in said if one in causes + fixes)
    return Conclusion(_short(text), _short(" ".join(causes)))


def left_as(answer: str) -> Left | None:
    """How ``answer`` leaves its task; None where it says nothing of that.

    What it labels for keeping is no such word, but for a blocker.
    """
    said = fold("\n".join(line for line in answer.split("\n") if not is_record(line)))
    if _UNSOLVED.search(said):
        return Left.UNSOLVED
    if _GAVE_UP.search(said):
        return Left.GIVEN_UP
    records = find_records(answer, role="assistant")
    if _LEFT_OPEN.search(said) or any(one.kind == "blocker" for one in records):
        return Left.OPEN
    return None


def offers_more(answer: str) -> bool:
    """Whether ``answer`` ends with an offer of what was not asked for: "Shall I push it?"."""
    last = (list(_sentences(answer)) or [""])[-1]
    return _OFFERS.search(last) is not None and not _OFFERS_REST.search(last)


def verdict_of(text: str) -> Verdict:
    """What the user says in ``text`` of what was done so far."""
    said = fold(text[:_VERDICT_CHARS])
    if _SAYS_UNDO.match(said):
        return "undone"
    if _LEAVES_FOR_LATER.match(said):
        return "later"
    if _SAYS_FAILS.search(said):
        return "fails"
    works = "?" not in said and any(map(_says_works, _CLAUSE_ENDS.split(said)))
    return "works" if works else ""


def _says_works(clause: str) -> bool:
    found = _SAYS_WORKS.search(clause)
    if found is None or _NOT_ALL.search(clause):
        return False
    return not any(map(is_negation, words(clause[: found.start()].strip().removeprefix("no "))))


def with_cause(cause: str, text: str) -> str:
    """``text``, and before it the ``cause`` as it was told earlier."""
    return _short(f"{cause} {text}".strip())


def _short(text: str) -> str:
    return cut(one_line(text), MAX_CONCLUSION_CHARS)


def first_words(answer: str) -> str:
    """The first sentence of ``answer`` outside of records; "" where it only says "done"."""
    own = "\n".join(line for line in answer.split("\n") if not is_record(line))
    said = one_line(summarise(own))
    enough = len(said.split()) >= _LEAST_WORDS_OF_FIRST
    return said if enough and _CHEER.search(said) is None else ""


def _tells(said: str) -> bool:
    enough = len(said.split()) >= _LEAST_WORDS
    return enough and not said.endswith((":", "?")) and _CHEER.search(said) is None


def _sentences(text: str) -> Iterator[str]:
    """The sentences of ``text`` outside of code, tables and records, without decoration."""
    return (said for _, said in _labelled(text))


def _labelled(text: str) -> Iterator[tuple[bool, str]]:
    """The same, each with whether a label says that it is the cause."""
    lines = text.split("\n")
    prose = "\n".join(
        line for line, inside in zip(lines, fenced(lines), strict=True)
        if not inside and not line.lstrip().startswith(("|", "```", "~~~")) and not is_record(line)
    )  # fmt: skip
    for part in _ENDS.split(prose):
        bare = one_line(_DECORATION.sub("", part or ""))
        label = _LABEL.match(bare)
        said = bare[label.end() :] if label is not None else bare
        if said:
            yield label is not None and label["cause"] is not None, capitalised(said)
