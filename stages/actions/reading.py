"""What of an action matters: what it changes, what it runs, and whether it only looks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from msgspec.structs import replace

from ...bus.values import Action, Value
from ...config.patterns import regex
from ..shell.wrappers import Unwrapped, raw_words, reads_shell, sent_elsewhere, unwrapped
from ..text.lexicons import load_wordings
from ..text.paths import directories, seen_from, shortened, way_out
from ..text.unicode import one_line

SHELL_FORMS = load_wordings(Path(__file__).with_name("shell_forms.toml"))
"""What commands and files of commands look like."""

_SHELL = SHELL_FORMS["shell"].forms

MAX_LINES = 80
"""Of a longer change only the beginning is read."""

_MAX_WRAPPED = 4
_READ_CHARS = 6_000


_SHORT_RESOURCES = {
    "po": "pod", "deploy": "deployment", "svc": "service", "sts": "statefulset", "cm": "configmap",
    "ns": "namespace", "no": "node", "ing": "ingress", "ingresses": "ingress", "ingress": "ingress",
    "cj": "cronjob", "ds": "daemonset", "pvc": "persistentvolumeclaim",
}  # fmt: skip
_GIT = r"(?:(?:sudo|command) +|\w+=\S+ +)*git (?:-C \S+ )?"
_SENTENCE_END = regex(r"(?<=\w)[;,.]+\Z")
_SHORT_FLAGS = (
    (regex(rf"{_GIT}push\b"), regex(r"(?<= )-f(?= |\Z)"), "--force"),
    (regex(rf"{_GIT}push\b"), regex(r"(?<= )\+(?=\w)"), "--force "),
    (regex(r"docker(?: compose|-compose) "), regex(r"(?<= )--volumes(?= |\Z)"), "-v"),
    (regex(rf"{_GIT}commit\b"), regex(r"(?<= )-n(?= |\Z)"), "--no-verify"),
    (regex(r"dbt (?:run|build|seed)\b"), regex(r"(?<= )-f(?= |\Z)"), "--full-refresh"),
)


class ActionText(Value, frozen=True, kw_only=True):
    """An action, read.

    ``path`` is the first file, relative to the project where it is in it. ``added`` and ``removed``
    are the lines that a change of a file adds and takes away, ``commands`` the single commands of
    what is run; ``looks_only`` is whether none of them changes anything, ``is_existing`` whether
    the file has a text that is replaced. With ``is_ordered`` a file may be named without its
    folder. ``outside`` is the first folder outside of the project on the way to where it is done,
    "" for what is done in it. ``directories`` are where the commands are run, one each, seen from
    the first of ``tops``, the project's working trees; empty where that is not known. ``messages``
    are those of its commits, as far as they are written in the commands.
    """

    path: str = ""
    other_paths: tuple[str, ...] = ()
    purpose: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    looks_only: bool = False
    is_existing: bool = False
    is_ordered: bool = False
    outside: str = ""
    directories: tuple[str, ...] = ()
    tops: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    @property
    def placed(self) -> tuple[tuple[str, str], ...]:
        """Each command, and where it is run."""
        known = self.directories or ("",) * len(self.commands)
        return tuple(zip(self.commands, known, strict=True))

    def seen(self, path: str, directory: str) -> str:
        """The ``path`` that a command in ``directory`` names, as ``seen_from`` gives it."""
        return seen_from(self.tops, path, directory)


def read_parts(action: Action, *, tops: tuple[str, ...] = ()) -> tuple[ActionText, ...]:
    """What ``action`` does in the project, and what its commands do in each place outside of it."""
    read = read_action(action, tops=tops)
    if not any(map(way_out, read.directories)):
        return (read,)
    placed = sorted(read.placed, key=lambda one: way_out(one[1]))
    return tuple(
        replace(
            read,
            outside=outside,
            commands=commands,
            directories=folders,
            looks_only=not read.added and all(map(looks, commands)),
        )
        for outside, some in groupby(placed, key=lambda one: way_out(one[1]))
        for commands, folders in [tuple(zip(*some, strict=True))]
    )


def read_action(action: Action, *, tops: tuple[str, ...] = ()) -> ActionText:
    """Read ``action`` of a project whose working trees these are, the one worked in first."""
    folder = seen_from(tops, action.directory)
    shell, here = without_documents(action.command[:_READ_CHARS])
    commands = tuple(_commands(shell))
    paths = tuple(seen_from(tops, path, folder) for path in action.paths)
    removed, added = _changed(action.replaced, "\n".join(filter(None, (action.written, here))))
    return ActionText(
        path=shortened(paths[0]) if paths else "",
        other_paths=tuple(map(shortened, paths[1:])),
        purpose=one_line(action.purpose),
        added=added,
        removed=removed,
        commands=commands,
        looks_only=bool(commands) and not added and all(map(looks, commands)),
        is_existing=bool(action.replaced),
        outside=way_out(paths[0]) if paths else "",
        directories=tuple(directories(commands, folder, tops)),
        tops=tops,
        messages=tuple(_messages(action.command[:_READ_CHARS])),
    )


def _messages(command: str) -> Iterator[str]:
    for found in _SHELL["commit_message"].finditer(command):
        here = (found["here"] or "").split(f"\n{found['word']}")[0]
        yield here or found["double"] or found["single"]


def without_documents(command: str) -> tuple[str, str]:
    """A shell line without the texts that it hands to its commands, and these texts.

    What it hands to a shell is more of its commands.
    """
    if "<<" not in command:
        return command, ""
    texts: list[str] = []

    def kept(found: re.Match[str]) -> str:
        before = re.split(r"\n|&&|;|\|", command[: found.start()])[-1].strip()
        if reads_shell(before):
            return f"{found['line']}\n{found['text']}"
        if not _SHELL["takes_message"].match(before):  # what is only said of a change
            texts.append(found["text"])
        return found["line"]

    return _SHELL["here_document"].sub(kept, command), "\n".join(texts)


def without_messages(command: str) -> str:
    """The single ``command`` without what it only says of a change, or takes away from a file."""
    if _SHELL["takes_message"].match(command):
        return _SHELL["message"].sub("", command)
    if _SHELL["edits_text"].match(command):
        return _SHELL["taken_away"].sub("", command)
    return command


def _commands(command: str) -> Iterator[str]:
    lines = map(one_line, _separated(command.replace("\\\n", " ")))
    return map(_spelled_out, islice(filter(None, lines), MAX_LINES))


def _separated(line: str) -> Iterator[str]:
    """The commands of a shell line; what stands in quotes is not taken apart."""
    begin = 0
    for found in _SHELL["separator"].finditer(line):
        if found["quoted"] is None:
            yield line[begin : found.start()]
            begin = found.end()
    yield line[begin:]


def _spelled_out(command: str) -> str:
    """``command`` with the long names of the short flags that rules are most often about."""
    for of, short, long in _SHORT_FLAGS:
        if of.match(command):
            command = short.sub(long, command)
    return command


def plain_commands(command: str) -> Iterator[str]:
    """``command`` without what only runs it, and the commands that it runs otherwise if any."""
    return _plain(_run_by(command, _MAX_WRAPPED))


def command_forms(command: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ``plain_commands``, and the same with what sets up their environment, and with ``sudo``.

    A rule may be about the latter: "never `sudo npm install`", "never `nx run web:deploy`".
    """
    runs = tuple(_run_by(command, _MAX_WRAPPED))
    return tuple(_plain(runs)), tuple(_wrapped(runs))


def _plain(runs: Iterable[Unwrapped]) -> Iterator[str]:
    for run in runs:
        plain = as_usual(_spelled_out(" ".join(run.words)))
        yield plain
        if django := _SHELL["django"].match(plain):
            yield from (f"manage.py {django['rest']}", django["rest"])
        if sub_program := _SHELL["sub_program"].match(plain):
            yield sub_program["rest"]


def _wrapped(runs: Iterable[Unwrapped]) -> Iterator[str]:
    for run in runs:
        for at in range(len(run.runners)):
            yield as_usual(_spelled_out(" ".join((*run.runners[at:], *run.words))))
        if run.as_root:
            yield _spelled_out(" ".join(("sudo", *run.runners, *run.words)))


def _run_by(command: str, most: int) -> Iterator[Unwrapped]:
    """``command`` itself, and what it hands to a shell, a container or another machine."""
    command = _SHELL["substituted"].sub("", command).strip("(){} ")
    run = unwrapped(raw_words(_SENTENCE_END.sub("", command)))
    yield run
    inner = run.script or sent_elsewhere(run.words)
    for one in _separated(_unquoted(inner)) if inner and most else ():
        yield from _run_by(one, most - 1)
    for given in _SHELL["container_command"].findall(command) if most else ():
        words = _SHELL["quoted_words"].sub(" ", given).split()
        yield from _run_by(" ".join(words), most - 1)


def _unquoted(text: str) -> str:
    """``text`` without the quotes around all of it."""
    return text[1:-1] if text[:1] in {"'", '"'} and text[-1:] == text[:1] else text


def as_usual(command: str) -> str:
    """``command`` with the usual names of its program and of what ``kubectl`` is about."""
    command = _SHELL["same_program"].sub(_usual_name, command, count=1)
    if command.startswith("kubectl "):
        return _SHELL["resource"].sub(_usual_resource, command, count=1).rstrip()
    return command


def _usual_name(program: re.Match[str]) -> str:
    return {"pip3": "pip", "docker-compose": "docker compose"}.get(program[0], "")


def _usual_resource(found: re.Match[str]) -> str:
    named = found[1]
    return f"{_SHORT_RESOURCES.get(named, named.removesuffix('s'))} "


def looks(command: str) -> bool:
    """Whether the single ``command`` only looks, and changes nothing."""
    command = " ".join(unwrapped(raw_words(command)).words)
    return _SHELL["looks"].match(command) is not None and ">" not in without_redirects(command)


def without_redirects(command: str) -> str:
    """``command`` without what sends its output to nowhere, or one output to the other."""
    return _SHELL["to_nowhere"].sub("", command)


def _changed(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines that only ``before`` has, and those that only ``after`` has."""
    old, new = _lines(before), _lines(after)
    if not old:
        return (), tuple(new)
    removed: list[str] = []
    added: list[str] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += old[i:j]
            added += new[k:m]
    return tuple(removed), tuple(added)


def _lines(text: str) -> Sequence[str]:
    lines = (line.strip() for line in text[:_READ_CHARS].splitlines()[:MAX_LINES])
    return [line for line in lines if line]


CI_FILE = _SHELL["ci_file"]
"""A file of commands that nobody runs by hand."""


def script_commands(path: str, lines: Sequence[str]) -> Iterator[str]:
    """The single commands of ``lines`` of the file at ``path``, if such a file holds commands."""
    if not _SHELL["script"].search(path):
        return
    if path.endswith(".json"):
        lines = _SHELL["package_script"].findall("\n".join(lines))
    for line in lines:
        if line.startswith("#"):
            continue
        before = _SHELL["before_command"].match(line)
        command = line[before.end() :] if before else line
        if command[:1] in '["' and command.rstrip(",")[-1:] in '"]':
            command = _SHELL["quoted_words"].sub(" ", command)
        yield from _commands(command)
