"""Secrets planted in every shape that the rules name, made from their public formats."""
# ruff: noqa: E501 - one shape a line reads best

import itertools
import random
import re
import time
import tomllib

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog.stages.redaction.redact import RULES_FILE, Redactor
from subcog.stages.redaction.rules import read_rules
from tests.planted import BLOCKS, SETTINGS, TOKENS, dashes, key_block
from tests.thorough import times
from tests.waiting import ends_soon

REDACTOR = Redactor.load()
# Every pattern over the whole of every text, as if nothing spared any work.
THOROUGH = Redactor(
    msgspec.structs.replace(
        rule, hints=("",) if rule.hints else (), reach=None, needs="", run=0, drawn=False
    )
    for rule in read_rules(RULES_FILE)
)
RULES = tomllib.loads(RULES_FILE.read_text("utf-8"))["rule"]


AROUND = [
    "{}",
    "use {} for the staging box, and tell nobody",
    "- {}\n- the second point",
    "First line.\r\n{}\r\nLast line.",
    "> {}\n\nwhat is that?",
    "```\n{}\n```",
    "ünïcödé 日本 {} 🙂",
]


def planted():
    for number, (rule, make) in enumerate(TOKENS):
        yield pytest.param(rule, "{}", make, id=f"{number}-{rule}")
    for number, (rule, setting, make) in enumerate(SETTINGS):
        yield pytest.param(rule, setting, make, id=f"s{number}-{rule}")


def left_of(secret, text):
    """The longest part of ``secret`` that can be read in ``text``."""
    text = re.sub(r"\[redacted:[a-z0-9-]+\]", "[]", text)
    best = ""
    for start in range(len(secret)):
        end = start + len(best) + 1
        while end <= len(secret) and secret[start:end] in text:
            best = secret[start:end]
            end += 1
    return best


@pytest.mark.parametrize(("rule", "setting", "make"), list(planted()))
def test_a_planted_secret_is_gone_whatever_surrounds_it(rule, setting, make):
    secrets = [make(random.Random(seed)) for seed in range(times(2))]
    for secret, around in itertools.product(secrets, AROUND):
        if rule in ("base64-line", "pgpass-password") and around not in (
            "{}",
            AROUND[3],
            AROUND[5],
        ):
            continue  # these are whole lines
        text = around.replace("{}", setting.format(secret))
        clean = REDACTOR.redact(text)
        assert secret not in clean.text
        assert len(left_of(secret, clean.text)) < 5, clean.text
        assert rule in clean.redactions or around != "{}", clean


def test_every_rule_has_a_planted_shape():
    shapes = {rule for rule, *_ in (*TOKENS, *SETTINGS)} | {"private-key"}
    assert {rule["name"] for rule in RULES} == shapes


def test_there_are_at_least_forty_shapes():
    assert len(TOKENS) + len(SETTINGS) + len(BLOCKS) >= 40


@pytest.mark.parametrize("label", BLOCKS)
@pytest.mark.parametrize("seed", range(5))
def test_a_key_block_is_gone_whole_cut_off_escaped_or_quoted(label, seed):
    rng = random.Random(seed)
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n\n" if seed % 2 else ""
    block = key_block(rng, label, headers=headers)
    body = [line for line in block.split("\n")[1:-1] if len(line) == 64 and ":" not in line]
    forms = (
        block,
        block[: len(block) // 2],
        block[len(block) // 2 :],
        block.replace("\n", "\\n"),
        "\n".join("> " + line for line in block.split("\n")),
        block.replace("\n", "\r\n"),
    )
    for form in forms:
        clean = REDACTOR.redact(f"my key:\n{form}\nis it good?").text
        assert all(len(left_of(line, clean)) < 20 for line in body), clean
        assert "is it good?" in clean
    for line in body:
        assert REDACTOR.redact(line).text == "[redacted:base64-line]"


@pytest.mark.parametrize(("rule", "make"), TOKENS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_token_that_is_wrapped_over_two_lines_is_gone_too(rule, make):
    secret = make(random.Random(7))
    for at in range(1, len(secret), max(1, len(secret) // times(8))):
        for gap in ("\n", "\n    ", "\\\n", "\n> "):
            text = f"use {secret[:at]}{gap}{secret[at:]} there"
            clean = REDACTOR.redact(text).text
            assert len(left_of(secret, clean)) < 24, clean
            assert clean.startswith("use "), clean


SECRETS = st.one_of(
    st.builds(lambda make, seed: make(random.Random(seed)), st.sampled_from([m for _, m in TOKENS]), st.integers(0, 99)),
    st.builds(
        lambda shape, seed: shape[1].format(shape[2](random.Random(seed))), st.sampled_from(SETTINGS), st.integers(0, 99)
    ),
)  # fmt: skip
PIECES = st.one_of(
    SECRETS,
    st.text(max_size=12),
    st.sampled_from(["\n", " ", "password=", "[redacted:", "]", "<private>", "</private>", "token: ", '"', "@"]),
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join))
@settings(max_examples=times(150))
def test_redacting_twice_changes_nothing(text):
    once = REDACTOR.redact(text).text
    assert REDACTOR.redact(once).text == once


@given(st.lists(SECRETS, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]))
@settings(max_examples=times(60))
def test_redacting_line_by_line_hides_as_much_as_redacting_the_whole(secrets, newline):
    text = newline.join(f"a line before,{newline}{secret}" for secret in secrets)
    whole = REDACTOR.redact(text).text
    lines = newline.join(REDACTOR.redact(line).text for line in text.split(newline))
    assert whole.count("[redacted:") >= len(secrets)
    assert lines.count("[redacted:") >= len(secrets)


@given(st.text())
@settings(max_examples=times(100))
def test_any_text_is_redacted_into_text_that_can_be_stored(text):
    REDACTOR.redact(text).text.encode()


@given(st.lists(PIECES, max_size=8).map(" ".join))
@settings(max_examples=times(100))
def test_hints_spare_work_and_nothing_else(text):
    assert REDACTOR.redact(text) == THOROUGH.redact(text)


@pytest.mark.parametrize(
    "turn",
    [
        str.upper,
        str.swapcase,
        lambda text: text.replace("s", "ſ").replace("k", "\u212a").replace("i", "İ"),
    ],
)
def test_hints_see_what_the_patterns_see_in_any_case(turn):
    for rule, setting, make in [*((rule, "{}", make) for rule, make in TOKENS), *SETTINGS]:
        for seed in range(times(1, 3)):
            text = turn(f"İ say ſo: {setting.format(make(random.Random(seed)))} — and so on")
            assert REDACTOR.redact(text) == THOROUGH.redact(text), rule


def _sixty_more(repeat):
    return f"{{{repeat[1]},{int(repeat[1]) + 60}}}"


HINTED = [rule for rule in read_rules(RULES_FILE) if rule.hints or rule.run]


@pytest.mark.parametrize("rule", HINTED, ids=lambda rule: rule.name)
def test_hints_miss_nothing_that_a_pattern_matches(rule):
    unchecked = msgspec.structs.replace(rule, check="")
    quick = Redactor([unchecked])
    thorough = Redactor(
        [msgspec.structs.replace(unchecked, hints=("",), reach=None, needs="", run=0, drawn=False)]
    )
    # What is generated need not match: shorter, and without the conditions on what stands around
    # it. Hypothesis would meet these by discarding nearly all that it makes, for up to a minute.
    short = re.sub(r"\{(\d+),\d{3,}\}", _sixty_more, rule.pattern)
    loose = re.compile(re.sub(r"\(\?(=|<[=!])[^()]*\)", "", short))

    @given(st.from_regex(loose), st.sampled_from(["", "a ", "lorem ipsum " * 9]))
    @settings(max_examples=times(5), suppress_health_check=list(HealthCheck))
    def check(text, around):
        whole = around + text + around
        assert quick.redact(whole) == thorough.redact(whole)

    check()


PROSE = [
    "We use argon2id for password hashing because bcrypt truncates at 72 bytes.",
    "the password: argon2id is what we hash it with, the token: RS256 signed",
    "A secret is rotated every 90 days; the token is refreshed by the client.",
    "max_tokens = 4096, tokens: 500, tokenizer = AutoTokenizer.from_pretrained(name)",
    "password: str = Field(min_length=12), token: Optional[str] = None, secret: SecretStr",
    "password = os.environ['DB_PASSWORD']; token = request.headers.get('x-auth')",
    "DB_PASSWORD=${DB_PASSWORD} and API_KEY=<your key> and TOKEN=$TOKEN",
    '{"password": "", "token": null, "api_key": "${API_KEY}"}',
    "Commit 3f786850e387550fdab836ed7e6dc881de23001b reverts 89e6c98d92887913cadf06b2adb97f26cde4849b",
    "id 550e8400-e29b-41d4-a716-446655440000, ulid 01ARZ3NDEKTSV4RRFFQ69G5FAV, mem_01JD7Z0Q8W3N5M",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "/usr/local/lib/python3.11/site-packages/msgspec/_core.cpython-311-x86_64-linux-gnu.so",
    "versions 1.2.3, v2.0.0-rc1+build.5, 2024.10.01, python 3.11.4, 10.0.0.1:8080, 192.168.178.24",
    "git@github.com:owner/repo.git, lodash@4.17.21, getty@tty1.service, @scope/package@1.0.0",
    "http://localhost:3000/@scope/pkg and https://example.com:8443/a/b?page=2#top",
    "at 2026-11-21T23:05:11.123456Z, epoch 1763766311123, 1763766311123456789 ns, +0200",
    "diff -123456 +654321 and 1000000000000000 bytes, 4096 4096 4096 4096 rows",
    "the mask-sk-border task-3f2504e04f8941d39a0c0305e82c3301 disk-usage risk-assessment-of-everything",
    "class UserAccountServiceV2Factory: handler = UserAccountServiceV2Implementation",
    "Bearer authentication is required; the Authorization: header carries it",
    "key=value pairs, primary_key = user_id, foreign_key: account_number, sort_key=created_at",
    'token = "settings.access_token", apiKey: "secretFromTheEnvironment", secret: "/run/secrets/db_password"',
    "We pass the secret by file: /run/secrets/db_password and secret: vault:kv/db",
]


@pytest.mark.parametrize("text", PROSE)
def test_what_is_no_secret_stays(text):
    assert REDACTOR.redact(text).text == text


HOSTILE = [
    "a", "A", "0", "aA0", "0 ", "-", "=", " ", "\n", "\\", "\\n", '"', "eyJ", "eyJaaaaaaaa.",
    dashes("BEGIN", "PRIVATE KEY"), dashes("BEGIN", "PRIVATE KEY") + "\nQUJD\n",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n", "password", "password=", 'password="', "password=a,",
    "secret: ", "token", "x@x.", "a.", "a://a:", "+1 ", "key=", "curl -u ", "mysql a", "AT61 1904",
    "login a ", "authorization: bearer ", "<password>", "a:1:a:a:", "cookie: a=", "$2a$", "aws key ",
]  # fmt: skip


def scan(pattern, unit, length):
    """Find ``pattern`` everywhere in ``unit``, repeated; the time that this takes of the thread."""
    before = time.thread_time()
    for _ in pattern.finditer(unit * (length // len(unit))):
        pass
    return time.thread_time() - before


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])
def test_every_pattern_is_linear_on_hostile_text(rule):
    pattern = re.compile(rule["pattern"])
    with ends_soon():
        hardest = max(HOSTILE, key=lambda unit: scan(pattern, unit, 2_000))
        scan(pattern, hardest, 100_000)


def test_a_pattern_that_is_quadratic_is_found_out():
    with pytest.raises(pytest.fail.Exception), ends_soon(0.2):
        scan(re.compile(r"[a-z]+[0-9]+:"), "a", 100_000)


def test_a_chain_of_secrets_is_redacted_in_linear_time():
    secret = "gh" + "p_" + "aB3" * 12
    with ends_soon():
        REDACTOR.redact(f".{secret}" * 4_000)
