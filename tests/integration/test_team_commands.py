"""``subcog team``: what a member and an administrator type, and what they are shown."""

from __future__ import annotations

import os
import re
import select
import shlex
import stat
import subprocess
import time
from pathlib import Path

import anyio
import pytest

from subcog.config.load import load_settings

from ..postgres import fresh_database
from .house import PATIENCE_S, SUBCOG, House
from .mcp_client import call, session
from .test_help import read_all

pytestmark = pytest.mark.slow
DOCUMENT = Path(__file__).parents[2] / "docs" / "team.md"
REMOTE = "https://git.example/acme/shop.git"
FACT = "We decided that the API of the shop speaks JSON only"
ORGANISATIONS = "Every service logs in JSON"
AGREED = ("[y/N]: ", "y")
POLL_S = 0.05


@pytest.fixture(scope="module")
def team(postgres):
    with fresh_database(postgres) as database:
        yield database
    for role in ("ana", "ben", "cy"):  # roles outlive the database
        postgres.psql(postgres.url(), f"DROP ROLE IF EXISTS {role}")


@pytest.fixture(scope="module")
def people(team, tmp_path_factory):
    """Two machines with a clone of one project each; neither is in the team."""
    people = {name: House(tmp_path_factory.mktemp(name)) for name in ("ana", "ben")}
    for house in people.values():
        for command in ("git init -q", f"git remote add origin {REMOTE}"):
            subprocess.run(shlex.split(command), cwd=house.project, check=True)
    people["ana"].capture(ORGANISATIONS, "--scope", "org")
    yield people
    for house in people.values():
        house.close()


@pytest.fixture(scope="module")
def urls(people, team):
    """The URL of each member, after the database was prepared as the document tells."""
    line = documented()[0].replace("postgresql://admin@db.example/memory", team.owner_url)
    prepared = people["ana"].ask(*shlex.split(line)[1:])
    assert prepared["team"] == "shop"
    return {member["name"]: member["url"] for member in prepared["members"]}


def in_terminal(house: House, *args: str, typed: tuple[tuple[str, str], ...]) -> tuple[int, str]:
    """Run a command as somebody sees it who sits there; the exit code, and the screen.

    ``typed`` are what the screen shows at its end, and what is typed then.
    """
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [SUBCOG, *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=house.env | {"TERM": "xterm"},
        cwd=house.project,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        screen = b""
        for prompt, answer in typed:
            while not screen.endswith(prompt.encode()):
                assert select.select([ours], [], [], PATIENCE_S)[0], screen
                screen += os.read(ours, 4096)
            os.write(ours, f"{answer}\n".encode())
        told = screen.decode() + read_all(ours)
    return process.returncode, told


def wait_for(house: House, *args: str, until) -> dict:
    """The answer of a command, asked until it is the one."""
    deadline = time.monotonic() + PATIENCE_S
    while not until(answer := house.ask(*args)):
        assert time.monotonic() < deadline, answer
        time.sleep(POLL_S)
    return answer


def documented() -> list[str]:
    """The examples of the document that need a server."""
    text = DOCUMENT.read_text()
    blocks = re.findall(
        r"<!-- not run: needs a server.*?-->\n```console\n(.*?)```", text, re.DOTALL
    )
    return [line[2:] for block in blocks for line in block.splitlines()]


async def authors_over_mcp(house: House, query: str, memory_id: str) -> list[str]:
    """Who wrote the first memory that a query finds, and the one with that id."""
    async with session(house, "legacy") as client:
        found = await call(client, "recall", query=query)
        memory = await call(client, "get", id=memory_id)
        return [found["memories"][0]["author"], memory["provenance"]["author"]]


# Nobody is in the team until the last test, so the others can share what takes long to start.


def test_without_consent_nothing_leaves(people, team, urls):
    ana = people["ana"]
    done = ana.run("team", "join", urls["ana"])
    assert (done.returncode, "confirm with --yes" in done.stderr) == (2, True)
    code, screen = in_terminal(
        ana, "team", "join", "-", typed=(("URL: ", urls["ana"]), ("[y/N]: ", "n"))
    )
    assert (code, "1  in all" in screen) == (130, True), screen
    assert urls["ana"] not in screen
    assert not ana.paths.config_file.exists()
    assert team.psql("postgres", "SELECT count(*) FROM subcog.versions").strip() == "0"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda url: url.replace("://ana:", "://ana:not"), "refuses the role or its password"),
        (lambda url: re.sub(r":\d+/", ":1/", url), "does not answer"),
        (lambda url: url + "_gone", "there is no database"),
    ],
    ids=["password", "port", "database"],
)
def test_who_cannot_join_is_told_why_and_nothing_is_written(people, urls, change, told):
    ana, wrong = people["ana"], change(urls["ana"])
    done = ana.run("team", "join", wrong, "--yes")
    assert done.returncode == 1, done.stderr
    assert told in done.stderr
    assert wrong.partition("@")[0].rpartition(":")[2] not in done.stderr
    assert not ana.paths.config_file.exists()
    assert not ana.ask("team", "status")["joined"]


def test_an_administrator_can_repeat_it_and_no_old_password_changes(people, team, urls):
    again = people["ana"].ask(
        *("team", "init", team.owner_url, "--team", "shop", "--member", "ana", "--member", "cy")
    )
    assert [(one["name"], bool(one["url"])) for one in again["members"]] == [
        ("ana", False),
        ("cy", True),
    ]
    preview = people["ana"].ask("team", "join", urls["ana"], "--dry-run")
    assert preview["members"] == ["ana", "ben", "cy"]


def test_what_the_document_tells_a_member_to_type_does_what_it_says(people, urls):
    lines = [shlex.split(line)[1:] for line in documented()]
    names = ("init", "join", "join", "share", "status", "unshare", "leave", "leave", "recall")
    assert [line[1] for line in lines] == list(names)
    _, rehearse, join, share, status, unshare, _, leave, recall = lines
    ana, ben, url = people["ana"], people["ben"], ("URL: ", urls["ana"])
    kept = ana.capture(FACT)["id"]

    code, screen = in_terminal(ana, *rehearse, typed=(url,))
    assert (code, "never leaves" in screen) == (0, True), screen
    assert not ana.ask("team", "status")["joined"]
    code, screen = in_terminal(ana, *join, typed=(url, AGREED))
    assert (code, "joined the team shop as ana" in screen) == (0, True), screen
    assert "first sync" in screen
    assert stat.S_IMODE(ana.paths.config_file.stat().st_mode) == 0o600
    assert load_settings(ana.paths.config_file, {}).settings.team.url == urls["ana"]

    ben.ask("team", "join", urls["ben"], "--yes")
    code, screen = in_terminal(ana, *share, typed=(AGREED,))
    assert (code, "what leaves this machine: 1 memory" in screen) == (0, True), screen
    received = wait_for(ben, "list", until=lambda answer: len(answer["memories"]) == 2)
    assert {one["author"] for one in received["memories"]} == {"ana"}
    assert ben.ask("list", "--by", "ANA") == received
    for shown in (("recall", "what does the API speak"), ("why", kept), ("get", kept)):
        assert "by ana" in ben.run(*shown).stdout
    assert " · by ana\n" in ben.context("what does the API of the shop speak?")
    assert anyio.run(authors_over_mcp, ben, "what does the API speak", kept) == ["ana", "ana"]
    shown = ben.run(*status).stdout
    assert ("you as ben" in shown, "received only" in shown) == (True, True), shown
    assert urls["ben"] not in shown

    mine = ana.capture("The shop closes at ten", "--namespace", "context")["id"]
    wait_for(ben, "list", until=lambda answer: len(answer["memories"]) == 3)
    assert "deleted for all members of the team shop" in ana.run("forget", mine).stdout
    wait_for(ben, "list", until=lambda answer: len(answer["memories"]) == 2)

    taken = ben.ask(*unshare)
    assert (taken["removed"], taken["kept"], taken["listed"]) == (1, 0, True)
    assert kept not in str(ben.ask("list"))
    best = ben.ask(*recall)["memories"][0]
    assert (best["id"], best["author"], best["project"]) == (kept, "ana", "shop")
    shown = ben.run(*recall, "--project", "shop").stdout
    assert shown.startswith("from the team shop on ")
    assert f"{kept}  by ana  of shop\n      {FACT}\n" in shown
    assert ORGANISATIONS not in shown
    before = ben.ask("team", "leave", "--dry-run")
    assert (before["left"], before["removed"]) == (False, 1)
    assert [one["content"] for one in ben.ask("list")["memories"]] == [ORGANISATIONS]
    code, screen = in_terminal(ben, *leave, typed=(AGREED,))
    assert (code, "left the team shop" in screen) == (0, True), screen
    assert ben.ask("list")["memories"] == []
    assert [one["id"] for one in ana.ask("list", "--namespace", "decisions")["memories"]] == [kept]


def test_what_the_document_tells_an_administrator_to_type_is_sql(people, team, urls):
    blocks = re.findall(r"```text\n([^`]*?;)\n```", DOCUMENT.read_text())
    statements = [one for block in blocks for one in re.findall(r"[^;]+;", block)]
    assert [one.split()[0] for one in statements] == [
        *("DELETE", "ALTER", "GRANT", "SELECT", "DROP", "DROP", "DELETE"),  # a member leaves
        *("ALTER", "CREATE", "REVOKE"),
        *("UPDATE", "SELECT", "REVOKE", "REVOKE", "ALTER"),  # the quota, and what it does not count
        *("UPDATE", "SELECT"),  # who may forget
        *("SELECT", "UPDATE"),
    ]
    for statement in statements:
        said = team.psql("postgres", statement.replace("DATABASE memory", f"DATABASE {team.name}"))
        assert "ERROR" not in said or 'extension "vector" already exists' in said
    for name in ("ana", "ben"):  # one has another password now, the other is gone
        assert "refuses" in people["ben"].run("team", "join", urls[name], "--dry-run").stderr
