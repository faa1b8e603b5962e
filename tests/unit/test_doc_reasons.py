"""Every reason and outcome that the code tells stands in the documents, and no other."""

import ast
from functools import cache

from subcog.pipeline.app.archives import LESSER_SEARCHES

from .written import HOUSE, documented_reasons, nodes_of, tree_of


@cache
def _calls(function):
    """Each call of ``function`` by its plain name, with its room and the constants of its file."""
    return [
        (room, names, node)
        for room in ("bus", "pipeline", "sinks", "stages")
        for file in sorted((HOUSE / room).rglob("*.py"))
        for names in [_constants(file)]
        for node in nodes_of(file)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function
    ]


@cache
def _constants(file):
    return {
        target.id: node.value.value
        for node in tree_of(file).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
    }


def _assigned(statement):
    return getattr(statement, "targets", [getattr(statement, "target", None)])


def _texts(node):
    """The strings that ``node`` can be: its own, and those of either branch."""
    if isinstance(node, ast.IfExp):
        return _texts(node.body) | _texts(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def _returned(file, functions, place=None):
    """What ``functions`` of ``file`` return, or what stands at ``place`` of a returned tuple."""
    found = set()
    for function in nodes_of(HOUSE / file):
        if getattr(function, "name", "") in functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
                    found |= _texts(node.value if place is None else (parts or [None] * 9)[place])
    return found


def _told(signal, fact):
    """What ``fact`` is when ``signal`` is told somewhere; names are looked up in their module."""
    found = set()
    for _, names, call in _calls("emit"):
        if ast.unparse(call.args[0]) == signal:
            [value] = [keyword.value for keyword in call.keywords if keyword.arg == fact]
            known = {names[value.id]} & {*names.values()} if _is_in(value, names) else set()
            found |= _texts(value) | known
    return found


def _passed(function, place, room="stages"):
    """The texts that ``room`` hands to ``function`` at ``place``."""
    calls = (call for where, _, call in _calls(function) if where == room)
    return {text for call in calls for text in _texts(call.args[place])}


def _is_in(value, names):
    return isinstance(value, ast.Name) and value.id in names


def test_every_reason_for_injecting_nothing_is_explained():
    written = _returned("stages/inject.py", {"_refuse_all"}, place=0)
    written |= _returned("stages/inject.py", {"_nothing_reason"})
    written |= _told("abstained", "reason")
    written |= _passed("abstain", place=2) | _returned("stages/moments/reminder.py", {"_reason"})
    assert "no_intent" in written
    assert "already_shown" in written
    assert written == documented_reasons("docs/users.md", "When nothing was injected")


def test_every_reason_for_a_lesser_answer_is_explained():
    written = _told("degraded", "reason") | {*LESSER_SEARCHES}
    assert {"hook.timeout", "search.unavailable"} <= written
    assert written == documented_reasons("docs/operators.md", "`subcog_degraded_total`:")


def test_each_reason_for_a_lesser_search_is_given_by_a_search():
    given = {
        node.value
        for room in ("sinks", "pipeline/app")
        for file in (HOUSE / room).rglob("*.py")
        for top in tree_of(file).body
        if "LESSER_SEARCHES" not in {getattr(at, "id", "") for at in _assigned(top)}
        for node in ast.walk(top)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert {*LESSER_SEARCHES} <= given


def test_every_outcome_of_a_hook_is_explained():
    written = _passed("HookAnswer", place=1, room="pipeline")
    written |= _passed("_unanswered", place=0, room="pipeline")
    assert {"answered", "nothing"} <= written
    assert written == documented_reasons("docs/operators.md", "`subcog_hooks_total`:")
