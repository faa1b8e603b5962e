"""The search signals: which phrase speaks for which kind of search, and how strongly.

A weight of 3 is a question in so many words, 2 a clear hint, 1 a word that only counts where a
person asks or reports. ``^`` in front: only where a clause begins. Phrases are case-folded words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bus.values import IntentType

HOWTO, LOCATION, EXPLANATION, COMPARISON, TROUBLESHOOT, GENERAL = IntentType


class Phrase(NamedTuple):
    """A signal: its ``words``, what it speaks for, how much, and whether it must begin a clause."""

    words: tuple[str, ...]
    intent: IntentType
    weight: int
    opens: bool


_TABLE: tuple[tuple[IntentType, int, str], ...] = (
    (
        HOWTO,
        3,
        "how do i|how do we|how do you|how does one|how to|howto|how can i|how can we|how can one"
        "|how could i|how could we|how should i|how should we|how should|how would i|how would we"
        "|how would you|how might i|how shall|how i can|how we can|how can|how are we supposed to"
        "|best way to|right way to|proper way to|correct way to|recommended way|good way to"
        "|easiest way to|simplest way to|cleanest way to|best practice|best practices|steps to"
        "|what is the process for|what's the process for|what steps|walk me through how to"
        "|idiomatic way",
    ),
    (
        HOWTO,
        2,
        "way to|ways to|guide to|tutorial|instructions for|recipe for|any examples"
        "|see an example|give me an example|show me an example|sample code|is there a way"
        "|is it possible to|i'm trying to|i am trying to|im trying to|help me implement"
        "|help me create|help me write|help me build|help me set|i want to implement"
        "|i want to make sure|figure out how|not sure how|no idea how|what do i need to"
        "|what do we need to|need to know how|what should|^can i|^can we|^could i|^could we|^can"
        "|^should i|^should we|^do i|gotchas|conventions|convention for|approach for|best approach"
        "|which command|what command",
    ),
    (HOWTO, 1, "i want to|i'd like to|i would like to|i need to|proper way|best way|recommended"),
    (
        LOCATION,
        3,
        "where is|where are|where's|wheres|where does|where do|where did|where can|where in"
        "|where to|where was|where were|where exactly|where should|where would|where the|where we"
        "|where it|where have|where has|whereabouts|which file|which files|what file|which module"
        "|which directory|what directory|which folder|what folder|which function|which class"
        "|which method|which service|which package|which branch|which repo|which repository"
        "|which table|which config|which test|which script|which endpoint|which component"
        "|which migration|which commit|which line|what's the path|path of|path to the"
        "|path for the|url of|url for|link to the|location of|^locate|^find|find the"
        "|find usages|find where|can't find|cannot find|usages of|usage of|references to"
        "|callers of|who calls|what calls|defined in|track down|point me to|point me at|^look up"
        "|entry point|can't remember the|show me where|show me the place|show me the file"
        "|show me the code|show me the function|show me the class|show me the definition"
        "|show me the implementation|show me the handler|show me the module|show me the line"
        "|show the line|show the code|show the place|take me to|code responsible for"
        "|^open the spec|^open the file|^open the doc|need the file|need the path|lives in",
    ),
    (LOCATION, 2, "where|^search for|^look for|looking for the|^grep for"),
    (
        EXPLANATION,
        3,
        "what happens|what happened|what made|what kind of|what kinds of|explain|explain how"
        "|explain why|explanation of|^describe|description of|how come|how tolerant|how strict"
        "|why do we|why did we|why don't we|why didn't we|why did|why was|why were|why we"
        "|reason for|reason behind|reasons for|rationale|meaning of|what it means|does this mean"
        "|mean by|purpose of|background on|overview of|help me understand|understand how"
        "|understand why|clarify|design decision|design decisions|decision about|decisions about"
        "|did we decide|did we already|what triggers|what controls|what determines|what decides",
    ),
    (
        EXPLANATION,
        2,
        "what is|what are|what's|whats|what was|what were|what does|what do|what did|what exactly"
        "|what about|what if|what limits|how does|how is|how are|how did|how long|how often"
        "|how many|how much|how big|how large|why|why is|why are|why does|why do|why not"
        "|which kind|which kinds|which features|which rules|which version|which versions"
        "|when does|when do|when is|when was|when did|when will|^is it|^is the|^is there"
        "|^is this|^is that|^is our|^is a|^is|^are the|^are there|^are we|^are our|^are|^does the"
        "|^does it|^does our|^does this|^does a|^does|^do the|^do we|^do they|^do our|^did we"
        "|^has the|^has it|^have we|^was the|^was it|^were the|^will the|^will it|^will|^would"
        "|^must|who decides|on purpose|supposed to|do i need|do we need",
    ),
    (EXPLANATION, 1, "how|what|which|^when"),
    (
        COMPARISON,
        3,
        "difference between|differences between|difference of|the difference|differ from"
        "|different from|differs from|how different|compare|compared to|compared with|comparison"
        "|comparing|compares|vs|v/s|versus|pros and cons|trade-offs|tradeoffs|trade-off|tradeoff"
        "|advantages of|advantage of|disadvantages|better than|faster than|slower than"
        "|cheaper than|worse than|safer than|simpler than|preferable to|preferable|rather than"
        "|as opposed to|which is better|which is faster|which is cheaper|which is best"
        "|is it better to|better to|weigh up|sets apart|which one|pick one|what changed from"
        "|what changed between|similarities|between the two|over the other|or",
    ),
    (
        COMPARISON,
        2,
        "worth it|instead of|outperform|outperforms|alternatives to|alternative to|beat|against",
    ),
    (COMPARISON, 1, "better|faster|cheaper|prefer"),
    (
        TROUBLESHOOT,
        3,
        "why isn't|why doesn't|why won't|why can't|why am i getting|why do i get|why do i see"
        "|why is this happening|why does it fail|what's wrong|whats wrong|what is wrong"
        "|went wrong|goes wrong|what could it be|what's causing|what is causing|what causes"
        "|cause of|root cause|not working|doesn't work|does not work|doesnt work|don't work"
        "|didn't work|won't work|isn't working|no longer works|stopped working|only works"
        "|works only|keeps failing|keep getting|keeps crashing|i'm getting|i am getting"
        "|im getting|getting an error|getting errors|getting this error|having trouble with"
        "|having issues|having problems|running into|experiencing|help me fix|help me debug"
        "|help me troubleshoot|help me identify|figure out why|find out why|^check why|see why"
        "|^debug|^investigate|^diagnose|troubleshoot|stack trace|stacktrace|traceback"
        "|memory leak|memory leaks|race condition|deadlock|deadlocks|any idea|unable to|segfault"
        "|segmentation fault|permission denied|connection refused|connection reset"
        "|out of memory|oom|cannot access|cannot start|is undefined",
    ),
    (
        TROUBLESHOOT,
        2,
        "error|errors|exception|exceptions|crash|crashes|crashed|crashing|fail|fails|failed"
        "|failing|failure|failures|broken|breaks|broke|bug|bugs|stuck|hang|hangs|hanging|freezes"
        "|frozen|throws|threw|bottleneck|bottlenecks|corrupt|corrupted|garbage|unexpected"
        "|unexpectedly|cannot|can't|won't|doesn't|isn't|wrong|undefined|timeouts|times out"
        "|timed out|timing out|leak|leaks|leaking|keeps|rejects|rejected|refused|refuses|denied"
        "|disconnects|duplicate|duplicates|disappears|disappear|missing|lost|flaky|suddenly"
        "|doubled|twice|killed|wtf|intermittently|sometimes|randomly|returns null|returned null"
        "|returns 400|returns 401|returns 403|returns 404|returns 500|returns 502|returns 503"
        "|returns nothing|returns none|not showing|not loading|not found|not called|not updating"
        "|not recognized|not updated|shows up|i get|i see",
    ),
    (
        TROUBLESHOOT,
        1,
        "fix|issue|issues|problem|problems|slow|slower|trouble|still|warning|invalid",
    ),
    (
        GENERAL,
        3,
        "what do you know|what do we know|what have we|tell me about|tell me everything|any notes"
        "|anything about|anything on|anything surprising|status of|state of|what's the status"
        "|what's left|what is left|search the memories|search memory|search memories"
        "|search our notes|^recall the|^recall what|^recall how|^recall our|do you remember"
        "|remind me|what do i have to know|what should i know|what would we do|lessons learned"
        "|lessons from|pitfalls|history of|who should|who owns|who's|who is|who wrote|who knows"
        "|any known|known limitations|known issues|open questions|what bit us|notes on"
        "|notes about|everything about|everything on|^list the open|^summarise how"
        "|^summarize how|^summarise what we know|^summarize what we know",
    ),
    (
        GENERAL,
        2,
        "^who|^do we have|^do we support|^may|what we know|that we know|everything that concerns"
        "|bit us|^traps|and traps|traps that|traps with|traps of|specific traps|^lessons"
        "|lessons about|lessons on|lessons of|caveats of|known problems|problems we had"
        "|issues we had|outages we had",
    ),
    (GENERAL, 1, "^any|^list|^search"),
)

WHY = frozenset(("why", "why is", "why are", "why does", "why do", "why did", "why was"))


def _by_words() -> dict[tuple[str, ...], Phrase]:
    phrases: dict[tuple[str, ...], Phrase] = {}
    for intent, weight, row in _TABLE:
        for phrase in row.split("|"):
            words = tuple(phrase.removeprefix("^").split())
            phrases[words] = Phrase(words, intent, weight, phrase.startswith("^"))
    return phrases


def _lengths() -> dict[str, tuple[int, ...]]:
    lengths: dict[str, set[int]] = {}
    for words in PHRASES:
        lengths.setdefault(words[0], set()).add(len(words))
    return {first: tuple(sorted(found, reverse=True)) for first, found in lengths.items()}


_NAMED_ERROR_CHARS = 8
PHRASES = _by_words()
_LENGTHS = _lengths()


def phrase_at(words: Sequence[str], at: int) -> Phrase | None:
    """The longest phrase that begins with the word at ``at``; a named exception is one as well."""
    for length in _LENGTHS.get(words[at], ()):
        phrase = PHRASES.get(tuple(words[at : at + length]))
        if phrase is not None:
            return phrase
    return _named_error(words[at])


def _named_error(word: str) -> Phrase | None:
    if len(word) < _NAMED_ERROR_CHARS or not word.isalpha():
        return None
    if not word.endswith(("error", "exception")):
        return None
    return Phrase((word,), TROUBLESHOOT, 2, opens=False)
