import pytest

from subcog.bus.values import Action
from subcog.stages.actions.reading import read_action
from subcog.stages.breaches.deed import Deed
from subcog.stages.rules.claims import claims_of
from subcog.stages.rules.denied_commands import commands_against
from tests.waiting import ends_soon

MIGRATE = (
    "Never run bare `alembic upgrade head` against staging or prod: two pods deadlocked. "
    "Use `scripts/migrate.sh staging`."
)


def breaks(action, text):
    return Deed(read_action(action)).breaks(text)


def run(command):
    return Action(tool="Bash", command=command)


def test_what_a_memory_speaks_against_and_asks_for_are_told_apart():
    claims = claims_of("Never call requests.get here, use httpx via shared_client().")
    assert "requests.get" in claims.against
    assert {"httpx", "shared_client"} <= claims.asked
    assert not claims.against & claims.asked


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (MIGRATE, ["alembic upgrade head"]),
        ("`uv sync` without flags prunes the contract group", ["uv sync"]),
        ("Don't use `git push --force` on shared branches", ["git push --force"]),
        ("`make deploy` is how we deploy", []),
        ("Never log payloads", []),
        ("never touch `main`", []),
    ],
)
def test_the_commands_that_a_memory_speaks_against(text, commands):
    assert [denied.command for denied in commands_against(text)] == commands


@pytest.mark.parametrize(
    "command",
    [
        "alembic upgrade head",
        "cd api && uv run alembic upgrade head",
        "DB_URL=$STAGING alembic upgrade head",
    ],
)
def test_the_very_command_is_warned_of_for_sure(command):
    assert breaks(run(command), MIGRATE)


@pytest.mark.parametrize(
    "command",
    [
        "scripts/migrate.sh staging",
        "alembic upgrade head --sql",
        "docker compose up -d db && alembic upgrade head",
    ],
)
def test_another_command_and_another_place_are_not_sure(command):
    assert not breaks(run(command), MIGRATE)


def test_with_more_arguments_it_is_the_same_command_unless_it_was_denied_as_it_stands():
    force = "Don't use `git push --force` on shared branches."
    assert breaks(run("git push --force origin main"), force)
    assert not breaks(run("git push --force --dry-run"), force)
    blanket = "Never a blanket `flutter pub upgrade`: it pulls geolocator."
    assert not breaks(run("flutter pub upgrade intl"), blanket)


@pytest.mark.parametrize(
    ("text", "command", "sure"),
    [
        ("Never run kubectl apply by hand, ArgoCD owns it", "kubectl apply -f x.yaml", True),
        ("Never run kubectl apply by hand, ArgoCD owns it", "kubectl diff -f x.yaml", False),
        ("Do not use npm install, use pnpm install", "npm install lodash", True),
        ("Do not use npm install, use pnpm install", "pnpm install", False),
        ("Never run terraform apply without a plan file", "terraform apply", True),
        ("Never run terraform apply without a plan file", "terraform apply plan.out", False),
        (
            "Never use git push --force on the release branch",
            "git push --force origin release",
            True,
        ),
        ("Never use git push --force on release branches", "git push --force origin mine", False),
        ("Never use git push --force", "git push -f origin main", True),
        ("Never use git push --force", "git push origin feature-f", False),
        ("Don't use `git commit --no-verify`, fix the hook", "git commit -n -m x", True),
        ("Use pnpm, not npm", "npm install lodash", True),
        ("Use pnpm, not npm", "pnpm install lodash", False),
        ("Use uv, never pip, for installing packages.", "pip install requests", True),
        ("Use uv, never pip, for installing packages.", "python -m pip install requests", True),
        ("Use uv, never pip, for installing packages.", "uv pip install requests", False),
        ("We build with podman instead of docker in this repo", "docker build .", True),
        ("Use pnpm, not npm ci, in the pipeline", "npm run lint", False),
        ("Use npm, not npm's cache", "npm ci", False),
    ],
)
def test_a_command_that_is_denied_by_its_name_needs_no_backticks(text, command, sure):
    assert breaks(run(command), text) is sure


@pytest.mark.parametrize(
    "said", ["never run", "never", "Do not  just run", "avoid ever", "never a"]
)
def test_a_command_is_denied_however_it_is_spaced(said):
    (denied,) = commands_against(f"{said}  git push here")
    assert denied.command == "git push"


def test_a_hostile_memory_ends_soon():
    with ends_soon():
        commands_against("never `" * 3_000 + "(" * 10_000)
        commands_against("never run kubectl " + "a.b/" * 10_000 + " never run git" * 3_000)
        commands_against("never" + " " * 20_000 + "run it")
        breaks(run("a" * 10_000), "not " * 20_000)
        breaks(run("a" * 10_000), "`a b`" * 5_000)


UTC = "All timestamps are timezone aware UTC: datetime.now(timezone.utc), never datetime.utcnow()."


@pytest.mark.parametrize(
    ("replaced", "written"),
    [
        ("now = datetime.utcnow()", "now = datetime.now(timezone.utc)"),
        ("", "created_at = datetime.now(timezone.utc)"),
        ("now = clock()", "now = clock()  # datetime.utcnow() is naive, never use it"),
        ("", 'raise TypeError("never datetime.utcnow(), all timestamps are aware")'),
    ],
)
def test_the_right_form_is_not_warned_of(replaced, written):
    action = Action(tool="Edit", paths=("a.py",), replaced=replaced, written=written)
    assert not breaks(action, UTC)
