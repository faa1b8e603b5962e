import pytest

from subcog.bus.prompts import IntentType, Retrospect
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.time_question import dates_of_incident, read_time_question

AT_A_TIME = [
    ("what did we do yesterday", ()),
    ("which decisions did we take last week?", ("decisions",)),
    ("Remind me what we agreed on Thursday", ("decisions",)),
    ("remind me what we did on Tuesday", ()),
    ("what changed since Monday", ()),
    ("what happened before the release", ()),
    ("what has come up since 3.1 went live?", ()),
    ("anything new since Friday?", ()),
    ("what blockers came up this week?", ("blockers",)),
    ("which gotchas did we find last month?", ("gotchas",)),
    ("what did we learn over the past two weeks?", ("learnings",)),
    ("recap of last month for the Tuesday call please", ()),
    ("who did what last week?", ()),
    ("yesterday's notes?", ()),
    ("did we decide anything yesterday?", ("decisions",)),
    ("decisions from July", ("decisions",)),
    ("I was away. What did I miss since Wednesday?", ()),
    ("what's new?", ()),
    ("was haben wir gestern gemacht?", ()),
    ("welche Entscheidungen haben wir letzte Woche getroffen?", ("decisions",)),
    ("was ist seit Montag passiert", ()),
    ("qu'est-ce qu'on a fait hier ?", ()),
    ("qu'avons-nous décidé la semaine dernière ?", ("decisions",)),
    ("¿qué hicimos ayer?", ()),
    ("¿qué decidimos la semana pasada?", ("decisions",)),
    ("wat hebben we sinds dinsdag gedaan?", ()),
]
LEFT_OFF = [
    "continue where we left off",
    "where did we leave off?",
    "let's pick up where we stopped",
    "ok, so where were we?",
    "what did we do last time?",
    "what did we do in the last session?",
    "bring me up to speed",
    "continue from yesterday",
    "wo waren wir stehen geblieben?",
    "mach weiter, wo wir aufgehört haben",
    "où en étions-nous ?",
    "¿dónde lo dejamos?",
]
WHOLE = [
    ("what do you know about this project?", ()),
    ("tell me about the project", ()),
    ("I'm new here. What is this?", ()),
    ("summarize everything we know so far", ()),
    ("give me an overview of our decisions", ("decisions",)),
    ("list all blockers", ("blockers",)),
    ("what technical debt do we have?", ("tech-debt",)),
    ("which conventions do we follow here?", ("patterns",)),
    ("everything there is to know about the project", ()),
    ("all decisions that are still open", ("decisions",)),
    ("is there an overview of the project", ()),
    ("are we blocked", ("blockers",)),
    ("what's still open?", ("tasks", "blockers")),
    ("whats still open?", ("tasks", "blockers")),
    ("are there loose ends?", ("tasks", "blockers")),
    ("remind me what was left for later", ("tasks", "blockers")),
    ("what did we postpone?", ("tasks", "blockers")),
    ("anything still open?", ("tasks", "blockers")),
    ("ok what's left to do", ("tasks", "blockers")),
    ("anything blocking us?", ("blockers",)),
    ("was weißt du über dieses Projekt?", ()),
    ("que sais-tu de ce projet ?", ()),
    ("¿qué sabes de este proyecto?", ()),
]
OF_A_SUBJECT = [
    "what did we decide last week about Kafka",
    "what did we change in the parser yesterday?",
    "which blockers did we hit last month with the importer",
]
NO_SUCH_QUESTION = [
    # orders
    "add a column for yesterday's date",
    "run the job from last Monday again",
    "roll back to yesterday's release",
    "revert what we did yesterday",
    "delete everything older than last month",
    "write down what we decided today",
    "as we decided yesterday, rename it",
    "apply what we agreed last week",
    "make the importer continue where it left off",
    "resume the download where it stopped",
    "carry on with the login page where we stopped",
    "do it again like last time",
    "list all files in src",
    "list the open pull requests",
    "rename all decisions to adr",
    "write tests for the whole project",
    "put today's date into the changelog",
    "summarize the changes since the last tag for the changelog",
    # questions about a subject
    "why did the nightly build fail last night?",
    "is the report from last week already in the bucket?",
    "what do you know about Kafka?",
    "give me an overview of the parser",
    "when was the last release?",
    "which tasks run in parallel?",
    "what's blocking the event loop?",
    "anything blocking the event loop?",
    "what is open source?",
    "what is left of the margin?",
    "fix the loose ends in the parser",
    "not now. leave it for later, remind me",
    "what does 'last week' mean in the filter?",
    "The tray list takes six seconds again in the pilot. What did we do the last time?",
    "memory grows since friday's update, what did we break",
    # what lies ahead
    "what should we do today?",
    "what must happen before the release?",
    "what's still to do before 3.2?",
    "what day is it today?",
    # remarks
    "the app is great",
    "the project's great",
    "our app is fast",
    "the project is late",
    "the api of the project is new",
    "everything is known",
    "all tasks are done",
    "our rules have changed",
    "everything was done yesterday",
    # of one quality of the whole
    "is the project done?",
    # neither
    "thanks, that's all for today",
    "see you on monday",
    "on monday we ship",
    "all good so far",
    "continue",
    "what changed?",
    "what is this?",
    "this worked yesterday, what happened?",
    "I worked on it last week but it still fails",
    "Todo list:\n- [x] schema\n- [ ] API",
    "```\nwhat did we do yesterday\n```",
    "what did we do yesterday? " + "x " * 300,
    "",
]


@pytest.mark.parametrize(("prompt", "namespaces"), AT_A_TIME)
def test_a_question_about_a_time_names_what_it_asks_for(prompt, namespaces):
    asked = read_time_question(prompt)
    assert asked is not None
    assert asked.times
    assert (asked.left_off, asked.subject, asked.whole) == (False, False, False)
    assert asked.namespaces == namespaces


@pytest.mark.parametrize("prompt", LEFT_OFF)
def test_where_work_was_left_is_recognised(prompt):
    assert read_time_question(prompt) == Retrospect(left_off=True)


@pytest.mark.parametrize(("prompt", "namespaces"), WHOLE)
def test_a_question_about_the_whole_has_no_time(prompt, namespaces):
    asked = read_time_question(prompt)
    assert asked.whole
    assert (asked.namespaces, asked.subject) == (namespaces, False)


@pytest.mark.parametrize(
    ("prompt", "still_open"),
    [
        ("What is blocking us?", True),
        ("Any blockers?", True),
        ("which blockers do we have?", True),
        ("what's still open?", True),
        ("what are all our open tasks?", True),
        ("list all blockers", False),
        ("which blockers are resolved?", False),
        ("give me an overview of our decisions", False),
    ],
)
def test_a_question_in_the_present_asks_for_what_is_not_dealt_with(prompt, still_open):
    assert read_time_question(prompt).still_open is still_open


@pytest.mark.parametrize("prompt", OF_A_SUBJECT)
def test_a_subject_beside_the_time_is_noticed(prompt):
    asked = read_time_question(prompt)
    assert asked is not None
    assert asked.subject
    assert asked.times


@pytest.mark.parametrize("prompt", NO_SUCH_QUESTION)
def test_what_only_mentions_a_time_is_no_such_question(prompt):
    assert read_time_question(prompt) is None


def test_it_is_a_general_search_that_the_keywords_are_sure_of():
    intent = detect_search_intent("what did we do yesterday")
    assert intent is not None
    assert (intent.intent_type, intent.topics) == (IntentType.GENERAL, ())
    assert intent.confidence_percent >= 80
    about = detect_search_intent("what did we decide last week about Kafka")
    assert about is not None
    assert about.topics == ("kafka",)


@pytest.mark.parametrize(
    ("prompt", "dates"),
    [
        ("what went wrong on 3 September?", ["3 september"]),
        ("What caused the outage in June?", ["june"]),
        ("did we have outages in October?", ["october"]),
        ("was there an outage on 2026-10-12", ["2026-10-12"]),
        ("what happened on the night of 2 to 3 November?", ["2 november", "3 november"]),
        ("what did we decide in June?", []),
        ("why did we drop Redis in June?", []),
        ("what was the price before June?", []),
        ("what happens on 3 September?", []),
        ("what went wrong?", []),
    ],
)
def test_what_asks_for_an_incident_names_its_date(prompt, dates):
    assert [one.text for one in dates_of_incident(prompt)] == dates


@pytest.mark.parametrize(
    "text",
    [
        "all decisions since v2.1 was released",
        "everything we decided since the migration is done",
        "overview of everything since the release was shipped",
    ],
)
def test_what_asks_for_a_time_may_have_a_verb_in_it(text):
    assert read_time_question(text) is not None


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("continue", True),
        ("ok, please continue.", True),
        ("Back. carry on please", True),
        ("keep going!", True),
        ("continue with the exporter", False),
        ("ok", False),
        ("go", False),
    ],
)
def test_who_begins_a_session_by_going_on_means_the_last_one(text, goes_on):
    found = read_time_question(text, begins=True)
    assert (found is not None and found.left_off) is goes_on
    assert read_time_question(text) is None


@pytest.mark.parametrize(
    ("text", "before", "times"),
    [
        ("and wednesday?", "what did we do on tuesday", ["wednesday"]),
        ("and last week?", "which decisions did we take yesterday?", ["last week"]),
        ("and wednesday?", "deploy on tuesday", None),
        ("is wednesday a holiday?", "what did we do on tuesday", None),
        ("and the exporter?", "what did we do on tuesday", None),
        ("ok, deploy it on wednesday", "what did we do on tuesday", None),
    ],
)
def test_the_same_is_asked_of_another_time(text, before, times):
    found = read_time_question(text, before=before)
    assert (found and [one.text for one in found.times]) == times
