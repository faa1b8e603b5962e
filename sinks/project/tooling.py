"""Tells from lock files, version files and CI how a project is run, and what is special about it.

Read by a few known names; no tree is walked and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...bus.values import ProjectFacts
from ..files.untrusted import Look

_MAX_BYTES = 65_536
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
_VERSION = re.compile(r"v?(\d{1,3}(?:\.\d{1,3}){0,2})\s*$")
_CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", ".circleci/config.yml")
_RUN = re.compile(r"^[ \t]{0,40}(?:- )?(?:run:[ \t]{0,4})?(\S[^\n]{2,200})$", re.MULTILINE)
_KINDS = {
    "test": re.compile(r"\b(?:pytest|tox|nox|test|tests|vitest|jest|rspec)\b"),
    "lint": re.compile(r"\b(?:lint|ruff|eslint|clippy|flake8|golangci-lint|rubocop|credo)\b"),
    "build": re.compile(r"\b(?:build|compile)\b"),
}
_TOOL = re.compile(
    r"^(?:uv run |poetry run |pdm run |npx |pnpm |npm |yarn |bun |make |just |cargo |go |mix "
    r"|bundle |gradle |\./gradlew |mvn |tox\b|nox\b|pytest\b|ruff\b|hatch |rake |python -m )"
)


def read_tooling(root: Path, look: Look) -> ProjectFacts:
    """What the tools around the code say; commands are those that CI runs."""
    names = look.names(root)
    commands = _commands(root, look, names)
    return ProjectFacts(
        stack=tuple(_versions(root, look, names)),
        test_command=commands.get("test", ""),
        build_command=commands.get("build", ""),
        lint_command=commands.get("lint", ""),
        quirks=tuple(quirk for name, quirk in _QUIRKS.items() if name in names),
    )


def _versions(root: Path, look: Look, names: frozenset[str]) -> Iterator[str]:
    for name, language in _VERSIONS.items():
        text = look.text(root / name, 100) if name in names else None
        if text and (version := _VERSION.match(text.strip())):
            yield f"{language} {version[1]}"


def _commands(root: Path, look: Look, names: frozenset[str]) -> dict[str, str]:
    """The first command of each kind that CI runs in one line."""
    found: dict[str, str] = {}
    for path in _ci_files(root, look, names):
        for match in _RUN.finditer(look.text(path, _MAX_BYTES) or ""):
            command = match[1].rstrip()
            if len(command) > _MAX_COMMAND_CHARS or not _TOOL.match(command):
                continue
            if command.isprintable() and not re.search(r"[<`{}]|\binstall\b", command):
                for kind, pattern in _KINDS.items():
                    if pattern.search(command):
                        found.setdefault(kind, command)
                        break
    return found


def _ci_files(root: Path, look: Look, names: frozenset[str]) -> Iterator[Path]:
    if ".github" in names:
        workflows = look.children(root / ".github" / "workflows", _MOST_WORKFLOWS)
        yield from (path for path in workflows if path.suffix in {".yml", ".yaml"})
    yield from (root / name for name in _CI_FILES if name.partition("/")[0] in names)
