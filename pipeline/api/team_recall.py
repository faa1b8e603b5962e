"""A search on the team's server itself, also of projects that this machine does not receive.

What it finds is shown and not kept, and is looked at as closely as what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, structs

from ...bus.service_results import TeamMemory
from ...bus.values import Hit, Query, Scope
from ...stages.redaction.redact import Redactor
from ...stages.text.envelope import author_name
from ...stages.text.unicode import name_line
from .params import CallRefused, Params
from .results import listed_answer

if TYPE_CHECKING:
    from ...sinks.models.embedder import Embedder
    from ...sinks.team.protocol import About

# What is asked is answered while somebody waits for it.
RECALL_S = 10.0
ALL = "all"
HERE_INSTEAD = "`subcog recall` searches what is on this machine"
_MAX_NAMED = 10


class TeamRecallParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``team-recall``: ``project`` is a name or a scope of the team's list, or ``all``."""

    query: Annotated[str, Meta(min_length=1, max_length=4000)]
    project: str = ALL
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    namespace: Annotated[str, Meta(pattern="^[a-z-]+$")] | None = None


def asked(
    text: str, redactor: Redactor, embedder: Embedder | None
) -> tuple[str, Sequence[float] | None]:
    """What may leave this machine of a question, and what it means. Not for the event loop."""
    clean = redactor.redact(text).text
    vector = embedder.encode_query(clean).vector if embedder is not None else None
    return clean, None if vector is None else vector.tolist()


def scopes_to_search(named: str, about: About, organisation: Scope) -> tuple[Scope, ...]:
    """The organisation and what the team shares, or the project that is meant.

    Raises ``CallRefused`` where the team shares none of that name.
    """
    projects = [project for project in about.projects if project.scope.kind == "project"]
    if named == ALL:
        return (organisation, *(project.scope for project in projects))
    meant = tuple(one.scope for one in projects if named in {one.name, str(one.scope)})
    if not meant:
        known = sorted({name_line(project.name) for project in projects})
        names = ", ".join(known[:_MAX_NAMED]) or "none"
        raise CallRefused(f"the team shares no project {named}; it shares: {names}")
    return meant


def found(hits: Sequence[Hit], query: Query, about: About) -> tuple[tuple[TeamMemory, ...], int]:
    """What may be shown of ``hits``, and how many of them are no memories of ours.

    Not for the event loop.
    """
    from ...sinks.team.validate import InvalidChange, check_found

    names = {project.scope: name_line(project.name) for project in about.projects}
    shown: list[TeamMemory] = []
    for hit in hits:
        with suppress(InvalidChange):
            memory = check_found(hit.memory, query.scopes, member=about.member)
            known = structs.asdict(listed_answer(memory, times_shown=0))
            known["author"] = author_name(memory.provenance.author or about.member)
            shown.append(
                TeamMemory(
                    **known, project=names.get(memory.scope, ""), cosine=round(hit.relevance, 4)
                )
            )
    return tuple(shown), len(hits) - len(shown)
