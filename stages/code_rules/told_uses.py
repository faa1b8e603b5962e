"""The names of which a memory tells that they do harm, or that they were tried and given up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..actions.written import FILLER, stems
from ..rules.claims import READ_CHARS, RULE_FORMS
from ..rules.denied_files import PathPattern, sentence_of, where_it_holds
from .denied_uses import DeniedUse, words_in
from .use_places import layers, narrowed

_FORMS, _WORDS = RULE_FORMS["told"]
_NO_NAMES = _WORDS["no_names"] | _WORDS["verbs"] | FILLER
_OFFSETS = (".offset()", ".Skip()", "OFFSET")
_MODULE_PARTS = 2
_LONG_LIST = 3
_FAR = 240
_MOST_WILD = 2
_SHORTEST = 3
_SHORTEST_PART = 4


class Form(NamedTuple):
    """What holds for a form of words.

    With ``asks`` the memory has to ask for something else. With ``is_plain`` a name need not look
    like code, ``is_part`` and ``after_dot`` are as in ``DeniedUse``. With ``is_limited`` what
    follows may limit it, and with ``has_subject`` the action has to be about what the memory is
    about. With ``is_named`` a capital is enough.
    """

    asks: bool = False
    is_plain: bool = False
    is_part: bool = False
    after_dot: bool = False
    is_limited: bool = False
    has_subject: bool = False
    is_named: bool = False


FORMS = {
    "bare": Form(after_dot=True, is_limited=True, has_subject=True),
    "harms": Form(asks=True, after_dot=True),
    "given": Form(after_dot=True),
    "gerund": Form(after_dot=True, is_named=True),
    "not_this": Form(is_limited=True),
    "unused": Form(is_limited=True),
    "of_module": Form(is_plain=True),
    "tried": Form(is_part=True, is_plain=True),
    "proposed": Form(is_part=True, is_plain=True),
}
"""The forms that name what is denied, by their names in ``wordings/uses.toml``."""


class _Told(NamedTuple):
    """Where a memory names what is denied, and what else it says of it."""

    text: str
    found: re.Match[str]
    form: Form


def uses_told(text: str) -> Iterator[DeniedUse]:
    """The uses that the memory ``text`` tells harm of."""
    text = text[:READ_CHARS]
    asks = _FORMS["asks"].search(text) is not None
    asked = (name for name, form in FORMS.items() if asks or not form.asks)
    told = {name: list(_of_form(name, text)) for name in asked}
    given = {one.name for one in told.get("given", ())}
    for some in told.values():
        yield from (one for one in some if one.beside or one.name not in given)
    yield from _others(text)
    for found in _FORMS["such"].finditer(text):
        words = [part.strip("` ") for part in _FORMS["next_item"].split(found["list"])]
        if all(map(_FORMS["one_word"].fullmatch, words)):
            yield from (DeniedUse(word, is_library=True) for word in words if _is_word(word))
    for found in _FORMS["listed"].finditer(text):
        yield from _listed(text, found)


def _of_form(name: str, text: str) -> Iterator[DeniedUse]:
    for found in _FORMS[name].finditer(text):
        yield from _uses(_Told(text, found, FORMS[name]))


def _others(text: str) -> Iterator[DeniedUse]:
    """What has to be looked for in a way of its own: modules of a folder, methods, paging."""
    for found in _FORMS["from_there"].finditer(text):
        folder = "/".join(found["path"].strip("/*.").split("/")[-_MODULE_PARTS:])
        yield DeniedUse(f"{folder}/", is_quoted=True)
    for found in _FORMS["branch"].finditer(text):
        yield DeniedUse(found["branch"], is_quoted=True)
    if _FORMS["callers"].search(text):
        codes = filter(_FORMS["like_code"].search, _FORMS["code"].findall(text))
        yield from (DeniedUse(code) for code in codes if _is_word(code))
    for found in _FORMS["never_do"].finditer(text):
        places, allowed = _places(_Told(text, found, Form()))
        verbs = _FORMS["word"].findall(found["names"]) if places else ()
        yield from (DeniedUse(f".{verb}()", allowed, places) for verb in verbs)
    if _FORMS["keyset"].search(text) and _FORMS["no_offset"].search(text):
        of = _FORMS["offset_of"].search(text)
        topic = stems(of["table"]) if of else frozenset[str]()
        yield from (DeniedUse(name, topic=topic) for name in _OFFSETS)
    if _FORMS["plain_index"].search(text):
        yield DeniedUse("CREATE INDEX", lacking="CONCURRENTLY")


def _uses(told: _Told) -> Iterator[DeniedUse]:
    text, found, form = told
    end = found.end("names")
    lacks = _FORMS["lacks"].match(text, end) if form.has_subject else None
    is_open = lacks or _is_without_arguments(text, end)
    if _FORMS["conditional"].match(text, end) and not is_open:
        return
    if _FORMS["only"].match(text, end):
        return
    if form.is_part and not _FORMS["given_up"].search(text, end, end + _FAR):
        return
    places, allowed = _places(told)
    near = _near(told)
    topic = _topic(told)
    if not (places or topic) and form.is_limited:
        topic = _limiting(text, end)
    instead = tuple(_instead(text))
    for name in _names(told):
        if name:
            is_plain = not form.is_part and not _is_code(name)
            yield DeniedUse(
                name=name,
                allowed=allowed,
                places=places,
                topic=topic,
                subject=_subject(text, name) if form.has_subject else frozenset(),
                near=near,
                context=_about(told) if form.asks else frozenset(),
                beside=(found.groupdict().get("beside") or "").strip("`."),
                lacking=lacks["word"] if lacks else _lacking(name, instead, told),
                unless=frozenset(_heads(name, instead)),
                is_part=form.is_part,
                after_dot=form.after_dot,
                in_files=is_plain,
            )


def _names(told: _Told) -> Iterator[str]:
    """What is named, as it stands in code; "" for a word that is no name."""
    names = told.found["names"]
    for part in _FORMS["separator"].split(names):
        name = _FORMS["adjective"].sub("", part.strip()).rstrip(".,;:")
        yield from _spellings(name, told)


def _spellings(part: str, told: _Told) -> Iterator[str]:
    name, form = part.strip("`").removeprefix("#[").removesuffix("]").removesuffix("(s)"), told.form
    shortest = _SHORTEST_PART if form.is_part else _SHORTEST
    if len(name) < shortest or name.strip(".()").casefold() in _NO_NAMES:
        return
    is_file = _FORMS["is_file"].search(name) and not (form.has_subject and "/" not in name)
    if is_file or len(_FORMS["wild"].findall(name)) > _MOST_WILD:
        return
    if form.has_subject and _FORMS["snake"].fullmatch(name):
        return
    if form.is_part:
        words = name.removesuffix("s").split()
        yield from {"_".join(words), "".join(words)}
    elif form.is_plain or _is_code(name) or (form.has_subject and part[0] == "`"):
        yield _with_gaps(name, form)
    elif f"'{name}'" in told.text:
        yield f"'{name}'"
    elif form.has_subject and _FORMS["breaks_something"].match(told.text, told.found.end()):
        yield f".{name}()"
    elif form.is_named and name[0].isupper():
        yield name


def _with_gaps(name: str, form: Form) -> str:
    """The name with gaps for what only is an example: "prisma.boat.create"."""
    if form.has_subject and name.count(".") > 1:
        return _FORMS["between_dots"].sub(".*.", name)
    return name


def _is_without_arguments(text: str, end: int) -> bool:
    return _FORMS["without_arguments"].match(text, end) is not None


def _places(told: _Told) -> tuple[tuple[PathPattern, ...], tuple[PathPattern, ...]]:
    """Where the rule holds, and where it does not."""
    text, found, _ = told
    span = found.span("names")
    within, allowed = where_it_holds(text, span, span[1])
    within, allowed = narrowed(text, span[1], within, allowed)
    return within or layers(text, span[1]), allowed


def _near(told: _Told) -> frozenset[str]:
    """What a name that is not to be there is used for: "no AsyncMock session"."""
    text, found, _ = told
    return _nouns(text[found.end("names") :]) if _FORMS["no"].match(found[0]) else frozenset()


def _nouns(behind: str) -> frozenset[str]:
    """What a name is a part of by the words ``behind`` it, but for words of any kind of name."""
    noun = _FORMS["noun"].match(behind)
    words = set(noun["noun"].casefold().split()) if noun else set[str]()
    return stems(" ".join(words - _WORDS["kinds"]))


def _topic(told: _Told) -> frozenset[str]:
    if told.form.asks:
        named = _FORMS["entities"].search(told.text) or _FORMS["subject_first"].search(told.text)
        return words_in(named[1] or named[2]) if named else frozenset()
    return _about(told)


def _about(told: _Told) -> frozenset[str]:
    words = stems(told.found.groupdict().get("about") or "") - _WORDS["generic"]
    return frozenset(word.removesuffix("s") for word in words)


def _limiting(text: str, end: int) -> frozenset[str]:
    """The words of what limits a name that ends there: "in the hot path", "from a reducer"."""
    stop = sentence_of(text, end, end)[1]
    limit = _FORMS["limited"].match(text, end, stop)
    return stems(limit["what"]) - _WORDS["everywhere"] if limit else frozenset()


def _subject(text: str, name: str) -> frozenset[str]:
    return words_in(text.replace(name, "")) - words_in(name)


def _instead(text: str) -> Iterator[str]:
    """The codes that are asked for."""
    for found in _FORMS["instead"].finditer(text):
        yield found["quoted"] or found["plain"] or found["first"]
        if found["second"]:
            yield found["second"]


def _heads(name: str, instead: tuple[str, ...]) -> Iterator[str]:
    """What has to be there that the rule is kept: the beginnings of the calls asked for."""
    for code in instead:
        call = _FORMS["call"].match(code)
        head = call["head"] if call else code
        if len(head) > _SHORTEST and " " not in head and not _is_same(head, name):
            yield head


def _lacking(name: str, instead: tuple[str, ...], told: _Told) -> str:
    """The argument that the same call has where it is asked for."""
    for code in instead:
        call = _FORMS["call"].match(code)
        argument = call and _FORMS["argument"].search(call["arguments"])
        if call and argument and _is_same(call["head"].strip("#["), name):
            return argument[0]
    return ""


def _is_same(head: str, name: str) -> bool:
    last, other = (one.partition("(")[0].rpartition(".")[2] for one in (head, name))
    return last.strip("#[]") == other


class _Limits(NamedTuple):
    """What limits all names of a list, since it is said behind the last one."""

    allowed: tuple[PathPattern, ...]
    places: tuple[PathPattern, ...]
    topic: frozenset[str]


def _listed(text: str, found: re.Match[str]) -> Iterator[DeniedUse]:
    """What a list has that begins with "no"."""
    items = list(_items(found["list"]))
    behind = [_FORMS["limit"].fullmatch(item["rest"]) for item in items]
    limits = _limits(text, found, next((one for one in behind[::-1] if one and one["how"]), None))
    if limits is None:
        return
    instead = tuple(_instead(text))
    for item, limit in zip(items, behind, strict=True):
        name = _name_of(item, is_whole=limit is not None)
        if not name:
            continue
        is_code = _is_code(name)
        yield DeniedUse(
            name,
            allowed=limits.allowed,
            places=limits.places,
            topic=limits.topic if limit or not _is_more(item["rest"]) else _nouns(item["rest"]),
            subject=_subject(text, name) if is_code and len(items) < _LONG_LIST else frozenset(),
            unless=frozenset(_heads(name, instead)) if is_code else frozenset(),
            is_library=not is_code,
        )


def _items(listed: str) -> Iterator[re.Match[str]]:
    """What a list names; behind "in handlers or" stands another place."""
    for said in _FORMS["next_no"].split(listed):
        for part in _FORMS["next_item"].split(said):
            item = _FORMS["item"].match(part)
            if item is None:
                continue
            yield item
            if not _WORDS["where"].isdisjoint(item["rest"].casefold().split()):
                break


def _limits(text: str, found: re.Match[str], last: re.Match[str] | None) -> _Limits | None:
    """The limits of the list ``found``, ``last`` among them; None where they cannot be read."""
    how = last["how"].casefold() if last else ""
    is_outside = how in _WORDS["outside"]
    start = found.start("list")
    places, allowed = where_it_holds(text, (start, start), start, outside=is_outside)
    if is_outside and (how == "without" or not (allowed or how in _WORDS["but"])):
        return None
    places, allowed = narrowed(text, start, places, allowed)
    if last and how in _WORDS["inside"]:
        places = places or layers(f" {last[0].strip()}", 0)
    if not last or places or is_outside:
        return _Limits(allowed, places, frozenset())
    return _Limits(allowed, places, stems(last["what"]) - _WORDS["everywhere"])


def _name_of(item: re.Match[str], *, is_whole: bool) -> str:
    """What an item of a list names; "" for a phrase, of which a plain word is only a part."""
    name = item["name"].strip("`")
    if not _is_word(name):
        return ""
    if is_whole or not _is_more(item["rest"]):
        return f"{name}()" if _FORMS["adjective"].match(item[0]) and name.islower() else name
    return name if item["rest"][0] == " " and _is_code(name) else ""


def _is_more(rest: str) -> bool:
    """Whether more is said of a name than what kind of name it is: "polars imports"."""
    return not _WORDS["kinds"].issuperset(rest.casefold().split())


def _is_code(name: str) -> bool:
    """Whether it looks like code."""
    return _FORMS["like_code"].search(name) is not None


def _is_word(word: str) -> bool:
    """Whether ``word`` may name something that is used; one with underscores is mostly data."""
    if not _FORMS["one_word"].fullmatch(word) or word.casefold() in _NO_NAMES:
        return False
    return not (_FORMS["snake"].fullmatch(word) or _FORMS["is_file"].search(word))
