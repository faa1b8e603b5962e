"""Every example of the documents runs, in a home of its own, one after the other as they stand.

A line that begins with ``$`` is run by a shell; what follows it is what it must print, where ``…``
stands for anything. A block that cannot run has a comment above it that says so and why:
``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from subcog.config.load import load_settings
from tests.waiting import eventually

from .house import House

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = [CHECKOUT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
DOCUMENTS += sorted((CHECKOUT / "docs").glob("*.md"))
BLOCK = re.compile(
    r"(?P<above><!-- not run: (?P<reason>.+?) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Kinds of blocks that show something and are nothing to run or to read.
SHOWN = {"text", "mermaid"}
MEMORY_ID = re.compile(r"\bmem_[0-9a-z]{26}\b")
TRACE_ID = re.compile(r"(?<=subcog trace )[0-9a-z]{26}")
RUNS = 120.0
# Documents whose examples take more than two seconds of processor time.
LONG = dict.fromkeys(("formats.md", "operators.md", "users.md"), pytest.mark.slow)


def blocks(document: Path, *kinds: str):
    """The blocks of these kinds, and why one does not run."""
    for found in BLOCK.finditer(document.read_text()):
        if found["kind"] in kinds:
            yield found["body"], found["reason"]


def having(*kinds: str):
    return [document for document in DOCUMENTS if any(True for _ in blocks(document, *kinds))]


def named(document):
    return str(document.relative_to(CHECKOUT))


def steps(body: str):
    """Each command of a block with the output that stands below it."""
    command, output = "", []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(output)
            command, output = line[2:], []
        else:
            output.append(line)
    yield command, "\n".join(output)


def agrees(documented: str, printed: str) -> bool:
    """Whether the output is what stands there, with anything for ``…``."""
    parts = (re.escape(part) for part in documented.strip().split("…"))
    return re.fullmatch(".*?".join(parts), printed.strip(), re.DOTALL) is not None


class Reader:
    """Somebody who types the examples of a document, in their project and with their memories."""

    def __init__(self, house: House, text: str) -> None:
        self.house = house
        del house.env["SUBCOG_HOME"]
        programs = (Path(house.program).parent, Path(sys.executable).parent)
        house.env["PATH"] = ":".join([*map(str, programs), "/usr/bin", "/bin"])
        self._prepare(text)

    def _prepare(self, text: str) -> None:
        """Everything that the examples speak of, and do not make themselves."""
        project = self.house.project
        (project / "memories.jsonl").write_text('{"content": "Staging is reset every night"}\n')
        (project / "notes.md").write_text("## [patterns] Sessions\n\nOne for each request.\n")
        (project / "other-project").mkdir()
        judged = project / "judged"
        judged.mkdir()
        self._lines(judged / "memories.jsonl", [{"id": "m1", "text": "We use argon2id."}])
        query = {"id": "q1", "query": "which hash do we use", "relevant": ["m1"]}
        self._lines(judged / "queries.jsonl", [query])
        prompt = {"id": "p1", "prompt": "which hash do we use?", "relevant": ["m1"], "kind": "x"}
        self._lines(judged / "prompts.jsonl", [prompt | {"intent": "general", "acceptable": []}])
        intent = {"text": "how do I hash passwords?", "intent": "howto"}
        self._lines(project / "prompts.jsonl", [intent])
        message = {"id": "a1", "role": "user", "text": "We decided to use uv.", "captures": []}
        self._lines(project / "messages.jsonl", [message])
        used = {"memory_id": "m1", "session": "s1", "at": "2026-03-02T09:00:00Z", "kind": "shown"}
        self._lines(project / "use.jsonl", [used])
        for command in (
            "git init -q",
            "git -c user.name=x -c user.email=x@y commit -qm 'Use uv' --allow-empty",
        ):
            self.shell(command)
        self._remember(sorted(set(MEMORY_ID.findall(text))))
        if "old-backup" in text:
            self.shell("subcog backup ~/old-backup.duckdb")

    @staticmethod
    def _lines(file: Path, objects: list[dict]) -> None:
        file.write_text("".join(json.dumps(one) + "\n" for one in objects))

    def _remember(self, ids: list[str]) -> None:
        """Memories with exactly the ids that the document names."""
        self.house.capture("We hash passwords with argon2id")
        [known] = [json.loads(line) for line in self.house.run("export").stdout.splitlines()]
        made = [
            known | {"id": one, "content": f"Password number {n}", "content_hash": f"hash {n}"}
            for n, one in enumerate(ids)
        ]
        file = self.house.root / "seed.jsonl"
        self._lines(file, made)
        if ids:
            assert self.house.ask("import", str(file), "--as-exported", "--yes")["stored"] == len(
                ids
            )
        self.house.prompt("how do we hash passwords?")

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            input="y\n",
            capture_output=True,
            text=True,
            env=self.house.env,
            cwd=self.house.project,
            timeout=RUNS,
            check=False,
        )

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run one example, with the id of a trace that there is."""
        if TRACE_ID.search(command):
            # It is written beside the answer to the prompt.
            traced = eventually(lambda: self.house.ask("trace")["traces"])
            newest = traced[0]["id"]
            command = TRACE_ID.sub(newest, command)
        return self.shell(command)


@pytest.fixture
def reader(tmp_path, request):
    house = House(tmp_path)
    yield Reader(house, request.param.read_text())
    house.close()


@pytest.mark.parametrize(
    ("reader", "document"),
    [pytest.param(one, one, marks=LONG.get(one.name, ())) for one in having("console", "sh")],
    ids=named,
    indirect=["reader"],
)
def test_every_example_of_a_document_runs(reader, document):
    for body, reason in blocks(document, "console", "sh"):
        for command, output in steps(body) if reason is None else ():
            done = reader.type(command)
            said = f"$ {command}\n{done.stdout}{done.stderr}"
            assert done.returncode == 0, said
            assert not output.strip() or agrees(output, done.stdout), said


@pytest.mark.parametrize("document", having("toml"), ids=named)
def test_every_setting_of_an_example_is_one(document, tmp_path):
    for number, (body, _) in enumerate(blocks(document, "toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(body)
        assert tomllib.loads(body)
        load_settings(file, {})


@pytest.mark.parametrize("document", having("yaml", "json"), ids=named)
def test_every_piece_of_data_can_be_read(document):
    for kind, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        for body, _ in blocks(document, kind):
            assert read(body)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_no_other_kind_of_block_is_there(document):
    known = SHOWN | {"console", "sh", "toml", "yaml", "json"}
    text = document.read_text()
    assert {found["kind"] for found in BLOCK.finditer(text)} <= known
    assert text.count("\n```") == 2 * len(BLOCK.findall(text)), "a block without a kind"


def test_what_is_printed_is_compared_and_may_be_elided():
    assert agrees("kept … as mem_…\n", "kept this as mem_1\nand more\n")
    assert not agrees("kept … as x", "kept this as y")
    assert list(steps("$ a\none\n$ b\n")) == [("a", "one"), ("b", "")]
