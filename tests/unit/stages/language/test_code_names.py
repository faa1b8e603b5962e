import pytest

from subcog.stages.language.code_names import MAX_NAMES, code_names


def named(text):
    return [(one.kind, one.value) for one in code_names(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("refresh_token() in src/auth.py", [("symbol", "refresh_token"), ("path", "src/auth.py")]),
        ("`Auth.refresh` must wait", [("symbol", "Auth.refresh")]),
        ("Session::close and Foo#bar", [("symbol", "Session.close"), ("symbol", "Foo.bar")]),
        ("(*Store).Put holds a lock", [("symbol", "Store.Put")]),
        ("server.port is 8080", [("symbol", "server.port")]),
        ("keep `max-retries` low", [("symbol", "max-retries")]),
        ("tests/test_a.py::test_b", [("path", "tests/test_a.py"), ("symbol", "test_b")]),
        ("run `make test`, then npm run e2e", [("command", "test"), ("command", "e2e")]),
        ("login in src/auth.py", [("symbol", "login"), ("path", "src/auth.py")]),
        ("src/auth.py's login waits", [("path", "src/auth.py"), ("symbol", "login")]),
    ],
)
def test_what_is_written_as_code_is_named(text, names):
    assert named(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "We chose DuckDB because it is one file.",
        "Make sure that it works, e.g. in the U.S. and/or read/write mode.",
        "See https://example.org/src/auth.py for more.",
        "Prefer TypeScript over JavaScript, and PostgreSQL over MySQL.",
        "```python\nrefresh_token()\n```",
        "npm install brings it, make it so",
    ],
)
def test_prose_names_no_code(text):
    assert [one for one in code_names(text) if one.distinctive or one.kind != "symbol"] == []


def test_a_line_is_read_with_its_file():
    [one] = code_names("see src/auth.py:42 for it")
    assert (one.value, one.line) == ("src/auth.py", 42)


def test_a_name_that_prose_may_be_is_not_distinctive():
    weak, strong = code_names("login in src/auth.py")[0], code_names("log_in() is slow")[0]
    assert (weak.distinctive, strong.distinctive) == (False, True)


def test_a_long_text_names_a_bounded_number():
    text = " ".join(f"name_{number}()" for number in range(500))
    assert len(code_names(text)) == MAX_NAMES
