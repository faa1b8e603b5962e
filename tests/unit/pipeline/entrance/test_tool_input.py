import json

import pytest
from msgspec import Raw

from subcog.bus.values import Action
from subcog.pipeline.entrance.tool_input import (
    MAX_PATHS,
    MAX_TEXT_CHARS,
    action_of,
    failure_of,
    is_unfinished,
)
from tests.waiting import ends_soon


def act(tool_input):
    return action_of("T", tool_input)


def raw(value):
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"file_path": "/p/a.py", "content": "x = 1"}, {"paths": ("/p/a.py",), "written": "x = 1"}),
        (
            {"file_path": "a.py", "old_string": "a", "new_string": "b"},
            {"paths": ("a.py",), "written": "b", "replaced": "a"},
        ),
        (
            {"file_path": "a.py", "edits": [{"new_string": "b"}, 3, {"old_string": "c"}]},
            {"paths": ("a.py",), "written": "b", "replaced": "c"},
        ),
        ({"notebook_path": "a.ipynb", "new_source": "x"}, {"paths": ("a.ipynb",), "written": "x"}),
        ({"command": "make", "description": "Try"}, {"command": "make", "purpose": "Try"}),
        ({"file_path": 3, "content": {"a": 1}}, {}),
        ({"file_path": "a\0.py"}, {}),
        (None, {}),
        ([1, 2], {}),
    ],
)
def test_what_a_tool_was_asked_to_do_is_read_in_any_shape(given, told):
    assert act(raw(given)) == Action(tool="T", **told)


def test_edits_of_several_files_are_told_apart():
    edits = [
        {"file_path": "a.py", "old_string": "1", "new_string": "2"},
        {"file_path": "b.py", "new_string": "3"},
        {"file_path": "a.py", "new_string": "4"},
    ]
    action = act(raw({"edits": edits}))
    assert (action.paths, action.written, action.replaced) == (("a.py", "b.py"), "2\n3\n4", "1")
    first, second = action.by_file()
    assert first == Action(tool="T", paths=("a.py",), written="2\n4", replaced="1")
    assert second == Action(tool="T", paths=("b.py",), written="3")

    unnamed = act(raw({"file_path": "a.py", "edits": [*edits, {"new_string": "5"}]}))
    assert unnamed.by_file() == (unnamed,), "who knows where the last one goes"


@pytest.mark.parametrize("wrapped", [lambda patch: patch, lambda patch: {"input": patch}])
def test_a_patch_names_the_files_that_it_changes(wrapped):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** Add File: b.py\n+y\n*** End Patch"
    assert act(raw(wrapped(patch))) == Action(tool="T", paths=("src/a.py", "b.py"), written=patch)


@pytest.mark.parametrize("unit", ["x", "é", "😀", '\\"', "\n", "\\ud83d"])
def test_of_a_huge_text_only_whole_characters_of_the_beginning_are_read(unit):
    for shift in range(13):
        content = "y" * shift + unit * 100_000
        action = act(raw({"file_path": "a.py", "content": content}))
        assert 0 < len(action.text) <= MAX_TEXT_CHARS
        assert content.startswith(action.text)


def test_only_so_many_files_are_read():
    edits = [{"file_path": f"{n}.py"} for n in range(100)]
    assert len(act(raw({"edits": edits})).paths) == MAX_PATHS


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
        assert act(given) == Action(tool="T", paths=("a.py",))


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        (b'{"command": "a"}', b'{"stdout": "", "interrupted": false}', False),
        (b'{"command": "a", "run_in_background": true}', b"{}", True),
        (b'{"command": "a", "run_in_background": true}', b'"text"', True),
        (b"{}", b'{"interrupted": true}', True),
        (b"{}", b'{"backgroundTaskId": "b1"}', True),
        (b"{}", b'{"backgroundTaskId": null}', False),
        (b"null", b'"text"', False),
        (b"[1]", b'{"interrupted": true}', True),
        (b"\xff", b"{", False),
    ],
)
def test_a_command_may_not_have_come_to_its_end(asked, answer, expected):
    assert is_unfinished(Raw(asked), Raw(answer)) is expected
