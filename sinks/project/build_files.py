"""Tells from the build files of further ecosystems what a project is built with and how it is run.

Each is looked for a few fixed texts; it is neither parsed as a whole nor executed. What a tool runs
by convention counts as told, and so does what a text in its file stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ...bus.prompts import ProjectFacts
from ...config.patterns import regex
from ..files import Look

_MAX_BYTES = 262_144
_PRESET = regex(r"[\w.+-]{1,60}")

Commands = Mapping[str, str]
"""What runs, by ``test``, ``build``, ``lint`` or ``start``."""


class BuildFile(Struct, frozen=True, kw_only=True):
    """One kind of file. ``parts`` are texts in it, each a technology, and what runs with that.

    A later one has the last word on what runs. ``wrapper`` stands for the ``program`` if it exists.
    """

    file: str
    stack: str
    manager: str = ""
    runs: Commands = {}
    parts: tuple[tuple[str, str, Commands], ...] = ()
    program: str = ""
    wrapper: str = ""


_KNOWN = (
    BuildFile(
        file="pubspec.yaml",
        stack="Dart",
        manager="pub",
        runs={"test": "dart test", "lint": "dart analyze"},
        parts=(
            (
                r"sdk:\s*flutter\b",
                "Flutter",
                {"test": "flutter test", "lint": "flutter analyze", "start": "flutter run"},
            ),
        ),
    ),
    BuildFile(
        file="Gemfile",
        stack="Ruby",
        manager="Bundler",
        parts=(
            (r"gem ['\"]rails['\"]", "Rails", {"test": "bin/rails test", "start": "bin/dev"}),
            (r"gem ['\"]rspec(?:-rails)?['\"]", "RSpec", {"test": "bundle exec rspec"}),
            (r"gem ['\"]rubocop(?:-\w+)?['\"]", "RuboCop", {"lint": "bundle exec rubocop"}),
        ),
    ),
    BuildFile(
        file="composer.json",
        stack="PHP",
        manager="Composer",
        parts=(
            (r'"phpunit/phpunit"', "PHPUnit", {"test": "vendor/bin/phpunit"}),
            (r'"pestphp/pest"', "Pest", {"test": "vendor/bin/pest"}),
            (r'"phpstan/phpstan"', "PHPStan", {"lint": "vendor/bin/phpstan analyse"}),
            (r'"symfony/framework-bundle"', "Symfony", {}),
            (
                r'"laravel/framework"',
                "Laravel",
                {"test": "php artisan test", "start": "php artisan serve"},
            ),
        ),
    ),
    BuildFile(
        file="pom.xml",
        stack="Java",
        manager="Maven",
        runs={"test": "mvn test", "build": "mvn package"},
        parts=((r"spring-boot-", "Spring Boot", {"start": "mvn spring-boot:run"}),),
        program="mvn",
        wrapper="mvnw",
    ),
    *(
        BuildFile(
            file=file,
            stack="Gradle",
            manager="Gradle",
            runs={"test": "gradle test", "build": "gradle build"},
            parts=(
                (r"kotlin\(|org\.jetbrains\.kotlin|kotlin-android", "Kotlin", {}),
                (r"com\.android\.(?:application|library)", "Android", {}),
                (r"org\.springframework\.boot", "Spring Boot", {"start": "gradle bootRun"}),
            ),
            program="gradle",
            wrapper="gradlew",
        )
        for file in ("build.gradle", "build.gradle.kts")
    ),
    BuildFile(
        file="mix.exs",
        stack="Elixir",
        manager="Mix",
        runs={"test": "mix test", "build": "mix compile"},
        parts=(
            (r":phoenix\b", "Phoenix", {"start": "mix phx.server"}),
            (r":credo\b", "Credo", {"lint": "mix credo"}),
        ),
    ),
    BuildFile(
        file="Package.swift",
        stack="Swift",
        manager="SwiftPM",
        runs={"test": "swift test", "build": "swift build"},
    ),
    BuildFile(
        file="CMakeLists.txt",
        stack="CMake",
        parts=((r"\bCXX\b|CMAKE_CXX_|\.cpp\b|\.cc\b", "C++", {}),),
    ),
)


def read_build_files(root: Path, look: Look) -> ProjectFacts:
    """What the build files in ``root`` tell; of a command the first that has one."""
    names = look.names(root)
    told: dict[str, tuple[str, str]] = {}
    stack: dict[str, str] = {}
    for known in _KNOWN:
        if known.file not in names:
            continue
        text = look.text(root / known.file, _MAX_BYTES) or ""
        found = [part for part in known.parts if regex(part[0]).search(text)]
        runs = dict(known.runs)
        for _, technology, more in found:
            stack[technology] = known.file
            runs |= more
        stack[known.stack] = known.file
        if known.manager:
            told.setdefault("package_manager", (known.manager, known.file))
        for fact, command in _wrapped(known, runs, names):
            told.setdefault(fact, (command, known.file))
    for fact, command in _presets(look.text(root / "CMakePresets.json", _MAX_BYTES)):
        told.setdefault(fact, (command, "CMakePresets.json"))
    sources = [("stack", file) for file in dict.fromkeys(stack.values())]
    return ProjectFacts(
        stack=tuple(stack),
        sources=(*sources, *((fact, file) for fact, (_, file) in told.items())),
        **{fact: said for fact, (said, _) in told.items()},  # type: ignore[arg-type]
    )


def _wrapped(known: BuildFile, runs: Commands, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each fact with its command, through the project's own wrapper where it has one."""
    has_wrapper = bool(known.wrapper) and known.wrapper in names
    for kind, command in runs.items():
        own = f"./{known.wrapper}{command.removeprefix(known.program)}" if has_wrapper else command
        yield f"{kind}_command", own


def _presets(text: str | None) -> Iterator[tuple[str, str]]:
    """How CMake builds and tests by the first preset of each kind that is not hidden."""
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return
    for key, fact, program in (
        ("buildPresets", "build_command", "cmake --build"),
        ("testPresets", "test_command", "ctest"),
    ):
        presets = document.get(key) if isinstance(document, dict) else None
        for preset in presets if isinstance(presets, list) else ():
            name = preset.get("name") if isinstance(preset, dict) else None
            if isinstance(name, str) and _PRESET.fullmatch(name) and not preset.get("hidden"):
                yield fact, f"{program} --preset {name}"
                break
