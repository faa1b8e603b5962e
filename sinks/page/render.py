"""Templates into HTML. Whatever is put in is escaped, and what cannot be seen is made visible."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ...bus.prompt_results import why_nothing
from ...config.characters import HIDDEN, IDLE
from ...config.patterns import regex

FOLDER = Path(__file__).parent
# Control characters, directions, and what has no width, but for the joiners that scripts need.
_UNSEEN = regex(rf"[{HIDDEN}\x0b-\r\x85\u2028\u2029]|{IDLE}")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def render(template: str, **facts: object) -> str:
    """The template of that name in ``templates/``, filled in with ``facts``."""
    return _environment().get_template(template).render(facts)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "visible": visible,
        "when": when,
        "ago": ago,
        "size": size,
        "short": short,
        "reason": why_nothing,
        "times": times,
    }
    return environment


def visible(text: str) -> Markup:
    """``text`` with a marked code point in place of each character that nobody would see."""
    parts = [escape(part) for part in _UNSEEN.split(text)]
    marks = [_mark(found) for found in _UNSEEN.findall(text)]
    return Markup("").join(
        piece for pair in zip(parts, [*marks, Markup("")], strict=True) for piece in pair
    )


def _mark(character: str) -> Markup:
    name = unicodedata.name(character, "control character").lower()
    return Markup('<span class="unseen" title="{}">U+{:04X}</span>').format(name, ord(character))


def when(time: datetime) -> Markup:
    """``time`` as it is on this machine's clock, with its zone beside it."""
    local = time.astimezone()
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        local.isoformat(), f"{local:%Y-%m-%d %H:%M:%S %Z}", f"{local:%Y-%m-%d %H:%M}"
    )


def ago(time: datetime) -> Markup:
    """How long ago ``time`` is, in one unit."""
    past_s = (datetime.now(UTC) - time).total_seconds()
    if past_s < _MINUTE_S:
        told = "just now"
    elif past_s < _HOUR_S:
        told = f"{past_s // _MINUTE_S:.0f} min ago"
    elif past_s < _DAY_S:
        told = f"{past_s // _HOUR_S:.0f} h ago"
    else:
        told = f"{past_s // _DAY_S:.0f} d ago"
    local = time.astimezone()
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        local.isoformat(), f"{local:%Y-%m-%d %H:%M:%S %Z}", told
    )


def size(count: float) -> str:
    """So many bytes, in the unit that suits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def times(count: int) -> str:
    """How often: once, twice, 3 times."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def short(name: str) -> str:
    """The beginning of an id or of a session's name, enough to tell it from others."""
    return name.removeprefix("mem_")[:12]
