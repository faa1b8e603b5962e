"""Reads the settings: the defaults, then the user's file, then the environment.

Every value remembers where it came from, and every complaint names file, key, value and what is
allowed.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct, structs

from .settings import Namespace, Settings, Weight

DEFAULTS = Path(__file__).with_name("default.toml")
MAX_FILE_BYTES = 1_000_000
PREFIX = "SUBCOG_"
# Variables of ours that are not settings: the home of everything, secrets, what tests read.
NOT_SETTINGS = re.compile(r"SUBCOG_(HOME|HTTP_TOKEN|LLM_API_KEY|TEST_\w+)$")
# Keys that may not stand in a file, and where they belong.
SECRETS = {
    "llm.api_key": "a key never stands in a file; set SUBCOG_LLM_API_KEY, or the provider's own "
    "variable, in the environment"
}
# Tables whose keys are namespaces, whether the defaults name them or not.
OPEN_TABLES = ("search_intent.weights.",)

_TOO_DEEP = "nested too deeply; tables go three deep at most"
# The time that a dotted key takes to be read grows with the square of its parts.
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")
_MAX_SHOWN = 80
# So much of a value is looked through for passwords: more than any address has.
_MAX_QUOTED = 2000
_DEEPEST = 8
Tree = dict[str, Any]


class SettingsError(ValueError):
    """A setting cannot be used; the message says where it stands and what is allowed."""


class TooDeep(ValueError):
    """A key in TOML has more parts than anybody writes."""


class Origin(Struct, frozen=True):
    """One setting in force: its dotted key, its value, and the file or variable it came from."""

    key: str
    value: object
    source: str


class Loaded(Struct, frozen=True):
    """The settings, where each came from, and what was passed over."""

    settings: Settings
    origins: tuple[Origin, ...]
    warnings: tuple[str, ...] = ()


def variable(key: str) -> str:
    """The environment variable of a dotted key."""
    return PREFIX + key.replace(".", "_").replace("-", "_").upper()


def load_settings(file: Path, env: Mapping[str, str]) -> Loaded:
    """Merge and check all settings.

    ``file`` need not exist. An unknown key in it is an error; an unknown ``SUBCOG_*`` variable is
    a warning, since it may belong to another version, or to something else. Raises
    ``SettingsError``.
    """
    values = {key: (value, "default") for key, value in _leaves(_read(DEFAULTS))}
    for key, value in _from_file(file):
        if not (value == {} and _is_table(key, values)):
            _check_known(key, value, values, file)
            values[key] = (value, str(file))
    known = {variable(key): key for key in values}
    for name, key in _from_environment(known, env):
        values[key] = (_decode(env[name], values[key][0], name), name)
    origins = tuple(Origin(key, value, source) for key, (value, source) in values.items())
    settings = _convert(origins)
    if settings.sessions.exclude:
        source = values["sessions.exclude"][1]
        entries = (
            _folder(entry, "sessions.exclude", source) for entry in settings.sessions.exclude
        )
        # Without links, as the roots of projects are.
        sessions = structs.replace(settings.sessions, exclude=tuple(map(os.path.realpath, entries)))
        settings = structs.replace(settings, sessions=sessions)
    if settings.backup.folder:
        folder = _folder(settings.backup.folder, "backup.folder", values["backup.folder"][1])
        settings = structs.replace(settings, backup=structs.replace(settings.backup, folder=folder))
    return Loaded(settings, origins, _unknown_variables(known, env))


def _folder(entry: str, key: str, source: str) -> str:
    """A directory that the setting ``key`` names, without ``~``. Raises ``SettingsError``."""
    with suppress(RuntimeError):  # no such user
        if "\0" not in entry and (folder := Path(entry).expanduser()).is_absolute():
            return str(folder)
    allowed = "allowed: paths of directories that begin with / or ~"
    raise SettingsError(f"{source}: {key} = {_shown(entry)}; {allowed}")


def _from_file(file: Path) -> list[tuple[str, object]]:
    try:
        return list(_leaves(_read(file)))
    except RecursionError:
        raise SettingsError(f"{file}: {_TOO_DEEP}") from None


def parse_toml(text: str) -> Tree:
    """``text`` read as TOML, whoever wrote it. Raises ``ValueError``, or ``RecursionError``."""
    if _DEEP_KEY.search(text):
        raise TooDeep("a key has more than 64 parts")
    return tomllib.loads(text)


def _read(file: Path) -> Tree:
    try:
        return parse_toml(_read_bytes(file).decode())
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: not UTF-8") from None
    except TooDeep:
        raise SettingsError(f"{file}: {_TOO_DEEP}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except SettingsError:
        raise
    except ValueError:  # Python reads no longer ones
        raise SettingsError(f"{file}: not TOML: a number of thousands of digits") from None


def _read_bytes(file: Path) -> bytes:
    """The bytes of ``file``; nothing is waited for, whatever lies in its place."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as source:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if stat.S_ISFIFO(mode):
            raise SettingsError(f"{file}: a pipe, where a file is expected")
        text = source.read(MAX_FILE_BYTES + 1)
    if len(text) > MAX_FILE_BYTES:
        raise SettingsError(f"{file}: larger than {MAX_FILE_BYTES} bytes, so not read")
    return text


def _leaves(tree: Tree, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Each dotted key with its value; a table without keys is the value of its own."""
    for key, value in tree.items():
        if value and isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _is_table(key: str, known: Iterable[str]) -> bool:
    return any(name.startswith(f"{key}.") for name in known)


def _check_known(key: str, value: object, known: Mapping[str, object], file: Path) -> None:
    table, _, leaf = key.rpartition(".")
    if key in known or (table.startswith(OPEN_TABLES) and leaf in get_args(Namespace)):
        return
    if key in SECRETS:
        raise SettingsError(f"{file}: {key}: {SECRETS[key]}")
    if _is_table(key, known):
        problem = f"{key} = {_shown(value)}; allowed: a table, [{key}], with {_names(key, known)}"
        raise SettingsError(f"{file}: {problem}")
    raise SettingsError(f"{file}: unknown key {_cut(key)}; {_allowed(key, known)}")


def _allowed(key: str, known: Mapping[str, object]) -> str:
    """What may stand in the place of the unknown ``key``."""
    parts = key.split(".")
    for end in range(1, min(len(parts), _DEEPEST)):
        if (parent := ".".join(parts[:end])) in known:
            return f"{parent} is no table, but takes a value"
    close = difflib.get_close_matches(key[:_MAX_SHOWN], known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    table = key.rpartition(".")[0]
    if _is_table(table, known):
        return f"[{table}] has {_names(table, known)}"
    return f"the tables are {_names('', known)}"


def _names(table: str, known: Iterable[str]) -> str:
    """The names that stand directly in ``table``; in the file itself where that is empty."""
    prefix = f"{table}." if table else ""
    inside = (name.removeprefix(prefix) for name in known if name.startswith(prefix))
    return ", ".join(dict.fromkeys(name.partition(".")[0] for name in inside))


# A word that may be a key, which somebody pasted in the wrong place.
_LIKE_A_KEY = re.compile(r"(?=[A-Za-z_+=~$-]*\d)(?=[\d_+=~$-]*[A-Za-z])[\w+=~$-]{16,}", re.ASCII)


def _shown(value: object) -> str:
    """The beginning of ``value``, without passwords of addresses and words that may be keys."""
    return _cut(_LIKE_A_KEY.sub(HIDDEN, without_password(repr(value)[:_MAX_QUOTED])))


def _cut(text: str) -> str:
    """The beginning of ``text``, without what a terminal would obey."""
    plain = "".join(one if one.isprintable() else "?" for one in text[:_MAX_SHOWN])
    return plain + "…" if len(text) > _MAX_SHOWN else plain


def _from_environment(
    known: Mapping[str, str], env: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Each variable that sets something: HOOK_* as the hooks' plan names them, then SUBCOG_*."""
    for name, key in known.items():
        bare = name.removeprefix(PREFIX)
        if bare.startswith("HOOK_") and bare in env:
            yield bare, key
        if name in env:
            yield name, key


def _unknown_variables(known: Mapping[str, str], env: Mapping[str, str]) -> tuple[str, ...]:
    unknown = [
        name
        for name in env
        if name.startswith(PREFIX) and name not in known and not NOT_SETTINGS.match(name)
    ]
    return tuple(_complain_of_variable(name, known) for name in unknown)


def _complain_of_variable(name: str, known: Mapping[str, str]) -> str:
    bare = [one.removeprefix(PREFIX) for one in known]  # the prefix makes all of them alike
    close = difflib.get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=0.6)
    hint = f"did you mean {PREFIX}{close[0]}?" if close else "`subcog config` lists the names"
    return f"environment: unknown variable {_cut(name)}; {hint}"


_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "array": "a list",
    "object": "a table",
}
_NOT_OF_KIND = re.compile(r"Expected `(?P<kind>[a-z]+)`, got .*")


def _decode(text: str, default: object, name: str) -> object:
    """Read a variable as the type that its default has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"environment: {name}: not UTF-8") from None
    if isinstance(default, str):
        return text
    if isinstance(default, list):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text.strip(), type(default), strict=False)
    except msgspec.ValidationError:
        kind = _KINDS[type(default).__name__]
        raise SettingsError(f"environment: {name} = {_shown(text)}; allowed: {kind}") from None


def _convert(origins: tuple[Origin, ...]) -> Settings:
    tree: Tree = {}
    for origin in origins:
        *sections, leaf = origin.key.split(".")
        table = tree
        for section in sections:
            table = table.setdefault(section, {})
        table[leaf] = origin.value
    try:
        return msgspec.convert(tree, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(_explain(str(error), origins)) from None


def _explain(complaint: str, origins: tuple[Origin, ...]) -> str:
    what, _, path = complaint.partition(" - at `$.")
    path = path.rstrip("`")
    choices = _choices(path)
    expected = _NOT_OF_KIND.fullmatch(what)
    if expected and not choices:
        choices = _KINDS.get(expected["kind"], "")
    allowed = (
        f"allowed: {choices}" if choices else what.replace("`", "").replace("Expected", "allowed:")
    )
    key = path.partition("[")[0]  # of an array its place follows, of a table whose keys vary [...]
    for origin in origins:
        if origin.key == key or (origin.key.startswith(f"{key}.") and not _is_weight(origin.value)):
            return f"{origin.source}: {origin.key} = {_shown(origin.value)}; {allowed}"
    return f"settings: {path}; {allowed}"


def _is_weight(value: object) -> bool:
    """Whether ``value`` may stand in a table whose keys vary; all of these hold weights."""
    try:
        msgspec.convert(value, Weight)
    except msgspec.ValidationError:
        return False
    return True


def _choices(key: str) -> str:
    """The values that a setting with a fixed choice takes, or nothing."""
    kind: Any = Settings
    for name in key.split("."):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        if (kind := fields.get(name)) is None or not isinstance(kind, type):
            break
    return ", ".join(get_args(kind)) if get_origin(kind) is Literal else ""


# --- passwords ------------------------------------------------------------------------------------


HIDDEN = "…"
# scheme://user:password@host; a password may hold anything but the @ that ends it, and libpq takes
# the last one before the host.
# A scheme that is misspelt or missing hides it as well.
_IN_URL = re.compile(
    r"(?:(?<=//)|(?<=:/)|\A(?!.*:?//|.*:/))(?P<user>[^:@/?#]*):(?P<password>.*)@(?=[^@]*$)",
    re.DOTALL,
)
# … password=x as a parameter of an address, or in a string of key=value pairs.
_PARAMETER = re.compile(r"((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)


def without_password(url: str) -> str:
    """``url`` with every password in it replaced by ``…``; the user's name stays."""
    shown = _IN_URL.sub(lambda found: f"{found['user']}:{HIDDEN}@", url)
    return _PARAMETER.sub(rf"\1{HIDDEN}", shown)
