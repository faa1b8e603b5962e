"""Where a rule on the use of a name holds: in a folder, in a part of the program, not in tests."""

from __future__ import annotations

from ..rules.claims import RULE_FORMS
from ..rules.denied_files import PathPattern, sentence_of

_FORMS, _WORDS = RULE_FORMS["use_places"]
_TESTS = tuple(PathPattern(f"*{one}*", existing=False) for one in ("test", "spec", "e2e"))


def narrowed(
    text: str, end: int, within: tuple[PathPattern, ...], allowed: tuple[PathPattern, ...]
) -> tuple[tuple[PathPattern, ...], tuple[PathPattern, ...]]:
    """The places without those where all is that the memory speaks of; "there" is one of them."""
    within = tuple(one for one in within if not _FORMS["two_words"].fullmatch(one.path))
    allowed = tuple(one for one in allowed if not _is_whole(text, one.path))
    if _FORMS["there"].search(text, end) and len(allowed) == 1 and not within:
        return allowed, ()
    allowed += _tests_allowed(text)
    if within := within or _of_first_layer(text, end):
        return within, allowed
    begin = sentence_of(text, end, end)[0]
    if subject := _FORMS["subject"].search(text, begin, end):
        here = PathPattern(subject["path"].strip("./"), existing=False)
        return (here,), tuple(one for one in allowed if one != here)
    if files := _FORMS["files_of"].search(text, 0, end):
        return (PathPattern(f"*{files['kind']}*", existing=False),), allowed
    return (), allowed


def _of_first_layer(text: str, end: int) -> tuple[PathPattern, ...]:
    """Where the rule holds if it begins with it: "Services raise …"."""
    found = (layer["layer"].casefold() for layer in _FORMS["layer_first"].finditer(text, 0, end))
    return next(filter(None, (_of_parts([word]) for word in found)), ())


def layers(text: str, end: int) -> tuple[PathPattern, ...]:
    """The parts of the program where the name is not to be: "in services or tests"."""
    limit = _FORMS["layer"].match(text, end)
    return _of_parts(_FORMS["word"].findall(limit["layers"].casefold()) if limit else [])


def _of_parts(words: list[str]) -> tuple[PathPattern, ...]:
    """The files that are called like parts of a program, if all of ``words`` are such parts."""
    if not words or not _WORDS["layers"].issuperset(words):
        return ()
    files = {word.removesuffix("s") for word in words}
    if "test" in files:
        files.add("spec")
    return tuple(PathPattern(f"*{word}*", existing=False) for word in sorted(files))


def _tests_allowed(text: str) -> tuple[PathPattern, ...]:
    """The tests, where the memory does not speak of them, or excepts them."""
    if _FORMS["tests_too"].search(text) and not _FORMS["tests_excepted"].search(text):
        return ()
    return _TESTS


def _is_whole(text: str, path: str) -> bool:
    """Whether ``path`` is where all that the memory speaks of is: "the only one in app/"."""
    at = text.find(path)
    return at > 0 and _FORMS["all_of"].search(text, 0, at) is not None
