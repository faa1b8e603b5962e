import pytest

from subcog.sinks.memories.contradiction import says_otherwise


@pytest.mark.parametrize(
    ("new", "old", "kind"),
    [
        ("The session timeout is 30 minutes", "The session timeout is 15 minutes", "number"),
        ("It is 30 s now, ops asked for it", "It is 15 s", "number"),
        ("Staging runs on Postgres 16", "Staging runs on Postgres 15", "number"),
        ("The server listens on port 8080", "The server listens on port 9090", "number"),
        ("Tests do not run in parallel", "Tests run in parallel", "negation"),
        ("Never rebase the release branch", "Always rebase the release branch", "negation"),
        ("Don’t use tabs in Go files", "Use tabs in Go files", "negation"),
        (
            "We use argon2id for password hashing because bcrypt truncates at 72 bytes",
            "We use bcrypt for password hashing",
            "name",
        ),
        ("We deploy on Monday", "We deploy on Friday", "name"),
        ("The cache is Redis", "The cache is Memcached", "name"),
    ],
)
def test_texts_that_cannot_both_hold(new, old, kind):
    assert says_otherwise(new, old) == kind
    assert says_otherwise(old, new) == kind


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The billing module belongs to payments", "The invoice module belongs to payments"),
        ("The port of the web server is 8080", "The port of the api server is 9090"),
        ("Use Redis for caching", "Use Redis for sessions"),
        ("Errors in billing are logged to Sentry", "Errors in orders are logged to Sentry"),
        ("We decided this in issue 12", "We decided this in issue 13"),
        ("We use argon2id for passwords", "We use argon2id for passwords because of the audit"),
        ("Tests do not run in parallel", "Releases are tagged by hand"),
        ("Tests run in parallel", "Tests run in parallel"),
        ("alpha", "beta"),
        ("", "The cache is Redis"),
        ("", ""),
    ],
)
def test_texts_that_may_both_hold(new, old):
    assert says_otherwise(new, old) is None
    assert says_otherwise(old, new) is None


def test_long_texts_are_compared_in_a_moment():
    words = " ".join(f"word{number % 50}" for number in range(20_000))
    assert says_otherwise(words, words + " 5") is None
