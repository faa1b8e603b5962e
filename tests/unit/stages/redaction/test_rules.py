import pytest

from subcog.stages.redaction.redact import Redactor
from subcog.stages.redaction.rules import (
    RULES_FILE,
    Allowance,
    BadAllowance,
    BadRule,
    Rule,
    Rules,
    read_rules,
)


def spans(text, *rules, spares=lambda value: False):
    return [(span.start, span.end, span.name) for span in Rules(rules, spares=spares).spans(text)]


def test_a_rule_finds_its_group():
    rule = Rule(name="pin", pattern=r"pin=(?P<secret>\d+)", group="secret")
    assert spans("pin=12 pin=345", rule) == [(4, 6, "pin"), (11, 14, "pin")]


def test_a_value_that_is_spared_is_not_found():
    rule = Rule(name="pin", pattern=r"\d+")
    assert spans("12 345", rule, spares=lambda value: value == "12") == [(3, 6, "pin")]


def test_a_token_that_is_all_filler_behind_its_prefix_is_an_example():
    redactor = Redactor.load()
    for prefix in ("ghp_", "glpat-", "sk-ant-api03-", "AKIA"):
        example = prefix + "x" * (16 if prefix == "AKIA" else 40)
        assert redactor.redact(example.upper() if prefix == "AKIA" else example).redactions == ()


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=Tr0ub4dor3xxxxxxxxxxxxxxxxxxx",
        "password is Sommer2024aaaaaaaaaaaaaaaa",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENGbPxRfiCYAAAAAAAAAAAAAAAA",
        "DB_PASSWORD=Hunteraaaaaaaaaaaaaaaaaa",
        "gh" + "p_Kq7vRr2TfLx9WmBn4ZcY" + "x" * 16,
    ],
)
def test_a_secret_that_ends_in_one_character_over_and_over_is_no_example(text):
    redacted = Redactor.load().redact(text)
    assert redacted.redactions
    assert text[-30:-20] not in redacted.text


def test_without_a_hint_of_it_a_pattern_is_not_tried():
    assert spans("abc", Rule(name="x", pattern="b", hints=("zzz",))) == []


def test_hints_hold_in_any_case_unless_they_have_capitals():
    assert spans("-XY-", Rule(name="x", pattern="(?i)xy", hints=("xy",))) == [(1, 3, "x")]
    assert spans("-xy-", Rule(name="x", pattern="(?i)xy", hints=("XY",))) == []


@pytest.mark.parametrize("filler", ["", "and so on " * 50])
def test_a_reach_says_how_far_before_a_hint_a_match_begins(filler):
    text = f"{filler}aabb{filler}"
    at = len(filler)
    assert spans(text, Rule(name="x", pattern="a+b+", hints=("b",), reach=2)) == [(at, at + 4, "x")]


def test_matches_never_overlap():
    rule = Rule(name="x", pattern="abab", hints=("ab",), reach=0)
    assert spans("ababab" + " " * 90, rule) == [(0, 4, "x")]


def test_what_a_pattern_needs_is_looked_for_first():
    assert spans("abc", Rule(name="x", pattern="b", needs="z")) == []


def test_a_text_without_so_long_a_run_is_not_searched():
    rule = Rule(name="x", pattern="b{4,9}", run=4)
    assert spans("a bbb b", Rule(name="x", pattern="b", run=4)) == []
    assert spans("a\tbbbb\nb", rule) == [(2, 6, "x")]


def test_a_reach_without_hints_is_refused():
    with pytest.raises(BadRule, match="no hints"):
        Rules([Rule(name="x", pattern="b", reach=1)], spares=lambda value: False)


def test_only_data_about_people_may_be_kept():
    kinds = {rule.name: rule.kind for rule in read_rules(RULES_FILE)}
    personal = {name for name, kind in kinds.items() if kind == "personal"}
    assert personal == {
        "card-number",
        "email",
        "iban",
        "national-id",
        "phone-number",
        "social-security-number",
    }


def test_the_comment_in_the_settings_names_what_may_be_kept():
    defaults = (RULES_FILE.parents[1] / "config" / "default.toml").read_text()
    about = defaults[defaults.index("[redaction]") :].replace("\n# ", " ")
    assert "card-number, email, iban, national-id, phone-number, social-security-number." in about


def test_without_personal_data_secrets_still_count():
    redactor = Redactor.load(personal=False)
    token = "gh" + "p_" + "a1B2" * 9
    clean = redactor.redact(f"ask bob@example.org, +43 664 1234567, about {token}")
    assert clean.text == "ask bob@example.org, +43 664 1234567, about [redacted:github-token]"


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
