"""The rules of the house: who may import whom, what is packaged, what is singular."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")
MAY_USE = {
    "bus": set(),
    "config": set(),
    "hooks": set(),
    "stages": {"bus"},
    "sinks": {"bus", "config"},
    "pipeline": {"bus", "config", "hooks", "sinks", "stages"},
}
LIBRARIES = {
    "bus": {"anyio", "blinker", "msgspec"},
    "config": {"msgspec"},
    "hooks": set(),
    "stages": {"anyio", "msgspec", "numpy"},
    "sinks": {
        "anyio",
        "duckdb",
        "mcp",
        "mcp_types",
        "msgspec",
        "numpy",
        "prometheus_client",
        "yaml",
        "safetensors",
        "snowballstemmer",
        "starlette",
        "tokenizers",
        "uvicorn",
    },
    "pipeline": {"anyio", "click", "msgspec", "rich"},
}
SERVER = "admin columns connection feed reads schema search store errors".split()
# The evaluation of retrieval draws its intervals with numpy.
EXTRA = {
    "pipeline/evaluation/captures.py": {"numpy"},
    "pipeline/evaluation/injections.py": {"numpy"},
    "pipeline/evaluation/retrieval.py": {"numpy"},
    "pipeline/evaluation/intents.py": {"numpy"},
    # The model's worker is a process of its own, and nobody else may import what it does.
    "sinks/llm/worker.py": {"litellm"},
    "sinks/llm/language_model.py": {"tenacity"},
    # A team's server; nobody else may import what speaks with it, so it loads with a team alone.
    **{f"sinks/team/postgres/{name}.py": {"psycopg"} for name in SERVER},
    "sinks/team/sync.py": {"tenacity"},
    # What runs the cross-encoder; where there is none of it, words alone decide.
    "sinks/models/cross_encoder.py": {"onnxruntime"},
}
OWN_MODULES = {"hooks": {path.stem for path in (HOUSE / "hooks").glob("*.py")}}
# Built-in halves of the standard library, and its Windows names.
STANDARD = sys.stdlib_module_names | {"_signal", "_socket", "posix", "nt"}


def _sources(room):
    return sorted((HOUSE / room).rglob("*.py"))


def _imports(path):
    """Every imported module: rooms of ours as ``subcog.ROOM``, others by their first name."""
    depth = len(path.relative_to(HOUSE).parts) - 1
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                yield node.module.split(".")[0], node.lineno
            elif node.level > depth:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                for name in names:
                    yield f"subcog.{name.split('.')[0]}", node.lineno


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room):
    allowed = LIBRARIES[room] | {f"subcog.{other}" for other in MAY_USE[room]}
    allowed |= OWN_MODULES.get(room, set()) | STANDARD
    for path in _sources(room):
        extra = EXTRA.get(str(path.relative_to(HOUSE)), set())
        for name, line in _imports(path):
            assert name in allowed | extra, f"{path.relative_to(HOUSE)}:{line} imports {name}"


def test_the_package_list_names_every_folder_with_code():
    listed = tomllib.loads((HOUSE / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        "subcog." + ".".join(path.parent.relative_to(HOUSE).parts)
        for room in ROOMS
        for path in _sources(room)
        if path.name == "__init__.py"
    }
    assert set(listed) == found | {"subcog.docs"}  # what `subcog help` shows; it has no code


@pytest.mark.parametrize("room", ROOMS)
def test_importing_a_package_does_no_work(room):
    for path in _sources(room):
        if path.name == "__init__.py":
            body = ast.parse(path.read_text()).body
            assert [type(each) for each in body] == [ast.Expr], f"{path} is more than a text"


def test_broad_excepts_are_the_five_that_say_why():
    broad = [
        f"{path.relative_to(HOUSE)}"
        for room in ROOMS
        for path in _sources(room)
        for line in path.read_text().splitlines()
        if "noqa: BLE001" in line
    ]
    assert sorted(broad) == [
        "bus/bus.py",
        "bus/signals.py",
        "hooks/client.py",
        "pipeline/daemon/server.py",
        "sinks/mcp/http.py",
    ]


def test_clean_text_is_made_by_the_redactor_alone():
    makers = {
        str(path.relative_to(HOUSE))
        for room in ROOMS
        for path in _sources(room)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "CleanText"
    }
    assert makers == {"stages/redaction/redact.py"}


def test_the_version_is_the_same_everywhere():
    from subcog.hooks.client import VERSION

    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_every_dependency_is_justified():
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    reasons = (HOUSE / "docs" / "dependencies.md").read_text()
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    for requirement in project["dependencies"] + extras:
        name = re.match(r"[\w-]+", requirement)[0]
        assert f"| `{name}` |" in reasons, f"docs/dependencies.md does not say why {name}"


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("pipeline.cli.main, subcog.pipeline.commands.memory", "numpy duckdb anyio rich"),
        # It listens before it loads; and numpy reads OPENBLAS_NUM_THREADS when it is imported.
        (
            "pipeline.daemon.daemon",
            "numpy duckdb tokenizers uvicorn prometheus_client rich litellm mcp mcp_types psycopg",
        ),
    ],
)
def test_what_must_start_fast_imports_nothing_heavy(modules, heavy):
    code = (
        f"import sys, subcog.{modules};"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
