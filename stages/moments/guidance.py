"""Tells the model how subcog notices what is worth keeping, in as many words as are wanted.

Calm and true: how things are said decides what is found; nothing has to be said in any form.
"""

from __future__ import annotations

from typing import Literal

Detail = Literal["minimal", "standard", "detailed"]

CEILING_TOKENS: dict[Detail, int] = {"minimal": 250, "standard": 550, "detailed": 1000}
"""What each detail may cost at most; a test holds it."""

_ABOUT = (
    "This project has a memory, subcog. What is said plainly is noticed by itself and kept; "
    "the task at hand comes first, and no form is required."
)

_PATTERNS = {
    "decision": (
        "a choice was made",
        "We decided to …, because …",
        ("We decided to …", "Going with … because …", "The decision is to …"),
        ("Decision: one line", "Context: why it came up", "Choice: what was chosen",
         "Rationale: why, and over which alternatives"),
    ),
    "learning": (
        "something was found out",
        "It turns out that …",
        ("Turns out …", "Learned that …", "Discovered that …", "TIL …"),
        ("Learning: one line", "Context: how it was found", "Application: when it matters"),
    ),
    "blocker": (
        "something is in the way, or no longer is",
        "Blocked by …; fixed by …",
        ("Blocked by …", "Cannot proceed because …", "Fixed by …"),
        ("Blocker: one line", "Impact: what it holds up", "Status: open or resolved",
         "Resolution: what helped, once it is known"),
    ),
    "progress": (
        "a piece of work is done",
        "Completed …; next is …",
        ("Completed …", "Finished implementing …", "Milestone reached: …"),
        ("Completed: one line", "Deliverables: what there is now", "Next: what follows"),
    ),
}  # fmt: skip

_MARKERS = (
    ("[remember] text", "learnings"),
    ("[remember:decisions] text", "decisions, or any other that is named"),
    ("[capture] text", "found by what the text says"),
    ("@memory text", "found by what the text says"),
    ("@memory:patterns text", "patterns, or any other that is named"),
)

_PRACTICES = (
    "Give the reason with a decision, not the choice alone.",
    "Say what solved a blocker once it is solved.",
    "Put what should last into a sentence of its own, below 100 characters.",
    "Leave secrets out; what lies between private tags is never kept.",
)


def guidance(detail: Detail) -> str:
    """The guidance as XML, in at most ``CEILING_TOKENS`` of its ``detail``."""
    parts = (_capture_patterns(detail), _inline_markers(detail), _best_practices(detail))
    lines = [line for part in parts for line in part]
    return "\n".join(
        (f'<response_guidance detail="{detail}">', f"  {_ABOUT}", *lines, "</response_guidance>")
    )


def _capture_patterns(detail: Detail) -> list[str]:
    lines = ["  <capture_patterns>"]
    for kind, (when, example, phrases, template) in _PATTERNS.items():
        if detail == "minimal":
            lines.append(f'    <pattern type="{kind}">{example}</pattern>')
        elif detail == "standard":
            said = " | ".join(phrases)
            lines.append(f'    <pattern type="{kind}" when="{when}">{said}</pattern>')
        else:
            lines += _pattern(kind, when, phrases, template)
    return [*lines, "  </capture_patterns>"]


def _pattern(
    kind: str, when: str, phrases: tuple[str, ...], template: tuple[str, ...]
) -> list[str]:
    return [
        f'    <pattern type="{kind}">',
        f"      <description>when {when}</description>",
        "      <template>",
        *(
            f"        **{name}**: [{what}]"
            for name, _, what in (t.partition(": ") for t in template)
        ),
        "      </template>",
        f"      <trigger_phrases>{' | '.join(phrases)}</trigger_phrases>",
        "    </pattern>",
    ]


def _inline_markers(detail: Detail) -> list[str]:
    if detail == "minimal":
        named = ", ".join(syntax for syntax, _ in _MARKERS[:2])
        return [f"  <inline_markers>The user keeps a text with {named}.</inline_markers>"]
    return [
        '  <inline_markers for="the user, at the start of a line of a prompt">',
        *(f'    <marker syntax="{syntax}" namespace="{to}" />' for syntax, to in _MARKERS),
        "  </inline_markers>",
    ]


def _best_practices(detail: Detail) -> list[str]:
    if detail == "minimal":
        return [f"  <best_practices>{_PRACTICES[0]}</best_practices>"]
    practices = _PRACTICES if detail == "detailed" else _PRACTICES[:3]
    return [
        "  <best_practices>",
        *(f"    <practice>{practice}</practice>" for practice in practices),
        "  </best_practices>",
    ]
