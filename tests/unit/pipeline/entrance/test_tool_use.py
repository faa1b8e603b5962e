import json

import pytest
from msgspec import Raw

from subcog.pipeline.entrance.tool_use import MAX_PATHS, MAX_TEXT_CHARS, Use, failure_of, use_of
from tests.waiting import ends_soon


def raw(value):
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("given", "use"),
    [
        ({"file_path": "/p/a.py", "content": "x = 1"}, Use(("/p/a.py",), "x = 1")),
        ({"file_path": "a.py", "old_string": "a", "new_string": "b"}, Use(("a.py",), "b")),
        (
            {"file_path": "a.py", "edits": [{"new_string": "b"}, 3, {"new_string": "c"}]},
            Use(("a.py",), "b\nc"),
        ),
        ({"notebook_path": "a.ipynb", "new_source": "x"}, Use(("a.ipynb",), "x")),
        ({"command": "make test"}, Use((), "make test")),
        ({"file_path": 3, "content": {"a": 1}}, Use()),
        ({"file_path": "a\0.py"}, Use()),
        (None, Use()),
        ([1, 2], Use()),
    ],
)
def test_what_a_tool_was_asked_to_do_is_read_in_any_shape(given, use):
    assert use_of(raw(given)) == use


@pytest.mark.parametrize("wrapped", [lambda patch: patch, lambda patch: {"input": patch}])
def test_a_patch_names_the_files_that_it_changes(wrapped):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** Add File: b.py\n+y\n*** End Patch"
    use = use_of(raw(wrapped(patch)))
    assert use == Use(("src/a.py", "b.py"), patch)


@pytest.mark.parametrize("unit", ["x", "é", "😀", '\\"', "\n", "\\ud83d"])
def test_of_a_huge_text_only_whole_characters_of_the_beginning_are_read(unit):
    for shift in range(13):
        content = "y" * shift + unit * 100_000
        use = use_of(raw({"file_path": "a.py", "content": content}))
        assert 0 < len(use.text) <= MAX_TEXT_CHARS
        assert content.startswith(use.text)


def test_only_so_many_files_are_read():
    edits = [{"file_path": f"{n}.py"} for n in range(100)]
    assert len(use_of(raw({"edits": edits})).paths) == MAX_PATHS


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("Exit code 3\noops", "Exit code 3\noops"),
        ("Process exited with code 1\nbad", "Process exited with code 1\nbad"),
        ("Exit code: 0\nfine", ""),
        ("hi\n", ""),
        ({"error": {"message": "no such table"}}, "no such table"),
        ({"error": "boom"}, "boom"),
        ({"error": None, "stdout": "fine"}, ""),
        ({"exit_code": 2, "stderr": "boo", "output": "x"}, "boo\nx"),
        ({"exit_code": 0, "stderr": "warning"}, ""),
        ({"exit_code": "2"}, ""),
        ({"error": {"message": 3}}, ""),
        (None, ""),
        ([], ""),
    ],
)
def test_a_failure_that_is_reported_as_an_answer_is_found(answer, error):
    assert failure_of(raw(answer)) == error


def test_of_a_flood_of_edits_only_the_file_is_read():
    given = Raw(b'{"file_path":"a.py","edits":[' + b"1," * 4_000_000 + b"1]}")
    with ends_soon():
        assert use_of(given) == Use(("a.py",), "")
