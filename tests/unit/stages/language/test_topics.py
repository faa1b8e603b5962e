import pytest

from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import sentences
from subcog.stages.language.topics import (
    MAX_RETRIEVAL_WORDS,
    MAX_TOPICS,
    as_choice,
    extract_topics,
    names_a_subject,
    retrieval_words,
)


def topics(text: str) -> tuple[str, ...]:
    intent = detect_search_intent(text)
    return extract_topics(sentences(text), intent.evidence if intent else ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how do I implement authentication?", ("authentication",)),
        ("where is the database config?", ("database", "config")),
        ("what is the difference between redis and memcached", ("redis", "memcached")),
        ("why is the build failing", ("build", "failing")),
        ("how do I use Foo.bar() in `src/app.py`?", ("foo.bar", "src/app.py")),
        ("python flatten list", ("python", "flatten", "list")),
        ("where does it", ()),
        ("", ()),
        ("?", ()),
    ],
)
def test_the_subjects_of_a_prompt(text, expected):
    assert topics(text) == expected


def test_what_follows_the_signal_comes_before_the_rest():
    assert topics("The gateway is new. Where is the timeout?")[:1] == ("timeout",)


def test_there_are_at_most_five_and_each_once():
    found = topics("where is alpha beta gamma alpha delta epsilon zeta")
    assert found == ("alpha", "beta", "gamma", "delta", "epsilon")
    assert len(found) == MAX_TOPICS


def test_the_stage_and_the_racer_find_the_same_topics():
    text = "explain the retry policy of the gateway. It broke twice, compare a with b."
    intent = detect_search_intent(text)
    assert intent is not None
    assert extract_topics(sentences(text), intent.evidence) == intent.topics


def test_retrieval_words_keep_order_case_and_identifiers():
    assert retrieval_words("Where is `UserRepo.find_all` used, in src/db/repo.py or FastAPI?") == (
        "UserRepo.find_all",
        "src/db/repo.py",
        "FastAPI",
    )


def test_retrieval_words_leave_the_question_out():
    asked = "what is the difference between redis and memcached"
    assert retrieval_words(asked) == ("redis", "memcached")


def test_retrieval_words_keep_the_trouble():
    assert "error" in retrieval_words("why is there an error in the parser")


def test_retrieval_words_are_those_of_the_subject_where_there_are_any():
    asked = "known pitfalls and lessons before I touch the billing export?"
    assert retrieval_words(asked) == ("billing", "export")
    assert retrieval_words("known pitfalls?") == ("known", "pitfalls")


def test_retrieval_words_read_pasted_lines():
    assert "ECONNREFUSED" in retrieval_words("help\n```\nError: connect ECONNREFUSED\n```")


def test_retrieval_words_are_bounded_and_distinct():
    words = retrieval_words(" ".join(f"w{n}" for n in range(5000)))
    assert len(words) <= MAX_RETRIEVAL_WORDS
    assert len(set(words)) == len(words)


def test_a_prompt_of_stop_words_has_nothing_to_search_for():
    assert retrieval_words("what is it and where is this") == ()


@pytest.mark.parametrize(
    ("question", "choice"),
    [
        ("which container engine?", "docker, podman, containerd or apptainer?"),
        (
            "Container runtime on the cluster?",
            "docker, podman, containerd or apptainer on the cluster?",
        ),
        (
            "what's our cache for VIN lookups?",
            "redis, memcached, valkey or varnish for vin lookups?",
        ),
        ("ok so which caches do we use?", "redis, memcached, valkey or varnish?"),
        (
            "which serialization format do we use on kafka?",
            "avro, protobuf, json, cbor, messagepack, thrift or flatbuffers on kafka?",
        ),
        ("which cache key do we use?", ""),
        ("what does the cache hold?", ""),
        ("why is the cache cold?", ""),
        ("clear the cache for now", ""),
    ],
)
def test_a_kind_of_tool_is_a_choice_of_names(question, choice):
    assert as_choice(question) == choice


@pytest.mark.parametrize(
    "text",
    [
        "ok weekend! thx for everything",
        "have a nice weekend!",
        "run it again",
        "set the timeout to 30",
        "open a PR for this branch",
        "deploy it to staging",
    ],
)
def test_what_is_about_what_was_just_done_names_no_subject(text):
    assert not names_a_subject(text)


@pytest.mark.parametrize(
    "text",
    [
        "what do you think?",
        "is that right?",
        "is it done?",
        "are we done?",
        "did it work?",
        "is it ready yet?",
        "does that make sense?",
        "any thoughts?",
        "what happened?",
        "how did it go?",
        "what time is it?",
        "what's next",
    ],
)
def test_what_asks_for_a_judgement_of_the_work_at_hand_names_no_subject(text):
    assert not names_a_subject(text)


@pytest.mark.parametrize(
    "text",
    [
        "is the import done?",
        "what do you think about kafka?",
        "are the tests green?",
        "what broke?",
        "what happened yesterday?",
        "how to start?",
        "what did we finish?",
        "when is it?",
        "PRs?",
        "where is it",
        "mqtt keepalive",
        "add a retry to the uploader",
        "fix the importer",
        "do we pin it",
        "Wie oft?",
        "Führe den Import noch einmal aus",
    ],
)
def test_what_asks_or_names_its_subject(text):
    assert names_a_subject(text)
