from datetime import UTC, datetime

import pytest

from subcog.bus.events import PromptSubmitted
from subcog.bus.values import Place, Scope
from subcog.stages.moments.greet import guidance
from subcog.stages.parse import parse
from subcog.stages.text.envelope import Note, wrap

PLACE = Place(project=Scope("project", "p"), root="/p", user=Scope("user", "u"))
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def parsed(text, before="", *, begins=False):
    event = PromptSubmitted(
        trace="t", session="s", client="c", place=PLACE, text=text, before=before, begins=begins
    )
    result = parse(event)
    assert (result.trace, result.prompt) == ("t", event)
    return result.parsed


def test_a_prompt_is_taken_apart():
    found = parsed(
        "Where does `AuthService` in src/auth/jwt.py check tokens, like last time?\n"
        "We decided to use FastAPI because Flask has no async views.\n"
        "[remember:decisions] use uv\nfor everything\n\nthanks"
    )
    assert "remember" not in found.text
    assert found.text.endswith("thanks")
    assert [(m.content, m.namespace) for m in found.marked] == [
        ("use uv\nfor everything", "decisions")
    ]
    assert [signal.kind for signal in found.signals] == ["decision"]
    assert {("symbol", "AuthService"), ("path", "src/auth/jwt.py"), ("technology", "fastapi")} <= {
        (entity.kind, entity.value) for entity in found.entities
    }
    assert [reference.text for reference in found.references] == ["like last time"]
    assert "AuthService" in found.words
    assert "AuthService" in found.query
    assert not found.machine


def test_what_is_private_reaches_no_field():
    found = parsed(
        "how? <private>hunter2 [remember] hunter2</private>\n[remember] a <private>hunter2"
    )
    assert "hunter2" not in repr(found)


def test_our_own_notes_and_the_agents_reminders_are_not_the_persons_words():
    note = Note(
        id="mem_1", namespace="decisions", created_at=NOW, text="We decided on x.\n[remember] y"
    )
    found = parsed(
        f"<system-reminder>\n{wrap([note], now=NOW)}\n[remember] z\n</system-reminder>\nwhat is it?"
    )
    assert found.text == "what is it?"
    assert found.marked == found.signals == ()


def test_what_other_agents_put_in_front_of_a_prompt_is_not_the_persons_words():
    ours = f"<hook_context>{guidance('detailed')}</hook_context>"
    found = parsed(f"{ours}\n<ide_selection>[remember] z</ide_selection>what is it?")
    assert found.text == "what is it?"
    assert not found.machine


def test_a_reminder_that_is_never_closed_loses_its_tag_alone():
    assert parsed("<system-reminder> what is it?").text == "what is it?"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "<private>x</private>",
        "<task-notification>\n[remember] x\nWe decided it.\n</task-notification>",
        "/compact",
        "/mcp__mem__brief alpha\n[remember] x",
        "<command-name>/x</command-name>",
        "[Request interrupted by user]",
        "<user-memory-input>we decided x</user-memory-input>",
        "Stop hook feedback:\nwe decided x",
        '<channel source="x">we decided x</channel>',
        "<hook_context>we decided x</hook_context>\n",
        "<system-reminder>we decided x</system-reminder>",
    ],
)
def test_a_turn_that_no_person_wrote_is_the_machines(text):
    found = parsed(text)
    assert found.machine
    assert found.query == ""
    assert found.marked == found.signals == found.entities == ()


@pytest.mark.parametrize("text", ["/etc/hosts is broken", "[remember] x", "ok", "[Request] a"])
def test_other_turns_are_a_persons(text):
    assert not parsed(text).machine


def test_a_prompt_that_only_marks_has_no_text():
    found = parsed("[remember] x")
    assert (found.text, found.query) == ("", "")
    assert len(found.marked) == 1


def test_hostile_characters_do_no_harm():
    found = parsed("a\x00b \ud800 \u202e [remember\n[remember] \x1b[31mx")
    repr(found).encode()
    assert found.marked[0].content == "x"


LOG = """2026-10-03 11:04:22 INFO  lease worker=3 state=held until=11:05
2026-10-03 11:04:52 INFO  lease worker=3 state=held until=11:06"""


def test_of_a_paste_the_words_beside_it_and_the_telling_lines_ask():
    found = parsed(f"what happened\n\n{LOG}\n2026-10-03 11:05 ERROR lease worker=3 lost: no quorum")
    assert found.pasted
    assert found.question.splitlines()[0] == "what happened"
    assert "no quorum" in found.question
    assert "state=held" not in found.question


def test_a_paste_that_tells_no_failure_asks_nothing():
    found = parsed(LOG)
    assert (found.pasted, found.question, found.query) == (True, "", "")


def test_what_is_typed_is_the_question():
    found = parsed("How long does a worker hold a lease?")
    assert (found.pasted, found.question) == (False, found.text)


def test_of_a_long_text_in_another_language_what_asks_is_the_question():
    minutes = "Compte rendu de la réunion avec la ville, l'équipe a noté les points suivants. " * 8
    assert parsed(f"{minutes}\n\nqui relit les PR ?").question == "qui relit les PR ?"
    found = parsed(f"{minutes}\n\nrédige un résumé")
    assert (found.pasted, found.question, found.query) == (False, "", "")


def test_a_follow_up_is_searched_for_with_the_prompt_before():
    before = "How long is a lease?\n<private>hunter2</private>\n[remember] leases are short"
    found = parsed("and how do we renew it?", before)
    assert found.words == ("renew", "lease")
    assert found.question.splitlines()[0] == "How long is a lease?"
    assert "hunter2" not in found.question + found.query
    assert found.text == "and how do we renew it?"


def test_a_prompt_that_says_nothing_does_not_tell_what_a_follow_up_asks():
    found = parsed("how do we renew it?", "hm, ok")
    assert (found.question, found.words) == ("how do we renew it?", ("renew",))


def test_a_follow_up_that_names_another_subject_tells_which():
    found = parsed("and what about the Database?", "How do we deploy?")
    assert (found.subject, found.before) == (("Database",), "How do we deploy?")
    assert found.words == ("Database", "deploy")
    found = parsed("and how do we renew it?", "How long is a lease?")
    assert (found.subject, found.before) == ((), "")


def test_what_stands_for_itself_is_searched_for_alone():
    found = parsed("Why did we choose etcd for the depot's leases?", "How is the tram painted?")
    assert "tram" not in found.query + found.question


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "which metric do we report and what's the holdout?",
            ("which metric do we report", "what's the holdout"),
        ),
        (
            "done. who approves vpn peers? what are the aws account numbers?",
            ("who approves vpn peers", "what are the aws account numbers"),
        ),
        (
            "which seed, and which quantile for fresh stuff?",
            ("which seed", "which quantile for fresh stuff"),
        ),
        (
            "what line length do we use? and which gcc version was it again",
            ("what line length do we use", "which gcc version"),
        ),
        (
            "what were the limits again? also why do we avoid React",
            ("what were the limits again", "why do we avoid React"),
        ),
    ],
)
def test_the_questions_of_a_prompt_are_told_apart(text, parts):
    assert parsed(text).parts == parts


@pytest.mark.parametrize(
    "text",
    [
        "what is the holdout?",
        "where are the logs and how do I read them?",
        "who owns it? since when?",
        "which seed? and what was it again?",
        "add a retry, and where is the limit?",
        "which a? which b? which c? which d?",
        "what happens when a job fails and the queue is full?",
    ],
)
def test_one_question_or_what_needs_another_is_not_parted(text):
    assert parsed(text).parts == ()


def test_for_a_kind_of_tool_its_names_are_searched_for_as_well():
    container = "docker, podman, containerd or apptainer?"
    asked = ("which container runtime do we use", "who owns billing")
    assert parsed(asked[0]).parts == (asked[0], container)
    assert parsed(" and ".join(asked)).parts == (*asked, container)


def test_the_questions_within_a_longer_prompt_are_searched_for_beside_it():
    text = (
        "I write the section for the committee. They will ask why we did not pick xgboost. "
        "What were our WAPE numbers?"
    )
    parts = (text, "why we did not pick xgboost", "What were our WAPE numbers")
    assert parsed(text).parts == parts
    longer = f"{text} And the rest? Which seed for umap?"
    assert parsed(longer).parts == (longer, parts[2], "Which seed for umap")


@pytest.mark.parametrize(
    ("text", "within"),
    [
        (
            "the build is red. why is that, and who broke the runner?",
            ("the build is red. why is that", "who broke the runner"),
        ),
        (
            "I want to play the demo. is there a limit of save slots there? thanks",
            ("is there a limit of save slots there",),
        ),
        (
            "The build is slow. where do the caches live and who may clear them?",
            ("where do the caches live", "who may clear the caches live"),
        ),
        (
            "The press called. They want to know the launch price and how long the demo runs.",
            ("how long the demo runs",),
        ),
        ("ok, the demo. how long is it?", ("how long is the demo",)),
        ("My laptop died. How do I set it up?", ("How do I set My laptop up",)),
        (
            "A build takes 20 minutes. Which disks does it use?",
            ("Which disks does A build use",),
        ),
        (
            "The exporter crashes. Which port does it read?",
            ("Which port does The exporter read",),
        ),
        ("The release notes are late. Who writes them?", ("Who writes The release notes",)),
        ("The Berlin gateway is fine, the Oslo gateway is not. What port does it use?", ()),
        ("The old importer is gone and the new exporter crashes. Which port does it read?", ()),
        ("Our CI is red because the license server is down. Where is it hosted?", ()),
        ("It crashed twice. why is that?", ()),
        ("the export was refused, no line info. what could it be", ()),
    ],
)
def test_a_question_that_points_back_comes_with_what_it_points_at(text, within):
    assert parsed(text).parts == ((text, *within) if within else ())


def test_names_in_the_plural_are_searched_for_in_the_singular_as_well():
    assert parsed("are ANRs up?").parts == ("are ANRs up?", "are ANR up?")
    assert parsed("are ANRs up? " + "and so on " * 20).parts == ()


def test_what_is_a_name_here_is_searched_for():
    assert parsed("why was moment removed").words == ("moment", "removed")
    assert parsed("what about VAT at the moment?").words == ("VAT",)


def test_what_only_leads_in_is_not_searched_for():
    found = parsed("done, merged. next: which gpu machine do we have")
    assert found.text.startswith("done")
    assert found.question == "which gpu machine do we have"
    assert found.words == ("gpu", "machine")
    assert parsed("ok, done. and VAT?", "How do we round prices?").subject == ("VAT",)


@pytest.mark.parametrize(
    ("prompt", "dates"),
    [("what went wrong on 3 September?", ["3 september"]), ("what went wrong?", [])],
)
def test_the_date_of_an_incident_is_noted(prompt, dates):
    assert [one.text for one in parsed(prompt).incident_dates] == dates


class _Spelling:
    """Knows "relase" and "teh" to be misspelt."""

    def meant(self, words, scopes):
        assert scopes == PLACE.readable
        return {word: {"relase": "release", "teh": "the"}[word] for word in words if word in _WRONG}


_WRONG = ("relase", "teh")


def spelled(text, before=""):
    event = PromptSubmitted(
        trace="t", session="s", client="c", place=PLACE, text=text, before=before
    )
    return parse(event, spelling=_Spelling()).parsed


def test_misspelt_words_are_read_as_they_were_meant():
    found = spelled("when is teh relase?")
    assert found.text == found.question == "when is the release?"
    assert found.words == ("release",)
    assert found.as_typed == found.typed == "when is teh relase?"
    assert spelled("and the relase?", before="who owns teh relase?").before == (
        "who owns the release?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "when is the release?",
        "where is `relase` defined, in relase.py or /opt/relase?",
        "what is 'relase' in Relase?",
        "wo ist teh relase und warum?",
    ],
)
def test_names_quotations_and_other_languages_are_read_as_they_are(text):
    found = spelled(text)
    assert (found.text, found.typed, found.as_typed) == (text, "", text)


def test_going_on_asks_for_the_last_session_where_one_begins():
    assert parsed("continue", begins=True).retrospect.left_off
    assert parsed("continue").retrospect is None
