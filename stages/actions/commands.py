"""Takes a shell line apart: the commands in it that matter, and the shape of each.

Nothing is run or expanded, and what cannot be told for certain is left out: a line with a loop, a
substitution or a here-document has no command that matters.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Value
from ...config.patterns import regex
from ..shell.invocations import INTERPRETERS
from ..shell.wrappers import Unwrapped, unwrapped
from .reading import looks, without_documents

MAX_CHARS = 2_000
"""A longer line is not read: it holds a program, not a command."""

_MAX_COMMANDS = 32
_OPERATORS = ";|&<>()\n"
_OPAQUE = regex(r"\$\(|`|<<|<\(|>\(|[\x00-\x08\x0e-\x1f\x7f]")
_TO_NOWHERE = regex(r"(?<=\s)[012]>(?:&[012-]|>?[ \t]*[\w./-]+)")
_COMMENT = regex(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_KEYWORDS = frozenset(
    "for while until if then else elif fi do done case esac function select { } ! [[ coproc".split()
)
_NO_COMMANDS = frozenset("for case esac select function done fi } [[".split())
_SUBSTITUTION = regex(r"(?:[A-Za-z_]\w*=)?\"?\$\(|`|[<>]\(")
_QUOTED_SUBSTITUTION = regex(r'"\$\(([^()"]*)\)[^"$]*"')
_ASSIGNED = regex(r"[A-Za-z_]\w*\+?=")
_USUAL = regex(r"\A(?:\S*/)?python[\d.]*(?= |\Z)")
_NUMBER = regex(r"[+-]?\d+(?:[.,:]\d+)*[A-Za-z%]{0,3}")
_SHORT_WITH_NUMBER = regex(r"(-[A-Za-z])=?(\d+)")
_LONG_WITH_VALUE = regex(r"(--?[A-Za-z][\w.-]*)=(.*)", re.DOTALL)
_FLAG = regex(r"--?[A-Za-z][\w.:-]*")
_HASH = regex(r"(?=[a-f]*\d)[0-9a-f]{7,64}|[\w-]*\d[\w-]{24,}")
_FILE_NAME = regex(r"[\w.@+-]*\.[A-Za-z]\w{0,7}|\.{1,2}|~")
_DIGITS = regex(r"\d+(?:\.\d+)*")
_NEEDS_QUOTES = regex(r"[\s'\"\\;|&<>()#]")
_MOST_WORD_CHARS = 60

_ADD_NOTHING = frozenset(
    "cd pushd popd echo printf true : export set unset source . sleep pwd shopt alias ulimit umask"
    " wait clear".split()
)
# Of those, what lasts in a shell that goes on.
_PREPARE = frozenset("popd export set unset source . shopt alias ulimit umask".split())

# Options that change what is printed, and nothing that decides whether a command passes.
_REPORTS = regex(
    r"--(?:verbose|quiet|silent|colou?r|no-colou?r|tb|no-header|no-summary|durations|maxfail"
    r"|reporter|progress|no-progress|log-?level|exitfirst|capture|bail)"
)
_REPORTS_SHORTLY = regex(r"-(?:v+|q+)")
_REPORTS_OF_TESTS = regex(r"-[vqsx]+|-r\w+")
_TAKES_SHORT = frozenset(
    "pytest py.test tox nox cargo go npm pnpm yarn pip pip3 ruff mypy jest vitest make mvn gradle"
    " gradlew".split()
)


class Unit(Struct, frozen=True):
    """A part of a command that may make the difference.

    ``kind`` is env, runner, program, flag or word; ``value`` is a flag's or variable's.
    """

    kind: str
    name: str
    value: str = ""

    @property
    def is_sourced(self) -> bool:
        """Whether it is a file that is sourced rather than a variable."""
        return self.kind == "env" and self.name.startswith("source ")

    def __str__(self) -> str:
        if self.kind == "env":
            return self.name if self.is_sourced else f"{self.name}={quoted(self.value)}"
        if self.kind == "runner":
            return self.name
        joint = "=" if self.kind == "flag" and self.name.startswith("--") else " "
        return f"{self.name}{joint}{quoted(self.value)}" if self.value else quoted(self.name)


class Command(Value, frozen=True, kw_only=True, dict=True):
    """One command. ``text`` is how to write it; ``directory`` is where a ``cd`` before it went.

    ``program`` is a bare name; ``units`` are all parts in their order, but for options that only
    change what is printed.
    """

    text: str
    directory: str = ""
    program: str
    units: tuple[Unit, ...]
    looks_only: bool = False

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What follows the program and is no option, in order."""
        return tuple(unit.name for unit in self.units if unit.kind == "word")

    @property
    def shape(self) -> str:
        """Program, subcommands and options; what is only a value is ``*``.

        Variables, ``sudo`` and directories are no part of it.
        """
        runners = [u.name for u in self.units if u.kind == "runner" and u.name != "sudo"]
        return " ".join((*(_USUAL.sub("python", name) for name in runners), self.bare_shape))

    @cached_property
    def bare_shape(self) -> str:
        """Its shape without what runs it."""
        flags = [u.name + (" *" if u.value else "") for u in self.units if u.kind == "flag"]
        words = [_generic(word) for word in self.words]
        kept = [word for at, word in enumerate(words) if word != "*" or words[at - 1 : at] != ["*"]]
        return " ".join((self.program, *kept, *sorted(flags)))


class ShellLine(Value, frozen=True, kw_only=True):
    """A shell line. ``commands`` are those that matter, in order.

    ``decisive``: there is one such command, and the line passes where it does and else fails.
    ``directory`` is where it goes. ``prepares``: it may change what later commands find, beside
    what its commands do; so may a line that cannot be read.
    """

    commands: tuple[Command, ...] = ()
    decisive: bool = False
    directory: str = ""
    prepares: bool = False


_UNREADABLE = ShellLine(prepares=True)


def read_line(text: str) -> ShellLine:
    """Read the shell line ``text``, whatever it is; one that cannot be read has no commands."""
    return _read_text(text) if len(text) <= MAX_CHARS else _UNREADABLE


def commands_run(text: str) -> tuple[Command, ...]:
    """The commands of the shell line ``text`` that matter, also those in loops and substitutions.

    It says which are run, and nothing of whether the line passes where they do.
    """
    line, _ = without_documents(text)
    if len(line) > MAX_CHARS:
        return ()
    line = _SUBSTITUTION.sub("\n", _QUOTED_SUBSTITUTION.sub(r"\n\1\n", line))
    try:
        parts = _parts(_tokens(line))
    except ValueError:
        return ()
    return _read(tuple(part for part in parts if part[0][0] not in _NO_COMMANDS)).commands


def _read_text(text: str, given: Sequence[Unit] = (), directory: str = "") -> ShellLine:
    if _OPAQUE.search(text):
        return _UNREADABLE
    try:
        tokens = _tokens(text)
    except ValueError:
        return _UNREADABLE
    parts = tuple(_parts(tokens))
    if any(words[0] in _KEYWORDS for words, _ in parts):
        return _UNREADABLE
    read = _read(parts, given, directory)
    return replace(read, prepares=True) if _writes(tokens) else read


def command_shape(command: str) -> str:
    """The shape of the command that matters in a shell line; "" where there is not just one."""
    commands = read_line(command).commands
    return commands[0].shape if len(commands) == 1 else ""


def quoted(token: str) -> str:
    """``token`` as it is written in a shell line."""
    return shlex.quote(token) if not token or _NEEDS_QUOTES.search(token) else token


# --- a line ---------------------------------------------------------------------------------------


def _tokens(text: str) -> list[str]:
    """The words and operators of a line; raises ``ValueError`` for a quote that is not closed."""
    text = _COMMENT.sub("", _TO_NOWHERE.sub("", text.replace("\\\n", " ")))
    lexer = shlex.shlex(text.strip(), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _writes(tokens: Sequence[str]) -> bool:
    """Whether output goes into a file."""
    return any(
        ">" in token and set(token) <= set(_OPERATORS) and following != "/dev/null"
        for token, following in pairwise((*tokens, ""))
    )


def _parts(tokens: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """The words of each command, with the operator behind it."""
    words: list[str] = []
    skipping = redirected = False
    for token in tokens:
        is_operator = bool(token) and all(char in _OPERATORS for char in token)
        if is_operator and set(token) & set("<>"):
            redirected = "\n" not in token
        elif is_operator:
            if words:
                yield words, token.strip("\n") or ";"
            words, skipping, redirected = [], False, False
        elif redirected:
            redirected = False
        elif skipping or token.startswith("#"):
            skipping = True
        else:
            words.append(token)
    if words:
        yield words, ""


def _read(
    parts: Sequence[tuple[list[str], str]], given: Sequence[Unit] = (), directory: str = ""
) -> ShellLine:
    given = list(given)
    found: list[tuple[int, Command, bool]] = []
    prepares = len(parts) > _MAX_COMMANDS
    for at, (words, _) in enumerate(parts[:_MAX_COMMANDS]):
        run = unwrapped(words)
        prepares = prepares or words[0] in _PREPARE
        if words[0] in {"cd", "pushd"}:
            directory = "/".join(filter(None, (directory, *words[1:2])))
        elif run.words[0] in _ADD_NOTHING:
            given += _given(run.words)
        elif run.script:
            inner = _read_text(run.script, (*given, *map(_variable, run.assigned)), directory)
            found += [(at, one, inner.decisive) for one in inner.commands]
            prepares = prepares or inner.prepares
        elif command := _command(run, tuple(given), directory):
            found.append((at, command, True))
    matter = [one for one in found if not one[1].looks_only] or found
    return ShellLine(
        commands=tuple(one for _, one, _ in matter),
        decisive=len(matter) == 1 and matter[0][2] and _decides(parts, matter[0][0]),
        directory=directory,
        prepares=prepares,
    )


def _given(words: Sequence[str]) -> Iterator[Unit]:
    """What a command that does nothing by itself hands to those behind it."""
    if words[0] == "export":
        yield from (_variable(word) for word in words[1:] if _ASSIGNED.match(word))
    elif words[0] in {"source", "."} and len(words) == 2:
        yield Unit("env", f"source {words[1]}")


def _decides(parts: Sequence[tuple[list[str], str]], at: int) -> bool:
    """Whether the line passes just where its command number ``at`` does."""
    before = {operator for _, operator in parts[:at]}
    after = {operator for _, operator in parts[at:]}
    return before <= {"&&", ";"} and after <= {"&&", ""}


# --- a command ------------------------------------------------------------------------------------


def _command(run: Unwrapped, given: tuple[Unit, ...], directory: str) -> Command | None:
    env = [_variable(word) for word in run.assigned]
    env += [Unit("runner", "sudo")] if run.as_root else []
    interpreter = _interpreter(run.words)
    runner = [*(Unit("runner", name) for name in run.runners), *interpreter]
    rest = run.words[len(interpreter) :]
    if not rest or not re.fullmatch(r"[\w./~@+$:{}-]+", rest[0]) or _ASSIGNED.match(rest[0]):
        return None
    place, arguments = rest[0], rest[1:]
    program = place.rpartition("/")[2]
    units = (*given, *env, *runner, Unit("program", place), *_arguments(arguments))
    sourced = " && ".join(str(unit) for unit in given if unit.is_sourced)
    written = " ".join(
        (
            *(str(unit) for unit in (*given, *env) if not unit.is_sourced),
            *map(str, runner),
            *map(quoted, rest),
        )
    )
    return Command(
        text=f"{sourced} && {written}" if sourced else written,
        directory=directory,
        program=program,
        units=tuple(unit for unit in units if not _only_reports(unit, program)),
        looks_only=looks(" ".join(rest)),
    )


def _variable(word: str) -> Unit:
    name, _, value = word.partition("=")
    return Unit("env", name.rstrip("+"), value)


def _interpreter(words: Sequence[str]) -> list[Unit]:
    """What runs a script: ``python``, ``bash``."""
    if len(words) > 1 and is_path(words[1]):
        first = words[0].rpartition("/")[2]
        return [Unit("runner", words[0])] if INTERPRETERS.fullmatch(first) else []
    return []


def _arguments(words: Sequence[str]) -> Iterator[Unit]:
    """The options and words, a number with the option that it follows."""
    taken = False
    for word, following in pairwise((*words, "")):
        if taken:
            taken = False
        elif match := _LONG_WITH_VALUE.fullmatch(word) or _SHORT_WITH_NUMBER.fullmatch(word):
            yield Unit("flag", match[1], match[2])
        elif _FLAG.fullmatch(word):
            taken = _NUMBER.fullmatch(following) is not None
            yield Unit("flag", word, following if taken else "")
        else:
            yield Unit("word", word)


def _only_reports(unit: Unit, program: str) -> bool:
    if unit.kind != "flag":
        return False
    if _REPORTS.fullmatch(unit.name):
        return True
    if program in {"pytest", "py.test"} and _REPORTS_OF_TESTS.fullmatch(unit.name):
        return True
    return program in _TAKES_SHORT and _REPORTS_SHORTLY.fullmatch(unit.name) is not None


def is_path(word: str) -> bool:
    """Whether ``word`` looks like the path of a file or folder, or an address."""
    return "/" in word or _FILE_NAME.fullmatch(word) is not None


def _generic(word: str) -> str:
    """A word as it stands in a shape: what names no subcommand is ``*``."""
    if is_path(word) or _NUMBER.fullmatch(word) or _HASH.fullmatch(word) or " " in word:
        return "*"
    if len(word) > _MOST_WORD_CHARS or "[redacted" in word or "\n" in word:
        return "*"
    return _DIGITS.sub("0", word)
