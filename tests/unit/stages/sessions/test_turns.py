import pytest

from subcog.stages.sessions.turns import telling_turns
from tests.fakes import make_memory
from tests.unit.stages.sessions.test_quote_excerpt import hit

TIDES = (
    ("user", "The tide tables are lost. We'll go with Drift for them, not Hive"),
    ("agent", "Replaced the Hive box with a Drift table."),
)
WIDGETS = (
    ("user", "harbour_page.dart is 640 lines, split it. I prefer small widgets, at most 200 lines"),
    ("agent", "Split into five widgets under lib/harbour/."),
)
ATTEMPTS = (
    ("user", "The upstream blocks our attempts with 429s"),
    ("agent", "I will lower the attempts to five."),
    ("user", "No. Seven. Eight trips it."),
    ("agent", "So MAX_ATTEMPTS is exactly 7."),
)


def told(talk, question, *memories):
    kept = [make_memory(at, text) for at, text in enumerate(memories)]
    return [one.text for one in telling_turns(hit(talk).passages, question, kept)]


def texts(talk):
    return [text for _, text in talk]


def test_only_what_is_about_the_question_is_told():
    assert told((*TIDES, *WIDGETS), "do we use Hive or Drift?") == texts(TIDES)
    assert told((*TIDES, *WIDGETS), "split settings_page.dart") == texts(WIDGETS)


def test_few_words_and_those_that_go_on_stay_with_what_was_said_before():
    talk = (*ATTEMPTS, ("user", "Count the attempts of a whole batch together from now on"))
    assert told((*TIDES, *talk), "how many attempts?") == texts(talk)
    assert told((*TIDES, *ATTEMPTS), "what about 429s?") == texts(ATTEMPTS)
    replies = (*ATTEMPTS, ("user", "why?"), ("agent", "Eight."), ("user", "yes"), ("user", "Ten!"))
    assert told((*TIDES, *replies), "what about 429s?") == texts(replies)


@pytest.mark.parametrize(
    "said", ["no wait, scrap that, Agnieszka needs it for the audit", "nvm", "I changed my mind"]
)
def test_what_takes_back_is_told_with_what_it_takes_back(said):
    talk = (*TIDES, ("user", said), ("agent", "All right, I will keep the old one then."))
    assert told((*talk, *WIDGETS), "do we use Hive or Drift?") == texts(talk)


@pytest.mark.parametrize("question", ["", "offline storage?"])
def test_what_is_found_otherwise_than_by_words_is_told_as_a_whole(question):
    assert told((*TIDES, *WIDGETS), question) == texts((*TIDES, *WIDGETS))


def test_what_a_memory_has_of_a_turn_is_not_told_again_nor_its_bare_reply():
    rule = "We'll go with Drift for them, not Hive"
    assert told((*TIDES, *WIDGETS), "Hive or Drift?", rule) == []
    assert told((("user", rule), ("agent", "Noted.")), "Hive or Drift?", rule) == []


def test_what_else_the_turn_says_of_the_question_is_told():
    talk = (("user", "Hive is gone. Drift migrates the old Hive box once, then drops it."),)
    assert told(talk, "what became of the Hive box?", "Hive is gone") == [
        "Drift migrates the old Hive box once, then drops it."
    ]


def test_an_order_whose_answer_a_memory_has_tells_nothing():
    talk = (
        ("user", "please run the migrations on my local db"),
        ("agent", "The local db needs PGPORT=5433."),
    )
    assert told(talk, "how do I run migrations on the local db?", talk[1][1]) == []


VPN = (
    ("user", "The VPN concentrator sits in Frankfurt because the Dublin one was flaky"),
    ("agent", "OK."),
)


@pytest.mark.parametrize(
    "away",
    [
        (("user", "now fix the test in util_test.go"), ("agent", "Fixed."), ("user", "merge it")),
        (("user", "Thanks, lunch"), ("agent", "Enjoy.")),
        (("user", "great, a coffee break"), ("agent", "Enjoy."), ("user", "bye")),
        (("user", "bump eslint to 9"), ("agent", "Bumped, two rules renamed.")),
        (("user", "Route the nightly builds over the concentrator box"), ("agent", "Done.")),
    ],
)
def test_what_leads_away_from_a_subject_is_not_told_with_it(away):
    assert told((*VPN, *away), "why is the VPN in Frankfurt?") == texts(VPN)


def test_what_an_order_does_and_the_kind_of_a_file_are_not_what_it_is_about():
    talk = (*TIDES, ("user", "A route has a maximum of 40 stops"), ("agent", "See src/route.dart."))
    assert told(talk, "split the Hive code in src/box.dart") == texts(TIDES)
    assert told((*WIDGETS, *talk), "split the Hive box") == texts(TIDES)


def test_an_order_that_shares_one_word_tells_nothing_of_a_question():
    order = (("user", "add a log line to the solver"), ("agent", "It logs the tenant now."))
    tenant = (("user", "The staging tenant is called acme-lab"), ("agent", "Noted."))
    assert told((*tenant, *order), "what is the staging tenant called?") == texts(tenant)


@pytest.mark.parametrize(
    "complaint",
    [
        "the map is blank after resume on my pixel 8, pls debug",
        "the map is blank after resume since 4.12, can you find it?",
    ],
)
def test_a_complaint_tells_nothing_beside_the_memory_of_its_cause(complaint):
    cause = "The blank map after resume was a lost GL surface"
    talk = (("user", complaint), ("agent", f"Reproduced it.\n**Learned**: {cause}"))
    assert told(talk, "map is blank after resume", cause) == []


@pytest.mark.parametrize(
    "marked",
    [
        "fyi while i'm at it\n[remember] crash reports: Sentry, not Crashlytics",
        "[remember:decisions] When it crashes, crash reports go to Sentry",
    ],
)
def test_what_a_marker_keeps_is_for_its_memory_to_tell(marked):
    noted = (("user", marked), ("agent", "Noted."))
    assert told((*noted, *TIDES), "it crashes") == []
    assert told(noted, "an app that stops by itself") == []
    assert told(noted, "which crash reports?") == []
    assert told((*TIDES, *noted), "Hive or Drift?") == texts(TIDES)


def test_what_else_was_said_with_a_marker_is_told_without_it():
    talk = (
        ("user", "The login test fails at midnight, fix it\n[remember] staging is reset at night"),
        ("agent", "Its clock was local."),
    )
    assert told(talk, "why did the login test fail?") == [
        "The login test fails at midnight, fix it",
        "Its clock was local.",
    ]


GAPS = (
    ("user", "there is a test that fails sometimes, test_gap_detection. did you see?"),
    ("agent", "It compares the wall clock with the schedule."),
)
SMS = (
    ("user", "mock the text messages in every test until Monday, Marta has no account yet"),
    ("agent", "The tests use a fake client, 21 pass."),
)
LOGS = (("user", "why so much spam in here?"), ("agent", "The engine echoes its messages."))


def test_of_a_question_that_names_something_of_the_code_only_that_is_told():
    assert told((*SMS, *GAPS), "did we ever fix test_gap_detection?") == texts(GAPS)
    assert told(SMS, "did we ever fix test_gap_detection?") == texts(SMS)


def test_few_words_go_on_with_the_last_exchange_and_not_with_an_earlier_one():
    talk = (*SMS, ("user", "ok"), ("agent", "Shall I push?"))
    assert told((*talk, *LOGS), "who has no account yet?") == texts(talk)


LOCKS = (
    ("user", "the outbox drain runs twice now and then, make it take a lock"),
    (
        "agent",
        "The drain has no lock yet. Shall I use Postgres advisory locks or Redis locks for it?",
    ),
    ("user", "Postgres advisory locks, Redis would be another service to run"),
    ("agent", "The drain takes one."),
)


def test_a_question_of_the_agent_is_not_told_without_the_answer_that_a_memory_has():
    rule = "Postgres advisory locks, Redis would be another service to run"
    assert told(LOCKS, "why did we choose advisory locks over redis?", rule) == []
    assert told(LOCKS[:2], "why did we choose advisory locks over redis?", rule) == texts(LOCKS[:2])
    assert told(LOCKS, "why did we choose advisory locks over redis?") == texts(LOCKS)


@pytest.mark.parametrize(
    "answer", ["I do not know.", "I can't find anything on that in the notes."]
)
def test_who_asked_the_same_and_was_told_that_nobody_knows_answers_nothing(answer):
    talk = (("user", "why did we choose advisory locks over redis?"), ("agent", answer))
    assert told(talk, "why did we choose advisory locks?") == []
    assert told((*TIDES, *talk), "why did we choose advisory locks?") == []
    assert told((*talk[:1], ("agent", "Redis is another service.")), "why advisory locks?")
