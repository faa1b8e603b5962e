"""What prose says of a task: what a prompt asks for, and what an answer tells of cause and fix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...config.patterns import regex
from ..text.summary import summarise
from ..text.unicode import cut, fenced, one_line
from .records import is_record

MAX_CONCLUSION_CHARS = 320

_ENDS = regex(r"(?<=[.!?])[\"')*_]{0,3}\s+(?=[\"'(*_`]{0,3}[A-Z0-9/])|\n+")
_DECORATION = regex(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|\d{1,3}[.)]\s+)+|\*\*|(?<!\w)__|__(?!\w)")
_LABEL = regex(
    r"^(?:the )?(?:root )?(?:cause|fix|solution|problem|issue|bug|summary|what (?:was wrong"
    r"|changed|i did)"
    r"|changes?(?: made)?)\s*[:–—-]\s+(?=\S)",
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
    r"^(?:(?:perfect|great|excellent|done|success|finished|nice|good|awesome|all set|ok|okay|yes"
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
    r"|was that|is that"
    r"|happened when|came from|comes from|stems? from|didn't|did not|never|ignored|missing"
    r"|instead of|wrongly"
    r"|incorrectly|race|assumed|only (?:when|if)|before it|silently|dropped|swallow\w*|the (?:bug"
    r"|issue|problem) "
    r"(?:was|is))\b",
    re.IGNORECASE,
)
_FIX = regex(
    r"\b(?:fix(?:ed|es)?\b(?! (?:is|are) (?:minimal|focused|complete|simple|clean|small))"
    r"|now (?:\w+s|\w+ed)\b"
    r"|chang(?:ed|es)|replac(?:ed|es)|add(?:ed|s)|mov(?:ed|es)|remov(?:ed|es)|switch(?:ed|es) to"
    r"|split|wrap(?:ped|s)"
    r"|rewrote|rewritten|introduc(?:ed|es)|uses?|return(?:s|ed)|compar(?:es|ed)|rais(?:es|ed)"
    r"|updat(?:ed|es)"
    r"|by \w+ing|so that)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 4
_LEAST_WORDS_OF_FIRST = 3


def asked_for(prompt: str) -> str:
    """The sentences of ``prompt`` that say what is wanted, in one line; all of it if none does."""
    wanted = (
        _TRAILING.sub("", said) for said in _sentences(prompt) if not _BOILERPLATE.search(said)
    )
    return one_line(" ".join(one for one in wanted if one.strip(" .!"))) or one_line(prompt)


def conclusion_of(answer: str) -> str:
    """The sentences of an agent's last words that tell the cause and the fix, in their order.

    At most one of each; "" where it says only that it is done.
    """
    said = [one for one in _sentences(answer) if _tells(one)]
    causes = [one for one in said if _CAUSE.search(one)]
    fixes = [one for one in said if _FIX.search(one) and one not in causes[:1]]
    chosen = {*causes[:1], *fixes[:1]}
    return cut(one_line(" ".join(one for one in said if one in chosen)), MAX_CONCLUSION_CHARS)


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
    lines = text.split("\n")
    prose = "\n".join(
        line for line, inside in zip(lines, fenced(lines), strict=True)
        if not inside and not line.lstrip().startswith(("|", "```", "~~~")) and not is_record(line)
    )  # fmt: skip
    for part in _ENDS.split(prose):
        said = _LABEL.sub("", one_line(_DECORATION.sub("", part or "")))
        if said:
            yield said[:1].upper() + said[1:]
