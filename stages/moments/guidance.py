"""Tells the model in which forms a statement is always kept, in as many words as are wanted.

It teaches only what ``stages/capture/records.py`` and the markers of a prompt do keep, each time.
"""

from __future__ import annotations

from typing import Literal

Detail = Literal["minimal", "standard", "detailed"]

CEILING_TOKENS: dict[Detail, int] = {"minimal": 120, "standard": 400, "detailed": 650}
"""What each detail may cost at most; a test holds it."""

_ABOUT = (
    "This project has a memory, subcog. The task at hand comes first. What should outlast this"
    " session, state in your answer as one line of its own that begins with a label; it is then"
    " kept. Prose without a label is not."
)

_ABOUT_BRIEFLY = (
    "This project has a memory, subcog. The task comes first. To keep something for later sessions,"
    " begin a line of your answer with a label."
)

LINES: dict[str, tuple[str, str, str]] = {
    "Decision": ("decisions", "what was chosen, and why", "use UUIDv7 for keys, they sort by time"),
    "Gotcha": ("gotchas", "what surprises", "the staging clock is local time, not UTC"),
    "Learned": ("learnings", "what was found out", "row locks are released at commit, not before"),
    "Blocker": ("blockers", "what is in the way", "the vendor's sandbox is down until Monday"),
    "Preference": ("preferences", "how the user wants it", "one commit for each logical change"),
    "Pattern": ("patterns", "how things are done here", "every handler validates before it locks"),
}
"""Each label that is taught, with its namespace, what it is for, and an example."""

MARKERS = (
    ("[remember] text", "learnings, or blockers for what is in the way"),
    ("[remember:decisions] text", "decisions, or any other that is named"),
    ("[capture] text", "found by what the text says"),
    ("@memory:patterns text", "patterns, or any other that is named"),
)

_PRACTICES = (
    "Give the reason with a decision, not the choice alone.",
    "Write a label only where there is something to keep; most answers need none.",
    "Say what solved a blocker: **Resolution**: text, in the line below it or later.",
    "Leave secrets out; what lies between private tags is never kept.",
)


def guidance(detail: Detail) -> str:
    """The guidance as XML, in at most ``CEILING_TOKENS`` of its ``detail``."""
    parts = (_labels(detail), _inline_markers(detail), _best_practices(detail))
    lines = [line for part in parts for line in part]
    about = _ABOUT_BRIEFLY if detail == "minimal" else _ABOUT
    return "\n".join(
        (f'<response_guidance detail="{detail}">', f"  {about}", *lines, "</response_guidance>")
    )


def _labels(detail: Detail) -> list[str]:
    if detail == "minimal":
        label, (_, use, _) = next(iter(LINES.items()))
        others = ", ".join(name for name in LINES if name != label)
        return [f"  <labels>**{label}**: {use} (or {others})</labels>"]
    if detail == "standard":
        return [
            "  <labels>",
            *(f"    <label>**{name}**: {use}</label>" for name, (_, use, _) in LINES.items()),
            "  </labels>",
        ]
    return [
        "  <labels>",
        *(
            f'    <label namespace="{to}" for="{use}">**{name}**: {example}</label>'
            for name, (to, use, example) in LINES.items()
        ),
        "  </labels>",
    ]


def _inline_markers(detail: Detail) -> list[str]:
    if detail == "minimal":
        return [f"  <inline_markers>The user writes {MARKERS[0][0]}.</inline_markers>"]
    shown = MARKERS if detail == "detailed" else MARKERS[:2]
    return [
        '  <inline_markers for="the user, at the start of a line of a prompt">',
        *(f'    <marker syntax="{syntax}" namespace="{to}" />' for syntax, to in shown),
        "  </inline_markers>",
        "  <tool>The tool capture of the MCP server keeps a text too.</tool>",
    ]


def _best_practices(detail: Detail) -> list[str]:
    if detail == "minimal":
        return []
    practices = _PRACTICES if detail == "detailed" else _PRACTICES[:2]
    return [
        "  <best_practices>",
        *(f"    <practice>{practice}</practice>" for practice in practices),
        "  </best_practices>",
    ]
