"""Reads the settings: the defaults, then the user's file, then the environment.

Every value remembers where it came from, and every complaint names file, key, value and what is
allowed.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from .settings import Namespace, Settings

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

Tree = dict[str, Any]


class SettingsError(ValueError):
    """A setting cannot be used; the message says where it stands and what is allowed."""


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


def load_settings(file: Path, env: Mapping[str, str], *, lenient: bool = False) -> Loaded:
    """Merge and check all settings.

    ``file`` need not exist. With ``lenient``, an unknown ``SUBCOG_*`` variable is a warning, as a
    hook wants it; otherwise it is an error. Raises ``SettingsError``.
    """
    values = {key: (value, "default") for key, value in _leaves(_read(DEFAULTS))}
    for key, value in _leaves(_read(file)):
        _check_known(key, values, file)
        values[key] = (value, str(file))
    known = {variable(key): key for key in values}
    for name, key in _from_environment(known, env):
        values[key] = (_decode(env[name], values[key][0], name), name)
    warnings = _unknown_variables(known, env)
    if warnings and not lenient:
        raise SettingsError(warnings[0])
    origins = tuple(Origin(key, value, source) for key, (value, source) in values.items())
    return Loaded(_convert(origins), origins, warnings)


def _read(file: Path) -> Tree:
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise SettingsError(f"{file}: larger than {MAX_FILE_BYTES} bytes, so not read")
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None


def _leaves(tree: Tree, prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _check_known(key: str, known: Mapping[str, object], file: Path) -> None:
    table, _, leaf = key.rpartition(".")
    if key in known or (table.startswith(OPEN_TABLES) and leaf in get_args(Namespace)):
        return
    if key in SECRETS:
        raise SettingsError(f"{file}: {key}: {SECRETS[key]}")
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    siblings = [name for name in known if name.rpartition(".")[0] == table]
    allowed = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(siblings or known)}"
    raise SettingsError(f"{file}: unknown key {key}; {allowed}")


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
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]}?" if close else "`subcog config` lists the names"
    return f"environment: unknown variable {name}; {hint}"


def _decode(text: str, default: object, name: str) -> object:
    """Read a variable as the type that its default has."""
    if isinstance(default, str):
        return text
    if isinstance(default, list):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text.strip(), type(default), strict=False)
    except msgspec.ValidationError:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise SettingsError(f"environment: {name} = {text!r}; allowed: {kind}") from None


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
    allowed = (
        f"allowed: {choices}" if choices else what.replace("`", "").replace("Expected", "allowed:")
    )
    for origin in origins:
        if origin.key == path or (path.endswith("[...]") and origin.key.startswith(path[:-5])):
            return f"{origin.source}: {origin.key} = {origin.value!r}; {allowed}"
    return f"settings: {path}; {allowed}"


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
_IN_URL = re.compile(r"(?<=://)(?P<user>[^:@/?#]*):(?P<password>.*)@(?=[^@]*$)", re.DOTALL)
# … password=x as a parameter of an address, or in a string of key=value pairs.
_PARAMETER = re.compile(r"((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)


def without_password(url: str) -> str:
    """``url`` with every password in it replaced by ``…``; the user's name stays."""
    shown = _IN_URL.sub(lambda found: f"{found['user']}:{HIDDEN}@", url)
    return _PARAMETER.sub(rf"\1{HIDDEN}", shown)
