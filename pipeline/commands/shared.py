"""What several commands share: options, the way to the daemon, and output."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, time
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import msgspec
from msgspec import UnsetType

from ...bus.triggers import KINDS, MOST_TRIGGERS, Trigger, check_triggers
from ...bus.values import MOST_QUESTIONS
from ...config.load import Loaded, SettingsError, load_settings
from ...config.paths import Paths, find_paths
from ..cli.client import CALL_S, CallFailed, Client, DaemonDiffers, DaemonHung, DaemonUnreachable, T

# Terminals and man pages write some others, and file separators stand in logs.
_NO_TEXT = frozenset(map(chr, (*range(0x07), *range(0x0E, 0x1B), 0x7F)))

_UNREADABLE = 10
"""A text has fewer unreadable characters than one in so many."""

MAX_LISTED = 1000
"""How many memories or sessions the daemon gives in one answer."""

F = TypeVar("F", bound=Callable[..., Any])
Failure = CallFailed | DaemonUnreachable


def json_option(command: F) -> F:
    """``--json``, which ``is_json`` tells to whatever prints the answer."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Print JSON for machines.",
    )(command)


def daemon_options(command: F) -> F:
    """``--project DIR``, on whose behalf the daemon is asked, and ``--json``."""
    return click.option(
        "--project",
        type=click.Path(file_okay=False, path_type=Path),
        expose_value=False,
        callback=_remember,
        help="The project's directory [default: CLAUDE_PROJECT_DIR, else the current directory].",
    )(json_option(command))


def _remember(context: click.Context, option: click.Parameter, value: object) -> None:
    """Keep an option for the whole command, so that no function has to hand it on.

    One that is not given leaves what was given to the group of the command.
    """
    if value:
        context.meta[f"subcog.{option.name}"] = value


def is_json() -> bool:
    """Whether the command was given ``--json``."""
    return bool(click.get_current_context().meta.get("subcog.as_json"))


def project_option() -> Path | None:
    """What the command was given as ``--project``."""
    chosen: Path | None = click.get_current_context().meta.get("subcog.project")
    return chosen


def project_folder() -> Path:
    """The directory of the project that the command is for."""
    return Path(project_option() or os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()).absolute()


def limit_option(default: int, most: int, text: str) -> Callable[[F], F]:
    """``--limit``, checked here: the daemon's decoder would refuse it in words of its own."""
    kind = click.IntRange(1, most)
    return click.option("--limit", type=kind, default=default, show_default=True, help=text)


class _TriggerType(click.ParamType[Trigger]):
    """A trigger, as ``run: npm install`` or as JSON."""

    name = "trigger"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Trigger:
        if isinstance(value, Trigger):
            return value
        kind, colon, text = value.partition(":")
        try:
            if value.lstrip().startswith("{"):
                trigger = _decoded(value)
            elif colon and kind.strip() in KINDS:
                trigger = Trigger(**{kind.strip(): text.strip()})
            else:
                raise ValueError('it is "run: …", "write: …", "edit: …", "order: …" or JSON')
            check_triggers([trigger])
        except (ValueError, msgspec.DecodeError) as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        return trigger


def _decoded(text: str) -> Trigger:
    given = msgspec.json.decode(text, type=dict[str, Any])
    known = [field.encode_name for field in msgspec.structs.fields(Trigger)]
    if unknown := given.keys() - set(known):
        raise ValueError(f"there is no {', '.join(sorted(unknown))}, only {', '.join(known)}")
    return msgspec.convert(given, Trigger)


def cue_options(more: str = "") -> Callable[[F], F]:
    """``--question`` and ``--trigger``, each as often as there are some."""
    question = f"A question that it answers, in other words than its own; up to {MOST_QUESTIONS}."
    trigger = (
        "What it is to be shown before: 'run: WORDS' of a command, 'write: TEXT' in a file, "
        "'edit: GLOB', 'order: WORK' that somebody may order, or JSON with \"in\" and \"unless\" "
        f"too; up to {MOST_TRIGGERS}."
    )

    def decorate(command: F) -> F:
        for name, plural, metavar, kind, about in (
            ("--trigger", "triggers", "ACTION", _TriggerType(), trigger),
            ("--question", "questions", "TEXT", click.STRING, question),
        ):
            command = click.option(
                name, plural, metavar=metavar, type=kind, multiple=True, help=f"{about}{more}"
            )(command)
        return command

    return decorate


def scope_option(text: str) -> Callable[[F], F]:
    """``--scope``, whose memory something becomes."""
    kind = click.Choice(["project", "user", "org"])
    return click.option("--scope", type=kind, default="project", show_default=True, help=text)


def our_paths() -> Paths:
    """The directories of whoever runs this process."""
    return find_paths(os.environ)


def our_settings(*, warn: bool = True) -> Loaded:
    """The settings in force here; a warning is shown once a command. Raises ``SettingsError``."""
    loaded = load_settings(our_paths().config_file, os.environ)
    told: dict[str, Any] = click.get_current_context().find_root().meta
    for warning in loaded.warnings if warn else ():
        if not told.setdefault(f"subcog: {warning}", False):
            told[f"subcog: {warning}"] = True
            click.echo(f"subcog: warning: {warning}", err=True)
    return loaded


@contextmanager
def daemon(project: Path | None = None, *, strict: bool = True) -> Iterator[Client]:
    """A client of the daemon on behalf of ``project``, else of the one that the command is for.

    The settings are checked first. Unless that is ``strict``, what is wrong is only said.
    """
    try:
        our_settings()
    except SettingsError as error:
        if strict:
            raise
        click.echo(f"subcog: warning: {error}", err=True)
    project = project or project_option()
    if project is not None and not project.is_dir():
        raise click.BadParameter(f"{project} is not a directory", param_hint="--project")
    chosen = str(project or os.environ.get("CLAUDE_PROJECT_DIR") or "")
    fields = {
        "project": str(Path(chosen).absolute()) if chosen else "",
        "cwd": str(Path.cwd()),
        "client": "cli",
    }
    with closing(Client(our_paths(), fields)) as client:
        yield client


def call(name: str, kind: type[T], params: object = None, *, within_s: float = CALL_S) -> T:
    """The daemon's answer to the one call of a command. Raises like ``Client.call``."""
    with daemon() as client:
        return client.call(name, kind, params, within_s=within_s)


def call_if_running(name: str, kind: type[T], *, strict: bool = True) -> T | None:
    """The same of a daemon that runs already; None where none does.

    Raises ``DaemonHung`` and ``DaemonDiffers``. ``strict`` is as in ``daemon``: the
    settings that it started with may have changed since.
    """
    try:
        with daemon(strict=strict) as client:
            return client.call(name, kind, start=False)
    except (DaemonHung, DaemonDiffers):
        raise
    except DaemonUnreachable:
        return None


def somebody_is_there() -> bool:
    """Whether a question can be answered by a person."""
    return sys.stdin.isatty()


def ask(told: Iterable[str], question: str, yes: bool) -> None:
    """Say what would happen, and go on only where somebody agrees."""
    if yes:
        return
    if not somebody_is_there():
        raise click.UsageError("no terminal to ask on: preview with --dry-run, confirm with --yes")
    for line in told:
        click.echo(line, err=True)
    confirm(question)


def confirm(question: str) -> None:
    """Go on only where somebody agrees. Raises ``UsageError`` where nobody can answer."""
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort as error:
        if somebody_is_there() or not isinstance(error.__context__, EOFError):
            raise
        click.echo(err=True)  # the question still stands on its line
        raise click.UsageError("no terminal to ask on: confirm with --yes") from None
    if not agreed:
        click.echo("nothing was changed", err=True)
        raise click.Abort


@contextmanager
def until_interrupted(told: str) -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed since, so that what was begun can be ended and told.

    It is answered at once with ``told``, a line on standard error. A second time it interrupts as
    ever.
    """
    asked: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, _: object) -> None:
        asked.append(number)
        with suppress(OSError):  # past the stream, in whose midst this may be
            os.write(2, f"\n{told}\n".encode())
        signal.signal(signal.SIGINT, before)

    if before not in {None, signal.SIG_IGN}:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def standard_input() -> str:
    """All of standard input. Raises ``click.ClickException`` where that is no text.

    A text of another encoding is taken as far as it can be read, which has to be most of it.
    """
    text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    if text.count("\ufffd") * _UNREADABLE > len(text):
        raise click.ClickException("standard input is no text: it is not UTF-8")
    if not _NO_TEXT.isdisjoint(text):
        raise click.ClickException("standard input is no text: it has control characters")
    return text.replace("\r\n", "\n")


def show_json(value: object) -> None:
    """Print ``value`` as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2))


def printed_as_json(answer: object) -> bool:
    """Print ``answer`` as JSON where ``--json`` is given; else it is left to the caller."""
    if is_json():
        show_json(answer)
    return is_json()


def show(answer: object, lines: Iterable[str]) -> None:
    """Print ``answer`` as JSON, or the ``lines`` that people read."""
    if not printed_as_json(answer):
        for line in lines:
            click.echo(line)


def tell_unread(unread: str | UnsetType) -> None:
    """Say why there may be copies of the database that are not known, if that is so."""
    if unread:
        click.echo(f"subcog: {unread}", err=True)


def fail_midway(failure: Failure) -> NoReturn:
    """End the command, of which a part was done. What it printed as JSON has said why."""
    if not is_json():
        raise failure
    click.echo(f"subcog: {failure}", err=True)
    sys.exit(3 if isinstance(failure, DaemonUnreachable) else 1)


def by(author: str) -> str:
    """Who of the team wrote a memory, to be put behind it; nothing where it was written here."""
    return f"  by {author}" if author else ""


def shorten(text: str, width: int) -> str:
    """One line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def span(since: str | None, until: str | None) -> dict[str, datetime | None]:
    """The first moment of ``--since`` and the last of ``--until``; None where it is not given.

    Raises ``click.UsageError`` where the one is no date, or they are the wrong way round.
    """
    first = None if since is None else day(since, "--since")
    last = None if until is None else day(until, "--until", last=True)
    if first is not None and last is not None and last < first:
        raise click.UsageError("--until is before --since")
    return {"since": first, "until": last}


def day(text: str, hint: str, *, last: bool = False) -> datetime:
    """The first or ``last`` moment of a date, here. Raises ``click.BadParameter``."""
    try:
        named = datetime.strptime(text.strip(), "%Y-%m-%d").astimezone().date()
        # A day has 23 or 25 hours where the clocks change.
        return datetime.combine(named, time.max if last else time.min).astimezone()
    except (ValueError, OverflowError):  # it may be beyond all years in UTC
        raise click.BadParameter(f"{text!r} is no date (2027-01-31)", param_hint=hint) from None
