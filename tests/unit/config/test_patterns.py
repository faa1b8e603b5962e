import copy
import re

import pytest

from subcog.config.patterns import compile_pending, regex


def is_compiled(late) -> bool:
    return "search" in vars(late)


def test_it_is_compiled_when_it_is_first_used():
    late = regex("b+")
    assert not is_compiled(late)
    assert late.search("abba").span() == (1, 3)
    assert is_compiled(late)


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "split", "findall"])
def test_it_finds_what_a_compiled_pattern_finds(method):
    late, compiled = regex("A(b)", re.IGNORECASE), re.compile("A(b)", re.IGNORECASE)
    for text in ("ab", "xaBab", ""):
        assert str(getattr(late, method)(text)) == str(getattr(compiled, method)(text))
    assert late.sub(r"\1", "xab") == compiled.sub(r"\1", "xab")
    assert late.flags == compiled.flags
    assert late.groups == compiled.groups


def test_its_text_is_there_before_it_is_compiled():
    late = regex("b+")
    assert late.pattern == "b+"
    assert not is_compiled(late)


def test_a_wrong_pattern_is_an_error_at_each_use():
    late = regex("(")
    for _ in range(2):
        with pytest.raises(re.error):
            late.search("a")
    del late


def test_what_nothing_has_used_is_compiled_a_pattern_with_each_step():
    used, unused = regex("used"), regex("unused")
    used.search("")
    steps = compile_pending()
    assert not is_compiled(unused)
    list(steps)
    assert is_compiled(unused)
    assert list(compile_pending()) == []


def test_it_can_be_copied():
    assert copy.copy(regex("b")).search("abc").start() == 1
