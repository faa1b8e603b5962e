import pytest

from subcog.bus.values import Action
from subcog.stages.actions.reading import read_action
from subcog.stages.rules.claims import claims_of
from subcog.stages.rules.denied_commands import commands_against
from subcog.stages.rules.match import FEATURES, SURE, Matcher
from tests.fakes import make_hit, make_memory
from tests.waiting import ends_soon

MIGRATE = (
    "Never run bare `alembic upgrade head` against staging or prod: two pods deadlocked. "
    "Use `scripts/migrate.sh staging`."
)


def matcher(action, *texts):
    hits = [make_hit(make_memory(n, text), 0.5) for n, text in enumerate(texts, 1)]
    return Matcher(read_action(action), hits)


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
    assert matcher(run(command), MIGRATE).relevance(0) == SURE


@pytest.mark.parametrize(
    "command",
    [
        "scripts/migrate.sh staging",
        "alembic upgrade head --sql",
        "docker compose up -d db && alembic upgrade head",
    ],
)
def test_another_command_and_another_place_are_not_sure(command):
    assert matcher(run(command), MIGRATE).relevance(0) < SURE


def test_with_more_arguments_it_is_the_same_command_unless_it_was_denied_as_it_stands():
    force = "Don't use `git push --force` on shared branches."
    assert matcher(run("git push --force origin main"), force).relevance(0) == SURE
    assert matcher(run("git push --force --dry-run"), force).relevance(0) < SURE
    blanket = "Never a blanket `flutter pub upgrade`: it pulls geolocator."
    assert matcher(run("flutter pub upgrade intl"), blanket).relevance(0) < SURE


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
    assert matcher(run(command), text).certainty(0) == (SURE if sure else 0.0)


def test_what_an_edit_brings_in_weighs_more_than_what_it_takes_out():
    rule = "No requests.get in handlers: it blocks the loop."
    bad = Action(tool="Edit", paths=("a.py",), replaced="x = 1", written="x = requests.get(url)")
    good = Action(tool="Edit", paths=("a.py",), replaced="x = requests.get(url)", written="x = 1")
    assert matcher(bad, rule).relevance(0) > matcher(good, rule).relevance(0)


def test_a_document_that_names_it_is_less_than_code_that_does_it():
    rule = "No requests.get in handlers: it blocks the loop."
    code, text = (
        Action(tool="Write", paths=(path,), written="use requests.get(url) here")
        for path in ("src/api.py", "docs/api.md")
    )
    assert matcher(code, rule).relevance(0) > matcher(text, rule).relevance(0)


def test_each_feature_has_a_value():
    assert len(matcher(run("make"), MIGRATE, "other").features(1)) == len(FEATURES)


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
        matcher(run("a" * 10_000), "not " * 20_000, "`a b`" * 5_000).relevance(1)


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
    assert matcher(action, UTC).relevance(0) == 0.0


def test_a_comment_weighs_nothing_by_its_words():
    rule = "Log with structlog, no logging.getLogger in handlers: it blocks the loop."
    said = "# no logging.getLogger in handlers: it blocks the loop"
    code = Action(tool="Edit", paths=("a.py",), replaced="x", written=f"{said}\ny = 1")
    plain = Action(tool="Edit", paths=("a.py",), replaced="x", written="y = 1")
    assert matcher(code, rule).features(0) == matcher(plain, rule).features(0)
