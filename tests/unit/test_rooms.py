"""The rules of the house: who may import whom, what is packaged, what is singular."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .written import nodes_of, tree_of

HOUSE = Path(__file__).parents[2]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")
MAY_USE = {
    "bus": set(),
    "config": set(),
    "hooks": set(),
    "stages": {"bus", "config"},
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
        "cachetools",
        "duckdb",
        "mcp",
        "mcp_types",
        "model2vec",
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
    "pipeline": {"anyio", "cachetools", "click", "msgspec", "rich"},
}
SERVER = "address admin connection errors pool reads store".split()
# The evaluation of retrieval draws its intervals with numpy.
EXTRA = {
    "pipeline/evaluation/captures.py": {"numpy"},
    "pipeline/evaluation/common.py": {"numpy"},
    "pipeline/evaluation/retrieval.py": {"numpy"},
    "pipeline/replay/figures.py": {"numpy"},
    # The model's worker is a process of its own, and nobody else may import what it does.
    "sinks/llm/worker.py": {"litellm"},
    "sinks/llm/language_model.py": {"tenacity"},
    # A team's server; nobody else may import what speaks with it, so it loads with a team alone.
    **{f"sinks/team/postgres/{name}.py": {"psycopg"} for name in SERVER},
    "sinks/team/sync.py": {"tenacity"},
    # The parser, which loads when a memory names code.
    **{
        f"sinks/code/{name}.py": {"tree_sitter"}
        for name in ("definitions", "forms", "languages", "outline")
    },
    "pipeline/agents/toml_settings.py": {"tomlkit"},
    # The page's templates, which load when somebody opens it.
    "sinks/page/render.py": {"jinja2", "markupsafe"},
    # What runs the cross-encoder; where there is none of it, words alone decide.
    "sinks/models/cross_encoder.py": {"onnxruntime"},
}
# The inner law: which rooms of the same floor a folder may import. A folder that is not named here
# stands for itself; "" is the floor's own level, and may import all.
INNER = {
    "stages": {
        "text": set(),
        "language": {"text"},
        "statements": {"text", "language"},
        "capture": {"text", "language", "statements"},
        "redaction": {"text", "capture"},
        "enrichment": {"text", "language", "statements"},
        "injection": {"text", "language", "statements"},
        "sessions": {"text", "language", "statements"},
        "shell": {"text"},
        "actions": {"text", "language", "shell"},
        "rules": {"text", "language", "shell", "actions"},
        "code_rules": {"text", "language", "actions", "rules"},
        "breaches": {"text", "language", "shell", "actions", "rules", "code_rules"},
        "moments": {
            "text",
            "language",
            "statements",
            "injection",
            "actions",
            "rules",
            "breaches",
        },
        "": None,
    },
    "sinks": {
        "sql": set(),
        "store": {"sql"},
        "models": set(),
        "search": {"models", "sql", "store"},
        "indexes": {"search", "models"},
        "memories": {"indexes", "search", "models", "store"},
        "team": {"store", "search", "models"},
        "passages": {"search", "models", "store"},
        "team/postgres": {"team", "store", "models"},
        "repair": {"team", "sql", "store", "passages"},
        "project": set(),
        "code": set(),
        "telemetry": set(),
        "llm": set(),
        "mcp": set(),
        "http": set(),
        "page": set(),
        "transcripts": set(),
        "": None,
    },
    "pipeline": {
        "app": set(),
        "agents": set(),
        "cli": set(),
        "imports": set(),
        "evaluation": {"app", "entrance"},
        "replay": {"evaluation"},
        "entrance": {"app", "agents"},
        "api": {"app", "entrance", "imports"},
        "daemon": {"app", "entrance", "api", "agents"},
        "doctor": {"agents", "cli", "daemon"},
        "commands": {"agents", "app", "cli", "daemon", "doctor", "evaluation", "imports", "replay"},
    },
}
# What every folder of the floor may import although it stands in none: the protocols, the writing
# and reading of files, and how a disk that may hang is asked.
OPEN = {"stages/ports.py", "sinks/files.py", "sinks/disk.py"}
# At most so many files, so that a room is seen at one look.
MAX_FILES = 14
OWN_MODULES = {"hooks": {path.stem for path in (HOUSE / "hooks").glob("*.py")}}
# Built-in halves of the standard library, and its Windows names.
STANDARD = sys.stdlib_module_names | {"_signal", "_socket", "posix", "nt"}


def _sources(room):
    return sorted((HOUSE / room).rglob("*.py"))


def _imports(path):
    """Every imported module: rooms of ours as ``subcog.ROOM``, others by their first name."""
    depth = len(path.relative_to(HOUSE).parts) - 1
    for node in nodes_of(path):
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


def test_stages_know_of_the_configuration_its_structs_and_helpers_alone():
    for path in _sources("stages"):
        for node in nodes_of(path):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and node.level and module.startswith("config"):
                allowed = {
                    "config.characters",
                    "config.ids",
                    "config.settings",
                    "config.linear_model",
                    "config.languages",
                    "config.patterns",
                }
                assert module in allowed, f"{path}:{node.lineno} imports {module}"


def _inner(path):
    """The folder of ``path`` below its floor: "team/postgres" of sinks/team/postgres/reads.py."""
    return "/".join(path.relative_to(HOUSE).parts[1:-1])


def _imported_files(path):
    """The files of the same floor that ``path`` imports, with the line."""
    package = path.relative_to(HOUSE).parts[:-1]
    for node in nodes_of(path):
        if not isinstance(node, ast.ImportFrom) or not 0 < node.level <= len(package):
            continue
        base = HOUSE.joinpath(*package[: len(package) - node.level + 1])
        base = base.joinpath(*(node.module or "").split(".")) if node.module else base
        for name in [alias.name for alias in node.names]:
            for found in (base.with_suffix(".py"), base / f"{name}.py"):
                if found.is_file():
                    yield found, node.lineno


def _unlawful(room):
    for path in _sources(room):
        inner = _inner(path)
        may = INNER[room].get(inner)
        for found, line in _imported_files(path):
            other, name = _inner(found), str(found.relative_to(HOUSE))
            if may is not None and other != inner and other not in may and name not in OPEN:
                yield f"{path.relative_to(HOUSE)}:{line} imports {name}"


@pytest.mark.parametrize("room", INNER)
def test_an_inner_room_imports_only_what_it_may(room):
    assert list(_unlawful(room)) == []


@pytest.mark.parametrize("room", INNER)
def test_every_inner_room_is_in_the_law_and_tells_what_it_is(room):
    folders = {_inner(path) for path in _sources(room)}
    assert folders - {""} == set(INNER[room]) - {""}
    for folder in folders - {""}:
        text = ast.get_docstring(ast.parse((HOUSE / room / folder / "__init__.py").read_text()))
        assert text, f"{room}/{folder}/__init__.py does not say what the room holds"
        assert len(text.splitlines()) <= 4


@pytest.mark.parametrize("room", ROOMS)
def test_a_folder_is_seen_at_one_look(room):
    folders = {path.parent for path in _sources(room)}
    crowded = {
        str(folder.relative_to(HOUSE)): number
        for folder in folders
        if (number := len(list(folder.glob("*.py")))) > MAX_FILES
    }
    assert crowded == {}


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
            body = tree_of(path).body
            assert [type(each) for each in body] == [ast.Expr], f"{path} is more than a text"


def test_broad_excepts_are_the_six_that_say_why():
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
        "pipeline/daemon/http_endpoint.py",
        "pipeline/daemon/server.py",
        "sinks/mcp/http.py",
    ]


def test_clean_text_is_made_by_the_redactor_alone():
    makers = {
        str(path.relative_to(HOUSE))
        for room in ROOMS
        for path in _sources(room)
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and "CleanText" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))
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
        ("pipeline.cli.command_line, subcog.pipeline.commands.memory", "numpy duckdb anyio rich"),
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
