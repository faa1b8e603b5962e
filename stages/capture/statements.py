"""Splits a message into its author's statements, leaving out quoted and pasted text.

Code, quotations, tables, logs, diffs, markup and pasted or drafted texts are no statements of the
speaker. All of it is linear and reads a bounded part of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...config.patterns import regex
from ..text.code import COMMIT, PRINTED
from ..text.envelope import strip_envelopes
from ..text.markup import split_markers, strip_private
from ..text.unicode import fenced, is_quoted, visible

READ_CHARS = 20_000
MAX_STATEMENTS = 400
MAX_STATEMENT_CHARS = 1_000

_WRAPPED_AT = 60
UNSPACED = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A letter of a script that puts no blanks between words."""

_ITEM = regex(r"[ \t]*(?:[-*+•–]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = regex(r"[ \t]{0,3}#{1,6}[ \t]+(.*)")
_BOLD_LEAD = regex(r"[ \t]*(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)(?:[ \t]*:)?[ \t]*$")
_RULE = regex(r"[ \t]*([-=_*])(?:[ \t]*\1){2,}[ \t]*$")
_TAG_OPENS = regex(r"[ \t]*<([a-zA-Z][\w:.-]{0,60})(?:\s[^<>\n]{0,400})?>")
_TAG_CLOSES = regex(r"</([a-zA-Z][\w:.-]{0,60})")
_QUERY = r"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE) [\w*]"
# What a program wrote, or what came through a clipboard.
_PRINTED = regex(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d(?::\d\d)?\]?[ ,.]|\[\s*\d+\.\d*\]"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b[\]: ]"
    rf"|{PRINTED}|at \S+ \(|npm warn|assert "
    r"|[\w.]{1,80}(?:Error|Exception): |[{}\[\]] *$|\{\"|#\d+ |[+-](?=\S)[^ ]"
    rf"|{_QUERY}|(?:FAILED|PASSED) [\w/.:-]|{COMMIT})"
)
# Notes of ours in a shape that their envelope does not show: escaped, or line by line.
_OURS = regex(r"[ \t>|]{0,20}(?:&gt;|&lt;/?subcog-|(?:[-*•][ \t]{1,4})?mem_\w{4,40} · )")
_KINDS = (
    ("rule", _RULE),
    ("heading", _HEADING),
    ("heading", _BOLD_LEAD),
    ("item", _ITEM),
    ("printed", _PRINTED),
)
_PASTE_BEGINS = regex(
    r"\s*(?:[A-Z][A-Z0-9]{1,9}-\d+\b[:. ]|As an? \S.{0,80}\bI want\b|\*\*[^*\n]{1,60}\*\* commented"
    r"|\*\*[^*\n]{1,50}commented\*\*|#{3,4} |(?:Subject|From|To|Betreff|Von|Objet): "
    r"|(?:Dear|Sehr geehrte|Hi all|Hello all|Hallo zusammen)\b)"
)
_SPEAKER = regex(r"\s*(?:\[[^\]\n]{1,20}\] ?)?[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{0,20})?: \S")
_LETTER = regex(
    r"\s*(?:Dear|Hi|Hello|Hallo|Liebe[rs]?|Sehr geehrte[rs]?|Bonjour|Cher|Chère|Hola|Estimad[oa]"
    r"|Olá|Prezad[oa])\b[^\n]{0,60},\s*$"
)
# "Kind regards,", and below it a name.
_SIGNED = regex(
    r"^[ \t]*(?i:(?:(?:kind|best|warm|many) )?(?:regards|wishes|greetings)|cheers|sincerely|thanks"
    r"|(?:mit )?(?:freundliche[nr]?|viele|beste|liebe) gr(?:ü|ue)(?:ß|ss)en?|cordialement"
    r"|saludos),?[ \t]*\n\s*(?:[^\W\d_a-z][\w.'-]*)(?: [(A-Z][\w.()'-]*){0,3}[ \t]*$",
    re.MULTILINE,
)
_QUOTES_OTHERS = (
    r"draft|e-?mail|mail|reply|letter|says|reads|docs|documentation|readme|changelog"
    r"|(?:release|upstream) notes|commit (?:message|text)|committed as|transcript|thread|wiki"
    r"|forum|article|blog(?: post)?|translation|wording|tracker|traceback|stack trace|snippet"
    r"|wrote|writes|mentions|announcement|web ?(?:page|site)|contents? of"
    r"|entwurf|brouillon|borrador|rascunho"
)
_HANDS_OVER = (
    r"log|logs|output|error|text|issue|ticket|story|translate|summari[sz]e|rephrase|reword"
    r"|sentence|paragraph|review|comment|notes|message|file"
)
_FOREIGN_LEADS = {
    "assistant": regex(rf"\b(?:{_QUOTES_OTHERS})\b[^\n]{{0,80}}$", re.IGNORECASE),
    "user": regex(rf"\b(?:{_QUOTES_OTHERS}|{_HANDS_OVER})\b[^\n]{{0,80}}$", re.IGNORECASE),
}
# Such a source, and that it says something, before a colon: what follows are its words.
_SOURCE = regex(
    r"\b(?:readme|contributing|docs?|documentation|change-?log|wiki|e-?mail|letter|comment|issue"
    r"|ticket|file|article|blog|page|transcript|thread|notes?|description|commit|message"
    r"|bot|customer|vendor)\b"
    r"|\.(?:md|txt|rst|adoc)\b",
    re.IGNORECASE,
)
_TELLS = regex(
    r"\b(?:says?|said|reads|contains?|states?|stated|wrote|writes|mentions?|the following"
    r"|(?:this|the|a) (?:text|sentence|paragraph|line)|found (?:this |it )?in|tell|ask|reply to"
    r"|(?:was|were|is|below|above)$)\b",
    re.IGNORECASE,
)
# What somebody else wrote begins below such a line.
_ANNOUNCES = regex(
    r"\b(?:messages?|(?:e-?)?mails?|letter|comments?|transcript|thread|announcement|post)\b"
    r"[^.!?:\n]{0,40}\bbelow[ .:!?*_]*$",
    re.IGNORECASE,
)
_SOURCE_CHARS = 160
_ENDS = regex(r"`[^`\n]{1,200}`|(?<![.!?…])[.!?…]+[\"'”»)\]*_]{0,3}(?=\s)|[。！？]+|\n")
_ABBREVIATION = regex(
    r"\b(?:e\.g|i\.e|z\.B|d\.h|u\.a|bzw|vs|etc|cf|Dr|Mr|Mrs|Ms|No|Nr|St|approx|ca|resp|incl|max"
    r"|min|p\.ex|[A-Z])\.$"
)
_ABBREVIATION_CHARS = 8
_MARKUP = " \t*_~#"
_OPENS_QUOTE = ('"', "“", "„", "«", "'")


class Statement(NamedTuple):
    """One sentence: the characters ``start`` to ``end`` of the text, and where it stands in it.

    ``lead`` is the heading or the line with a colon that it stands under; ``paragraph`` counts the
    paragraphs and list items of the text; ``number`` counts the sentences of its paragraph.
    """

    text: str
    start: int
    end: int
    paragraph: int
    number: int
    is_item: bool
    lead: str


class _Paragraph(NamedTuple):
    start: int
    end: int
    is_item: bool
    lead: str


def own_text(text: str) -> str:
    """``text`` without what is private, marked or hidden, and without notes of ours."""
    return split_markers(strip_envelopes(strip_private(visible(text))))[0]


def statements(text: str, *, role: str = "user") -> list[Statement]:
    """The sentences of ``text`` that its speaker said, in order; at most 400.

    Only the first 20,000 characters are read. A sentence longer than 1,000 characters is left out.
    """
    text = text[:READ_CHARS]
    found: list[Statement] = []
    for number, paragraph in enumerate(_paragraphs(text, role)):
        for at, (start, end) in enumerate(_sentences(text, paragraph.start, paragraph.end)):
            said = text[start:end]
            if _hands_the_word_over(said):
                break
            if end - start <= MAX_STATEMENT_CHARS:
                found.append(
                    Statement(said, start, end, number, at, paragraph.is_item, paragraph.lead)
                )
        if len(found) >= MAX_STATEMENTS:
            break
    return found[:MAX_STATEMENTS]


class _Reader:
    """Collects the lines of paragraphs, and knows what they stand under."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done: list[_Paragraph] = []
        self.heading = ""
        self.lead = ""
        self.open: list[tuple[int, int]] = []
        self.is_item = False

    def take(self, start: int, end: int, *, is_item: bool = False) -> None:
        """Add a line."""
        if not self.open:
            self.is_item = is_item
        self.open.append((start, end))

    def close(self) -> None:
        """End the paragraph that is open."""
        if not self.open:
            return
        start, end = self.open[0][0], self.open[-1][1]
        self.open = []
        self.done.append(_Paragraph(start, end, self.is_item, self.lead or self.heading))
        said = self.text[start:end].rstrip(_MARKUP)
        if said.endswith((":", "：")):
            self.lead = said[said.rfind("\n") + 1 :]
        elif not self.is_item:
            self.lead = ""

    def under(self, heading: str) -> None:
        """A heading begins."""
        self.heading, self.lead = heading.strip(_MARKUP + ":"), ""


def own_lines(text: str, role: str) -> Iterator[tuple[int, str, str]]:
    """The lines of ``text`` up to where it hands over to somebody else's, with their kinds.

    Each comes with where it begins. The kinds are prose, item, heading, rule, quoted, printed, code
    and blank. A letter that a user pastes is quoted, down to its signature.
    """
    begun = False
    letter = _SIGNED.search(text) if role == "user" else None
    for start, line, kind in _kinds(text):
        if letter is not None and start < letter.end():
            yield start, line, "quoted"
            continue
        if begun and kind != "code" and _hands_over(text, start, line, role):
            return
        begun = begun or kind not in ("blank", "heading", "rule")
        yield start, line, kind
        if role == "user" and kind == "prose" and _ANNOUNCES.search(line):
            return


def _paragraphs(text: str, role: str) -> Iterator[_Paragraph]:
    """The paragraphs and list items that the speaker wrote."""
    reader = _Reader(text)
    foreign = _FOREIGN_LEADS["assistant" if role == "assistant" else "user"]
    for start, line, kind in own_lines(text, role):
        mark = _ITEM.match(line) if kind == "item" else None
        if kind == "prose":
            reader.take(start, start + len(line))
            if foreign.search(_lead(line)):
                reader.close()
        elif mark is not None:
            reader.close()
            reader.take(start + mark.end(), start + len(line), is_item=True)
        else:
            reader.close()
            if kind == "heading":
                reader.under(line)
    reader.close()
    return (one for one in reader.done if not _is_foreign(text, one, foreign))


def _lead(line: str) -> str:
    """``line`` where it introduces what follows it; else nothing."""
    said = line.rstrip(_MARKUP)
    return said if said.endswith((":", "：")) else ""


def _kinds(text: str) -> Iterator[tuple[int, str, str]]:
    """Each line with where it begins and what kind of line it is."""
    lines = text.split("\n")
    closed_at = {closes[1]: closes.start() for closes in _TAG_CLOSES.finditer(text)}
    start = 0
    tag = ""
    for line, inside in zip(lines, fenced(lines), strict=True):
        opens = None if inside or tag else _TAG_OPENS.match(line)
        if opens is not None and closed_at.get(opens[1], -1) >= start:
            tag = opens[1]
        yield start, line, "code" if inside or tag else _kind(line)
        if tag and f"</{tag}" in line:
            tag = ""
        start += len(line) + 1


def _hands_over(text: str, start: int, line: str, role: str) -> bool:
    """Whether from ``line`` on it is somebody else's text: a letter, a ticket, a conversation."""
    if _LETTER.match(line):
        return True
    if role == "assistant":
        return False
    return (
        _PASTE_BEGINS.match(line) is not None
        or _RULE.match(line) is not None
        or (_SPEAKER.match(line) is not None and _is_talk(text, start))
    )


def _kind(line: str) -> str:
    bare = line.strip()
    if not bare:
        return "blank"
    if is_quoted(line) or _OURS.match(line) or (bare[0] == bare[-1] == "|" and len(bare) > 1):
        return "quoted"
    kinds = (kind for kind, shape in _KINDS if shape.match(line))
    return next(kinds, "prose")


def _is_talk(text: str, start: int) -> bool:
    """Whether two lines from ``start`` on begin with the name of who speaks."""
    following = text.find("\n", start)
    return following >= 0 and _SPEAKER.match(text, following + 1) is not None


def _is_foreign(text: str, paragraph: _Paragraph, foreign: re.Pattern[str]) -> bool:
    """Whether ``paragraph`` is what a mail, a document or a draft says."""
    said = text[paragraph.start : paragraph.end].strip(_MARKUP)
    if not said:
        return True
    if said.startswith(_OPENS_QUOTE) and said.endswith(('"', "”", "“", "»", "'")):
        return True
    return paragraph.lead.endswith((":", "：")) and foreign.search(paragraph.lead) is not None


def _hands_the_word_over(said: str) -> bool:
    """Whether a sentence goes on in somebody else's words: "the README says: we decided …"."""
    before, colon, _ = said[:_SOURCE_CHARS].partition(": ")
    return bool(colon and _TELLS.search(before) and _SOURCE.search(before))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each sentence of a paragraph begins and ends, without the white space around it."""
    at = start
    for stop in _ENDS.finditer(text, start, end):
        if _goes_on(text, at, stop):
            continue
        yield from _trimmed(text, at, stop.end())
        at = stop.end()
    yield from _trimmed(text, at, end)


def _goes_on(text: str, at: int, stop: re.Match[str]) -> bool:
    """Whether the sentence from ``at`` does not end at ``stop``: inline code, "e.g.", a wrap."""
    if stop[0] == "\n":
        return _is_wrapped(text, at, stop.start())
    if stop[0] == ".":
        return _is_abbreviated(text, at, stop.end())
    return stop[0][0] == "`"


def _is_abbreviated(text: str, at: int, end: int) -> bool:
    return _ABBREVIATION.search(text[max(at, end - _ABBREVIATION_CHARS) : end]) is not None


def _is_wrapped(text: str, at: int, newline: int) -> bool:
    """Whether the line that ends at ``newline`` goes on in the next one."""
    line = max(at, text.rfind("\n", at, newline) + 1)
    return newline - line >= _WRAPPED_AT and text[newline - 1] not in ".!?:;"


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and (text[start].isspace() or text[start] in "*_~#>"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_~"):
        end -= 1
    if end > start:
        yield start, end
