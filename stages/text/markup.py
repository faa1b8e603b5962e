"""Markup in a prompt: private spans, blocks that agents add, and explicit capture markers.

A marker stands at the start of a line or of an item of a list: ``[remember]``,
``[remember:decisions]``, ``[capture]``, ``[capture:patterns]``, ``@memory``, ``@memory:gotchas``,
also with the full-width brackets and colons of an input method. What it keeps runs to the next
marker, to the next item of its list, or to a blank line outside a code fence; a marker alone on its
line takes the paragraph after it. What follows a colon names the namespace; what names none is a
tag or, where nothing would be left to keep, the text. A request in plain words at the beginning of
the prompt (``requests.py``) counts as ``[remember]`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...bus.prompts import BLOCKS, MACHINE_BLOCKS, Marked
from ...bus.values import NAMESPACES
from ...config.patterns import regex
from .authorship import READ_CHARS, THEIRS, Line, read_lines
from .envelope import peeled, strip_envelopes
from .requests import Request, read_request, says_enough
from .unicode import fenced, visible

_SENTENCE_END = regex(r"(?<=[.!?;])[\"'`*_)\]]{0,4}\s+|(?<=[。！？])")
_FEWEST_WORDS = 4
MAX_TAGS = 10
MAX_TAG_CHARS = 40

_PRIVATE = regex(r"<\s{0,4}(/?)\s{0,4}private(?![\w-])[^<>\n]{0,200}>?", re.IGNORECASE)

_BLOCK_TAG = regex(rf"<(/?)({'|'.join(BLOCKS)})(?:\s[^<>\n]{{0,200}})?>")

_ITEM = r"[ \t]{0,3}(?:[-*+•–]|\d{1,3}[.)])[ \t]"
_NEXT_ITEM = regex(_ITEM)
_MARKER = regex(
    rf"(?:(?P<item>{_ITEM}[ \t]{{0,3}})|[ \t]{{0,3}})"
    r"(?P<mark>[\[［【](?P<verb>remember|capture)"
    r"(?:[ \t]?[:：][ \t]?(?P<ns>[^\]］】\n]{0,80}))?[\]］】](?!\()"
    # "@memory:notes://today" is how agents name a resource of a server.
    r"|[@＠]memory(?=[:：\s]|$)(?![:：](?!https?:)[\w+.-]{1,40}://)"
    r"(?:[:：](?P<at>[\w-]{1,40})(?=[:：]?(?:\s|$)))?)[ \t]*(?P<colon>[:：])?[ \t]*",
    re.IGNORECASE,
)
_BEGINNINGS = "[@［【＠"
_NARROW = str.maketrans("［【］】：＠", "[[]]:@")
REMEMBER = "[remember]"
"""The marker that names no namespace and goes to learnings, unless the text is a blocker."""

_ALIASES = {
    "debt": "tech-debt",
    "lesson": "learnings",
    "til": "learnings",
    "convention": "patterns",
    "prefs": "preferences",
    "pref": "preferences",
    "todo": "tasks",
}
_BY_NAME = {
    **{name: name for name in NAMESPACES},
    **{name.removesuffix("s"): name for name in NAMESPACES},
    **{name.replace("-", ""): name for name in NAMESPACES},
    **_ALIASES,
    **{f"{alias}s": name for alias, name in _ALIASES.items()},
}


def strip_private(text: str) -> str:
    """``text`` without its private spans: any case, attributes, nested, or never closed.

    A span that is never closed reaches to the end of the text, and a closing tag alone is
    dropped. What is left holds no such tag, not even one that the removal put together: where it
    does so again and again, the text ends at the first of them.
    """
    return peeled(text, _first_private, _strip_once)


def has_private(text: str) -> bool:
    """Whether ``text`` has a private span."""
    return _first_private(text) >= 0


def _first_private(text: str) -> int:
    found = _PRIVATE.search(text)
    return found.start() if found else -1


def _strip_once(text: str) -> str:
    kept: list[str] = []
    depth = 0
    end = 0
    for tag in _PRIVATE.finditer(text):
        if depth == 0:
            kept.append(text[end : tag.start()])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        end = tag.end()
    if depth == 0:
        kept.append(text[end:])
    return "".join(kept)


def strip_blocks(text: str) -> str:
    """``text`` without such blocks; of one that is not closed, only the tag is dropped.

    What a block holds may be a file, so its end is not the first closing tag in it: it is the last
    one before another block of that name begins. What is left holds no such tag.
    """
    return text if "<" not in text else peeled(text, _first_block, _strip_blocks_once)


def _first_block(text: str) -> int:
    found = _BLOCK_TAG.search(text)
    return found.start() if found else -1


def _strip_blocks_once(text: str) -> str:
    kept: list[str] = []
    at = 0
    tags = list(_BLOCK_TAG.finditer(text))
    last = {tag[2]: place for place, tag in enumerate(tags) if tag[1]}
    place = 0
    while place < len(tags):
        kept.append(text[at : tags[place].start()])
        if not tags[place][1] and place < last.get(tags[place][2], -1):
            place = _end_of_block(tags, place)
        at = tags[place].end()
        place += 1
    return "".join((*kept, text[at:]))


def _end_of_block(tags: Sequence[re.Match[str]], place: int) -> int:
    """Which of ``tags`` ends the block that the one at ``place`` opens; there is one."""
    name, depth, end = tags[place][2], 1, place
    for at in range(place + 1, len(tags)):
        if tags[at][2] != name:
            continue
        if tags[at][1]:
            depth, end = depth - 1, at
        elif depth <= 0:
            break
        else:
            depth += 1
    return end


def namespace_of(name: str) -> str | None:
    """The namespace that ``name`` means in any case and number ("Decision"), or None."""
    return _BY_NAME.get("-".join(name.lower().replace("_", " ").split()))


class Markers(NamedTuple):
    """A text without what it ``kept``, which stands behind markers; ``refused`` are not the user's.

    What is refused stays in the ``rest``. ``empty`` are the user's own with nothing to keep.
    """

    rest: str
    kept: tuple[Marked, ...]
    refused: tuple[Marked, ...] = ()
    empty: tuple[str, ...] = ()


def split_markers(text: str) -> tuple[str, tuple[Marked, ...]]:
    """``text`` without the user's own markers and what they keep, and those in order."""
    return read_markers(text)[:2]


def read_markers(text: str) -> Markers:
    """The markers in ``text``, a prompt: the user's own, and those in what was pasted.

    A marker in a code fence or a quotation is ordinary text, and one with nothing to keep is
    taken out. ``[remember]`` alone means learnings; ``[capture]`` and ``@memory`` alone leave the
    namespace to be detected. So does an unknown one, which becomes a tag; but a word right behind
    ``@memory:``, and a statement in the brackets with nothing behind them, are what is to be kept.
    """
    if (request := _own_request(text)) is None:
        return _read_marked(text)
    below = text.partition("\n")[2]
    left = _read_marked("\n".join(filter(None, (request.rest, below))))
    first = Marked(content=request.what, marker=REMEMBER, namespace="learnings")
    return left._replace(kept=(first, *left.kept))


def _own_request(text: str) -> Request | None:
    """What the prompt ``text`` asks in plain words to keep, unless its first line is pasted."""
    request = read_request(text)
    first = read_lines(text)[0] if request else None
    return request if first and not first.whose and first.kind != "code" else None


def _read_marked(text: str) -> Markers:
    """The markers in ``text``."""
    if not any(mark in text for mark in _BEGINNINGS):
        return Markers(text, ())
    lines, inside, matches = _matches(text)
    if not any(matches):
        return Markers(text, ())
    read = read_lines(text)
    own = [one.whose != THEIRS and one.kind != "code" for one in read]
    stops = [_stops(one) for one in read]
    rest, kept, empty = _split(lines, inside, matches, own, stops)
    is_marked = any(found and mine for found, mine in zip(matches, own, strict=True))
    whole = "\n".join(rest).strip() if is_marked else text
    others = [not mine for mine in own]
    return Markers(whole, kept, _split(lines, inside, matches, others)[1], empty)


def _stops(line: Line) -> bool:
    """Whether what the user marks ends before ``line``: it is not theirs, or leads to what is not.

    Lines that come too late to be read do not end it.
    """
    return line.start <= READ_CHARS and (line.whose == THEIRS or bool(line.hands_over))


def _matches(text: str) -> tuple[list[str], list[bool], list[re.Match[str] | None]]:
    """The lines of ``text``, which are of a code fence, and the marker on each of the others."""
    lines = text.split("\n")
    inside = list(fenced(lines))
    pairs = zip(lines, inside, strict=True)
    return lines, inside, [None if code else _MARKER.match(line) for line, code in pairs]


def _split(
    lines: Sequence[str],
    inside: Sequence[bool],
    markers: Sequence[re.Match[str] | None],
    chosen: Sequence[bool] | None = None,
    stops: Sequence[bool] | None = None,
) -> tuple[list[str], tuple[Marked, ...], tuple[str, ...]]:
    """The ``lines`` that no one of ``markers`` keeps, what each keeps, and those with nothing.

    ``inside`` tells which lines are of a code fence, ``chosen`` which lines' markers count, and
    ``stops`` before which ones what is kept ends. It ends before every marker.
    """
    rest: list[str] = []
    found: list[tuple[re.Match[str], list[str]]] = []
    content: list[str] | None = None
    in_list = False
    for at, (line, code, marker) in enumerate(zip(lines, inside, markers, strict=True)):
        ends = marker is not None or (stops is not None and stops[at])
        if marker is not None and (chosen is None or chosen[at]):
            said = _behind(marker)
            content = [said] if said.strip() else []
            in_list = marker["item"] is not None
            found.append((marker, content))
        elif content is None or ends or (content and not code and _ends(line, in_list=in_list)):
            content = None
            rest.append(line)
        elif content or line.strip():
            content.append(line)
    marked = [_marked(marker, "\n".join(kept).strip()) for marker, kept in found]
    empty = tuple(one.marker for one in marked if not one.content)
    return rest, tuple(one for one in marked if one.content), empty


def _ends(line: str, *, in_list: bool) -> bool:
    """Whether what is kept ends before ``line``: it is blank, or the next item of the list."""
    return not line.strip() or (in_list and _NEXT_ITEM.match(line) is not None)


def _marked(marker: re.Match[str], content: str) -> Marked:
    name = _name(marker)
    literal = marker["mark"].translate(_NARROW)
    if name is None:
        verb = (marker["verb"] or "").lower()
        literal = f"[{marker['verb']}]" if verb else literal.partition(":")[0]
        namespace = "learnings" if verb == "remember" else None
        return Marked(content=content, marker=literal, namespace=namespace)
    namespace = namespace_of(name)
    tag = None if namespace else name.lower()
    return Marked(content=content, marker=literal, namespace=namespace, tag=tag)


def _name(marker: re.Match[str]) -> str | None:
    """What ``marker`` names as a namespace, be it known or not; None where it names none."""
    name = (marker["ns"] or marker["at"] or "").strip()
    if not name or namespace_of(name):
        return name or None
    if marker["at"]:
        return name if marker["colon"] else None
    return None if says_enough(name) and not marker.string[marker.end() :].strip() else name


def _behind(marker: re.Match[str]) -> str:
    """What the line of ``marker`` says behind it: all that is not a name."""
    said = marker.string[marker.end() :]
    if _name(marker) is not None:
        return said
    return marker.string[marker.start("at") :] if marker["at"] else (marker["ns"] or "") + said


# --- who wrote it ---------------------------------------------------------------------------------


_MACHINE = regex(
    rf"<(?:{'|'.join(MACHINE_BLOCKS)}|local-command-\w{{1,20}})(?![\w-])|<channel source="
    r"|Caveat: The messages below were generated|\[Request interrupted by user|Stop hook feedback:"
    r"|This session is being continued from a previous conversation"
)
_SLASH_COMMAND = regex(r"/[a-zA-Z][\w:.-]*(?:\s|$)")


def own_text(text: str) -> str:
    """What the person wrote: visible, public, and neither our notes nor the agent's reminders."""
    return strip_blocks(strip_envelopes(strip_private(visible(text)))).strip()


def is_machine(text: str) -> bool:
    """Whether no person wrote ``text``: a notification, a slash command, or nothing at all."""
    return not text or _MACHINE.match(text) is not None or _SLASH_COMMAND.match(text) is not None


def is_marked(text: str) -> bool:
    """Whether ``text`` has a marker with something to keep, though it may stand in a paste.

    Then there is something to tell the user of.
    """
    own = own_text(text)
    if is_machine(own):
        return False
    if _own_request(own):
        return True
    return any(mark in own for mark in _BEGINNINGS) and bool(_split(*_matches(own))[1])


def markers_in(text: str) -> Markers:
    """The markers in what the person who wrote ``text`` said, and those that they pasted."""
    own = own_text(text)
    return Markers(own, ()) if is_machine(own) else read_markers(own)


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """At most 10 ``tags`` of at most 40 characters, lower case, dashes for spaces, each once."""
    cleaned = (_clean_tag(tag) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))[:MAX_TAGS]


def _clean_tag(tag: str) -> str:
    return re.sub(r"[^\w./]+", "-", tag[:1000].lower()).strip("-./_")[:MAX_TAG_CHARS].rstrip("-./_")


def parts_of(text: str) -> set[str]:
    """What may have been kept of ``text``: all of it, what a marker keeps, lines, and sentences.

    Of sentences up to three in a row, and what follows a colon. A few words count only where they
    are all there is.
    """
    rest, marked = split_markers(text)
    wholes = [text, rest, *(one.content for one in marked)]
    found = set(wholes)
    for line in {line for whole in wholes for line in whole.split("\n")}:
        said = _SENTENCE_END.split(line)
        found.update(" ".join(said[at : at + n]) for at in range(len(said)) for n in (1, 2, 3))
        found.add(line)
    found.update([part.partition(": ")[2] for part in found])
    return {one for one in found if len(one.split()) >= _FEWEST_WORDS} | set(wholes)
