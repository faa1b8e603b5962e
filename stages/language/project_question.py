"""Tells whether a prompt asks about the project itself: its commands, its stack, its quirks.

Every word of such a question is one of a small vocabulary ("how do I run the tests?", "which
package manager do we use here?"). A question with any other word in it is about something else, as
are orders ("run the tests") and reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...config.patterns import regex
from .sentences import Sentence, addresses_agent, prompt_sentences
from .words import FILLERS, fold

TEST, BUILD, LINT, START = "test_command", "build_command", "lint_command", "start_command"
STACK, MANAGER, QUIRKS = "stack", "package_manager", "quirks"

_MAX_WORDS = 24
_MAX_CHARS = 240

# Each word as one letter; a question is then recognised by its letters.
_WORDS: Mapping[str, str] = {
    "H": "how",
    "W": "what which what's whats what're",
    "A": "is are there's",
    "E": "does",
    "R": "run runs ran execute executes",
    "T": "test tests testing tested unittest unittests testsuite",
    "B": "build builds building built compile compiles compiled compiling",
    "L": "lint lints linter linters linting linted",
    "S": "start starts started launch serve boot",
    "C": "command cmd",
    "D": "commands cmds",
    "U": "use uses used using",
    "O": "this it that project repo repository codebase code app application server program "
    "service everything all thing site website",
    "K": "stack techstack framework frameworks language languages technologies technology",
    "M": "package-manager",
    "N": "npm pnpm yarn bun pip uv poetry pdm conda pipenv",
    "X": "or",
    "I": "install add",
    "P": "dependency dependencies deps package packages requirements",
    "Q": "quirks peculiarities oddities",
}
_LETTER_OF = {word: letter for letter, words in _WORDS.items() for word in words.split()}
_IGNORED = FILLERS | frozenset(
    "a an the i we you one me us our my your their its do can could should to of for on in at by "
    "be up here there locally now again exactly currently current properly right usually normally "
    "any have tech technical programming main dev development unit suite whole full and".split()
)
_PHRASES = (
    (regex(r"\b(?:package|packages|dependency)[ -]manager\b"), "package-manager"),
    (regex(r"\b(?:written|coded|programmed) in\b"), "using stack"),
    (regex(r"\b(?:built|made|build) (?:with|on|of|from)\b(?=\W*$)"), "using stack"),
    (regex(r"\b(?:in|on|for|of|within) (?:this|the|our|my) "
                r"(?:project|repo|repository|codebase|code base|app)\b"), " "),
)  # fmt: skip
_LEAD = regex(
    r"^(?:(?:hey|hi|ok|so|and|please|sorry|quick question)\W+)*"
    r"(?:(?:(?:can|could|would|will) (?:you|someone|anyone) )?(?:please )?"
    r"(?:tell|remind|show) me(?: again)?(?: about)?"
    r"|(?:do|does) (?:you|anyone|anybody|somebody) know|any idea|no idea"
    r"|i(?:'ve| have)? (?:forgot|forgotten|forget)|i (?:don't|dont|do not) (?:know|remember)"
    r"|i (?:want|need|would like|'d like) to know|i(?:'m| am) not sure|not sure|remember)"
    r"[\s,:]+(?=how|what|which|the )"
)
_ADVICE = regex(r"\bshould\b|\ba (?:stack|framework|language|package-manager)\b")

_ASKS_HOW = regex(r"HA?[RSTBLCO][RSTBLCOA]*")
_STATUS = regex(r"HA[TBL]+O*")
_ASKS_COMMAND = regex(
    r"WA?[TBLS]*C[RSTBLOUA]*"  # "what is the test command", "which command runs the tests"
    r"|WA?O?[RU]+[TBLSRO]*[TBLS][TBLSRO]*"  # "what do we run to lint"
    r"|WA?LA?U[AO]*"  # "which linter do we use"
)
_ASKS_ALL = regex(r"W[AE]?D[AOU]*")
_NAMES_COMMAND = regex(r"A{0,2}[TBLS]+[CD]O?")
_ASKS_STACK = regex(r"W[AEOUTL]*K[AEOUK]*|K+")
_ASKS_MANAGER = regex(
    r"W?[AEOU]*M[AEOU]*"  # "which package manager do we use"
    r"|[AEOU]+N(?:XN)+|[AEOU]*UN"  # "is this npm or yarn", "do we use uv"
    r"|HIP+|WA?UIP+"  # "how do I install the dependencies"
)
_ASKS_QUIRKS = regex(r"W?[AEOU]*Q[AO]*")
_COMMANDS = {"T": TEST, "B": BUILD, "L": LINT, "S": START}
# Every question that is recognised has one of these; most prompts have none.
_MAY_ASK = regex(
    r"\b(?:h[ow]{2}\b|w(?!ith\b)[achit]{2,5}|com\w{2,5}|cmd|s[tack]{3,4}\b|fram|lang|tech"
    r"|manager|package|quirk|peculiar|oddit|p?npm|yarn|bun|pip|uv|poetry|pdm|conda)",
    re.IGNORECASE,
)
_WORD = regex(r"[\w'-]+")


def asked_of_project(text: str) -> tuple[str, ...]:
    """The fields of ``ProjectFacts`` that ``text`` asks for, each once; usually none."""
    if _MAY_ASK.search(text) is None:
        return ()
    found = (fact for sentence in prompt_sentences(text) for fact in _asked(sentence, text))
    return tuple(dict.fromkeys(found))


def _asked(sentence: Sentence, text: str) -> Iterator[str]:
    if len(sentence.words) > _MAX_WORDS or addresses_agent(sentence):
        return
    said = fold(text[sentence.spans[0][0] : sentence.spans[-1][1]])
    if len(said) > _MAX_CHARS:
        return
    asked = _LEAD.sub("", said)
    for phrase, instead in _PHRASES:
        asked = phrase.sub(instead, asked)
    letters = _letters(asked)
    if letters[:1] in ("H", "W") or sentence.asks or _LEAD.match(said):
        yield from (fact for fact in _meant(letters) if not _is_advice(fact, letters, asked))


def _is_advice(fact: str, letters: str, asked: str) -> bool:
    """Whether it asks what to choose or how to go about it, rather than what was chosen."""
    settled = fact not in (STACK, MANAGER) and not {"R", "C", "D"}.isdisjoint(letters)
    return not settled and _ADVICE.search(asked) is not None


def _letters(asked: str) -> str:
    """A letter for each word that counts; "" where a word is not of the vocabulary."""
    found = []
    for word in _WORD.findall(asked):
        letter = _LETTER_OF.get(_TYPOS.get(word, word))
        if letter:
            found.append(letter)
        elif word not in _IGNORED:
            return ""
    return "".join(found)


def _meant(letters: str) -> Iterator[str]:
    if _ASKS_STACK.fullmatch(letters):
        yield STACK
    elif _ASKS_MANAGER.fullmatch(letters):
        yield MANAGER
    elif _ASKS_QUIRKS.fullmatch(letters):
        yield QUIRKS
    elif _ASKS_ALL.fullmatch(letters):
        yield from _COMMANDS.values()
    elif _asks_for_command(letters):
        yield from _commands(letters)


def _asks_for_command(letters: str) -> bool:
    """Whether it asks for a way or a command; "how is the build?" asks how well it is."""
    if _ASKS_HOW.fullmatch(letters):
        return _STATUS.fullmatch(letters) is None
    return bool(_ASKS_COMMAND.fullmatch(letters) or _NAMES_COMMAND.fullmatch(letters))


def _commands(letters: str) -> Iterator[str]:
    """What is run: of "start the tests" the tests, of "run it" the project itself."""
    named = [fact for letter, fact in _COMMANDS.items() if letter in letters]
    if TEST in named or LINT in named:
        named = [fact for fact in named if fact != START]
    if not named and "R" in letters and "O" in letters and letters[-1] != "C":
        named = [START]
    yield from named


# --- typing errors --------------------------------------------------------------------------------


_MISTYPED = (
    "tests test build lint linter linting stack command framework language package which how"
)


def _slips(word: str) -> Iterator[str]:
    """``word`` with two neighbours swapped or one letter left out or doubled, never its first."""
    for at in range(1, len(word)):
        yield word[: at + 1] + word[at:]
        if len(word) > 4:
            yield word[:at] + word[at + 1 :]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


_TYPOS = {
    slip: word
    for word in _MISTYPED.split()
    for slip in _slips(word)
    if slip not in _LETTER_OF and slip not in _IGNORED
}
