import pytest

from subcog.bus.prompts import Entity
from subcog.stages.language.topics import find_entities
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("src/auth/jwt.py", "path", "src/auth/jwt.py"),
        ("`src/auth/jwt.py:12`", "path", "src/auth/jwt.py:12"),
        ("/etc/hosts", "path", "/etc/hosts"),
        ("Makefile.", "path", "Makefile"),
        ("jwt_handler.py,", "path", "jwt_handler.py"),
        ("AuthService", "symbol", "AuthService"),
        ("parse_args()", "symbol", "parse_args()"),
        ("MAX_RETRY_COUNT", "symbol", "MAX_RETRY_COUNT"),
        ("std::vector", "symbol", "std::vector"),
        ("getUserName", "symbol", "getUserName"),
        ("PostgreSQL", "technology", "postgresql"),
        ("(FastAPI)", "technology", "fastapi"),
        ("KeyError:", "error", "KeyError"),
        ("ECONNREFUSED", "error", "ECONNREFUSED"),
        ("TS2345", "error", "TS2345"),
        ("v1.2.3-rc1", "version", "v1.2.3-rc1"),
        ("3.11", "version", "3.11"),
        ("authentication?", "feature", "authentication"),
    ],
)
def test_what_is_named_is_found(word, kind, value):
    assert find_entities(f"see {word} please") == (Entity(kind=kind, value=value),)


@pytest.mark.parametrize(
    "word", ["and/or", "hello", "I", "https://example.com/a/b.py", "e.g.", "2/3"]
)
def test_ordinary_words_are_none(word):
    assert find_entities(f"see {word} please") == ()


def test_each_is_named_once_and_at_most_fifty():
    assert len(find_entities("redis redis Redis")) == 1
    assert len(find_entities(" ".join(f"a_name_{n}" for n in range(99)))) == 50


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TypeError: cannot read 'x' of undefined\nat a.js:1", "cannot read 'x' of undefined"),
        ("it says error[E0382]: use of moved value", "use of moved value"),
        ("fatal: not a git repository", "not a git repository"),
    ],
)
def test_what_an_error_says_is_a_message(text, message):
    assert Entity(kind="message", value=message) in find_entities(text)


def test_hostile_text_is_read_in_linear_time():
    with ends_soon():
        for unit in ("a/", "a.", "A", "a_", "a::", "the the ", "(", "error: ", "a(", "aA"):
            find_entities(unit * 8000)
