"""Finds what in a text is worth keeping, and settles what a capture is before it is redacted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ..bus.events import CaptureDetected, CaptureRequested, CaptureSettled
from ..bus.values import Kept, Signal
from .envelope import neutralise, strip_envelopes
from .markers import namespace_of
from .private import strip_private
from .question import fold
from .text import own_words

MAX_TAGS = 10
MAX_TAG_CHARS = 40
DEFAULT_NAMESPACE = "learnings"

_BECAUSE = r"(?:because|since|as|so that|due to|to avoid)"
_PHRASES = {
    "decision": (
        r"(?:we|i|they|the team)(?:'ve| have| had)? (?:decided|agreed|settled|opted|concluded)\b"
        r"|(?:we|i)(?:'ve| have)? (?:chose|chosen|picked|went with|dropped|ditched)\b"
        r"|(?:the|our|final) decision (?:is|was)|^\W{0,4}decisions?\b\W{0,3}:|it was decided"
        r"|(?:we're|we are|i'm|we'll|we will|let's|we) (?:going|go|gone|stay|staying|stick"
        r"|sticking) with"
        r"|^going with|we (?:will |now |only )?(?:use|keep|drop|store|standardi[sz]e on|deploy"
        r"|host) "
        r"|we(?:'ve| have)? (?:switched|moved|migrated|standardi[sz]ed) (?:to|from|on|away)"
        rf"|\binstead of\b[^.\n]{{1,120}}\b{_BECAUSE}\b"
        rf"|\brather than\b[^.\n]{{1,120}}\b{_BECAUSE}\b"
        r"|\bchosen (?:over|because|for)\b|\bstays? on\b[^.\n]{1,80}\b(?:as|because|since|until)\b"
        r"|\bin favou?r of\b|entschieden\b|nous avons décidé\b|hemos decidido\b"
    ),
    "learning": (
        r"\btil\b|\b(?:we|i)(?:'ve| have)? (?:just )?(?:learn(?:ed|t)|discovered|reali[sz]ed"
        r"|found out"
        r"|noticed|figured out)\b|\b(?:it )?turn(?:s|ed) out\b|^(?:discovered|learned|learnt"
        r"|found out)"
        r" (?:that|how)\b|^\W{0,4}(?:learning|lesson|insight|finding)s?(?: learned)?\b\W{0,3}:"
        r"|\blessons? learned\b|\b(?:root )?cause (?:is|was)\b|\bthe reason (?:is|was)\b"
        r"|\bit (?:was|is) (?:actually )?because\b|\btook (?:me|us) (?:an? |\d+ |half )\w+ to\b"
    ),
    "blocker": (
        r"\bblocked (?:by|on|until)\b|^\W{0,4}block(?:er|ed)\b\W{0,3}:|\bis blocking (?:us|me"
        r"|the)\b"
        r"|\b(?:cannot|can't|can not) (?:proceed|continue|move on|go on|be validated|build)\b"
        r"|\b(?:i'm|we're|i am|we are|still|got|is) stuck\b|\bstuck (?:on|with|at|because)\b"
        r"|\bwaiting (?:for|on) (?:access|approval|the|their|a|an|\w+ to)\b|\bprevents us from\b"
        r"|\bcan only be \w+ by (?:their|the)\b|\buntil (?:then|they|it is approved|access)\b"
    ),
    "resolution": (
        r"\b(?:fixed|solved|resolved) (?:by|it by|it with|this by|with)\b|\b(?:that|this|it|which) "
        r"(?:fixed|solved|fixes|solves|resolved|resolves) (?:it|the|this|that)\b"
        r"|\bthe (?:fix|solution|workaround|remedy) (?:is|was)\b|\bwent away (?:after|when|once"
        r"|by|with)\b"
        r"|\bworks? again\b|\b\d+ s(?:econds)? timeout fixed it\b|\bfixed it\b"
        r"|^\W{0,4}(?:resolution|resolved|fix|solution|workaround)\b\W{0,3}:|\bno longer (?:fails"
        r"|crashes"
        r"|hangs|blocks)\b|\bcame (?:down )?(?:from|to)\b[^.\n]{1,160}[;:,]"
    ),
    "preference": (
        r"\bi(?:'d| would)? (?:prefer|rather|like it when|love it when|hate|dislike)\b"
        r"|\bi (?:don't|do not) (?:want|like)\b|\bmy preference\b|^\W{0,4}preferences?\b\W{0,3}:"
        r"|^(?:please |and |also )?(?:always|never) \w+|\bplease (?:always|never|don't ever)\b"
        r"|\bfrom now on\b|\bwhen(?:ever)? i (?:say|ask|write)\b|^(?:don't"
        r"|do not) \w+[^.\n]{1,100}\b"
        r"(?:again|ever|unless|only|rather)\b|^use \w+ (?:rather than|instead of|not|over)\b"
    ),
    "progress": (
        r"^(?:\W{0,4})(?:completed|finished|shipped|done|progress|milestone(?: reached)?)\b\W{0,3}:"
        r"|^(?:completed|finished|shipped|released|merged) (?:the|all|implementing|\w+ing|v?\d)"
        r"|\b(?:we|i)(?:'ve| have)? (?:completed|finished|shipped|released|rolled out)\b"
        r"|\bmilestone (?:is )?reached\b|\b(?:is|are) (?:now )?(?:live|released|deployed"
        r"|in production"
        r"|rolled out|feature complete)\b|\btagged and (?:published|released)\b|\baudit passed\b"
    ),
    "pattern": (
        r"\b(?:the|our|a) (?:usual )?(?:pattern|convention|approach|recipe) (?:is|for|here)\b"
        r"|^\W{0,4}(?:pattern|convention|rule)s?\b(?: for [^:\n]{1,80})?\W{0,3}:|^pattern for\b"
        r"|\bby convention\b|\bbest practice\b|\brule of thumb\b|\bwe (?:always|usually|never)\b"
        r"|\b(?:every|each|all|any) (?:new )?[\w-]+(?: [\w-]+)?(?: now)? (?:must|should|takes?"
        r"|goes|go|has to"
        r"|have to|uses?|inherits?)\b|\bnew [\w-]+s should\b|\bwhenever (?:we|you)\b"
    ),
    "gotcha": (
        r"\bgotchas?\b|\bwatch out\b|\bbeware\b|\bbe careful\b|^\W{0,4}(?:careful|caveat|warning"
        r"|pitfall)s?"
        r"\b\W{0,3}:|\bpitfall\b|\bfoot-?gun\b|\bsilently\b|\bsurprising(?:ly)?\b|\bunexpectedly\b"
        r"|\bwithout (?:any )?(?:error|warning)\b|\bonly (?:works?|triggers?) (?:if|when|with)\b"
        r"|\beven (?:if|though|when)\b[^.\n]{1,120}\b(?:is|are|was|not|no|fails?)\b"
    ),
    "tech-debt": (
        r"\btech(?:nical)?[ -]debt\b|\bhard-?coded\b|\bleft over from\b|^\W{0,4}(?:todo|fixme"
        r"|hack)\b"
        r"|\b(?:has|have|needs?|must|should) (?:to )?(?:go|be (?:refactored|removed|rewritten"
        r"|cleaned up"
        r"|replaced|split))\b|\b(?:temporary|quick|dirty) (?:hack|workaround|fix)\b"
    ),
}
_UNSPACED = {"decision": "に決め|決定した|决定"}
_COMPILED = {
    kind: re.compile(
        rf"(?<!\w)(?:{phrases})" + (f"|{_UNSPACED[kind]}" if kind in _UNSPACED else "")
    )
    for kind, phrases in _PHRASES.items()
}
_NAMESPACES = {
    "decision": "decisions",
    "learning": "learnings",
    "blocker": "blockers",
    "resolution": "blockers",
    "preference": "preferences",
    "progress": "progress",
    "pattern": "patterns",
    "gotcha": "gotchas",
    "tech-debt": "tech-debt",
}
_SENTENCE = re.compile(r"[^\n]+")
_SENTENCE_END = re.compile(r"(?<=[.!?。？])[\"')\]*_]{0,3}(?:\s+|(?<=[。？])|$)")
_ASKS = re.compile(
    r"\W{0,8}(?:and |so |but |ok |hm )?(?:(?:what|why|how|where|when|who|which|should|shall|could"
    r"|would|can|do|does"
    r"|did|is|are|was|were|has|have)\b(?: we| i| you| the| it| that| this|n't|'s)\b)"
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|no|without|if|whether|unless|hardly|once|before|should|could|would|might"
    r"|maybe|until)"
    r"|n't)(?: \w{1,20}){0,2}\W{0,8}$"
)
_DENIAL_CHARS = 40
_MAX_SIGNALS = 50
_READ_CHARS = 8000


def signals(text: str) -> tuple[Signal, ...]:
    """The phrases in ``text`` that hint at something worth keeping, in order.

    Kinds: decision, learning, blocker, resolution, preference, progress, pattern, gotcha and
    tech-debt. Code, quotations, questions, conditions and denials do not count. Only the first
    8,000 characters are read.
    """
    found: list[Signal] = []
    own = fold(own_words(text[:_READ_CHARS]))
    for start, sentence in _statements(own):
        for kind, phrases in _COMPILED.items():
            match = phrases.search(sentence)
            if match is not None and not _is_denied(sentence, match.start()):
                at, end = start + match.start(), start + match.end()
                found.append(Signal(kind=kind, phrase=text[at:end], start=at, end=end))
        if len(found) >= _MAX_SIGNALS:
            break
    found.sort(key=lambda signal: signal.start)
    return tuple(found[:_MAX_SIGNALS])


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of ``text`` that do not ask, each with where it begins."""
    for line in _SENTENCE.finditer(text):
        start = 0
        for end in _SENTENCE_END.finditer(line[0]):
            sentence = line[0][start : end.start()]
            if sentence.strip() and not _asks(sentence):
                yield _stripped(line.start() + start, sentence)
            start = end.end()
        rest = line[0][start:]
        if rest.strip() and not _asks(rest):
            yield _stripped(line.start() + start, rest)


def _stripped(start: int, sentence: str) -> tuple[int, str]:
    bare = sentence.lstrip(" \t-*+>#|")
    return start + len(sentence) - len(bare), bare


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"')]*_ ").endswith(("?", "？")) or _ASKS.match(sentence) is not None


def _is_denied(sentence: str, start: int) -> bool:
    before = sentence[max(0, start - _DENIAL_CHARS) : start]
    return _DENIED.search(before) is not None


def detect_namespace(text: str) -> str:
    """The namespace that most signals of ``text`` speak for, or the first; "learnings" for none."""
    counts = Counter(_NAMESPACES[signal.kind] for signal in signals(text))
    return counts.most_common(1)[0][0] if counts else DEFAULT_NAMESPACE


def detect(event: CaptureRequested, *, max_chars: int) -> CaptureDetected | CaptureSettled:
    """Settle namespace, tags and content of a capture.

    Declined if nothing is left to keep, or more than ``max_chars`` characters. A namespace that
    does not exist is detected instead, and stays as a tag.
    """
    content = _normalised(event.text)
    named = namespace_of(event.namespace) if event.namespace else None
    namespace = named or detect_namespace(content)
    if not content:
        return _declined(event, namespace, "the text is empty")
    if len(content) > max_chars:
        return _declined(event, namespace, f"the text is longer than {max_chars} characters")
    extra = (event.namespace,) if event.namespace and named is None else ()
    tags = clean_tags((*event.tags, *extra))
    return CaptureDetected(
        trace=event.trace, request=event, namespace=namespace, tags=tags, content=content
    )


def _declined(event: CaptureRequested, namespace: str, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def _normalised(text: str) -> str:
    """``text`` without our own envelopes and private spans, harmless, with plain white space."""
    own = neutralise(strip_private(strip_envelopes(text)))
    lines = "\n".join(line.rstrip() for line in own.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n").rstrip()


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """At most 10 ``tags`` of at most 40 characters, lower case, dashes for spaces, each once."""
    cleaned = (_clean_tag(tag) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))[:MAX_TAGS]


def _clean_tag(tag: str) -> str:
    return re.sub(r"[^\w./]+", "-", tag[:1000].lower()).strip("-./_")[:MAX_TAG_CHARS].rstrip("-./_")
