"""How an explanation and a trace look in a terminal: what each stage decided, why, what it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import UNSET
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...bus.prompt_results import (
    ClassifyResult,
    EnrichedIntent,
    ExplainResult,
    InjectStep,
    Trace,
    TracedEnrichment,
    TracedIntent,
    why_nothing,
)
from ...bus.prompts import Parsed, ProjectAnswer, Verdict
from ...bus.results import UseResult
from ...bus.sessions import SessionVerdict
from .wording import counted, local_time

_IN_BRIEF = 4


def show_explanation(answer: ExplainResult, *, full: bool) -> None:
    """Print one ``explain`` answer: as a page with everything, or in brief."""
    Console().print(explanation(answer) if full else brief(answer))


def brief(answer: ExplainResult) -> RenderableType:
    """What the prompt was taken for, why the first candidates were shown or not, what is sent."""
    verdicts = sorted(answer.inject.verdicts, key=lambda one: not one.injected)
    sessions = sorted(answer.inject.sessions, key=lambda one: not one.quoted)
    table = Table(box=None, show_header=False, pad_edge=False, expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column(overflow="fold", ratio=2, style="dim")
    for verdict in verdicts[:_IN_BRIEF]:
        told = Text(f"[{verdict.namespace}] {verdict.summary}")
        table.add_row(_mark(verdict.injected), told, Text(verdict.why))
    for session in sessions[:1]:
        told = Text(f"{session.session}, a session of {_day(session.began_at)}")
        table.add_row(_mark(session.quoted), told, Text(session.why))
    more = len(verdicts) - _IN_BRIEF
    others = f"{more} more candidates, " if more > 0 else ""
    return Group(
        Text(_intent(answer.classify)),
        table,
        *(_answered(one) for one in answer.inject.answers),
        _outcome(answer),
        Text(f"--full shows {others}every figure, and what each stage found and took", style="dim"),
    )


def _day(moment: datetime) -> str:
    """The day in the user's zone, as ``sessions list`` tells it."""
    return f"{moment.astimezone():%Y-%m-%d}"


def _mark(is_shown: bool) -> str:
    return "[green]✓[/]" if is_shown else "·"


def explanation(answer: ExplainResult, *, candidates: int | None = None) -> RenderableType:
    """One ``explain`` answer: the prompt, the stages, the first ``candidates``, what is sent."""
    parts: list[RenderableType] = [_stages(answer)]
    if answer.inject.verdicts:
        parts.append(_candidates(answer.inject, candidates))
    if answer.inject.sessions:
        parts.append(_sessions(answer.inject.sessions))
    parts += [_answered(one) for one in answer.inject.answers]
    parts.append(_outcome(answer))
    return Panel(
        Group(*parts),
        title=Text(answer.prompt, style="bold"),
        subtitle=Text(answer.project),
        title_align="left",
        subtitle_align="right",
        border_style="green" if answer.context else "yellow",
    )


def _stages(answer: ExplainResult) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    parse, enrich, classify = answer.parse, answer.enrich, answer.classify
    understood = answer.enriched_intent
    table.add_row("parse", Text(f"words {parse.query!r}{_named(parse)}"))
    for told in _work(understood):
        table.add_row("", Text(told))
    degraded = f" ({', '.join(enrich.degraded)})" if enrich.degraded else ""
    table.add_row("enrich", Text(f"{counted(enrich.candidates, 'candidate')}{degraded}"))
    for told in _known(understood):
        table.add_row("", Text(told))
    table.add_row("classify", Text(_intent(classify)))
    if classify.arithmetic is not UNSET and classify.arithmetic:
        table.add_row("", Text(", ".join(classify.arithmetic), style="dim"))
    if answer.stages_ms:
        table.add_row("took", Text(timings(answer.stages_ms), style="dim"))
    return table


def timings(stages_ms: dict[str, float]) -> str:
    """What each stage took, in the order in which they ran."""
    return ", ".join(f"{stage} {took:.2f} ms" for stage, took in stages_ms.items())


def _work(understood: EnrichedIntent) -> Iterator[str]:
    """What kind of work it is, and what it points back at."""
    if understood.primary_intent:
        words = ", ".join(signal.keyword for signal in understood.intent_signals)
        yield f"kind of work {understood.primary_intent.lower()}, by the words {words}"
    resolved = {one.text: one for one in understood.memory.resolved_references}
    for reference in understood.references:
        meant = resolved.get(reference.text)
        if meant is None:
            yield f"“{reference.text}” points at nothing that is known"
        else:
            to = meant.resolved_to
            yield f"“{reference.text}” is {to.id}, {meant.confidence:.0%}: {to.summary}"


def _known(understood: EnrichedIntent) -> Iterator[str]:
    """What the project's files say, and what memory has on the prompt, a line each."""
    project, memory = understood.project, understood.memory
    if project.name or project.stack:
        yield f"project {', '.join(filter(None, (project.name, project.stack)))}"
    for task in memory.similar_tasks:
        how = f": {', '.join(task.approach)}" if task.approach else ""
        ended = task.outcome or "end unknown"
        yield f"task {task.similarity:.2f} {task.input} ({ended}){how}"
    for pattern in memory.applicable_patterns:
        said = _titled(pattern.name, pattern.approach)
        yield f"pattern {pattern.match_score:.2f} {said}"
    for gotcha in memory.known_gotchas:
        yield f"gotcha [{gotcha.tech}] {_titled(gotcha.title, gotcha.problem)}"
    for suggestion in understood.suggestions:
        yield (
            f"suggests {suggestion.confidence:.2f} {suggestion.approach} ({suggestion.evidence})"
        )
    for conflict in understood.conflicts:
        won, lost = conflict.winner, conflict.loser
        yield (
            f"conflict by {conflict.about}: {won.id} ({won.scope}, {won.arithmetic})"
            f" over {lost.id} ({lost.scope}, {lost.arithmetic})"
        )


def _titled(title: str, text: str) -> str:
    """Both, or the text alone where the title is no more than how it begins."""
    return text if text.startswith(title.rstrip("….")) else f"{title}: {text}"


def _named(parse: Parsed) -> str:
    names = [f"{entity.kind} {entity.value}" for entity in parse.entities]
    return f"; names {', '.join(names)}" if names else ""


_CLASSIFIERS = {
    "keyword": "keywords",
    "local": "the local classifier",
    "llm": "the language model",
    "hybrid": "several classifiers",
}


def _intent(classify: ClassifyResult) -> str:
    if classify.topics is UNSET:
        return "no search intent"
    topics, who = ", ".join(classify.topics) or "none", _CLASSIFIERS[str(classify.source)]
    return f"{classify.intent_type}, {classify.confidence:.0%} by {who}; topics {topics}"


def _candidates(inject: InjectStep, limit: int | None) -> Table:
    verdicts, uses = inject.verdicts, {use.id: use for use in inject.uses}
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for verdict in verdicts[:limit]:
        summary = Text(f"[{verdict.namespace}] {verdict.summary}")
        table.add_row(_mark(verdict.injected), summary, style="" if verdict.injected else "dim")
        table.add_row("", Text(_scores(verdict), style="dim"))
        if use := uses.get(verdict.memory_id):
            table.add_row("", Text(use_in_a_line(use), style="dim"))
    if limit is not None and len(verdicts) > limit:
        table.add_row("", Text(f"… and {len(verdicts) - limit} more", style="dim"))
    return table


def use_in_a_line(use: UseResult) -> str:
    """What became of a memory when it was shown, and where that puts its floor."""
    seen = [f"{kind.replace('_', ' ')} {count}" for kind, count in use.counts.items()]
    if not (use.shown or seen):
        return "never shown"
    shown = f"shown {counted(use.shown, 'time')} in {counted(use.sessions, 'session')}"
    told = ", ".join((shown, *seen))
    return (
        f"{told}: helps with a probability of {use.mean:.0%} ({use.low:.0%}–{use.high:.0%}), "
        f"which moves the floor by {use.floor_shift:+.2f}"
    )


def _sessions(verdicts: Sequence[SessionVerdict]) -> Table:
    """What became of each session that was found."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for verdict in verdicts:
        told = f"session {verdict.session} of {_day(verdict.began_at)}: {verdict.why}"
        table.add_row(_mark(verdict.quoted), Text(told), style="" if verdict.quoted else "dim")
    return table


_ANSWERED = {
    "shown": "from {source}",
    "already_shown": "already shown in this session",
    "unknown": "its files do not tell",
    "no_room": "does not fit into what is left of the budget",
}


def _answered(answer: ProjectAnswer) -> Text:
    """What became of a question about the project itself."""
    mark = "✓" if answer.outcome == "shown" else "·"
    why = _ANSWERED[answer.outcome].format(source=answer.source or "its files")
    return Text(f"{mark} project's {answer.fact.replace('_', ' ')}: {why}")


def _scores(verdict: Verdict) -> str:
    parts = " · ".join(
        f"{name} {getattr(verdict, name):.2f}" for name in ("text", "late", "vector")
    )
    if verdict.by_words is not None:
        parts += f" → first stage {verdict.by_words:.2f}"
    return (
        f"{parts} → relevance {verdict.relevance:.2f} × weight {verdict.weight:.1f}"
        f" = {verdict.score:.2f}{', at most 1' if verdict.score == 1.0 else ''}: {verdict.why}"
    )


def _outcome(answer: ExplainResult) -> RenderableType:
    reason = answer.inject.abstained or ""
    told = f"nothing is injected: {why_nothing(reason)} ({reason})"
    nothing = Text(told, style="yellow")
    if not answer.context:
        return nothing
    context = Panel(
        Text(answer.context),
        title=f"injected, {counted(answer.inject.tokens, 'token')}",
        title_align="left",
        border_style="dim",
    )
    return Group(nothing, context) if answer.inject.abstained else context


def show_trace(trace: Trace) -> None:
    """Print one trace as a page."""
    Console().print(trace_page(trace))


def trace_page(trace: Trace) -> RenderableType:
    """One trace, a row a stage."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for name, told in _rows(trace):
        table.add_row(name, Text(told))
    return Panel(
        table,
        title=Text.assemble((trace.id, "bold"), f" {local_time(trace.time)}"),
        subtitle=Text(trace.project),
        title_align="left",
        subtitle_align="right",
    )


def _rows(trace: Trace) -> Iterator[tuple[str, str]]:
    prompt, inject = trace.prompt, trace.inject
    if trace.text:
        yield "text", trace.text.prompt
    yield "prompt", f"{prompt.characters} characters, sha256 {prompt.sha256}"
    named = ", ".join(f"{count} {kind}" for kind, count in prompt.entities.items())
    work = ", ".join(dict.fromkeys(prompt.work)).lower()
    yield "parse", f"work {work or 'none'}; names {named or 'nothing'}"
    yield "enrich", _enriched(trace.enrich)
    for conflict in trace.enrich.conflicts:
        won, lost = conflict.winner, conflict.loser
        yield "", f"{won.id} ({won.score}) over {lost.id} ({lost.score})"
    yield "classify", _classified(trace.classify)
    reason = inject.abstained and why_nothing(inject.abstained)
    yield "inject", reason or f"{len(inject.memories)}, {counted(inject.tokens, 'token')}"
    for verdict in inject.verdicts:
        yield "", f"{'✓' if verdict.injected else '·'} {verdict.id} {verdict.why}"
    for told in inject.sessions:
        mark = "✓" if told.quoted else "·"
        yield "", f"{mark} session {told.id} of {_day(told.began_at)}: {told.why}"
    for fact, outcome in inject.answers.items():
        yield "", f"project's {fact.replace('_', ' ')} {outcome.replace('_', ' ')}"
    yield "took", timings(trace.stages_ms)


def _enriched(found: TracedEnrichment) -> str:
    names = ("similar_tasks", "patterns", "gotchas", "resolved", "conflicts")
    counts = {name.replace("_", " "): len(getattr(found, name)) for name in names}
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join([counted(found.candidates, "candidate"), *parts, *found.degraded])


def _classified(told: TracedIntent) -> str:
    votes = ", ".join(
        f"{vote.racer} {vote.intent_type or vote.missing or 'none'} in {vote.took_ms} ms"
        for vote in told.votes
    )
    if told.intent_type is None:
        return f"no search intent ({votes})"
    return f"{told.intent_type}, {told.confidence:.0%} by {told.source} ({votes})"
