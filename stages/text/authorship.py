"""Tells the lines that the speaker wrote from those that are somebody else's, in the same message.

A user pastes mails, tickets, diffs and conversations; an agent quotes what it read. Captures with a
marker, automatic captures, closings and passages all ask here, so that none of them takes such
words for the speaker's. By what the lines are told is in ``authorship.toml``. All of it is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    r"\s*(?:class|def|function|func|interface|struct) [\w$]+.*[:{]\s*$|.*[;{]\s*$|.*\s[\"“„«]\s*$"
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
    """

    start: int
    text: str
    kind: str
    whose: str = ""


def read_lines(text: str, role: str = "user") -> list[Line]:
    """The lines of ``text``, which was said by ``role``, "user" or "assistant".

    Of a prompt, those that begin after 20,000 characters are ``THEIRS``.
    """
    if role == "assistant":
        return _quoting(list(_kinds(text)))
    end = text.find("\n", READ_CHARS)
    if end < 0:
        return _pasting(text, list(_kinds(text)))
    read, at = _pasting(text[:end], list(_kinds(text[:end]))), end + 1
    for line in text[at:].split("\n"):
        read.append(Line(at, line, "prose", THEIRS))
        at += len(line) + 1
    return read


def own_marks(text: str) -> list[bool]:
    """For each line of ``text``, a prompt, whether a marker on it is the user's own.

    One directly below a quotation, code, or what a program printed belongs to that.
    """
    found, before = list[bool](), "blank"
    for line in read_lines(text):
        shown = ("quoted", "printed")
        found.append(line.whose != THEIRS and line.kind != "code" and before not in shown)
        is_code = line.kind in ("prose", "item") and _CODE.match(line.text)
        before = "printed" if is_code else line.kind
    return found


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
    return forms["doubtful"].search(said[:-1]) is not None


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
    looks_back = last > 0 and _looks_back(lines[last].text)
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
        read.append(line._replace(whose=here) if here and at != question else line)
        begun = begun or line.kind not in ("blank", "heading", "rule")
        if at in followed_by and (given := _hands_over(line, lines[followed_by[at]])):
            whose, ends = max(whose, given), 0
    return read


def _begins(lines: Sequence[Line], at: int, *, begun: bool) -> str:
    """Whose text begins with a line: a letter's, a ticket's, a conversation's; else nothing."""
    line = lines[at].text
    following = lines[at + 1].text if at + 1 < len(lines) else ""
    head = _USER["head"]
    if _USER["begins"].match(line) or (head.match(line) and head.match(following)):
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
        return THEIRS if is_theirs else ""
    if _is_marked(following.text):
        return ""
    if _USER["ordered"].search(said):
        return THEIRS
    return DOUBTFUL if _USER["led_in"].search(said) else ""


def _looks_back(line: str) -> bool:
    """Whether ``line``, the last, asks something about all that stands before it."""
    said = line.strip(_MARKUP)
    return len(said) <= _MOST_ORDER_CHARS and _USER["looks_back"].search(said) is not None


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


def _is_diff(line: str, in_diff: bool) -> bool:
    """Whether ``line`` is of a diff; ``in_diff`` tells whether the one before is."""
    if _DIFF_BEGINS.match(line):
        return True
    return in_diff and (not line.strip() or _DIFF_GOES_ON.match(line) is not None)
