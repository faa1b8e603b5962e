import re

import pytest

from subcog.stages.redaction.redact import RULES_FILE
from subcog.stages.redaction.validators import (
    CHECKS,
    card,
    chinese_id,
    email,
    french_number,
    iban,
    phone,
)
from subcog.stages.redaction.values import is_mixed, is_random, shannon_entropy


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


def verdict(check, value, text=None):
    return check(value, re.search(re.escape(value), text or value))


@pytest.mark.parametrize(
    ("number", "is_card"),
    [
        ("4111 1111 1111 1111", True),
        ("5555-5555-5555-4444", True),
        ("378282246310005", True),
        ("30569309025904", True),
        ("4111 1111 1111 1112", False),
        ("1763766311123456", False),
        ("0000 0000 0000 0000", False),
    ],
)
def test_a_card_has_an_issuer_and_a_check_digit(number, is_card):
    assert verdict(card, number) is is_card


@pytest.mark.parametrize(
    ("account", "is_iban"),
    [
        ("AT61 1904 3002 3457 3201", True),
        ("DE89370400440532013000", True),
        ("GB82 WEST 1234 5698 7654 32", True),
        ("AT61 1904 3002 3457 3201 ALSO", True),
        ("AT62 1904 3002 3457 3201", False),
        ("ZZ61 1904 3002 3457 3201", False),
        ("AT61 1904", False),
    ],
)
def test_an_account_number_has_its_countrys_length_and_remainder(account, is_iban):
    assert verdict(iban, account) is is_iban


@pytest.mark.parametrize(
    ("number", "is_persons"),
    [
        ("185057800608491", True),
        ("1 85 05 78 006 084 36", True),  # grouped as on the card, the key mistyped
        ("2 85 05 2A 006 084 01", True),
        ("185057800608436", False),
        ("1 85 14 78 006 084 91", False),
    ],
)
def test_a_french_number_is_grouped_as_on_the_card_or_has_its_key(number, is_persons):
    assert verdict(french_number, number) is is_persons


def test_a_chinese_number_has_its_check_digit():
    assert verdict(chinese_id, "11010519491231002X")
    assert not verdict(chinese_id, "110105194912310021")


@pytest.mark.parametrize(
    ("number", "is_phone"),
    [
        ("+43 664 1234567", True),
        ("+1 (415) 555-0132", True),
        ("+4366412345678", True),
        ("0043 1 58858 0", True),
        ("+1000000000", False),
        ("+123456 -654321", False),
        ("+12345", False),
        ("00123456789", False),
    ],
)
def test_a_phone_number_is_grouped_as_people_group_it(number, is_phone):
    assert verdict(phone, number) is is_phone


@pytest.mark.parametrize(
    ("address", "text", "is_email"),
    [
        ("bob@example.org", "ask bob@example.org", True),
        ("git@github.com", "git@github.com:a/b.git", False),
        ("root@db.internal", "ssh root@db.internal", False),
        ("getty@tty1.service", "getty@tty1.service", False),
        ("pw@db.internal", "postgres://u:pw@db.internal/x", False),
        ("bob@example.org", "see http://x.y and ask bob@example.org", True),
    ],
)
def test_an_address_is_a_persons(address, text, is_email):
    assert verdict(email, address, text) is is_email
