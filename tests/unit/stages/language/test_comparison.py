import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.stages.language import comparison
from subcog.stages.language.comparison import Claim, Relation, compare, contradicts
from subcog.stages.language.words import is_negation, spelled_out, spelled_words, words


@pytest.mark.parametrize(
    ("new", "old", "relation"),
    [
        ("The session timeout is 30 minutes", "The session timeout is 15 minutes", "number"),
        ("It is 30 s now, ops asked for it", "It is 15 s", "number"),
        ("Staging runs on Postgres 16", "Staging runs on Postgres 15", "number"),
        ("The server listens on port 8080", "The server listens on port 9090", "number"),
        ("Lines are at most 100 characters wide", "Lines are at most 80 characters wide", "number"),
        ("Tests do not run in parallel", "Tests run in parallel", "negation"),
        ("Never rebase the release branch", "Always rebase the release branch", "negation"),
        ("Never squash commits before merging", "Squash commits before merging", "negation"),
        ("We no longer use Redis for the queue", "We use Redis for the queue", "negation"),
        ("Redis isn't used for the job queue", "We use Redis for the job queue", "negation"),
        (
            "We use argon2id for password hashing because bcrypt truncates at 72 bytes",
            "We use bcrypt for password hashing",
            "name",
        ),
        ("We use bcrypt for password hashing here", "I use argon2id for password hashing", "name"),
        ("Password hashing uses argon2id", "We use bcrypt for password hashing", "name"),
        ("We deploy on Monday", "We deploy on Friday", "name"),
        ("The cache is Redis", "The cache is Memcached", "name"),
        (
            "We use Redis instead of Postgres for job queues",
            "We use Postgres instead of Redis for job queues",
            "name",
        ),
    ],
)
def test_texts_that_cannot_both_hold(new, old, relation):
    assert compare(new, old).value == relation
    assert compare(old, new).value == relation


CONTRACTED = [
    ("can't", "can"),
    ("cannot", "can"),
    ("cant", "can"),
    ("don't", ""),
    ("dont", ""),
    ("didn't", ""),
    ("won't", "will"),
    ("shouldn't", "should"),
    ("haven't", ""),
    ("never", ""),
    ("mustn't", "must"),
]


@pytest.mark.parametrize("apostrophe", ["'", "’"])
@pytest.mark.parametrize(("denied", "said"), CONTRACTED)
def test_a_contraction_denies_however_it_is_written(denied, said, apostrophe):
    new = f"We {denied.replace(chr(39), apostrophe)} use Redis for the job queue"
    old = " ".join(f"We {said} use Redis for the job queue".split())
    assert compare(new, old) is Relation.NEGATED
    assert compare(old, new) is Relation.NEGATED


@pytest.mark.parametrize("apostrophe", ["'", "’"])
@pytest.mark.parametrize("verb", ["was", "is", "are", "were"])
def test_a_contracted_be_denies(verb, apostrophe):
    denied = f"Redis {verb}n{apostrophe}t the backend of the job queue"
    assert compare(denied, f"Redis {verb} the backend of the job queue") is Relation.NEGATED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We don't use tabs in Go files", "We do not use tabs in Go files"),
        ("We can’t use Redis for the queue", "We cannot use Redis for the queue"),
        ("Secrets won't be logged by workers", "Secrets will not be logged by workers"),
    ],
)
def test_two_spellings_of_one_negation_say_the_same(one, other):
    assert compare(one, other) is Relation.SAME
    assert compare(other, one) is Relation.SAME


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The billing module belongs to payments", "The invoice module belongs to payments"),
        ("The port of the web server is 8080", "The port of the api server is 9090"),
        ("Use Redis for caching", "Use Redis for sessions"),
        ("Errors in billing are logged to Sentry", "Errors in orders are logged to Sentry"),
        ("We decided this in issue 12", "We decided this in issue 13"),
        ("Error code 17 means a full disk", "Error code 18 means a full disk"),
        ("We use argon2id for passwords", "We use argon2id for passwords because of the audit"),
        ("We use redis for the session cache", "We use redis for the session cache, with a ttl"),
        ("Deploys go through ArgoCD on Friday", "Deploys need two reviews at least"),
        ("Postgres holds orders and customers", "Postgres and redis hold orders and customers"),
        (
            "The billing service uses Postgres for its data store",
            "The search service uses Elasticsearch for its data store",
        ),
        ("Tests do not run in parallel", "Releases are tagged by hand"),
        ("Tests run in parallel", "Tests run in parallel"),
        ("alpha", "beta"),
        ("", "The cache is Redis"),
        ("", ""),
    ],
)
def test_texts_that_may_both_hold(new, old):
    assert not contradicts(new, old)
    assert not contradicts(old, new)


@pytest.mark.parametrize(
    ("weaker", "better"),
    [
        ("we use argon2id for hashing", "We use argon2id for hashing."),
        ("We use argon2id for hashing.", "We use argon2id for hashing, because of GPUs."),
        ("Use pnpm for any package in this repo", "Use pnpm for every package in this repo"),
    ],
)
def test_what_adds_nothing_says_the_same(weaker, better):
    assert compare(weaker, better) is Relation.SAME


def test_the_longer_text_adds_to_the_shorter_one():
    longer = "We use argon2id for hashing, because GPUs are cheap and passwords short"
    assert compare(longer, "We use argon2id for hashing") is Relation.DIFFERENT


def test_a_negation_beyond_the_claim_is_not_the_same():
    reasons = " ".join(f"reason{number}" for number in range(80))
    said = f"{reasons} so we use it"
    assert compare(f"{reasons} so we do not use it", said) is Relation.DIFFERENT


def test_long_texts_are_compared_in_a_moment():
    told = " ".join(f"word{number % 50}" for number in range(20_000))
    assert not contradicts(told, told + " 5")


def test_words_are_folded_and_stay_whole():
    assert list(words("Don’t pin next.js in src/app.py, C++ 17")) == [
        "don't",
        "pin",
        "next.js",
        "in",
        "src/app.py",
        "c++",
        "17",
    ]


@pytest.mark.parametrize("word", ["not", "never", "cannot", "wasn't", "didnt", "without"])
def test_negations_are_known(word):
    assert is_negation(word)
    assert not is_negation("can")


def test_contractions_are_spelled_out():
    assert spelled_out("won't") == ("will", "not")
    assert spelled_out("can't") == spelled_out("cannot") == spelled_out("cant") == ("can", "not")
    assert spelled_out("it's") == ("it's",)


SUBJECTS = ("the job queue", "password hashing", "the session timeout", "release notes")
CHOICES = ("Redis", "Postgres", "argon2id", "bcrypt", "15 minutes", "30 minutes", "port 8080")
VERBS = ("uses", "does not use", "is", "isn't", "never uses", "is not", "don't use", "cannot be")
ENDS = ("", "only", "because it is the the the faster one", "instead of Postgres")
STATEMENTS = st.builds(
    lambda subject, verb, choice, end: f"{subject} {verb} {choice} {end}",
    *map(st.sampled_from, (SUBJECTS, VERBS, CHOICES, ENDS)),
)
WORDS = st.lists(st.sampled_from("a b c use not redis postgres 15 30 the".split()), max_size=9)


@given(*[st.one_of(STATEMENTS, WORDS.map(" ".join))] * 2)
def test_what_is_ruled_out_beforehand_is_no_contradiction_in_order(text, other):
    one, two = Claim(text), Claim(other)
    assert comparison._in_order(one.opening, two.opening) is None or (
        comparison._may_agree_in_order(one, two)
    )


@given(st.one_of(STATEMENTS, WORDS.map(" ".join), st.text(max_size=60)))
def test_a_text_without_a_contraction_is_spelled_out_like_any_other(text):
    assert spelled_words(text) == [part for word in words(text) for part in spelled_out(word)]
