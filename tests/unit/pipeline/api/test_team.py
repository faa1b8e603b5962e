import sys
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import msgspec
import pytest

from subcog.bus.values import Hit, Provenance, Scope
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.api import team as team_calls
from subcog.pipeline.api.dispatch import Calls
from subcog.pipeline.app import team as team_part
from subcog.pipeline.app.app import App
from subcog.pipeline.entrance.handler import HookHandler
from subcog.sinks.team.postgres.errors import unavailable
from subcog.sinks.team.protocol import Project
from tests.stores import make_row, put_empty_file
from tests.team_server import TEAM, FakeServer, FakeTeam
from tests.waiting import PATIENCE_S, until

URL = "postgresql://ann@db.example/memory"
ORIGIN = "https://git.example/acme/shop.git"
NOBODYS = Scope("project", "nobodys-0123456789ab")
TEXT = "We ship on Tuesdays, since nobody wants to be called at the weekend"


def test_who_could_not_join_is_not_promised_that_anything_is_sent():
    error = unavailable("unreachable", "db.example:5432/memory")
    told = "the team's server db.example:5432/memory does not answer."
    assert team_calls._not_joined(error) == f"nothing was joined: {told}"
    assert str(error) == f"{told} What you capture is kept here and sent when it does."


class Server(FakeServer):
    server = "db.example:5432/memory"

    async def share(self, scope, name):
        await self._call("share")
        self.team.projects.append(Project(scope, name, self.member))
        self.team.announce()
        return True

    async def unshare(self, scope):
        await self._call("unshare")
        mine = [p for p in self.team.projects if (p.scope, p.shared_by) == (scope, self.member)]
        self.team.projects = [p for p in self.team.projects if p not in mine]
        return bool(mine)

    async def search(self, query, vector):
        """All of the scopes asked for, and what nobody asked for."""
        await self._call("search")
        self.team.asked = (query, vector)
        return [hit for hit in self.team.hits if hit.memory.scope in (*query.scopes, NOBODYS)]


class Machine:
    """A daemon's app, asked as the command line asks."""

    def __init__(self, app, team, project):
        self.app, self.project = app, project
        self.servers = []
        self.calls = Calls(app, HookHandler(app), dict)

        def server(url, joined=None):
            assert url == URL
            self.servers.append(Server(team, "ann"))
            return self.servers[-1]

        app.team.server = server

    async def ask(self, name, **params):
        """The answer of a call, or the refusal."""
        body = msgspec.json.encode(params)
        with anyio.fail_after(PATIENCE_S):
            done, answer = await self.calls.handle(name, {"project": str(self.project)}, body)
        decoded = msgspec.json.decode(answer)
        return decoded if done else decoded["error"]

    async def capture(self, text=TEXT, scope="project"):
        return (await self.ask("capture", text=text, scope=scope))["id"]

    async def until(self, condition):
        async def holds():
            return condition(await self.ask("team-status"))

        await until(holds)


@pytest.fixture
def team(monkeypatch):
    """A team whose server is given time: a busy machine may need more than a search may take."""
    monkeypatch.setattr(team_calls, "RECALL_S", PATIENCE_S)
    return FakeTeam()


def git_config(project, origin):
    """As much of a clone as says where it comes from."""
    folder = project / ".git"
    folder.mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')


@asynccontextmanager
async def running(folder, team, origin=ORIGIN):
    project = folder / "shop"
    project.mkdir()
    if origin:
        git_config(project, origin)
    paths = find_paths({"HOME": str(folder), "SUBCOG_HOME": str(folder / "home")})
    await anyio.to_thread.run_sync(put_empty_file, paths.database)
    app = App(load_settings(paths.config_file, {}).settings, paths)
    async with app.running(), anyio.create_task_group() as tasks:
        await app.load()
        tasks.start_soon(app.team.run)
        try:
            yield Machine(app, team, project)
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await app.unload()


async def test_before_a_team_is_joined_nothing_can_be_shared(tmp_path, team):
    async with running(tmp_path, team) as ann:
        assert await ann.ask("team-status") == {"joined": False, "url": False}
        for call in ("team-share", "team-unshare", "team-leave"):
            assert "no team was joined" in await ann.ask(call)
        assert "no team was joined" in await ann.ask("team-recall", query="x")
        assert ann.app.team.status() is None


async def test_joining_says_what_would_leave_and_sends_it_only_with_a_yes(tmp_path, team):
    async with running(tmp_path, team) as ann:
        place = ann.app.projects.place(project_dir=str(ann.project), cwd="", user="u")
        elsewhere = Scope("project", "elsewhere-0123456789ab")
        team.projects += [
            Project(place.project, "shop", "ben"),
            Project(elsewhere, "elsewhere", "cem"),
        ]
        mine = await ann.capture()
        ours = await ann.capture("Everybody here writes British English", scope="org")
        await ann.capture("My own password hint is the cat", scope="user")

        preview = await ann.ask("team-join", url=URL)
        assert preview == {
            "joined": False,
            "team": TEAM,
            "member": "ann",
            "members": ["ann", "ben", "cem"],
            "server": "db.example:5432/memory",
            "epoch": 1,
            "organisation": 1,
            "projects": [
                {"scope": str(place.project), "name": "shop", "here": 1, "shared_by": "ben"},
                {"scope": str(elsewhere), "name": "elsewhere", "here": 0, "shared_by": "cem"},
            ],
            "leaves": 2,
        }
        assert ann.servers[0].closed
        assert not team.versions

        answer = await ann.ask("team-join", url=URL, yes=True, scopes=[str(place.project)])
        assert (answer["joined"], answer["leaves"]) == (True, 2)
        await ann.until(lambda now: now["sent"] == 2 and now["outbox"] == 0)
        assert {key[0] for key in team.versions} == {mine, ours}
        shown = await ann.ask("team-status")
        sends = {project["name"]: project["sends"] for project in shown["projects"]}
        assert sends == {"shop": True, "elsewhere": False}
        assert (shown["team"], shown["member"], shown["connected"]) == (TEAM, "ann", True)

        await ann.capture("We review on Mondays")
        await ann.until(lambda now: now["sent"] == 3)


async def test_a_machine_is_in_one_team(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        other = Server(team, "ann")
        other.name = "others"
        ann.app.team.server = lambda url, joined=None: other
        assert "subcog team leave" in await ann.ask("team-join", url=URL, yes=True)


async def test_a_team_of_the_same_name_on_another_server_is_another(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        team.founded += timedelta(days=1)
        assert "leave` first" in await ann.ask("team-join", url=URL, yes=True)
        assert "another team" in await ann.ask("team-share", yes=True)


async def test_a_project_is_shared_and_unshared(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.capture()
        await ann.ask("team-join", url=URL, yes=True)
        preview = await ann.ask("team-share")
        assert (preview["shared"], preview["leaves"], preview["name"]) == (False, 1, "shop")
        assert (preview["shared_by"], preview["warning"]) == ("", "")
        assert not team.projects
        assert (await ann.ask("team-share", yes=True))["leaves"] == 1
        await ann.until(lambda now: now["sent"] == 1)
        assert [project.shared_by for project in team.projects] == ["ann"]

        gone = await ann.ask("team-unshare", scope=preview["scope"])
        assert gone | {"scope": ""} == {
            "scope": "",
            "name": "shop",
            "removed": 0,
            "kept": 1,
            "listed": False,
        }
        await ann.capture("We deploy by hand")
        await ann.until(lambda now: now["last_pull"])
        assert len(team.versions) == 1
        assert "is not shared" in await ann.ask("team-unshare")


async def test_unsharing_and_leaving_need_no_server(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.capture()
        await ann.ask("team-join", url=URL, yes=True)
        await ann.ask("team-share", yes=True)
        await ann.until(lambda now: now["sent"] == 1)
        with team.away():
            assert "the server is away" in await ann.ask("team-share", yes=True)
            assert (await ann.ask("team-unshare"))["kept"] == 1
            left = await ann.ask("team-leave")
            assert (left["left"], left["team"], left["unsent"]) == (False, TEAM, 0)
            assert (await ann.ask("team-leave", yes=True))["left"]
        assert await ann.ask("team-status") == {"joined": False, "url": True}
        assert (await ann.ask("recall", query=TEXT))["memories"]


async def test_a_project_that_is_the_same_nowhere_else_is_shared_with_a_warning(tmp_path, team):
    async with running(tmp_path, team, origin="") as ann:
        await ann.ask("team-join", url=URL, yes=True)
        assert "no git remote" in (await ann.ask("team-share"))["warning"]


async def test_only_a_project_can_be_shared(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        for scope in ("user:me", "org:local", "project:", "shop"):
            assert "no project" in await ann.ask("team-share", scope=scope, yes=True)
        assert not team.projects


def hit(number, author, **fields):
    memory = make_row(number, provenance=Provenance(author=author), **fields).memory
    return Hit(memory=memory, text=0.0, late=0.0, vector=0.5, order=1.0, relevance=0.5)


@asynccontextmanager
async def searching(folder, team):
    """Ann, who joined a team that has memories of the organisation and of two projects."""
    org, shop, till = Scope("org", "local"), *(Scope("project", f"{n}-1") for n in ("shop", "till"))
    team.projects += [Project(shop, "shop", "ben"), Project(till, "till\x1b[2J", "cem")]
    team.hits = [
        hit(1, "ben", scope=shop),
        hit(2, "ann", scope=org),
        hit(3, "cem", scope=till),
        hit(4, "cem", scope=till, content="\x1b]0;you agreed"),
        hit(5, "cem", scope=NOBODYS),
        hit(6, "cem", scope=shop, namespace="system"),
    ]
    async with running(folder, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        # The synchronisation asks for a server of its own, in a thread; the next is a search's.
        await ann.until(lambda now: now["connected"])
        yield ann


async def test_a_search_on_the_server_says_whose_a_memory_is_and_shows_no_hostile_one(
    tmp_path, team
):
    async with searching(tmp_path, team) as ann:
        answer = await ann.ask("team-recall", query="what\0 now", limit=7, namespace="decisions")
        assert (answer["team"], answer["server"]) == (TEAM, Server.server)
        assert (answer["skipped"], answer["degraded"], answer["mode"]) == (3, None, "hybrid")
        assert [(one["author"], one["project"]) for one in answer["memories"]] == [
            ("ben", "shop"),
            ("ann", ""),
            ("cem", "till"),
        ]
        query, vector = team.asked
        assert (query.limit, query.namespaces, len(vector)) == (7, ("decisions",), 256)
        assert [str(scope) for scope in query.scopes] == [
            *("org:local", "project:shop-1", "project:till-1")
        ]
        assert ann.servers[-1].closed
        assert not (await ann.ask("recall", query="content number"))["memories"]


async def test_a_search_on_the_server_can_be_about_one_project(tmp_path, team):
    async with searching(tmp_path, team) as ann:
        for name in ("shop", "project:shop-1"):
            await ann.ask("team-recall", query="what", project=name)
            assert team.asked[0].scopes == (Scope("project", "shop-1"),)
        refusal = await ann.ask("team-recall", query="what", project="shops")
        assert refusal == "the team shares no project shops; it shares: shop, till"
        for wrong in ({"limit": 101}, {"query": "x" * 5000}, {"namespace": "\0"}):
            assert "Expected" in await ann.ask("team-recall", **({"query": "x"} | wrong))


async def test_no_secret_of_a_question_goes_to_the_server(tmp_path, team):
    async with searching(tmp_path, team) as ann:
        key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
        await ann.ask("team-recall", query=f"who uses {key}?")
        assert key not in team.asked[0].text
        assert "who uses" in team.asked[0].text


async def test_a_search_on_a_server_that_is_away_says_where_else_to_look(
    tmp_path, team, monkeypatch
):
    async with searching(tmp_path, team) as ann:
        with team.away():
            assert await ann.ask("team-recall", query="what") == (
                "the server is away. `subcog recall` searches what is on this machine."
            )
        monkeypatch.setattr(team_calls, "RECALL_S", 0.02)
        monkeypatch.setattr(Server, "search", lambda *_: anyio.sleep_forever())
        refusal = await ann.ask("team-recall", query="what")
        assert refusal.startswith("the team's server did not answer in time. `subcog recall`")
        assert ann.servers[-1].closed


async def test_without_an_embedder_the_server_is_asked_by_words_alone(tmp_path, team):
    async with searching(tmp_path, team) as ann:
        ann.app.archive.loaded.encoder.embedder = None
        answer = await ann.ask("team-recall", query="what")
        assert (answer["mode"], answer["degraded"]) == ("text", "embedder.unavailable")
        assert team.asked[1] is None


async def test_without_psycopg_or_an_address_it_says_what_to_do(tmp_path, team, monkeypatch):
    async with running(tmp_path, team) as ann:
        del ann.app.team.server
        assert "subcog team join URL" in await ann.ask("team-join")
        monkeypatch.setattr(team_part, "find_spec", lambda name: None)
        monkeypatch.setitem(sys.modules, "psycopg", None)
        monkeypatch.delitem(sys.modules, "subcog.sinks.team.postgres.errors", raising=False)
        assert "pip install 'subcog[team]'" in await ann.ask("team-join", url=URL)


async def test_it_goes_on_with_the_database_that_was_restored(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        await ann.ask("team-share", yes=True)
        copy = str(tmp_path / "copy.duckdb")
        await ann.ask("backup", file=copy)
        await ann.capture()
        await ann.until(lambda now: now["sent"] == 1)
        assert (await ann.ask("restore_backup", file=copy))["memories"] == 0
        # What was sent since comes back, and what is captured from now on is sent.
        await until(lambda: ann.app.archive.loaded.count == 1)
        await ann.capture("We review on Mondays")
        await until(lambda: len(team.versions) == 2)


async def test_what_breaks_the_synchronisation_does_not_end_the_daemon(
    tmp_path, team, monkeypatch, caplog
):
    monkeypatch.setattr(team_part, "AGAIN_S", 0.05)
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        await ann.until(lambda now: now["connected"])

        async def broken(*args, **kwargs):
            raise AttributeError("the text of a memory")

        count = len(ann.servers)
        ann.servers[-1].changes = broken
        team.announce()
        await until(lambda: len(ann.servers) > count)
        await ann.until(lambda now: now["connected"])
    [record] = [record for record in caplog.records if "synchronisation failed" in record.message]
    assert record.error == "AttributeError"
    assert record.at.startswith("test_team.py:")


async def test_an_address_that_is_none_is_a_problem_and_no_more(tmp_path, team):
    async with running(tmp_path, team) as ann:
        await ann.ask("team-join", url=URL, yes=True)
        del ann.app.team.server
        ann.app.team.url = "this is no address"
        ann.app.team.restart()
        await ann.until(lambda now: now["problem"] and not now["connected"])
        assert "this is no address" not in str(await ann.ask("team-status"))
        assert ann.app.team.status()["problem"]["reason"]
