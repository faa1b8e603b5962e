import threading
import time
from pathlib import Path

import anyio
import pytest

from subcog.bus.anchors import Anchor
from subcog.bus.values import Memory, Place, Scope
from subcog.sinks.code import checkout, survey, watch
from subcog.sinks.code.checkout import Checkout, Unreadable
from subcog.sinks.code.watch import CodeWatch
from subcog.stages.language.code_names import code_names
from tests.fakes import NOW
from tests.waiting import PATIENCE_S, until

PROJECT = Scope("project", "shop-0123456789ab")
TEXT = "load_rates() in rates.py reads the table"
CODE = "def load_rates():\n    return open('rates').read()\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "rates.py").write_text(CODE)
    return tmp_path


def watching(find_top=None):
    return CodeWatch(names=code_names, find_top=find_top or Path, head=lambda root: "")


def place(root):
    return Place(project=PROJECT, root=str(root), user=Scope("user", "u"))


def memory(*anchors, scope=PROJECT):
    return Memory(
        id="mem_1",
        scope=scope,
        namespace="decisions",
        content=TEXT,
        summary="",
        created_at=NOW,
        updated_at=NOW,
        anchors=anchors,
    )


async def state(code, root, *anchors):
    return (await code.check([memory(*anchors)], place(root)))["mem_1"].state


async def test_what_a_text_names_is_found_and_followed(project):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    assert [(one.path, one.symbol) for one in anchors] == [("rates.py", "load_rates")]
    assert await state(code, project, *anchors) == "unchanged"
    (project / "rates.py").write_text(CODE.replace("'rates'", "'other'"))
    assert await state(code, project, *anchors) == "changed"
    (project / "rates.py").write_text(CODE)
    assert await state(code, project, *anchors) == "unchanged"


@pytest.mark.parametrize("named", ["rates.py", "./rates.py", "api/rates.py"])
async def test_a_file_is_read_before_the_parsers_are_loaded(tmp_path, named):
    """The clock is first asked when they are: by then the file is another one."""
    folder = tmp_path / "api" if named.startswith("api") else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / "rates.py").write_text(CODE)

    def clock():
        (folder / "rates.py").write_text(CODE.replace("'rates'", "'other'"))
        return time.monotonic()

    code = CodeWatch(names=code_names, find_top=Path, head=lambda root: "", clock=clock)
    anchors = await code.anchors(TEXT.replace("rates.py", named), str(tmp_path))
    assert await state(code, tmp_path, *anchors) == "changed"


async def test_a_file_named_from_a_folder_is_read_at_once_too(tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "rates.py").write_text(CODE)

    def clock():
        (tmp_path / "api" / "rates.py").write_text(CODE.replace("'rates'", "'other'"))
        return time.monotonic()

    code = CodeWatch(names=code_names, find_top=lambda _: tmp_path, head=lambda _: "", clock=clock)
    anchors = await code.anchors(TEXT, str(tmp_path / "api"))
    assert [one.path for one in anchors] == ["api/rates.py"]
    assert await state(code, tmp_path, *anchors) == "changed"


async def test_a_file_is_read_again_only_where_its_times_differ(project, monkeypatch):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    monkeypatch.setattr(watch, "_RACY_NS", 0)
    assert await state(code, project, *anchors) == "unchanged"
    read = []
    monkeypatch.setattr(Checkout, "read", lambda self, path: read.append(path))
    assert await state(code, project, *anchors) == "unchanged"
    assert read == []


async def test_a_file_system_that_hangs_costs_one_short_wait(project):
    anchors = await watching().anchors(TEXT, str(project))
    answers = threading.Event()

    def hang(root):
        answers.wait(30)
        return project

    code = watching(hang)
    try:
        with anyio.fail_after(PATIENCE_S):
            began = time.monotonic()
            assert await state(code, project, *anchors) is None
            first_s = time.monotonic() - began
            for _ in range(20):
                assert await state(code, project, *anchors) is None
            assert await code.anchors(TEXT, str(project)) == ()
        assert first_s < 1
    finally:
        answers.set()
    with anyio.fail_after(PATIENCE_S):
        while await state(code, project, *anchors) is None:  # noqa: ASYNC110 - a thread ends
            await anyio.sleep(0.01)
    await until(lambda: not code._busy)


async def test_work_that_nobody_waited_for_when_it_would_begin_keeps_nothing_busy():
    code, ran = watching(), []
    assert not await code._in_thread(lambda: ran.append(1), -1, {"/r"})
    assert not code._busy
    task = watch._Task(lambda: ran.append(1), code._busy, {"/r"}, code._lock)
    task.leave()
    task.run()
    assert not ran
    assert not code._busy


async def test_a_check_takes_a_part_of_the_time_that_is_left(project):
    anchors = await watching().anchors(TEXT, str(project))
    answers = threading.Event()

    def hang(root):
        answers.wait(30)
        return project

    try:
        with anyio.fail_after(2) as scope:
            assert await state(watching(hang), project, *anchors) is None
        assert not scope.cancelled_caught
    finally:
        answers.set()


async def test_what_a_search_did_not_find_out_is_not_searched_for_again_at_once(
    project, monkeypatch
):
    anchors = await watching().anchors(TEXT, str(project))
    (project / "rates.py").unlink()
    searches, now = [], [0.0]

    def search(self):
        searches.append(now[0])
        now[0] += 6  # longer than a search may take
        return iter(())

    monkeypatch.setattr(Checkout, "_walk", search)
    code = CodeWatch(names=code_names, find_top=Path, head=lambda _: "", clock=lambda: now[0])
    for _ in range(3):
        assert await state(code, project, *anchors) is None
    assert len(searches) == 1
    now[0] += 30
    assert await state(code, project, *anchors) is None
    assert len(searches) == 2
    (project / "rates.py").write_text(CODE)
    assert await state(code, project, *anchors) == "unchanged"


async def test_whoever_has_no_patience_gets_what_was_found_the_next_time(project, monkeypatch):
    anchors = await watching().anchors(TEXT, str(project))
    (project / "rates.py").unlink()
    may_end = threading.Event()
    files = Checkout.files

    def search(self):
        may_end.wait(30)
        return files(self)

    monkeypatch.setattr(Checkout, "files", search)
    code = watching()
    began = time.monotonic()
    found = await code.check([memory(*anchors)], place(project), patience_s=0.01)
    assert time.monotonic() - began < 1
    assert found["mem_1"].state is None
    may_end.set()
    await until(lambda: not code._busy)
    monkeypatch.setattr(Checkout, "files", None)  # nothing is searched any more
    assert await state(code, project, *anchors) == "gone"


async def test_another_projects_memory_is_not_compared_with_this_one(project):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    other = memory(*anchors, scope=Scope("project", "other-0123456789ab"))
    assert await code.check([other], place(project)) == {}


@pytest.mark.parametrize(
    "path", ["../secret.py", "/etc/passwd", ".git/config", "sub/../../secret.py"]
)
async def test_no_path_leads_out_of_the_project(tmp_path, path):
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / "secret.py").write_text(CODE)
    assert _read(Checkout(project), path) is None
    assert await watching().anchors(f"load_rates() in {path} reads", str(project)) == ()


def _read(checkout, path):
    try:
        return checkout.read(path)
    except Unreadable:
        return None


async def test_no_link_leads_out_of_the_project(tmp_path):
    project = tmp_path / "shop"
    project.mkdir()
    (tmp_path / "secret.py").write_text(CODE)
    (project / "rates.py").symlink_to(tmp_path / "secret.py")
    (project / "sub").symlink_to(tmp_path)
    for path in ("rates.py", "sub/secret.py"):
        with pytest.raises(Unreadable):
            Checkout(project).read(path)
    assert Checkout(project).files() == ()
    assert await watching().anchors(TEXT, str(project)) == ()


@pytest.mark.parametrize("name", [".env", ".env.local", "server.key", "id_rsa", "credentials.json"])
async def test_where_secrets_are_kept_nothing_is_read(tmp_path, name):
    (tmp_path / name).write_text('{"a_b": 1}')
    with pytest.raises(Unreadable):
        Checkout(tmp_path).read(name)
    assert Checkout(tmp_path).files() == ()


async def test_a_setting_that_is_a_secret_has_no_anchor(tmp_path):
    (tmp_path / "app.yaml").write_text("db:\n  password: hunter2\n  port: 1\n")
    code = watching()
    assert await code.anchors("`db.password` is set", str(tmp_path)) == ()
    assert len(await code.anchors("`db.port` is set", str(tmp_path))) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
async def test_another_encoding_changes_nothing(project, encoding):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    for path in ("rates.py", "other.py"):
        (project / "rates.py").rename(project / path)
        (project / path).write_text(CODE, encoding=encoding)
        assert await state(code, project, *anchors) in {"unchanged", "moved"}
    (project / "other.py").write_text(CODE.replace("'rates'", "'other'"), encoding=encoding)
    assert await state(code, project, *anchors) == "changed"


@pytest.mark.parametrize("data", [b"\xff\xfea\0b", b"\xff\xfe\0\0a\0\0\0", b"\xff\xfe\0\xd8a\0"])
def test_what_only_begins_like_text_is_none(tmp_path, data):
    (tmp_path / "a.py").write_bytes(data)
    with pytest.raises(Unreadable):
        Checkout(tmp_path).read("a.py")
    assert Checkout(tmp_path).read_listed("a.py") is None


async def test_what_git_ignores_is_no_place_to_move_to(project):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    (project / ".gitignore").write_text("*.bak.py\nold/\n")
    (project / "old").mkdir()
    (project / "old" / "rates.py").write_text(CODE)
    (project / "rates.bak.py").write_text(CODE)
    (project / "rates.py").unlink()
    assert await state(code, project, *anchors) == "gone"


async def test_a_twin_is_no_place_to_move_to(project):
    (project / "copy.py").write_text(CODE)
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    assert anchors[0].twins == 1
    (project / "rates.py").unlink()
    assert await state(code, project, *anchors) == "gone"


MOVED = {"rates.py": TEXT, "bin/bell.sh": "The file bin/bell.sh is checked by the auditor"}
SHORT = "#!/bin/sh\nexec ring\n"


async def short_file(root, path="bin/bell.sh"):
    """A file of two lines, a watch, and the anchor of a memory that names it."""
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(SHORT)
    code = watching()
    return code, await code.anchors(f"The file {path} is checked by the auditor", str(root))


@pytest.mark.parametrize("path", ["scripts/bell.sh", "bin/chime.sh"])
async def test_a_short_file_that_moved_is_found(tmp_path, path):
    code, anchors = await short_file(tmp_path)
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / "bin/bell.sh").rename(tmp_path / path)
    assert await state(code, tmp_path, *anchors) == "moved"


async def test_of_several_short_files_that_are_alike_none_is_the_one_that_moved(tmp_path):
    code, anchors = await short_file(tmp_path)
    (tmp_path / "bin/bell.sh").unlink()
    for name in ("one.sh", "two.sh"):
        (tmp_path / name).write_text(SHORT)
    assert await state(code, tmp_path, *anchors) == "gone"


async def test_a_file_that_was_not_compared_with_all_of_its_kind_is_unknown(tmp_path, monkeypatch):
    code, anchors = await short_file(tmp_path)
    (tmp_path / "bin/bell.sh").rename(tmp_path / "bin/chime.sh")
    for number in range(3):
        (tmp_path / f"{number}.sh").write_text(f"exit {number}\n")
    monkeypatch.setattr(survey, "_came_at", lambda checkout, path: "chime" not in path)
    monkeypatch.setattr(survey, "MOST_COMPARED", 3)
    assert await state(code, tmp_path, *anchors) is None
    monkeypatch.setattr(survey, "MOST_COMPARED", 4)
    assert await state(watching(), tmp_path, *anchors) == "moved"


@pytest.mark.parametrize(
    ("before", "after"),
    [("a.c", "a.cpp"), ("a.md", "b.mdx"), ("a.sh", "a.bash"), ("a.css", "a.scss")],
)
async def test_a_file_is_found_under_another_suffix_of_its_kind(tmp_path, before, after):
    text = "".join(f"// {line}\nline {line}\n" for line in range(10))
    (tmp_path / before).write_text(text)
    code = watching()
    anchors = await code.anchors(f"see {before}", str(tmp_path))
    (tmp_path / before).rename(tmp_path / after)
    assert await state(code, tmp_path, *anchors) == "moved"
    (tmp_path / after).rename(tmp_path / "a.txt")
    assert await state(code, tmp_path, *anchors) == "gone"


LONG = "".join(f"x{number} = {number}\n" for number in range(40_000))


@pytest.mark.parametrize("more", [LONG, "def broken(:\n    def\n" + "(" * 90 + CODE])
async def test_a_symbol_in_a_file_that_is_not_parsed_is_unknown(project, more):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    (project / "rates.py").write_text("x = 1\n")
    (project / "all.py").write_text(CODE + more if more is LONG else more)
    assert await state(code, project, *anchors) is None
    assert await code.anchors("load_rates() is slow", str(project)) == ()
    (project / "all.py").write_text(more.replace("load_rates", "load"))
    assert await state(watching(), project, *anchors) == "gone"


async def test_a_key_in_a_file_that_is_too_long_for_settings_is_unknown(tmp_path):
    (tmp_path / "a.yaml").write_text("server:\n  port: 1\n")
    code = watching()
    anchors = await code.anchors("`server.port` in a.yaml is fixed", str(tmp_path))
    (tmp_path / "a.yaml").write_text("x: 1\n")
    (tmp_path / "b.yaml").write_text(
        "server:\n  port: 1\n" + "".join(f"k{n}: {n}\n" for n in range(9000))
    )
    assert await state(code, tmp_path, *anchors) is None


async def test_a_namesake_of_a_deleted_file_is_not_the_file(tmp_path):
    code, anchors = await short_file(tmp_path)
    (tmp_path / "bin/bell.sh").unlink()
    (tmp_path / "bell.sh").write_text(SHORT + "exit 1\n")
    assert await state(code, tmp_path, *anchors) == "gone"


@pytest.mark.parametrize("folder", ["build", "target", ".circleci"])
async def test_a_folder_that_git_does_not_ignore_is_a_place_to_move_to(project, folder):
    (project / ".gitignore").write_text("*.pyc\n")
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    (project / folder).mkdir()
    (project / "rates.py").rename(project / folder / "rates.py")
    assert await state(code, project, *anchors) == "moved"


@pytest.mark.parametrize("path", MOVED)
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        (".config/sub", None),
        ("vendor", None),
        ("build", None),
        ("web/dist", None),
        ("node_modules/a", "gone"),
        (".venv/lib", "gone"),
        ("ignored/.config", "gone"),
        (".trees/other", "gone"),
    ],
)
async def test_what_went_where_nothing_is_searched_is_unknown(project, path, folder, expected):
    (project / "bin").mkdir()
    (project / "bin/bell.sh").write_text(SHORT)
    code = watching()
    anchors = await code.anchors(MOVED[path], str(project))
    (project / folder).mkdir(parents=True)
    (project / ".trees/other/.git").mkdir(parents=True)
    if folder.startswith("ignored"):
        (project / ".gitignore").write_text("ignored\n")
    there = project / folder / (project / path).name
    (project / path).rename(there)
    assert await state(code, project, *anchors) == expected
    there.write_text("exit 1\n")
    assert await state(watching(), project, *anchors) == "gone"


async def test_what_is_built_below_a_folder_with_rules_of_its_own_is_not_searched(tmp_path):
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    (tmp_path / "web/app/dist").mkdir(parents=True)
    (tmp_path / "web/.gitignore").write_text("dist\n")
    (tmp_path / "web/app/dist/rates.py").write_text(CODE)
    (tmp_path / "web/rates.py").write_text(CODE)
    assert Checkout(tmp_path).files() == (".gitignore", "web/.gitignore", "web/rates.py")


async def test_a_name_that_is_defined_twice_has_no_anchor(project):
    (project / "copy.py").write_text(CODE + "# other\n")
    assert await watching().anchors("load_rates() is slow", str(project)) == ()


async def test_a_digest_of_another_form_tells_nothing(project):
    anchor = Anchor(path="rates.py", digest=f"99:{'0' * 32}")
    assert await state(watching(), project, anchor) is None


async def test_hostile_files_are_compared_by_their_lines(tmp_path):
    hostile = {
        "a.yaml": "[" * 100_000,
        "a.json": "[" * 100_000,
        "a.py": "x = " + "(" * 50_000,
        "a.go": "package a\nvar x = " + "(" * 20_000 + ")" * 20_000,
        "b.yaml": "a: &a [x]\n" + "".join(f"k{n}: &k{n} [*a, *a]\n" for n in range(50)),
    }
    code = watching()
    for name, text in hostile.items():
        (tmp_path / name).write_text(text)
        anchors = await code.anchors(f"see {name}", str(tmp_path))
        assert [one.path for one in anchors] == [name]


@pytest.mark.parametrize("path", MOVED)
@pytest.mark.parametrize("bound", ["MOST_FILES", "MOST_LISTED", "MOST_FOLDERS"])
async def test_what_is_not_found_among_too_many_files_is_unknown(project, monkeypatch, bound, path):
    (project / "bin").mkdir()
    (project / "bin/bell.sh").write_text(SHORT)
    code = watching()
    anchors = await code.anchors(MOVED[path], str(project))
    (project / path).unlink()
    for number in range(3):
        (project / f"more{number}").mkdir()
        (project / f"more{number}/a.md").touch()
    monkeypatch.setattr(checkout, bound, 3)
    assert await state(code, project, *anchors) is None
    monkeypatch.undo()
    assert await state(watching(), project, *anchors) == "gone"


async def test_a_name_that_may_be_defined_beyond_the_listing_has_no_anchor(project, monkeypatch):
    (project / "z").mkdir()
    (project / "z/more.py").write_text(CODE)
    monkeypatch.setattr(checkout, "MOST_FILES", 1)
    code = watching()
    assert await code.anchors("load_rates() is slow", str(project)) == ()
    assert await code.anchors("see `more.py`", str(project)) == ()
    (named,) = await code.anchors(TEXT, str(project))
    assert named.twins == -1


async def test_pictures_do_not_count(project, monkeypatch):
    code = watching()
    anchors = await code.anchors(TEXT, str(project))
    for number in range(5):
        (project / f"a{number}.SVG").touch()
    (project / "z").mkdir()
    (project / "rates.py").rename(project / "z/rates.py")
    monkeypatch.setattr(checkout, "MOST_FILES", 3)
    assert await state(code, project, *anchors) == "moved"


def test_a_listing_ends_where_it_is_late_and_what_is_sought_in_it_is_unknown(project):
    for number in range(5):
        (project / f"more{number}.py").write_text(CODE)
    looks = iter([False] * 3 + [True] * 10)
    checkout = Checkout(project, late=lambda: next(looks))
    assert len(checkout.files()) == 3
    assert not survey.survey(checkout, {"load_rates"}, late=lambda: True).is_whole
    nothing = Checkout(project, late=lambda: True)
    assert not survey.survey(nothing, {"load_rates"}, late=lambda: True).is_whole
    assert survey.count_like(nothing, "rates.py", len(CODE), "x", late=lambda: True) == -1
