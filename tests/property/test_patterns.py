"""No text, however hostile, is read in more than linear time.

Every regular expression of the product is collected as it is made, and attacked with texts made
from the expression itself. One that takes long over such a text may do so behind a limit; so the
text is then given to every function of the product that takes a text, and these must be linear.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest
from msgspec import Raw

from subcog.bus.events import CaptureRequested
from subcog.bus.sessions import Message, ToolCall, ToolResult
from subcog.pipeline.entrance.tool_input import action_of, failure_of
from subcog.sinks.indexes.keyphrases import Keyphrases
from subcog.stages.capture.task_record import follow
from subcog.stages.language.intent_features import features
from subcog.stages.language.sentences import sentences
from subcog.stages.moments.subject import subject_of
from subcog.stages.parse import parse
from subcog.stages.redaction.admit import detect
from subcog.stages.redaction.redact import Redactor
from tests.attacks import UNITS, attacks
from tests.fakes import PROJECT, make_memory, make_prompt
from tests.waiting import ENDLESS_S, ends_soon

# An exponential one is found out with so few signs, and would not end with more.
SHORT = (24, 240)
LONG = 4_000
# What takes longest to read is then read at so many times the length.
LONGER = 20
# In ten times what a linear expression needs for a short text.
SUSPICIOUS_S = 0.0004
# What is read in less has no growth that can be told.
LEAST_S = 0.002
MOST_GROWN = 6

COLLECT = """
import importlib, json, pkgutil, re, sys
found, compile_ = {}, re._compile
def collect(pattern, flags=0):
    made, frame = compile_(pattern, flags), sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"] == "re":
        frame = frame.f_back
    if frame.f_globals.get("__name__", "").startswith("subcog.") and isinstance(made.pattern, str):
        found[made.pattern, made.flags] = frame.f_globals["__name__"]
    return made
re._compile = collect
import subcog.config.patterns
def collect_late(pattern, flags=0):
    made = re.compile(pattern, flags)
    found[made.pattern, made.flags] = sys._getframe(1).f_globals["__name__"]
    return made
subcog.config.patterns.regex = collect_late
for room in ("bus", "config", "hooks", "pipeline", "sinks", "stages"):
    package = importlib.import_module(f"subcog.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
from subcog.stages.redaction.redact import Redactor
list(Redactor.load().compile_pending())
print(json.dumps([[*key, where] for key, where in found.items()]))
"""


@pytest.fixture(scope="module")
def collected() -> list[tuple[re.Pattern, str]]:
    """Every expression that is made when the product is imported, and the module that makes it."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(re.compile(text, flags), where) for text, flags, where in json.loads(done.stdout)]


def functions() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every public function of stages and sinks that takes one text."""
    for room in ("stages", "sinks"):
        package = importlib.import_module(f"subcog.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            for name, function in inspect.getmembers(module, inspect.isfunction):
                public = function.__module__ == info.name and not name.startswith("_")
                if public and takes_a_text(function):
                    yield f"{info.name}.{name}", function


def entrances() -> Iterator[tuple[str, Callable[[str], object]]]:
    """What is given events: the prompts, memories, actions and sessions that come from outside."""
    redactor, keyphrases = Redactor.load(), Keyphrases()
    yield "parse", lambda text: parse(make_prompt(text))
    yield "redact", redactor.redact
    yield "topics", lambda text: keyphrases.topics(make_memory(content=text))
    yield "local", lambda text: features(text, sentences(text), None)
    yield "subject", lambda text: subject_of(text, text)
    yield (
        "tool",
        lambda text: action_of("Write", Raw(msgspec.json.encode({"path": text, "content": text}))),
    )
    yield "failure", lambda text: failure_of(Raw(msgspec.json.encode(text)))
    yield (
        "task",
        lambda text: follow(
            follow(None, make_message(text), session="s", root=text),
            make_message(text),
            session="s",
            root=text,
        ),
    )
    yield "detect", lambda text: detect(capture(text), max_chars=LONG * 2)


def make_message(text):
    """Said by a user who also ran it and changed a file of that name."""
    call = ToolCall(id="t", tool="Bash", paths=(text,), command=text)
    result = ToolResult(id="t", failed=False, text=text)
    return Message(role="user", text=text, calls=(call,), results=(result,))


def capture(text):
    return CaptureRequested(trace="t", id="mem_1", text=text, scope=PROJECT)


def takes_a_text(function) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    needed = [p for p in parameters if p.default is p.empty]
    return len(needed) == 1 and parameters[0] is needed[0] and needed[0].annotation == "str"


def cpu_s(read: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    with contextlib.suppress(ValueError, LookupError, OSError):  # it is refused, and soon
        read(text)
    return time.thread_time() - started


def soon_s(read: Callable[[str], object], text: str) -> float:
    """The limit is for this one text: some hundred of them may take longer on a slow machine."""
    with ends_soon():
        return cpu_s(read, text)


def scan(pattern: re.Pattern) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in pattern.finditer(text))


def worst(pattern: re.Pattern, units: tuple[str, ...] = UNITS) -> tuple[float, int]:
    """The time that the worst of the short attacks takes, and its number."""
    for length in SHORT:
        took = []
        for text in attacks(pattern, length, units):
            took.append(cpu_s(scan(pattern), text))
            if took[-1] > 20 * SUSPICIOUS_S:
                break
        found = max(zip(took, itertools.count(), strict=False), default=(0.0, 0))
        if found[0] > SUSPICIOUS_S:
            break
    return found


def find_suspects(collected, units) -> list[Callable[[int], str]]:
    """For each expression that is slow somewhere the attack, of any length; none of them twice."""
    found = {}
    for pattern, _ in collected:
        took_s, number = worst(pattern, units)
        if took_s > SUSPICIOUS_S:
            attack = partial(nth_attack, pattern, units, number)
            found.setdefault(attack(LONG), attack)
    return list(found.values())


def nth_attack(pattern: re.Pattern, units: tuple[str, ...], number: int, length: int) -> str:
    return next(itertools.islice(attacks(pattern, length, units), number, None))


@pytest.fixture(scope="module")
def own_suspects(collected):
    """What is found with the texts that are made of each expression itself: a quarter of all."""
    return find_suspects(collected, units=())


@pytest.fixture(scope="module")
def suspects(collected):
    return find_suspects(collected, UNITS)


def test_the_expressions_are_collected(collected):
    assert len(collected) > 150
    assert {"subcog.stages.redaction.rules", "subcog.sinks.project.git"} <= {
        where for _, where in collected
    }


@pytest.mark.parametrize("units", [UNITS, ()], ids=["all", "own"])
@pytest.mark.parametrize("bad", [r"\w+\w+\w+:", r"[a-z]+[0-9]+:", r"(?:a|b|ab)+c"])
def test_a_bad_expression_is_found_out(bad, units):
    took_s, _ = worst(re.compile(bad), units)
    assert took_s > SUSPICIOUS_S


def read_hardest(read, suspects):
    """Read what takes longest in a much longer form, and the worst of what grows fastest.

    The second is what is not yet slow at the usual length, beside what is slow up to some limit.
    """
    took = [soon_s(read, attack(LONG)) for attack in suspects]
    half = [soon_s(read, attack(LONG // 2)) for attack in suspects]
    growth = [whole_s / (half_s + LEAST_S) for whole_s, half_s in zip(took, half, strict=True)]
    grown = sorted(range(len(suspects)), key=growth.__getitem__)[-MOST_GROWN:]
    with ends_soon(ENDLESS_S * 2):
        slowest = max(grown, key=lambda number: cpu_s(read, suspects[number](LONG * LONGER // 4)))
    for number in {took.index(max(took)), slowest}:
        soon_s(read, suspects[number](LONG * LONGER))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "read"),
    [*functions(), *entrances()],
    ids=lambda x: x if type(x) is str else "",
)
def test_a_text_that_an_expression_is_slow_on_is_read_in_linear_time(name, read, suspects):
    read_hardest(read, suspects)


@pytest.mark.parametrize(
    ("name", "read"), list(entrances()), ids=lambda x: x if type(x) is str else ""
)
def test_what_comes_from_outside_is_read_in_linear_time(name, read, own_suspects):
    read_hardest(read, own_suspects)
