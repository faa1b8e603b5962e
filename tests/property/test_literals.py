"""What an expression is said to require is in every text that it matches."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.config.literals import fold, required_literals
from subcog.config.patterns import regex
from tests.attacks import attacks
from tests.waiting import ends_soon

from .test_patterns import collected  # noqa: F401 - a fixture

ACTIONS = Path(__file__).parents[2] / "perf/actions"
WORDS = (
    "never",
    "do not",
    "Straße",
    "K8s",
    "ſet",
    "İ",
    "ı",
    "µ",
    "\u0307",
    "ﬁ",
    "no",
    "a",
    "ß",
    ".env",
    " ",
)
PIECES = st.one_of(
    st.sampled_from(WORDS).map(re.escape),
    st.sampled_from([r"\s+", r"\w*", r"[a-z]{2}", "[Nn]", "[xy]z", ".", r"\b", "^", "$", r"\d"]),
)


def nested(inner):
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=4).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{0,3}", "{2}", "{1,9}", "++", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
        inner.map(lambda one: f"(?P<name>{one})" if "name" not in one else one),
        inner.map(lambda one: f"(?>{one})"),
        inner.map(lambda one: f"(?i:{one})"),
    )


EXPRESSIONS = st.recursive(PIECES, nested, max_leaves=12)
TEXTS = st.lists(st.sampled_from([*WORDS, "NEVER", "x", "yz", "n", "12", "\n", "STRASSE"]))


def holds(sets, text):
    folded = fold(text)
    return all(any(literal in folded for literal in literals) for literals in sets)


@given(EXPRESSIONS, TEXTS.map("".join), st.sampled_from([0, re.IGNORECASE]))
def test_a_text_that_matches_has_what_is_required(expression, text, flags):
    try:
        pattern = re.compile(expression, flags)
    except re.error:  # a group named twice, say
        return
    with ends_soon():
        if pattern.search(text):
            assert holds(required_literals(expression, flags), text)


@pytest.mark.slow
def test_what_the_product_looks_for_is_required_of_all_that_it_matches(collected, memories):  # noqa: F811
    told = 0
    for pattern, where in collected:
        sets = required_literals(pattern.pattern, pattern.flags)
        told += bool(sets)
        for text in (*memories, *islice(attacks(pattern, 60, ()), 60)):
            if sets and pattern.search(text):
                assert holds(sets, text), (where, pattern.pattern[:80], sets, text)
    assert told > len(collected) / 3


@pytest.fixture(scope="module")
def memories():
    files = sorted(ACTIONS.glob("*/memories.jsonl"))
    lines = (line for file in files for line in file.read_text("utf-8").splitlines()[::8])
    return [json.loads(line)["text"] for line in lines]


@pytest.mark.parametrize("text", ["", "never", "NEVER do it", "it is over", "nev er", "İ NEVER"])
@pytest.mark.parametrize("expression", ["(?i)never", "never|always", "n(?:ev)?er", "(no)?t"])
def test_a_quick_one_finds_what_it_finds_without(expression, text):
    quick, compiled = regex(expression), re.compile(expression)
    quick.make_quick()
    assert str(quick.search(text)) == str(compiled.search(text))
    assert quick.findall(text) == compiled.findall(text)
    assert [m.span() for m in quick.finditer(text)] == [m.span() for m in compiled.finditer(text)]
    assert str(quick.search(text, 1)) == str(compiled.search(text, pos=1))
    assert str(quick.search(string=text, pos=1)) == str(compiled.search(text, 1))
    assert quick.groups == compiled.groups


@pytest.mark.parametrize(
    "expression", ["i\u0307stan", "[a-z]\u0307xy", "ab.\u0307cd", "\ufb01\u0307_", "(?i)\u0130X"]
)
def test_a_mark_is_folded_alike_beside_whatever_it_stands(expression):
    quick = regex(expression)
    quick.make_quick()
    for text in ("i\u0307stan", "i\u0307xy", "abi\u0307cd", "\ufb01\u0307_", "\u0130x", "ix"):
        assert str(quick.search(text)) == str(re.compile(expression).search(text))


def test_what_takes_too_long_to_find_out_is_not_required():
    many = "|".join(f"{number:08x}" + r"\d+" for number in range(8000))
    long = "[ab][cd][ef][gh][ij][kl]" + "x" * 20_000
    deep = "(?:abc|x" * 250 + "abc" + r"|\d+y)" * 250
    with ends_soon(4.0):
        assert required_literals(deep, 0) == ()
        required_literals(many, 0)
        assert required_literals(long, 0)


def test_a_quick_one_stays_quick():
    quick = regex("never")
    quick.make_quick()
    look = quick.search
    assert quick.flags == re.compile("never").flags
    assert quick.search is look
