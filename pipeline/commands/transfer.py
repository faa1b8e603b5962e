"""``import`` and ``export``: memories, many at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from ...bus.values import NAMESPACES
from .shared import daemon, json_option, project_option, show_json

BATCH = 200
PAGE = 500
MAX_LINE_BYTES = 4_000_000
_HEADING = re.compile(r"^#{1,3}\s+(?P<title>.+?)\s*#*$")
_NAMESPACE_NOTE = re.compile(r"^\[(?P<namespace>[a-z-]+)\]\s*(?P<rest>.*)$")


class Line(msgspec.Struct):
    """One line of a JSONL file; ``text`` and ``content`` mean the same."""

    content: str = ""
    text: str = ""
    namespace: str | None = None
    tags: tuple[str, ...] = ()


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be imported; import nothing.")
@project_option
@json_option
def import_command(file: Path, dry_run: bool, project: Path | None, as_json: bool) -> None:
    """Import memories from FILE: JSONL (one object a line, with "content") or Markdown.

    A Markdown file gives one memory a section. What is there already is merged, so an import can
    be repeated.
    """
    captures = list(_read(file))
    if dry_run:
        _report({"file": str(file), "found": len(captures), "imported": 0}, as_json)
        return
    outcomes: dict[str, int] = {}
    with (
        daemon(project) as client,
        click.progressbar(length=len(captures), label="importing", hidden=as_json) as bar,
    ):
        for batch in _batches(captures):
            answer = client.call("capture_many", {"captures": batch})
            for result in answer["results"]:
                outcomes[result["outcome"]] = outcomes.get(result["outcome"], 0) + 1
            bar.update(len(batch))
    imported = outcomes.get("stored", 0) + outcomes.get("merged", 0)
    _report({"file": str(file), "found": len(captures), "imported": imported} | outcomes, as_json)


def _report(counts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(counts)
    else:
        click.echo(", ".join(f"{name} {value}" for name, value in counts.items()))


def _batches(captures: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rest = iter(captures)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _read(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            yield from _sections(lines) if file.suffix in {".md", ".markdown"} else _objects(lines)
    except UnicodeDecodeError:
        raise click.ClickException(f"{file} is not UTF-8") from None


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = msgspec.json.decode(line, type=Line)
        except msgspec.DecodeError as error:
            raise click.ClickException(f"line {number}: {error}") from None
        content = item.content or item.text
        if not content.strip():
            raise click.ClickException(f"line {number}: no content")
        yield _capture(content, item.namespace, item.tags)


def _sections(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """One memory a heading: its title, and the text below it."""
    title, body = "", list[str]()
    for line in lines:
        if heading := _HEADING.match(line.rstrip()):
            yield from _section(title, body)
            title, body = heading["title"], []
        else:
            body.append(line)
    yield from _section(title, body)


def _section(title: str, body: list[str]) -> Iterator[dict[str, Any]]:
    namespace = None
    if (note := _NAMESPACE_NOTE.match(title)) and note["namespace"] in NAMESPACES:
        namespace, title = note["namespace"], note["rest"]
    text = "".join(body).strip()
    if text:
        yield _capture(f"{title}\n\n{text}" if title else text, namespace, ())


def _capture(text: str, namespace: str | None, tags: tuple[str, ...]) -> dict[str, Any]:
    return {"text": text, "namespace": namespace, "tags": tags, "hook": "import"}


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True
)
@project_option
@json_option
def export_command(form: str, project: Path | None, as_json: bool) -> None:
    """Write every memory that this project may read to standard output."""
    with daemon(project) as client:
        offset = 0
        while page := client.call("export", {"offset": offset, "limit": PAGE})["memories"]:
            for memory in page:
                click.echo(
                    msgspec.json.encode(memory).decode()
                    if form == "jsonl" or as_json
                    else _markdown(memory)
                )
            offset += len(page)


def _markdown(memory: dict[str, Any]) -> str:
    tags = f"\n\nTags: {', '.join(memory['tags'])}" if memory["tags"] else ""
    return f"## [{memory['namespace']}] {memory['summary']}\n\n{memory['content']}{tags}\n"
