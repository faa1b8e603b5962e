"""Tells from a project's manifests what it is called, what it is built with and how it is run.

Manifests are read, never executed, and only those directly in the project's root. What they name
ends up in a prompt, so it is cut to short printable words.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...bus.values import ProjectFacts
from ..files.untrusted import Look
from .context_file import read_context
from .tooling import read_tooling

_MAX_BYTES = 262_144
_MAX_NAME_CHARS = 60
_MAX_STACK = 12

_FRAMEWORKS = {
    "next": "Next.js",
    "react": "React",
    "vue": "Vue",
    "svelte": "Svelte",
    "@angular/core": "Angular",
    "express": "Express",
    "@nestjs/core": "NestJS",
    "@supabase/supabase-js": "Supabase",
    "prisma": "Prisma",
    "vite": "Vite",
    "vitest": "Vitest",
    "jest": "Jest",
    "django": "Django",
    "fastapi": "FastAPI",
    "flask": "Flask",
    "sqlalchemy": "SQLAlchemy",
    "pydantic": "Pydantic",
    "anyio": "AnyIO",
    "pytest": "pytest",
    "numpy": "NumPy",
    "torch": "PyTorch",
    "duckdb": "DuckDB",
    "tokio": "Tokio",
    "axum": "Axum",
    "actix-web": "Actix",
    "serde": "Serde",
    "sqlx": "SQLx",
    "github.com/gin-gonic/gin": "Gin",
    "github.com/labstack/echo/v4": "Echo",
    "gorm.io/gorm": "GORM",
}
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
_PYTHON_RUNNERS = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run "}
_VERSION = re.compile(r"\s[<>=~^v]{0,3}\d.*", re.DOTALL)
_MAJOR = re.compile(r"(\d{1,4})(?:\.|\b)")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_TARGET = re.compile(r"^(test|tests|build|lint|check)\s*:(?!=)", re.MULTILINE)
_GO_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_GO_VERSION = re.compile(r"^go\s+(\d+\.\d+)", re.MULTILINE)
_GO_REQUIRE = re.compile(r"^\s*(?:require\s+)?(\S+)\s+v(\S+)", re.MULTILINE)


def read_facts(root: Path, look: Look) -> ProjectFacts:
    """The facts of the project in ``root``.

    What its people wrote down comes first, then a Makefile's targets, then a tool's own ways, and
    last what CI runs.
    """
    readers = (_make, _node, _python, _rust, _go, read_tooling)
    parts = [reader(root, look) for reader in readers]
    if (told := read_context(root, look)) is not None:
        parts.insert(0, told)
    return ProjectFacts(
        name=_first(part.name for part in parts),
        stack=_joined(name for part in parts for name in part.stack)[:_MAX_STACK],
        test_command=_first(part.test_command for part in parts),
        build_command=_first(part.build_command for part in parts),
        lint_command=_first(part.lint_command for part in parts),
        quirks=told.quirks if told and told.quirks else parts[-1].quirks,
        degraded=told.degraded if told else (),
    )


def _joined(names: Iterator[str]) -> tuple[str, ...]:
    """Each technology once, however its version is told; the first mention counts."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(_VERSION.sub("", name).lower(), name)
    return tuple(found.values())


def _make(root: Path, look: Look) -> ProjectFacts:
    text = look.text(root / "Makefile", _MAX_BYTES) or ""
    targets = set(_TARGET.findall(text))
    return ProjectFacts(
        test_command=_first(f"make {name}" for name in ("test", "tests") if name in targets),
        build_command="make build" if "build" in targets else "",
        lint_command=_first(f"make {name}" for name in ("lint", "check") if name in targets),
    )


def _node(root: Path, look: Look) -> ProjectFacts:
    package = _json(look.text(root / "package.json", _MAX_BYTES))
    if not package:
        return ProjectFacts()
    needs = {**_table(package, "devDependencies"), **_table(package, "dependencies")}
    runner = _node_runner(root, look, package)
    scripts = _table(package, "scripts")
    language = "TypeScript" if "typescript" in needs else "JavaScript"
    return ProjectFacts(
        name=_word(package.get("name")),
        stack=(language, *_frameworks(needs)),
        test_command=f"{runner} test" if "test" in scripts else "",
        build_command=f"{runner} run build" if "build" in scripts else "",
        lint_command=f"{runner} run lint" if "lint" in scripts else "",
    )


def _node_runner(root: Path, look: Look, package: Mapping[str, Any]) -> str:
    named = str(package.get("packageManager", "")).partition("@")[0]
    if named in {"npm", "pnpm", "yarn", "bun"}:
        return named
    return _first(r for lock, r in _LOCKS.items() if look.exists(root / lock)) or "npm"


def _python(root: Path, look: Look) -> ProjectFacts:
    document = _toml(look.text(root / "pyproject.toml", _MAX_BYTES))
    if not document:
        return ProjectFacts()
    project, tools = _table(document, "project"), _table(document, "tool")
    poetry = _table(tools, "poetry")
    needs = _python_needs(document, project, poetry)
    runner = _first(r for lock, r in _PYTHON_RUNNERS.items() if look.exists(root / lock))
    version = _word(project.get("requires-python")).removeprefix(">=")
    tested = "pytest" in needs or "pytest" in tools
    return ProjectFacts(
        name=_word(project.get("name") or poetry.get("name")),
        stack=(f"Python {version}".strip(), *_frameworks(needs)),
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
    return ProjectFacts(
        name=_word(package.get("name")),
        stack=(f"Rust {edition}".strip(), *_frameworks(_table(document, "dependencies"))),
        test_command="cargo test",
        build_command="cargo build",
        lint_command="cargo clippy",
    )


def _go(root: Path, look: Look) -> ProjectFacts:
    text = look.text(root / "go.mod", _MAX_BYTES)
    if not text or not (module := _GO_MODULE.search(text)):
        return ProjectFacts()
    version = _GO_VERSION.search(text)
    return ProjectFacts(
        name=_word(module[1].rsplit("/", 1)[-1]),
        stack=(
            f"Go {version[1]}" if version else "Go",
            *_frameworks(dict(_GO_REQUIRE.findall(text))),
        ),
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
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return _dict(table.get(key))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    """``value`` if it is one short printable word, else ""."""
    if not isinstance(value, str) or len(value) > _MAX_NAME_CHARS:
        return ""
    return value if value.isprintable() and not re.search(r"[<>\s]{2}|[<`]", value) else ""


def _first(values: Iterator[str]) -> str:
    return next((value for value in values if value), "")
