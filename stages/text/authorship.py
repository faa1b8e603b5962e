"""Tells the lines that the speaker wrote from those that are somebody else's, in the same message.

A user pastes mails, tickets, diffs and conversations; an agent quotes what it read. Captures with a
marker, automatic captures, closings and passages all ask here, so that none of them takes such
words for the speaker's. By what the lines are told is in ``authorship.toml``. All of it is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ...config.patterns import regex
from .code import COMMIT, PRINTED
from .lexicons import load_wordings
from .unicode import fenced, is_quoted

READ_CHARS = 20_000
"""What a prompt holds beyond that was pasted."""
THEIRS, DOUBTFUL = "theirs", "doubtful"
"""The kinds of lines that are somebody else's, and of those that may be."""

_FORMS = {
    name: wording.forms
    for name, wording in load_wordings(Path(__file__).with_name("authorship.toml")).items()
}
_USER, _AGENT, _LETTER = _FORMS["user"], _FORMS["assistant"], _FORMS["letter"]
_SENTENCE = _FORMS["sentence"]
_SOURCE_CHARS = 160
_QUESTION_CHARS = 200
_MOST_ORDER_CHARS = 120
_MAY_LEAD = ("prose", "heading")
_MARKUP = " \t*_~#"
_SENTENCE_END = regex(r"(?<=[.!?…])\s+")
_COLONS = (":", "：")
_MARKS = ("[", "［", "【", "@", "＠")

ITEM = regex(r"[ \t]*(?:[-*+•–]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = regex(r"[ \t]{0,3}#{1,6}[ \t]+(.*)")
_BOLD_LEAD = regex(r"[ \t]*(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)(?:[ \t]*:)?[ \t]*$")
_RULE = regex(r"[ \t]*([-=_*])(?:[ \t]*\1){2,}[ \t]*$")
_LABELLED = regex(r"\W{0,6}(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)")
# A block of tags, a comment, or a docstring.
_OPENS = regex(r"[ \t]*<(?:([a-zA-Z][\w:.-]{0,60})(?:\s[^<>\n]{0,400})?>|!--)")
_ENDS = regex(r"</([a-zA-Z][\w:.-]{0,60})|-->")
_DOCSTRING = '"""'
_INDENTED = regex(r"(?: {4}|\t| {1,3}\t)")
_QUERY = r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE) [\w*]"
# What a program wrote or reads, or what came through a clipboard.
_PRINTED = regex(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d(?::\d\d)?\]?[ ,.]|\[\s*\d+\.\d*\]"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b[\]: ]"
    rf"|{PRINTED}|at \S+ \(|npm warn|assert "
    r"|[\w.]{1,80}(?:Error|Exception): |[{}\[\]] *$|\{\"|#\d+ |[+-](?=\S)[^ ]"
    r"|// ?\w|\d+[,;]\S|\d+:\d+ +(?:error|warning) "
    rf"|{_QUERY}|(?:FAILED|PASSED) [\w/.:-]|{COMMIT})"
)
# Code, or a quotation that is open at the end.
_CODE = regex(
    r"\s*(?:class|def|function|func|interface|struct) [\w$].*[:{]\s*$|.*\{\s*$"
    r"|(?=.*[=(){}\[\]\"'_]).*;\s*$|.*\s[\"“„«]\s*$"
)
_MARKER = regex(
    r"[ \t]{0,3}(?:\[|［|【)(?:remember|capture)\b|[ \t]{0,3}[@＠]memory\b", re.IGNORECASE
)
_DIFF_BEGINS = regex(r"diff --git |@@ -\d|--- a/|\+\+\+ b/")
_DIFF_GOES_ON = regex(r"[ +\-\\]|@@ |diff --git |index [0-9a-f]|(?:new|deleted) file|rename |simil")
# Notes of ours in a shape that their envelope does not show: escaped, or line by line.
_OURS = regex(r"[ \t>|]{0,20}(?:&gt;|&lt;/?subcog-|(?:[-*•][ \t]{1,4})?mem_\w{4,40} · )")
_KINDS = (
    ("rule", _RULE),
    ("heading", _HEADING),
    ("heading", _BOLD_LEAD),
    ("item", ITEM),
    ("printed", _PRINTED),
)


class Line(NamedTuple):
    """A line, where it begins in the text, and its kind.

    The kinds are prose, item, heading, rule, quoted, printed, code and blank. ``whose`` is
    ``THEIRS`` for a line of somebody else's, ``DOUBTFUL`` for one that may be, and else empty.
    ``hands_over`` is whose text begins below it, where it says so itself.
    """

    start: int
    text: str
    kind: str
    whose: str = ""
    hands_over: str = ""


def read_lines(text: str, role: str = "user") -> list[Line]:
    """The lines of ``text``, which was said by ``role``, "user" or "assistant".

    Of a prompt, those that begin after 20,000 characters are ``THEIRS``.
    """
    if role == "assistant":
        return _quoting(list(_kinds(text)))
    end = text.find("\n", READ_CHARS)
    if end < 0:
        return list(_shown(_pasting(text, list(_kinds(text)))))
    read, at = list(_shown(_pasting(text[:end], list(_kinds(text[:end]))))), end + 1
    for line in text[at:].split("\n"):
        read.append(Line(at, line, "prose", THEIRS))
        at += len(line) + 1
    return read


def quotes(said: str) -> bool:
    """Whether a sentence goes on in somebody else's words: "the README says: we decided …"."""
    said = said[:_SOURCE_CHARS]
    if _SENTENCE["puts"].search(said) or _SENTENCE["hands_over"].search(said):
        return True
    before, colon, _ = said.partition(": ")
    if not colon:
        return False
    told = _SENTENCE["tells"].search(before) and _SENTENCE["source"].search(before)
    return bool(told or _SENTENCE["quotes"].search(before))


def disowns(said: str) -> bool:
    """Whether an agent says that it does not go by what it quoted."""
    return _AGENT["disowns"].search(said) is not None


# --- what a line is -------------------------------------------------------------------------------


def _kinds(text: str) -> Iterator[Line]:
    """Each line and what kind of line it is, whoever wrote it."""
    lines = text.split("\n")
    ends_at = {f"</{one[1]}" if one[1] else "-->": one.start() for one in _ENDS.finditer(text)}
    ends_at[_DOCSTRING] = text.rfind(_DOCSTRING)
    start, end, before, in_list = 0, "", "blank", False
    for line, inside in zip(lines, fenced(lines), strict=True):
        opens = "" if inside or end else _block_end(line, start, ends_at)
        end = end or opens
        is_indented = not in_list and before in ("blank", "code") and _INDENTED.match(line)
        kind = "code" if inside or end or (is_indented and line.strip()) else _kind(line)
        yield Line(start, line, kind)
        if end in line and not (opens and end == _DOCSTRING):
            end = ""
        before = "code" if is_indented else "blank" if kind in ("code", "heading") else kind
        in_list = kind == "item" or (in_list and (kind == "blank" or line[:1].isspace()))
        start += len(line) + 1


def _block_end(line: str, start: int, ends_at: Mapping[str, int]) -> str:
    """What ends the block that ``line`` opens, where that comes; else nothing."""
    if opens := _OPENS.match(line):
        end = f"</{opens[1]}" if opens[1] else "-->"
        return end if ends_at.get(end, -1) >= start else ""
    is_open = line.count(_DOCSTRING) % 2 and ends_at[_DOCSTRING] > start + len(line)
    return _DOCSTRING if is_open else ""


def _kind(line: str) -> str:
    bare = line.strip()
    if not bare:
        return "blank"
    if is_quoted(line) or _OURS.match(line) or (bare[0] == bare[-1] == "|" and len(bare) > 1):
        return "quoted"
    kinds = (kind for kind, shape in _KINDS if shape.match(line))
    return next(kinds, "prose")


# --- what an agent quotes -------------------------------------------------------------------------


def _quoting(lines: Sequence[Line]) -> list[Line]:
    """``lines`` of an agent; from where it drafts a letter, all may be somebody else's."""
    below = _below_leads(lines, lambda line: _introduces(line, _AGENT) or _leads_in(line))
    read, in_letter = list[Line](), False
    for at, (line, led) in enumerate(zip(lines, below, strict=True)):
        in_letter = in_letter or (at > 0 and _LETTER["opens"].match(line.text) is not None)
        read.append(line._replace(whose=DOUBTFUL if led or in_letter else ""))
    return read


def _introduces(line: Line, forms: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether ``line`` ends with a colon, and what follows it may be somebody else's."""
    said = line.text.strip(_MARKUP)
    if not said.endswith(_COLONS) or line.kind not in _MAY_LEAD:
        return False
    is_own = "own" in forms and forms["own"].search(said[:-1])
    return not is_own and forms["doubtful"].search(said[:-1]) is not None


def _leads_in(line: Line) -> bool:
    """Whether a whole line of an agent says that what follows is somebody else's."""
    said = line.text.strip(_MARKUP)
    is_short = line.kind in _MAY_LEAD and len(said) <= _MOST_ORDER_CHARS
    return is_short and _AGENT["led_in"].search(said) is not None


def _below_leads(lines: Sequence[Line], leads: Callable[[Line], bool]) -> Iterator[bool]:
    """For each of ``lines``, whether it is of the paragraph, list or labels below one that leads.

    A heading ends that, unless it leads itself.
    """
    below = begun = after_blank = False
    for line in lines:
        if line.kind == "blank":
            after_blank = True
            yield below
            continue
        goes_on = line.kind == "item" or _LABELLED.match(line.text)
        if line.kind == "heading" or (begun and after_blank and not goes_on):
            below = False
        yield below
        begun, after_blank = begun or below, False
        if leads(line):
            below, begun = True, False


# --- what a user pastes ---------------------------------------------------------------------------


def _pasting(text: str, lines: Sequence[Line]) -> list[Line]:
    """``lines`` of a user's ``text``, with whose they are."""
    signed = _LETTER["signed"].search(text)
    signed_at = signed.end() if signed else 0
    said = [at for at, line in enumerate(lines) if line.kind != "blank"]
    followed_by = dict(pairwise(said))
    last = said[-1] if said else 0
    looks_back = last > 0 and _looks_back(lines, last)
    question = last if _is_own_question(lines, last) else -1
    below = _below_leads(lines, lambda line: _introduces(line, _USER))
    read, whose, ends, in_diff, begun = list[Line](), "", 0, False, False
    for at, (line, led) in enumerate(zip(lines, below, strict=True)):
        if ends and line.start >= ends:
            whose, ends = "", 0
        is_text = line.kind not in ("code", "blank")
        if is_text and whose != THEIRS and (begins := _begins(lines, at, begun=begun)):
            whose = begins
            ends = signed_at if signed_at > line.start else 0
        in_diff = _is_diff(line.text, in_diff)
        doubted = led or (looks_back and at < last) or line.start < signed_at
        here = THEIRS if in_diff else whose or (DOUBTFUL if doubted else "")
        given = _hands_over(line, lines[followed_by[at]]) if at in followed_by else ""
        read.append(line._replace(whose="" if at == question else here, hands_over=given))
        begun = begun or line.kind not in ("blank", "heading", "rule")
        if given:
            whose, ends = max(whose, given), 0
    return read


def _shown(lines: Iterable[Line]) -> Iterator[Line]:
    """``lines``; a marker below a quotation, code or a program's line is shown there, not said.

    So is what follows it, to the blank line or the next marker.
    """
    before, whose, is_said = "blank", "", False
    for line in lines:
        if _is_marker(line.text):
            whose = THEIRS if before in ("quoted", "printed") else ""
            is_said = THEIRS not in (line.whose, whose)
        elif line.kind == "blank":
            whose, is_said = "", False
        is_said = is_said and line.whose != THEIRS and not line.hands_over
        is_code = line.kind == "prose" and not is_said and _CODE.match(line.text)
        before = "printed" if is_code else "prose" if is_said else line.kind
        yield line._replace(whose=THEIRS) if whose else line


def _begins(lines: Sequence[Line], at: int, *, begun: bool) -> str:
    """Whose text begins with a line: a letter's, a ticket's, a conversation's; else nothing."""
    line = lines[at].text
    following = lines[at + 1].text if at + 1 < len(lines) else ""
    head = _USER["head"]
    is_head = head.match(line) and head.match(following)
    names = _USER["sender"]
    if _USER["begins"].match(line) or (is_head and (names.match(line) or names.match(following))):
        return THEIRS
    field = _USER["field"]
    shapes = (_LETTER["opens"], _USER["begins_perhaps"], _RULE) if begun else (_USER["first"],)
    perhaps = any(shape.match(line) for shape in shapes)
    return DOUBTFUL if perhaps or (field.match(line) and field.match(following)) else ""


def _hands_over(line: Line, following: Line) -> str:
    """Whose text begins below ``line``; an order to do something to a text may also mean this."""
    said = line.text.strip(_MARKUP)
    is_lead, is_short = said.endswith(_COLONS), len(said) <= _MOST_ORDER_CHARS
    if line.kind not in _MAY_LEAD or not (is_lead or is_short) or _is_marked(line.text):
        return ""
    if is_lead:
        lead = _SENTENCE_END.split(said[:-1])[-1].strip(_MARKUP)
        is_form = following.text.startswith("#") or _USER["head"].match(following.text)
        is_theirs = _USER["theirs"].search(lead) or (is_form and _USER["doubtful"].search(lead))
        names = not _is_marked(following.text) and _USER["names"].search(lead)
        return THEIRS if is_theirs or names else ""
    if _is_marked(following.text):
        return ""
    leads = _USER["led_in"].search(said)
    if _USER["ordered"].search(said) or (leads and following.kind == "rule"):
        return THEIRS
    is_apart = following.start > line.start + len(line.text) + 1
    return DOUBTFUL if leads or (is_apart and _USER["ticket"].search(said)) else ""


def _looks_back(lines: Sequence[Line], last: int) -> bool:
    """Whether the ``last`` line asks something about all that stands before it.

    One paragraph of prose before it is mostly the user's own, unless it is the text to work on.
    """
    said = lines[last].text.strip(_MARKUP)
    if len(said) > _MOST_ORDER_CHARS:
        return False
    if _USER["looks_back"].search(said):
        return True
    before = [line for line in lines[:last] if line.kind != "blank"]
    is_short = all(line.kind == "prose" for line in before) and len(before) == 1
    return not is_short and _USER["may_look_back"].search(said) is not None


def _is_own_question(lines: Sequence[Line], last: int) -> bool:
    """Whether the ``last`` line asks something, by itself: then it is about what was pasted."""
    if not last or lines[last - 1].kind != "blank" or lines[last].kind != "prose":
        return False
    line = lines[last].text
    asks = line.rstrip().endswith(("?", "？"))
    return asks and len(line) <= _QUESTION_CHARS and not _is_marked(line)


def _is_marked(line: str) -> bool:
    """Whether ``line`` begins as a marker does."""
    item = ITEM.match(line)
    return line[item.end() if item else 0 :].lstrip().startswith(_MARKS)


def _is_marker(line: str) -> bool:
    item = ITEM.match(line)
    return _MARKER.match(line[item.end() if item else 0 :]) is not None


def _is_diff(line: str, in_diff: bool) -> bool:
    """Whether ``line`` is of a diff; ``in_diff`` tells whether the one before is."""
    if _DIFF_BEGINS.match(line):
        return True
    return in_diff and (not line.strip() or _DIFF_GOES_ON.match(line) is not None)
