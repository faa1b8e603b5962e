from __future__ import annotations

import json

import pytest

from subcog.pipeline.agents.settings_text import add_key, append, remove

SPREAD = '{\n    "a": [\n        1,\n        2\n    ],\n    "b": {}\n}\n'


def test_new_member_takes_the_indentation_of_its_neighbours():
    assert append(SPREAD, ("a",), 3) == SPREAD.replace("2\n", "2,\n        3\n")
    assert add_key(SPREAD, (), "c", None) == SPREAD.replace("{}\n", '{},\n    "c": null\n')


def test_empty_container_is_opened_below_its_line():
    assert add_key(SPREAD, ("b",), "c", 1) == SPREAD.replace("{}", '{\n        "c": 1\n    }')


def test_what_stands_in_one_line_stays_in_one_line():
    assert append('{"a":[1]}', ("a",), {"b": 2}) == '{"a":[1, {"b": 2}]}'


def test_key_that_is_there_is_left_alone():
    assert add_key(SPREAD, (), "b", 1) == SPREAD


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("a", 0), {"a": [2], "b": {}}),
        (("a", 1), {"a": [1], "b": {}}),
        (("a",), {"b": {}}),
        (("b",), {"a": [1, 2]}),
    ],
)
def test_removed_member_takes_its_comma_along(path, left):
    assert json.loads(remove(SPREAD, path)) == left


def test_brackets_and_quotes_in_strings_are_not_structure():
    text = '{"x\\"]": "}],{", "a": ["]"]}'

    assert json.loads(append(text, ("a",), 1)) == {'x"]': "}],{", "a": ["]", 1]}
    assert json.loads(remove(text, ('x"]',))) == {"a": ["]"]}


def test_the_last_of_equal_keys_is_meant():
    assert append('{"a": [], "a": [1]}', ("a",), 2) == '{"a": [], "a": [1, 2]}'
