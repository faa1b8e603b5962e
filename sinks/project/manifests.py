"""Tells from manifests, version files and CI what a project is built with and how it is run.

They are read by a few known names, never executed, and no tree is walked. What they name
ends up in a prompt, so it is cut to short printable words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from ...bus.prompts import ProjectFacts
from ...config.load import parse_toml
from ...config.patterns import regex
from ..files import Look
from .build_files import read_build_files
from .context_file import display_name, read_context

_MAX_BYTES = 262_144
_MAX_NAME_CHARS = 60
_MAX_STACK = 12

# In the order in which they are told; the names of most of them are known.
_PACKAGES = """
    next react vue svelte @angular/core express @nestjs/core @supabase/supabase-js prisma vite
    vitest jest django fastapi flask sqlalchemy pydantic anyio pytest numpy torch duckdb tokio
    axum actix-web serde sqlx github.com/gin-gonic/gin github.com/labstack/echo/v4 gorm.io/gorm
"""
_RENAMED = {
    "@angular/core": "Angular",
    "@nestjs/core": "NestJS",
    "@supabase/supabase-js": "Supabase",
    "torch": "PyTorch",
    "actix-web": "Actix",
    "github.com/gin-gonic/gin": "Gin",
    "github.com/labstack/echo/v4": "Echo",
    "gorm.io/gorm": "GORM",
}
_FRAMEWORKS = {each: _RENAMED.get(each) or display_name(each) for each in _PACKAGES.split()}
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "pnpm-workspace.yaml": "pnpm",
}
_PYTHON_LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm"}
_MOST_ABOVE = 8
_VERSION = regex(r"\s[<>=~^v]{0,3}\d.*", re.DOTALL)
_MAJOR = regex(r"(\d{1,4})(?:\.|\b)")
_REQUIREMENT = regex(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_TARGET = regex(r"^(test|tests|build|lint|check|run|start|dev|serve)\s*:(?!=)", re.MULTILINE)
_CHECK = regex(r"^check[ \t]*:(?!=)[^\n]*(?:\n\t[^\n]*)*", re.MULTILINE)
_GO_MODULE = regex(r"^module\s+(\S+)", re.MULTILINE)
_GO_VERSION = regex(r"^go\s+(\d+\.\d+)", re.MULTILINE)
_GO_REQUIRE = regex(r"^[ \t]*(?:require[ \t]+)?(\S+)[ \t]+v(\S+)", re.MULTILINE)


def read_facts(root: Path, look: Look) -> ProjectFacts:
    """The facts of the project in ``root``.

    What its people wrote down comes first, then a Makefile's targets, then a tool's own ways, and
    last what CI runs.
    """
    readers = (_make, _node, _python, _rust, _go, read_build_files, read_tooling)
    parts = [reader(root, look) for reader in readers]
    if (told := read_context(root, look)) is not None:
        parts.insert(0, told)
    said = {
        name: _first(getattr(part, name) for part in parts)
        for name in ("name", "package_manager", *_COMMANDS)
    }
    return ProjectFacts(
        **said,
        stack=_joined(name for part in parts for name in part.stack)[:_MAX_STACK],
        quirks=told.quirks if told and told.quirks else parts[-1].quirks,
        sources=tuple(_sources(parts)),
        degraded=told.degraded if told else (),
    )


_COMMANDS = ("test_command", "build_command", "lint_command", "start_command")


def _sources(parts: Sequence[ProjectFacts]) -> Iterator[tuple[str, str]]:
    """Which file each fact came from: the first that says it, of the stack each that does."""
    told: dict[str, str] = {}
    for part in parts:
        for fact, file in part.sources:
            told.setdefault(fact, file)
            if fact == "stack":
                yield fact, file
    yield from ((fact, file) for fact, file in told.items() if fact != "stack")


def _of(file: str, /, **facts: Any) -> ProjectFacts:
    """``facts``, all of them from ``file``."""
    made = ProjectFacts(**facts)
    known = (name for name, said in asdict(made).items() if said)
    return replace(made, sources=tuple((name, file) for name in known))


def _joined(names: Iterator[str]) -> tuple[str, ...]:
    """Each technology once, however its version is told; the first mention counts."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(_VERSION.sub("", name).lower(), name)
    return tuple(found.values())


def _make(root: Path, look: Look) -> ProjectFacts:
    text = look.text(root / "Makefile", _MAX_BYTES) or ""
    targets = set(_TARGET.findall(text))
    return _of(
        "Makefile",
        test_command=_first(f"make {name}" for name in ("test", "tests") if name in targets),
        build_command="make build" if "build" in targets else "",
        lint_command=_first(_linting(text, targets)),
        start_command=_first(f"make {name}" for name in _STARTING if name in targets),
    )


def _linting(makefile: str, targets: Container[str]) -> Iterator[str]:
    """The target that checks the code: ``lint``, or ``check`` where that runs such a tool."""
    if "lint" in targets:
        yield "make lint"
    if (rule := _CHECK.search(makefile)) and _KINDS["lint"].search(rule[0]):
        yield "make check"


# Targets and scripts that start the project itself, the one for its developers first.
_STARTING = ("dev", "run", "start", "serve")


def _node(root: Path, look: Look) -> ProjectFacts:
    package = _json(look.text(root / "package.json", _MAX_BYTES))
    if not package:
        return ProjectFacts()
    needs = {**_table(package, "devDependencies"), **_table(package, "dependencies")}
    manager = _node_manager(root, look, package)
    runner = manager or "npm"
    scripts = _table(package, "scripts")
    language = "TypeScript" if "typescript" in needs else "JavaScript"
    return _of(
        "package.json",
        name=_word(package.get("name")),
        stack=(language, *_frameworks(needs)),
        package_manager=manager,
        test_command=f"{runner} test" if "test" in scripts else "",
        build_command=f"{runner} run build" if "build" in scripts else "",
        lint_command=f"{runner} run lint" if "lint" in scripts else "",
        start_command=_first(f"{runner} run {name}" for name in _STARTING if name in scripts),
    )


def _node_manager(root: Path, look: Look, package: Mapping[str, Any]) -> str:
    """What the package itself tells, or the nearest folder above: a workspace has one for all."""
    for folder in _up_to_top(root, look):
        if folder != root:
            package = _json(look.text(folder / "package.json", _MAX_BYTES))
        named = str(package.get("packageManager", "")).partition("@")[0]
        if named in {"npm", "pnpm", "yarn", "bun"}:
            return named
        if lock := _first(name for lock, name in _LOCKS.items() if look.exists(folder / lock)):
            return lock
    return ""


def _up_to_top(root: Path, look: Look) -> Iterator[Path]:
    """``root``, and the folders above it up to the top of the repository that it is in."""
    above = (root, *islice(root.parents, _MOST_ABOVE))
    top = next((at for at, folder in enumerate(above) if look.exists(folder / ".git")), 0)
    yield from above[: top + 1]


def _python(root: Path, look: Look) -> ProjectFacts:
    document = _toml(look.text(root / "pyproject.toml", _MAX_BYTES))
    if not document:
        return ProjectFacts()
    project, tools = _table(document, "project"), _table(document, "tool")
    poetry = _table(tools, "poetry")
    needs = _python_needs(document, project, poetry)
    manager = _first(
        name
        for folder in _up_to_top(root, look)
        for lock, name in _PYTHON_LOCKS.items()
        if look.exists(folder / lock)
    )
    runner = f"{manager} run " if manager else ""
    version = _word(project.get("requires-python")).removeprefix(">=")
    tested = "pytest" in needs or "pytest" in tools
    return _of(
        "pyproject.toml",
        name=_word(project.get("name") or poetry.get("name")),
        stack=(f"Python {version}".strip(), *_frameworks(needs)),
        package_manager=manager,
        test_command=f"{runner}pytest" if tested else "",
        lint_command=f"{runner}ruff check" if "ruff" in needs or "ruff" in tools else "",
    )


def _python_needs(
    document: Mapping[str, Any], project: Mapping[str, Any], poetry: Mapping[str, Any]
) -> dict[str, Any]:
    listed = [project.get("dependencies")]
    listed += _table(project, "optional-dependencies").values()
    listed += _table(document, "dependency-groups").values()
    needs: dict[str, Any] = {**_table(poetry, "dependencies")}
    for requirements in listed:
        needs.update(_requirements(requirements))
    return needs


def _requirements(listed: Any) -> Iterator[tuple[str, str]]:
    for requirement in listed if isinstance(listed, list) else ():
        if isinstance(requirement, str) and (match := _REQUIREMENT.match(requirement)):
            yield match[1].lower(), requirement[match.end() :]


def _rust(root: Path, look: Look) -> ProjectFacts:
    document = _toml(look.text(root / "Cargo.toml", _MAX_BYTES))
    if not document:
        return ProjectFacts()
    package = _table(document, "package")
    edition = _word(package.get("edition"))
    return _of(
        "Cargo.toml",
        name=_word(package.get("name")),
        stack=(f"Rust {edition}".strip(), *_frameworks(_table(document, "dependencies"))),
        package_manager="cargo",
        test_command="cargo test",
        build_command="cargo build",
        lint_command="cargo clippy",
        start_command="cargo run" if look.exists(root / "src" / "main.rs") else "",
    )


def _go(root: Path, look: Look) -> ProjectFacts:
    text = look.text(root / "go.mod", _MAX_BYTES)
    if not text or not (module := _GO_MODULE.search(text)):
        return ProjectFacts()
    version = _GO_VERSION.search(text)
    return _of(
        "go.mod",
        name=_word(module[1].rsplit("/", 1)[-1]),
        stack=(
            f"Go {version[1]}" if version else "Go",
            *_frameworks(dict(_GO_REQUIRE.findall(text))),
        ),
        package_manager="go modules",
        test_command="go test ./...",
        build_command="go build ./...",
        lint_command="go vet ./...",
    )


def _frameworks(needs: Mapping[str, Any]) -> list[str]:
    """The known ones among ``needs``, with their major version where it is written plainly."""
    named = []
    for package, name in _FRAMEWORKS.items():
        if package in needs:
            wanted = needs[package]
            wanted = wanted.get("version") if isinstance(wanted, dict) else wanted
            major = _MAJOR.search(wanted) if isinstance(wanted, str) else None
            named.append(f"{name} {major[1]}" if major and major[1] != "0" else name)
    return named


def _json(text: str | None) -> dict[str, Any]:
    try:
        return _dict(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _toml(text: str | None) -> dict[str, Any]:
    try:
        return parse_toml(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return _dict(table.get(key))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_NAME_CHARS:
        return ""
    return value if value.isprintable() and not re.search(r"[<>\s]{2}|[<`]", value) else ""


def _first(values: Iterator[str]) -> str:
    return next((value for value in values if value), "")


_MAX_CI_BYTES = 65_536
_MAX_COMMAND_CHARS = 100
_MOST_WORKFLOWS = 8

_QUIRKS = {
    "uv.lock": "Python packages are locked by uv",
    "poetry.lock": "Python packages are locked by Poetry",
    "pdm.lock": "Python packages are locked by PDM",
    "pnpm-workspace.yaml": "It is a pnpm workspace",
    "turbo.json": "Tasks run through Turborepo",
    "nx.json": "Tasks run through Nx",
    ".pre-commit-config.yaml": "pre-commit runs on every commit",
    "compose.yaml": "Services are described in compose.yaml",
    "docker-compose.yml": "Services are described in docker-compose.yml",
    ".envrc": "The environment is set by direnv",
}
_VERSIONS = {".python-version": "Python", ".nvmrc": "Node.js", ".ruby-version": "Ruby"}
_PINNED = regex(r"v?(\d{1,3}(?:\.\d{1,3}){0,2})\s*$")
_CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", ".circleci/config.yml")
_RUN = regex(r"^[ \t]{0,40}(?:- )?(?:run:[ \t]{0,4})?(\S[^\n]{2,200})$", re.MULTILINE)
_KINDS = {
    "test": regex(r"\b(?:pytest|tox|nox|test|tests|vitest|jest|rspec)\b"),
    "lint": regex(r"\b(?:lint|ruff|eslint|clippy|flake8|golangci-lint|rubocop|credo)\b"),
    "build": regex(r"\b(?:build|compile)\b"),
}
_TOOL = regex(
    r"^(?:uv run |poetry run |pdm run |npx |pnpm |npm |yarn |bun |make |just |cargo |go |mix "
    r"|bundle |gradle |\./gradlew |mvn |tox\b|nox\b|pytest\b|ruff\b|hatch |rake |python -m )"
)


def read_tooling(root: Path, look: Look) -> ProjectFacts:
    """What the tools around the code say; commands are those that CI runs."""
    names = look.names(root)
    commands = _commands(root, look, names)
    versions = dict(_versions(root, look, names))
    quirks = {name: quirk for name, quirk in _QUIRKS.items() if name in names}
    none = ("", "")
    told = [(f"{kind}_command", file) for kind, (_, file) in commands.items()]
    told += [("stack", file) for file in versions]
    return ProjectFacts(
        stack=tuple(versions.values()),
        test_command=commands.get("test", none)[0],
        build_command=commands.get("build", none)[0],
        lint_command=commands.get("lint", none)[0],
        quirks=tuple(quirks.values()),
        sources=(*told, *(("quirks", name) for name in quirks)),
    )


def _versions(root: Path, look: Look, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each version file with the language that it pins."""
    for name, language in _VERSIONS.items():
        text = look.text(root / name, 100) if name in names else None
        if text and (version := _PINNED.match(text.strip())):
            yield name, f"{language} {version[1]}"


def _commands(root: Path, look: Look, names: frozenset[str]) -> dict[str, tuple[str, str]]:
    """The first command of each kind that CI runs in one line, and the file that says so."""
    found: dict[str, tuple[str, str]] = {}
    for path in _ci_files(root, look, names):
        for match in _RUN.finditer(look.text(path, _MAX_CI_BYTES) or ""):
            command = match[1].rstrip()
            if len(command) > _MAX_COMMAND_CHARS or not _TOOL.match(command):
                continue
            if command.isprintable() and not re.search(r"[<`{}]|\binstall\b", command):
                for kind, pattern in _KINDS.items():
                    if pattern.search(command):
                        found.setdefault(kind, (command, str(path.relative_to(root))))
                        break
    return found


def _ci_files(root: Path, look: Look, names: frozenset[str]) -> Iterator[Path]:
    if ".github" in names:
        workflows = look.children(root / ".github" / "workflows", _MOST_WORKFLOWS)
        yield from (path for path in workflows if path.suffix in {".yml", ".yaml"})
    yield from (root / name for name in _CI_FILES if name.partition("/")[0] in names)
