"""``help``: the documents in the terminal."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ...config.patterns import regex
from .shared import json_option, printed_as_json

FOLDER = Path(__file__).resolve().parents[2] / "docs"
# topic → its page in FOLDER, and what is in it
TOPICS = {
    "users": ("users.md", "keeping, finding, changing and forgetting memories"),
    "operators": ("operators.md", "directories, settings, metrics, backup, upgrade, trouble"),
    "team": ("team.md", "sharing memories with colleagues: joining, the server, what leaves"),
    "scale": ("scale.md", "what a team's memory costs, and how large it can become"),
    "mcp": ("mcp.md", "connecting a client, tools, resources, prompts"),
    "formats": ("formats.md", "JSON answers, hook output, wire format, import and export"),
    "security": ("security.md", "threats, the defence against each, and the gaps"),
    "quality": ("quality.md", "how good it is, on what nobody here wrote"),
    "performance": ("performance.md", "what a hook costs, and where a prompt's time goes"),
    "spec": ("spec.md", "what was asked for, where it is, and which test shows it"),
    "dependencies": ("dependencies.md", "why each package is here"),
    "settings": ("reference/settings.md", "every setting"),
    "commands": ("reference/commands.md", "every command"),
    "metrics": ("reference/metrics.md", "every metric"),
    "mcp-items": ("reference/mcp-items.md", "every tool, resource and prompt"),
    "events": ("reference/events.md", "every event and value"),
    "signals": ("reference/signals.md", "every signal"),
    "routes": ("reference/routes.md", "which stage consumes and produces which event"),
}
_COMMENT = regex(r"<!--.*?-->\n*", re.DOTALL)


@click.command()
@click.argument("topic", metavar="[TOPIC]", nargs=-1)
@json_option
def help_command(topic: tuple[str, ...]) -> None:
    """Show the document about TOPIC, or the help of a command.

    Without TOPIC the topics are listed. In a terminal it is rendered and paged; elsewhere it is
    printed as Markdown.
    """
    name = " ".join(topic).lower()
    if not topic:
        _list()
        return
    if name not in TOPICS:
        _show_command(topic)
        return
    text = page(name)
    if printed_as_json({"topic": name, "text": text}):
        return
    if sys.stdout is not None and sys.stdout.isatty():
        _show_paged(text)
    else:
        click.echo(text, nl=False)


def page(topic: str) -> str:
    """The page of a known topic, as Markdown without comments."""
    file, _ = TOPICS[topic]
    return _COMMENT.sub("", (FOLDER / file).read_text(encoding="utf-8"))


def _list() -> None:
    if printed_as_json([{"topic": name, "about": about} for name, (_, about) in TOPICS.items()]):
        return
    for topic, (_, about) in TOPICS.items():
        click.echo(f"{topic:<14}{about}")
    click.echo("\nsubcog help TOPIC shows a document; subcog help COMMAND shows a command's usage.")


def _show_command(names: Sequence[str]) -> None:
    """The help of a command, or of one in its group, as ``team join``.

    Raises ``BadParameter`` with what is nearest to an unknown name.
    """
    from ..cli.command_line import COMMANDS, cli

    name = " ".join(names)
    command: click.Command | None = cli
    context = click.Context(cli, info_name="subcog", **cli.context_settings)
    for each in names:
        command = command.get_command(context, each) if isinstance(command, click.Group) else None
        context = click.Context(command or cli, info_name=each, parent=context)
    if command is not None:
        text = command.get_help(context)
        if not printed_as_json({"command": name, "text": text}):
            click.echo(text)
        return
    near = difflib.get_close_matches(name.lower(), [*TOPICS, *COMMANDS], n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TOPICS)}"
    raise click.BadParameter(f"there is no topic {name}; {hint}", param_hint="TOPIC")


def _show_paged(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    # Without -R less shows the codes of colours as text.
    options = os.environ.setdefault("LESS", "-R")
    with console.pager(styles="R" in options):
        console.print(Markdown(text))
