import unicodedata

import pytest
from msgspec.structs import replace

from subcog.bus.events import CaptureDetected, CaptureRequested, CaptureSettled, StoreRequested
from subcog.bus.signals import redacted
from subcog.bus.triggers import Trigger
from subcog.bus.values import Kept, Provenance, Scope
from subcog.config.characters import PLAIN
from subcog.hooks import spool
from subcog.stages.redaction.admit import detect
from subcog.stages.redaction.redact import Redactor, redact, release, with_warning
from subcog.stages.redaction.rules import RULES_FILE, BadRule, Rule
from subcog.stages.redaction.values import MOST, KnownSecrets
from tests.emissions import emitted
from tests.fakes import make_memory

REDACTOR = Redactor.load()
TOKEN = "gh" + "p_" + "a1B2" * 9


def detected(content, **fields):
    given = {"text": content, "scope": Scope("project", "p")} | fields
    request = CaptureRequested(trace="t", id="mem_1", **given)
    return CaptureDetected(
        trace="t",
        request=request,
        namespace="decisions",
        tags=request.tags,
        content=content,
        questions=request.questions,
        triggers=request.triggers,
    )


def test_a_secret_is_named_where_it_stood():
    clean = REDACTOR.redact(f"use {TOKEN} and {TOKEN}, bob@" + "example.org knows")
    assert (
        clean.text
        == "use [redacted:github-token] and [redacted:github-token], [redacted:email] knows"
    )
    assert clean.redactions == ("github-token", "email")


GIVEN = "Tr0ub4dor" + "&Nine"


def test_a_value_that_was_given_away_is_gone_wherever_it_stands():
    known = KnownSecrets()
    REDACTOR.redact(f"use the password {GIVEN} and the user postgres", known)
    for text in (
        f"Done; the script uses {GIVEN}.",
        f"psql 'postgres://app:{GIVEN}@db'",
        f"{GIVEN}を使う",
    ):
        assert GIVEN not in REDACTOR.redact(text, known).text
    own = REDACTOR.redact(f"{GIVEN} it is, for the password is {GIVEN}")
    assert own.text == "[redacted:password] it is, for the password is [redacted:password]"
    assert REDACTOR.redact(f"Done; the script uses {GIVEN}.").redactions == ()


def test_of_what_was_given_away_words_and_names_still_stand_elsewhere():
    known = KnownSecrets()
    for text in ('password: "correcthorse"', "password=postgres16", "mail bob@" + "example.org"):
        assert REDACTOR.redact(text, known).redactions
    assert not known


def test_only_so_many_values_are_known_at_once():
    known = KnownSecrets()
    values = [f"Tr0ub{number}dor&Nine" for number in range(MOST + 1)]
    for value in values:
        known.note(value, "password")
    assert known.hide(" ".join(values))[0].startswith(f"{values[0]} [redacted:password]")


def test_a_capture_hides_what_its_session_gave_away():
    known = KnownSecrets()
    known.note(GIVEN, "said-secret")
    event = detected(f"The export runs with {GIVEN}", provenance=Provenance(branch=GIVEN))
    kept = redact(event, redactor=REDACTOR, known=known)
    assert GIVEN not in str(kept)
    assert kept.content.redactions == ("said-secret",)


def test_private_spans_go_first_and_leave_nothing():
    clean = REDACTOR.redact(f"a <private>{TOKEN}</private> b")
    assert clean.text == "a  b"
    assert clean.redactions == ("private",)


def test_an_invisible_character_hides_no_secret():
    assert TOKEN[:10] not in REDACTOR.redact(f"{TOKEN[:9]}\u200b\x1b[0m{TOKEN[9:]}").text


ODD = (
    "Le mot de passe\u00a0: hunterZ99x pour le serveur",
    "password\u202f: hunterZ99x of the gateway",
    "IBAN DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000",
    "card 4111\u20111111\u20111111\u20111111",
    "La contrasen\u0303a del servidor es hunterZ99x",
    "lo\u0308senord: hunterZ99x",
    "\u1107\u1175\u1106\u1175\u11af\u1107\u1165\u11ab\u1112\u1169: hunterZ99x",
)


@pytest.mark.parametrize("text", ODD)
def test_no_other_space_hyphen_or_composed_letter_hides_a_secret(text):
    plain = unicodedata.normalize("NFC", text).translate(PLAIN)
    assert spool.PLAIN == PLAIN
    named = REDACTOR.redact(plain).redactions
    assert named
    assert REDACTOR.redact(text).redactions == named
    set_aside = spool.clean(text, str(RULES_FILE))
    assert "hunterZ99x" not in set_aside
    assert "3704" not in set_aside


@pytest.mark.parametrize(
    "secret", [TOKEN, "AKIA" + "Z3MGSYQ4T7RBW2KD", "xo" + "xb-" + "123456789012-a1B2c3D4e5F6g7H8"]
)
@pytest.mark.parametrize(
    "line",
    ["Not for production use", "NEVER print it", "- read-only, from CI", "3. GitHub has the rest"],
)
def test_the_line_after_a_secret_keeps_its_first_word(secret, line):
    left = REDACTOR.redact(f"the key: {secret}\n{line}").text
    assert left.startswith("the key: [redacted:")
    assert left.endswith(f"]\n{line}")


def test_two_secrets_that_overlap_become_one():
    assert REDACTOR.redact(f"token={TOKEN}").text == "token=[redacted:github-token]"


def test_only_the_password_of_a_connection_string_goes():
    text = "postgresql://app:" + "pw" + "@db:5432/app?sslmode=require"
    assert REDACTOR.redact(text).text == (
        "postgresql://app:[redacted:url-password]@db:5432/app?sslmode=require"
    )


@pytest.mark.parametrize(
    "rule",
    [
        Rule(name="x", pattern="a", check="no such check"),
        Rule(name="Not A Name", pattern="a"),
    ],
)
def test_one_bad_rule_refuses_to_start(rule):
    with pytest.raises(BadRule, match="cannot be used"):
        Redactor([Rule(name="good", pattern="b"), rule])


@pytest.mark.parametrize(
    "rule",
    [
        Rule(name="x", pattern="(", hints=("key",)),
        Rule(name="x", pattern="a", needs="(", hints=("key",)),
        Rule(name="x", pattern="a", group="secret", hints=("key",)),
        Rule(name="x", pattern="a", group=1, hints=("key",)),
    ],
)
def test_a_wrong_pattern_lets_no_text_through_that_it_might_match(rule):
    redactor = Redactor([Rule(name="good", pattern="b"), rule])
    assert redactor.redact("bad").text == "[redacted:good]ad"
    for _ in range(2):
        with pytest.raises(BadRule, match="cannot be used"):
            redactor.redact("a key")


def test_a_wrong_pattern_is_found_before_any_text_needs_it():
    with pytest.raises(BadRule, match="'x' cannot be used"):
        list(Redactor([Rule(name="x", pattern="(", hints=("key",))]).compile_pending())


def test_no_rules_refuse_to_start():
    with pytest.raises(BadRule):
        Redactor([])


@pytest.mark.parametrize(
    "text", ["", "[[rule]]\nname = 'x'", "[[rule]]\nname='x'\npattern='a'\nz=1", "="]
)
def test_a_broken_file_refuses_to_start(tmp_path, text):
    file = tmp_path / "secrets.toml"
    file.write_text(text)
    with pytest.raises(BadRule):
        Redactor.load(file)


def test_what_goes_to_the_store_carries_no_raw_text_anywhere():
    origin = Provenance(file=f"src/{TOKEN}.py", branch=TOKEN, session="s")
    event = detected(f"the token is {TOKEN}.", tags=("ci", TOKEN.lower(), TOKEN), provenance=origin)
    stored = redact(event, redactor=REDACTOR)
    assert isinstance(stored, StoreRequested)
    assert TOKEN not in repr(stored)
    assert stored.content.text == "the token is [redacted:github-token]."
    assert stored.summary.text == "the token is [redacted:github-token]."
    assert stored.request.text == stored.content.text
    assert stored.request.provenance.session == "s"
    assert stored.trace == "t"
    assert "ci" in stored.tags


@pytest.mark.parametrize("content", [TOKEN, f"- {TOKEN}\n", "<private>all of it</private>"])
def test_where_nothing_is_left_it_is_declined(content):
    settled = redact(detected(content), redactor=REDACTOR)
    assert isinstance(settled, CaptureSettled)
    assert settled.kept.outcome == "declined"
    assert settled.kept.redactions
    assert TOKEN not in repr(settled)


# --- modes ---------------------------------------------------------------------------------------


def masked(text):
    return Redactor.load(mode="mask").redact(text).text


def test_a_mask_shows_the_ends_of_a_long_token():
    assert masked(f"use {TOKEN}.") == f"use [redacted:github-token:{TOKEN[:4]}…{TOKEN[-4:]}]."


@pytest.mark.parametrize("chars", range(34, 60))
def test_a_mask_shows_a_quarter_at_most(chars):
    token = "gh" + "p_" + ("a1B2" * 20)[: chars - 4]
    shown = masked(token).removeprefix("[redacted:github-token:").removesuffix("]")
    assert len(shown.replace("…", "")) <= chars / 4


@pytest.mark.parametrize(
    "text",
    [
        "password=" + "correcthorsebatterystaple",
        "SECRET_KEY=" + "correcthorsebatterystaple",
        "postgresql://app:" + "correcthorsebattery@db/x",
        "Authorization: Basic " + "Ym9iOmh1bnRlcjI1Ng==",
        "token: " + "a1B2c3D4e5",
        "-----BEGIN " + "PRIVATE KEY-----\n" + "QUJD" * 16 + "\n-----END " + "PRIVATE KEY-----",
        "card 4111 1111 1111 1111",
        "password=" + TOKEN,
    ],
)
def test_a_mask_shows_nothing_of_what_is_short_or_a_person_may_have_chosen(text):
    clean = masked(text)
    assert "[redacted:" in clean
    assert "…" not in clean


def test_a_mask_is_masked_once():
    clean = masked(f"use {TOKEN}")
    assert masked(clean) == clean
    assert REDACTOR.redact(clean).text == clean


def test_what_merely_looks_like_a_mask_is_redacted():
    assert TOKEN not in REDACTOR.redact(f"[redacted:github-token:{TOKEN}]").text


def test_where_secrets_block_the_rules_are_named_and_nothing_goes_on():
    event = detected(f"the token is {TOKEN}, ask bob@" + "example.org")
    settled = redact(event, redactor=Redactor.load(mode="block"))
    assert isinstance(settled, CaptureSettled)
    assert settled.kept.outcome == "declined"
    assert "(github-token, email)" in settled.kept.reason
    assert TOKEN not in repr(settled)


def test_a_secret_in_a_tag_blocks_as_well():
    settled = redact(detected("fine", tags=(TOKEN,)), redactor=Redactor.load(mode="block"))
    assert isinstance(settled, CaptureSettled)


def test_where_secrets_block_the_record_of_a_task_that_held_one_is_declined_too():
    def record(**fields):
        event = detected("Log in with [redacted:github-token]\nOutcome: success", **fields)
        return replace(event, namespace="tasks")

    settled = redact(record(explicit=False), redactor=Redactor.load(mode="block"))
    assert settled.kept.outcome == "declined"
    assert "github-token" in settled.kept.reason
    assert isinstance(redact(record(explicit=False), redactor=REDACTOR), StoreRequested)
    # Somebody who writes such a mark writes no secret.
    assert isinstance(redact(record(), redactor=Redactor.load(mode="block")), StoreRequested)


def test_where_secrets_block_other_texts_are_kept():
    event = detected("we use argon2id <private>for now</private>")
    assert isinstance(redact(event, redactor=Redactor.load(mode="block")), StoreRequested)


def test_a_warning_goes_to_who_had_something_taken_out():
    def settled(**fields):
        return CaptureSettled(trace="t", kept=Kept(namespace="decisions", **fields))

    warned = with_warning(settled(outcome="stored", redactions=("email",))).kept
    assert "replace it" in warned.reason
    for event in (
        settled(outcome="stored"),
        settled(outcome="merged", redactions=("private",)),
        settled(outcome="failed", redactions=("email",), reason="x"),
    ):
        assert with_warning(event) is event


def test_the_marks_of_rules_are_counted_and_no_others():
    text = f"a [redacted:email] b {masked(TOKEN)} [redacted:email] [redacted:hunter2]"
    assert REDACTOR.marks(text) == {"email": 2, "github-token": 1}


# --- questions -----------------------------------------------------------------------------------


def test_a_question_is_cut_after_its_secret_was_found():
    said = "Sommer2024Hamster is the password of the production database"
    asked = ("x" * 120 + f" {said}", "why does the job stop " + "y" * 300)
    stored = redact(detected("The job stops", questions=asked), redactor=REDACTOR)
    assert len(stored.questions) == 1
    assert stored.questions[0].startswith("why does the job stop y")
    assert 190 < len(stored.questions[0]) <= 200


def test_where_none_is_left_of_what_was_given_nothing_is_told():
    given = detected(
        "fine", questions=(f"is {TOKEN} valid?",), triggers=(Trigger(run=f"curl {TOKEN}"),)
    )
    stored = redact(given, redactor=REDACTOR)
    assert stored.questions is stored.triggers is None
    emptied = redact(detected("fine", questions=(), triggers=()), redactor=REDACTOR)
    assert emptied.questions == emptied.triggers == ()


def test_a_question_with_a_secret_is_left_out_and_told():
    asked = (f"is {TOKEN} still valid?", "which token does CI use?")
    stored = redact(detected("CI has a token of its own", questions=asked), redactor=REDACTOR)
    assert stored.questions == stored.request.questions == asked[1:]
    assert stored.content.redactions == ("github-token",)


def test_a_trigger_with_a_secret_is_left_out_and_told():
    triggers = (Trigger(run="deploy", unless=(TOKEN,)), Trigger(write="import requests"))
    stored = redact(detected("We use httpx here", triggers=triggers), redactor=REDACTOR)
    assert stored.triggers == stored.request.triggers == triggers[1:]
    assert stored.content.redactions == ("github-token",)


def test_a_secret_in_a_question_blocks_where_secrets_block():
    event = detected("fine", questions=(f"is {TOKEN} valid?",))
    assert redact(event, redactor=Redactor.load(mode="block")).kept.outcome == "declined"


# --- tags, and what is told ----------------------------------------------------------------------


def test_a_tag_that_was_a_secret_before_it_became_a_tag_is_left_out():
    key = "AK" + "IA" + "QWERTYUIOPASDFGH"
    long = "gh" + "s_" + "a1B2" * 15
    request = CaptureRequested(
        trace="t",
        id="mem_1",
        text="x",
        scope=Scope("project", "p"),
        namespace=key,
        tags=("ci", key, long),
    )
    event = detect(request, max_chars=100)
    assert key.lower() in event.tags
    stored = redact(event, redactor=REDACTOR)
    assert stored.tags == stored.request.tags == ("ci",)
    assert stored.content.redactions == ("aws-access-key", "github-token")
    assert key not in repr(stored)


def heard(event, redactor=REDACTOR):
    with emitted(redacted) as told:
        redact(event, redactor=redactor)
    return told


def test_a_redaction_is_told_with_names_and_numbers_alone():
    event = detected(f"{TOKEN} and {TOKEN} for bob@" + "example.org")
    facts = {
        "trace": "t",
        "memory": "mem_1",
        "rules": {"github-token": 2, "email": 1},
        "scope": "project",
    }
    assert heard(event) == [("redact", facts | {"decision": "redacted"})]
    blocking = Redactor.load(mode="block")
    assert heard(event, blocking) == [("redact", facts | {"decision": "blocked"})]


def test_where_nothing_was_taken_out_nothing_is_told():
    assert heard(detected("we use argon2id")) == []


def test_a_capture_that_is_nothing_but_a_secret_is_told_as_declined():
    ((_, facts),) = heard(detected(TOKEN))
    assert facts["decision"] == "declined"


def test_the_summary_of_a_text_without_a_secret_is_not_read_again(monkeypatch):
    read, examine = [], Redactor.examine
    monkeypatch.setattr(
        Redactor, "examine", lambda self, t, k=None: read.append(t) or examine(self, t, k)
    )
    clean = redact(detected("The cache lives in Redis. It is small."), redactor=REDACTOR)
    assert clean.summary.text == "The cache lives in Redis."
    assert clean.summary.text not in read
    other = redact(detected(f"The cache lives in Redis. {TOKEN} opens it."), redactor=REDACTOR)
    assert other.summary.text in read


GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HARMLESS = "We hash passwords with argon2id, since bcrypt truncates at 72 bytes"


@pytest.fixture(scope="module")
def redactor():
    return Redactor.load()


def test_what_holds_no_secret_leaves_as_it_is(redactor):
    memory = make_memory(1, HARMLESS)
    assert release(memory, redactor=redactor) == memory


def test_what_was_stored_before_there_was_a_rule_is_cleaned_everywhere(redactor):
    origin = Provenance(
        file=f"/src/{GITHUB_TOKEN}.py", gate=f"merged: {GITHUB_TOKEN}", author="ann"
    )
    memory = make_memory(
        1,
        f"The token {GITHUB_TOKEN} is for <private>my own notes</private> the mirror",
        summary=f"The token {GITHUB_TOKEN}",
        tags=("mirror", GITHUB_TOKEN),
        questions=("what is it for?", f"what is {GITHUB_TOKEN} for?"),
        triggers=(Trigger(run=f"curl {GITHUB_TOKEN}"), Trigger(run="curl")),
        provenance=origin,
        sources=(origin,),
    )
    clean = release(memory, redactor=redactor)
    said = (clean.content, clean.summary, clean.tags, clean.provenance.file, clean.sources[0].file)
    assert GITHUB_TOKEN not in str(said)
    assert "my own notes" not in clean.content
    assert clean.tags == ("mirror",)
    assert clean.questions == ("what is it for?",)
    assert clean.triggers == (Trigger(run="curl"),)
    # What is ours is no text, and a mark that says who and why would be no use redacted.
    assert (clean.provenance.gate, clean.provenance.author) == (origin.gate, "ann")


def test_a_second_look_changes_nothing(redactor):
    once = release(make_memory(1, f"The token {GITHUB_TOKEN} is for the mirror"), redactor=redactor)
    assert release(once, redactor=redactor) == once


def test_what_would_be_nothing_but_a_secret_stays_here(redactor):
    assert release(make_memory(1, GITHUB_TOKEN), redactor=redactor) is None


def test_what_block_declines_stays_here(redactor):
    blocking = Redactor.load(mode="block")
    assert release(make_memory(1, f"The token {GITHUB_TOKEN} is old"), redactor=blocking) is None
    assert release(make_memory(1, HARMLESS), redactor=blocking) is not None
