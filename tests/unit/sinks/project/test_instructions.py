"""Which files of instructions are read, within which bounds, and when they are read again."""

import os

import pytest

from subcog.config.paths import agent_folders
from subcog.sinks.project import instructions
from subcog.sinks.project.instructions import (
    CHECKED_S,
    MAX_FILE_BYTES,
    MAX_FILES,
    InstructionFiles,
)
from tests.waiting import ends_soon


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path):
    for name in (".claude", ".codex", ".gemini"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def files(home, clock):
    return InstructionFiles(
        lambda name, text: (name, text.strip()),
        folders=agent_folders({"HOME": str(home)}),
        clock=clock,
    )


def known(files, root, client="claude"):
    files.load(str(root), client)
    return files.known(str(root), client)


def test_each_agent_has_files_of_its_own(files, root, home):
    (root / "CLAUDE.md").write_text("of claude")
    (root / "CLAUDE.local.md").write_text("of mine")
    (home / ".claude" / "CLAUDE.md").write_text("of the user")
    (root / "AGENTS.md").write_text("of codex")
    (root / "GEMINI.md").write_text("of gemini")
    ours = [("CLAUDE.md", "of claude"), ("CLAUDE.md", "of mine"), ("CLAUDE.md", "of the user")]
    assert sorted(known(files, root)) == ours
    assert known(files, root, "codex") == (("AGENTS.md", "of codex"),)
    assert known(files, root, "gemini") == (("GEMINI.md", "of gemini"),)
    assert len(known(files, root, "cli")) == 5
    assert known(files, root, "other") == ()


def test_the_agents_own_memory_is_read_as_far_as_the_agent_reads_it(files, root, home):
    slug = str(root).replace("/", "-").replace("_", "-").replace(".", "-")
    folder = home / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("".join(f"line {number}\n" for number in range(300)))
    [(name, text)] = known(files, root)
    assert name == "MEMORY.md"
    assert text.endswith("line 199")


def test_what_a_file_imports_is_read_and_what_stands_in_code_is_not(files, root):
    (root / "docs").mkdir()
    (root / "CLAUDE.md").write_text("See @docs/rules.md and `@docs/code.md`, @missing.md")
    (root / "docs/rules.md").write_text("the rules, @more.md")
    (root / "docs/more.md").write_text("more, @../CLAUDE.md")
    (root / "docs/code.md").write_text("code")
    assert [text[:5] for _, text in known(files, root)] == ["See @", "the r", "more,"]


def test_nothing_outside_of_the_project_is_read(files, root, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (root / "CLAUDE.md").write_text(f"@../secret.md @{tmp_path}/secret.md @link.md")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    assert len(known(files, root)) == 1
    (root / "CLAUDE.md").unlink()
    (root / "CLAUDE.md").symlink_to(tmp_path / "secret.md")
    assert known(files, root) == ()


def test_what_is_no_file_or_too_large_says_nothing(files, root):
    os.mkfifo(root / "CLAUDE.md")
    assert known(files, root) == ()
    (root / "CLAUDE.local.md").mkdir()
    (root / "AGENTS.md").write_text("x" * (MAX_FILE_BYTES + 1))
    assert known(files, root, "codex") in [(), (("AGENTS.md", "x" * MAX_FILE_BYTES),)]
    assert known(files, root) == ()


def test_their_number_is_bounded(files, root):
    names = [f"{number}.md" for number in range(40)]
    for name in names:
        (root / name).write_text(name)
    (root / "CLAUDE.md").write_text(" ".join(f"@{name}" for name in names))
    assert len(known(files, root)) == MAX_FILES


async def test_a_change_is_seen_after_some_seconds_and_nobody_looks_before(
    files, root, clock, monkeypatch
):
    monkeypatch.setattr(instructions, "WAIT_S", 60.0)  # a busy machine may need it
    file = root / "CLAUDE.md"
    file.write_text("old")
    await files.refresh(str(root), "claude")
    file.write_text("newer")
    await files.refresh(str(root), "claude")
    assert files.known(str(root), "claude") == (("CLAUDE.md", "old"),)
    clock.now += CHECKED_S
    await files.refresh(str(root), "claude")
    assert files.known(str(root), "claude") == (("CLAUDE.md", "newer"),)
    file.unlink()
    clock.now += CHECKED_S
    await files.refresh(str(root), "claude")
    assert files.known(str(root), "claude") == ()


async def test_switched_off_it_reads_nothing(root, home):
    (root / "CLAUDE.md").write_text("of claude")
    files = InstructionFiles(
        lambda name, text: text, folders=agent_folders({"HOME": str(home)}), enabled=False
    )
    await files.refresh(str(root), "claude")
    assert files.known(str(root), "claude") == ()


async def test_a_file_of_empty_lines_is_read_in_linear_time(files, root):
    (root / "rules.md").write_text("imported")
    (root / "CLAUDE.md").write_text("\n" * 100_000 + "@rules.md\n  ```\n@none.md\n  ```\n")
    with ends_soon():
        assert [text for _, text in known(files, root)[1:]] == ["imported"]
