"""Renders the reference pages from the code: settings, commands, metrics, MCP, events, routes.

``python -m tools.reference --write`` rewrites them and the diagram in
ARCHITECTURE.md; without ``--write`` it names the pages that are out of date, and exits 1 if there
are any. A test does the same.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import msgspec
import msgspec.inspect as kinds

from subcog.bus import enrichment, events, prompts, signals, values
from subcog.config.load import DEFAULTS, load_settings, variable
from subcog.config.settings import Settings
from subcog.pipeline.app.routes import ENTRANCES, EXITS, ROUTES, diagram
from subcog.pipeline.cli.command_line import COMMANDS, cli
from subcog.sinks.telemetry.metrics import Gauge, Metrics

from .mcp_page import code as _code
from .mcp_page import mcp_page
from .mcp_page import table as _table

HOUSE = Path(__file__).resolve().parents[1]
FOLDER = HOUSE / "docs" / "reference"
ARCHITECTURE = HOUSE / "ARCHITECTURE.md"
NOTE = "<!-- Made from the code: python -m tools.reference --write -->"
_DIAGRAM = re.compile(r"(?<=<!-- routes -->\n).*?(?=<!-- /routes -->)", re.DOTALL)
_SECTION = re.compile(r"\[([\w.]+)\]$")
_SETTING = re.compile(r"([\w-]+) = ")


def pages() -> dict[str, str]:
    """Every reference page: its file name in ``docs/reference`` and its whole text."""
    bodies = {
        "settings.md": ("Settings", settings_page()),
        "commands.md": ("Commands", commands_page()),
        "metrics.md": ("Metrics", metrics_page()),
        "mcp-items.md": ("MCP tools, resources and prompts", mcp_page()),
        "signals.md": ("Signals", signals_page()),
        "events.md": ("Events", events_page()),
        "routes.md": ("Routes", routes_page()),
    }
    index = [f"- [{title}]({name})" for name, (title, _) in bodies.items()]
    bodies["README.md"] = ("Reference", ["These pages are made from the code.", "", *index])
    return {
        name: "\n".join([f"# {title}", "", NOTE, "", *lines]).rstrip() + "\n"
        for name, (title, lines) in bodies.items()
    }


def with_diagram(text: str) -> str:
    """``text`` with the route diagram of the code between its two marks."""
    drawn = f"```mermaid\n{diagram()}\n```\n"
    return _DIAGRAM.sub(lambda _: drawn, text)


def _prose(docstring: str | None) -> str:
    return inspect.cleandoc(docstring or "").replace("``", "`")


# --- settings -------------------------------------------------------------------------------------


def settings_page() -> list[str]:
    """Each setting with its default, what is allowed, its variable, and the comment above it."""
    defaults = {one.key: one.value for one in load_settings(Path("/nonexistent"), {}).origins}
    lines = [
        "Set them in `config.toml` in the configuration directory, or by environment variable.",
        "`[hook]` settings are accepted without `SUBCOG_` as well. `subcog config` shows each",
        "value in force and where it came from. The namespaces under `search_intent.weights` that",
        "are not listed count 1.0 and can be added.",
    ]
    for section, group in groupby(_explained(), lambda explained: _section(explained[0])):
        rows, before = [], ""
        for key, about in group:
            default = _code(msgspec.json.encode(defaults[key]).decode())
            meaning, before = "as above" if about == before else about, about
            rows.append((_code(key), default, _allowed(key), _code(variable(key)), meaning))
        head = ("setting", "default", "allowed", "variable", "meaning")
        lines += ["", f"## {section}", "", *_table(head, rows)]
    return lines


def _section(key: str) -> str:
    section = key.rpartition(".")[0]
    return section.rpartition(".")[0] if ".weights." in section else section


def _explained() -> Iterator[tuple[str, str]]:
    """Each key of the file of defaults with the comment that stands above it or its section.

    A comment holds for the keys below it until the next one, or a section with one of its own.
    """
    section, comment, fresh = "", list[str](), True
    for line in DEFAULTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            comment = [] if fresh else comment
            comment.append(line.removeprefix("#").strip())
            fresh = False
            continue
        fresh = True
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _SETTING.match(line):
            yield f"{section}.{found[1]}", " ".join(comment)


def _allowed(key: str) -> str:
    """What values ``key`` takes, from the type of its field."""
    kind = kinds.type_info(Settings)
    for name in key.split("."):
        if isinstance(kind, kinds.StructType):
            kind = next(field.type for field in kind.fields if field.encode_name == name)
        elif isinstance(kind, kinds.DictType):
            kind = kind.value_type
    return _words(kind)


def _words(kind: kinds.Type) -> str:
    if isinstance(kind, kinds.LiteralType):
        return ", ".join(_code(value) for value in kind.values)
    if isinstance(kind, kinds.BoolType):
        return "true or false"
    if isinstance(kind, (kinds.IntType, kinds.FloatType)):
        name = "whole number" if isinstance(kind, kinds.IntType) else "number"
        bounds = [
            f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
            for sign, bound in (("above", kind.gt), ("from", kind.ge), ("to", kind.le))
            if bound is not None
        ]
        return " ".join([name, *bounds])
    return "text"


# --- commands -------------------------------------------------------------------------------------


def commands_page() -> list[str]:
    """Each command with its help, arguments and options."""
    lines = [
        "Each command has `--help`. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 no daemon."
    ]
    with click.Context(cli, info_name="subcog") as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            if command is not None:
                lines += _command(f"subcog {name}", command)
    return lines


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    usage = [name, *(_argument(one) for one in arguments)]
    yield from ("", f"## {name}", "", _code(" ".join(usage)), "", _prose(command.help))
    options = [one for one in command.params if isinstance(one, click.Option)]
    if options:
        yield ""
        yield from _table(("option", "meaning"), map(_option, options))
    if isinstance(command, click.Group):
        for sub, inner in sorted(command.commands.items()):
            yield from _command(f"{name} {sub}", inner)


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _option(option: click.Option) -> tuple[str, str]:
    value = ""
    if not option.is_flag:
        choice = isinstance(option.type, click.Choice)
        value = " …" if choice else f" {option.type.name.upper()}"
    about = [option.help or ""]
    if isinstance(option.type, click.Choice) and option.metavar is None:
        about.append(f"One of {', '.join(map(str, option.type.choices))}.")
    if option.show_default and not option.is_flag:
        about.append(f"Default: {option.default}.")
    return _code(option.opts[0] + value), " ".join(filter(None, about))


# --- metrics and signals --------------------------------------------------------------------------


def metrics_page() -> list[str]:
    """Each metric with its kind and labels, as a scrape shows them."""
    gauges = dict(_gauges())
    metrics = Metrics(version="x", gauges=lambda: gauges)
    text = metrics.expose().decode()
    labels = metrics.labels() | {name: gauge[2:] for name, gauge in gauges.items()}
    abouts = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    rows = [
        (
            _code(name),
            kind,
            ", ".join(map(_code, labels.get(name.removesuffix("_total"), ()))),
            abouts[name],
        )
        for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
        if name.startswith("subcog_") and not name.endswith("_created")
    ]
    lines = [
        "`subcog status` shows the address. No label carries text of prompts or memories. On Linux",
        "there are also the usual `process_` metrics: memory, files, CPU time, time of start.",
        "`docs/operators.md` says what the reasons and outcomes mean.",
        "",
    ]
    return [*lines, *_table(("metric", "kind", "labels", "meaning"), rows)]


def _gauges() -> Iterator[tuple[str, Gauge]]:
    """What the daemon's parts give to be read at each scrape.

    From the source, as ``{"subcog_name": (about, value)}`` or ``(about, values, label)``: to call
    it takes a daemon that runs.
    """
    for file in sorted((HOUSE / "pipeline").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "subcog_" not in source:
            continue
        tree = ast.parse(source)
        texts = {
            ast.unparse(node.targets[0]): node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        for key, (first, *rest) in _pairs(tree):
            about = str(texts[first.id] if isinstance(first, ast.Name) else _text(first))
            yield key, (about, {}, _text(rest[1])) if len(rest) > 1 else (about, 0.0)


def _pairs(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(value, ast.Tuple) and (name := _text(key)).startswith("subcog_"):
                    yield name, value.elts


def _text(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def signals_page() -> list[str]:
    """Each signal with what it tells."""
    lines = [
        "Signals may be watched and decide nothing. The sender is the name of the stage or sink.",
        "",
    ]
    rows = ((_code(signal.name), signal.__doc__ or "") for signal in signals.ALL)
    return [*lines, *_table(("signal", "when, and with which facts"), rows)]


# --- events and routes ----------------------------------------------------------------------------


def events_page() -> list[str]:
    """Each event with its fields, then the values that events carry."""
    lines = ["An event is a fact in the past tense. Its topic is its type."]
    for event in (one for one in _structs(events, events.Event) if one is not events.AgentEvent):
        lines += _struct(event, f"{event.__name__} · `{event.__struct_config__.tag}`")
    lines += ["", "# Values that events carry"]
    modules = (values, prompts, enrichment)
    carried = [one for module in modules for one in _structs(module, values.Value)]
    for value in (values.Scope, values.CleanText, values.Encoding, *carried):
        lines += _struct(value, value.__name__)
    return lines


def _structs(module: Any, base: type) -> list[Any]:
    """The structs of ``module`` that are ``base``, in the order in which they are written."""
    return [
        one
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, base)
        and one is not base
        and one.__module__ == module.__name__
    ]


def _struct(struct: Any, title: str) -> Iterator[str]:
    yield from ("", f"## {title}", "", _prose(struct.__doc__), "")
    every = [(name, kind) for one in reversed(struct.__mro__) for name, kind in _fields(one)]
    yield from _table(("field", "type"), ((_code(name), _code(kind)) for name, kind in every))


def _fields(struct: type) -> Iterator[tuple[str, str]]:
    for name, kind in inspect.get_annotations(struct).items():
        if not name.startswith("_"):
            yield name, str(kind)


def routes_page() -> list[str]:
    """The map: who hears what, and says what."""
    rows = [
        (
            _code(route.stage),
            route.consumes.__name__,
            ", ".join(event.__name__ for event in route.produces),
            ", ".join(event.__name__ for event in route.publishes_during),
            route.about,
        )
        for route in ROUTES
    ]
    return [
        f"From outside come {_names(ENTRANCES)}; to the outside go {_names(EXITS)}.",
        "",
        *_table(("stage", "consumes", "produces", "publishes during", "what it does"), rows),
        "",
        f"```mermaid\n{diagram()}\n```",
    ]


def _names(some: Iterable[type]) -> str:
    return ", ".join(one.__name__ for one in some)


# --- the files ------------------------------------------------------------------------------------


def documents() -> dict[Path, str]:
    """Every file made from the code, whole or in part, with its text as it should be."""
    made = {FOLDER / name: text for name, text in pages().items()}
    return made | {ARCHITECTURE: with_diagram(ARCHITECTURE.read_text(encoding="utf-8"))}


def stale(made: dict[Path, str]) -> list[Path]:
    """The files that are not as ``made`` has them, and those in the folder that nothing makes."""
    wrong = [file for file, text in made.items() if not file.is_file() or file.read_text() != text]
    return wrong + [file for file in FOLDER.glob("*") if file not in made]


def main() -> None:
    """Write the pages, or say which are out of date."""
    if "--write" in sys.argv[1:]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for file, text in documents().items():
            file.write_text(text, encoding="utf-8")
    elif wrong := stale(documents()):
        sys.exit("\n".join(f"out of date: {file.relative_to(HOUSE)}" for file in wrong))


if __name__ == "__main__":
    main()
