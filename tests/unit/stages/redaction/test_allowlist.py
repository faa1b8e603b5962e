import pytest

from subcog.stages.redaction.allowlist import Allowance, BadAllowance
from subcog.stages.redaction.rules import Rule

RULES = [
    Rule(name="github-token", pattern="a"),
    Rule(name="email", pattern="b", kind="personal"),
    Rule(name="phone-number", pattern="c", kind="personal"),
]


def test_a_literal_value_is_let_through_with_or_without_punctuation_after_it():
    allowance = Allowance(["AK" + "IAEXAMPLE", "noreply@example.com"], RULES)
    assert allowance.spares("AK" + "IAEXAMPLE")
    assert allowance.spares("noreply@example.com.")
    assert not allowance.spares("AK" + "IAEXAMPLE2")
    assert not allowance.spares("no-reply@example.com")


def test_a_kind_of_personal_data_is_named_as_its_rule():
    allowance = Allowance(["email"], RULES)
    assert allowance.names == {"email"}
    assert not allowance.spares("email")


def test_an_empty_list_lets_nothing_through():
    assert not Allowance([], RULES).spares("")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("github-token", "no setting switches off a rule for secrets"),
        ("", "is empty"),
        (" noreply@example.com", "white space"),
        ("two\nlines", "control characters"),
        ("AKIA*", "patterns are not understood"),
        ("e-mail", "email may be meant"),
        ("phone-numbers", "phone-number may be meant"),
    ],
)
def test_a_bad_entry_is_refused_by_its_number(entry, why):
    with pytest.raises(BadAllowance, match=why) as caught:
        Allowance(["fine", entry], RULES)
    assert str(caught.value).startswith("entry 2 ")
    assert "one of email, phone-number" in str(caught.value)


def test_what_may_be_a_secret_is_not_repeated():
    with pytest.raises(BadAllowance) as caught:
        Allowance(["hunter2hunter2*"], RULES)
    assert "hunter2" not in str(caught.value)
