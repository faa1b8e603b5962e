import re

import pytest

from subcog.stages.redaction.redact import RULES_FILE
from subcog.stages.redaction.validators import CHECKS, is_mixed, is_random, shannon_entropy


def test_entropy_is_in_bits_a_character():
    assert shannon_entropy("aaaa") == 0
    assert shannon_entropy("abcdefgh") == pytest.approx(3)


def test_random_characters_are_told_from_names():
    assert is_random("Zk8Qw3nB7vT1xL5pR9sD2fG")
    assert not is_random("UserAccountServiceV2Implementation")
    assert not is_random("3f786850e387550fdab836ed7e6dc881de23001b")
    assert not is_random("a1B" * 12)


def test_a_mixed_value_has_digits_or_inner_capitals():
    assert is_mixed("abc1")
    assert is_mixed("aBc")
    assert not is_mixed("Abc")
    assert not is_mixed("1234")


def test_every_check_is_used_by_a_rule():
    used = set(re.findall(r'^check = "(\w+)"', RULES_FILE.read_text("utf-8"), re.MULTILINE))
    assert used == set(CHECKS)
