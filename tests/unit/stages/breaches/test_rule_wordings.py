"""Plain wordings of rules: further ones of each form, and what has to stay silent."""

import pytest

from tests.deeds import breaks, deed

LEFT = "`gh release create` is done by the release workflow, never by hand."
PUBLISH = "Only the release bot runs cargo publish."
BACKFILL = "Don't run the scripts in scripts/backfill/ without --dry-run first"
RESET = "Never run `python -m tools.reset` on staging data"
AUTO = "Never run `pytest -n auto` here"


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (LEFT, "gh release create v2.4.0", "gh release edit v2.4.0 --draft"),
        ("terraform apply is run by Atlantis, not manually", "terraform apply", "terraform fmt"),
        ("`make deploy` gets run only by the pipeline.", "make deploy", "make dev"),
        ("docker push is done by CI, never from a laptop", "docker push a/b", "docker pull a/b"),
        (PUBLISH, "cargo publish -p core", "cargo package -p core"),
        ("Only Ines may run helm rollback.", "helm rollback api 3", "helm lint ./c"),
        ("only the nightly job runs `make seed-demo`", "make seed-demo", "make seed"),
        (
            "Commits are never made with --no-verify",
            "git commit -am x --no-verify",
            "git commit -am x",
        ),
        ("Pushes must never be done with --force", "git push --force", "git push"),
        ("npm install is never run with --force", "npm install --force", "npm install"),
        ("`alembic upgrade` must not be run without --sql.", "alembic upgrade head", "alembic x"),
        ("--no-verify is forbidden", "git commit --no-verify -m x", "git commit -m x"),
        (
            "`helm upgrade` must include --atomic",
            "helm upgrade a ./c",
            "helm upgrade a ./c --atomic",
        ),
        (
            "Every helm upgrade must always pass --atomic",
            "helm upgrade a ./c",
            "helm upgrade a ./c --atomic",
        ),
        ("terraform destroy only after asking Ola", "terraform destroy", "terraform validate"),
        ("kubectl drain only with the OK of Ines", "kubectl drain n1", "kubectl cordon n1"),
        (
            "alembic downgrade on prod only once Ola has agreed",
            "ENV=prod alembic downgrade -1",
            "ENV=dev alembic downgrade -1",
        ),
        ("make reset-db wipes the database", "make reset-db", "make reset-cache"),
        ("redis-cli FLUSHALL logs out everybody", "redis-cli FLUSHALL", "redis-cli DBSIZE"),
        ("kubectl rollout restart logs all users out", "kubectl rollout restart d/a", "kubectl x"),
        (
            "npm install in web/ rewrites the lockfile, use pnpm there",
            "cd web && npm install",
            "cd api && npm install",
        ),
        (
            "poetry update in services/api overwrites poetry.lock",
            "cd services/api && poetry update",
            "poetry update",
        ),
        (
            BACKFILL,
            "python scripts/backfill/fares.py",
            "python scripts/backfill/fares.py --dry-run",
        ),
        (BACKFILL, "./scripts/backfill/eu/fares.sh x", "python scripts/report.py"),
        (BACKFILL, "uv run python3 scripts/backfill/a.py", "ruff check scripts/backfill/a.py"),
        (
            "Anything in tools/ops/ needs --env",
            "bash tools/ops/rotate.sh",
            "cat tools/ops/rotate.sh",
        ),
        ("Never run scripts in tools/danger/", "node tools/danger/a.js", "node tools/a.js"),
        (RESET, "STAGE=staging python3 -m tools.reset", "python3 -m tools.report"),
        (RESET, "STAGE=staging .venv/bin/python -m tools.reset", ".venv/bin/python -m pytest"),
        (RESET, "STAGE=staging .venv/bin/python3 -m tools.reset", "python3 -m venv .venv"),
        ("Never run `python3 -m tools.reset` here", "python -m tools.reset", "python3 tools/x.py"),
        (AUTO, "pytest -nauto tests", "pytest -n 2 tests"),
        (AUTO, "pytest --numprocesses=auto", "pytest --numprocesses=4"),
        ("Never run `make -f old.mk all`", "make -fold.mk all", "make -f new.mk all"),
        ("Never run `make -f old.mk all`", "make --file=old.mk all", "make all"),
    ],
)
def test_a_command_breaks_a_rule_in_plain_words(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("`gh release create` is done by the release workflow", "gh release create v1"),
        ("celery worker is started by systemd, not by supervisor", "celery worker"),
        ("Who says that cargo publish is run by CI?", "cargo publish"),
        ("Only the nightly job runs `pytest -m slow`", "pytest -m slow"),
        ("git rebase is only used by Ana", "git rebase main"),
        ("Only you run cargo publish", "cargo publish"),
        ("Only after the review we run cargo publish", "cargo publish"),
        ("Only when CI runs cargo publish is the tag set", "cargo publish"),
        ("Only the release bot ran cargo publish last year", "cargo publish"),
        ("Commits were never made with --signoff before May", "git commit --signoff -m x"),
        ("Commits are mostly made with --signoff", "git commit --signoff -m x"),
        ("pytest is not run with -x in CI", "pytest -x"),
        ("terraform destroy only works after terraform init", "terraform destroy"),
        ("We talked about terraform destroy after asking Ola", "terraform destroy"),
        ("terraform destroy only takes a minute", "terraform destroy"),
        ("make reset-db sets up the database", "make reset-db"),
        ("Does make reset-db wipe the database?", "make reset-db"),
        ("make lint lists what breaks", "make lint"),
        ("npm install in web/ takes two minutes", "cd web && npm install"),
        ("npm install rewrites the lockfile", "npm install"),
        ("docker logout logs you out of the registry", "docker logout"),
        ("`helm upgrade` may include --atomic", "helm upgrade a ./c"),
        ("The build must pass before we run helm upgrade", "helm upgrade a ./c"),
        ("helm upgrade can take --atomic if you like", "helm upgrade a ./c"),
        ("The scripts in scripts/backfill/ print what they do", "python scripts/backfill/a.py"),
        ("The scripts in scripts/backfill/ take --dry-run", "python scripts/backfill/a.py"),
        ("We did run the scripts in scripts/backfill/ in May", "python scripts/backfill/a.py"),
        ("Use python3, never run python", "python3 -m pytest"),
        ("Use python3, not python", "python3 -m venv .venv"),
        ("python -m tools.reset clears the cache", "python3 -m tools.reset"),
        ("Never run rm -rf build", "rm -r build"),
    ],
)
def test_what_is_told_of_a_command_is_no_rule_against_it(text, command):
    assert not deed(command).breaks(text)


@pytest.mark.parametrize(
    "text",
    [
        LEFT,
        "Migrations are applied by the deploy job, never by hand",
        "The sailings table is owned by the port; never write to it from our services",
        "The queue is shared, never import from them",
        "Configs are changed in the UI, never manually",
        "pandas misses half days, don't use those",
        "BUILD files are written by gazelle, not by hand",
        "Releases are cut by CI, never from a laptop",
    ],
)
def test_how_something_is_done_is_no_name(text):
    used = "hand(a)\nwrite(b)\nmanually(c)\nlaptop(d)\nthose(e)\nimport them\nimport hand"
    assert not deed(path="src/a.py", written=used).breaks(text)


INDEX = "CREATE INDEX without CONCURRENTLY locks the sailings table"
TASKS = "No new Celery tasks, we move to arq"


@pytest.mark.parametrize(
    ("rule", "path", "breaking", "harmless"),
    [
        (INDEX, "db/a.sql", "CREATE INDEX a ON b (c);", "CREATE INDEX CONCURRENTLY a ON b (c);"),
        (INDEX, "db/a.sql", "create unique index a\n  on b (c);", "CREATE TABLE a (id int);"),
        (INDEX, "db/a.py", 'op.execute("CREATE INDEX a ON b (c)")', 'op.create_table("a")'),
        (
            "Never ADD CONSTRAINT without NOT VALID",
            "a.sql",
            "ALTER TABLE a ADD CONSTRAINT c CHECK (d > 0);",
            "ALTER TABLE a ADD CONSTRAINT c CHECK (d > 0) NOT VALID;",
        ),
        (
            "REFRESH MATERIALIZED VIEW without CONCURRENTLY blocks all readers",
            "a.sql",
            "REFRESH MATERIALIZED VIEW fares;",
            "REFRESH MATERIALIZED VIEW CONCURRENTLY fares;",
        ),
        (TASKS, "a/tasks.py", "from celery import shared_task", "from arq import cron"),
        (TASKS, "a/jobs.py", "import celery\n\n@celery.task", "import celery_arq"),
        ("No new jQuery plugins in web/", "web/plugin.js", "import $ from 'jquery'", "let a = 1"),
        ("no further Selenium tests", "tests/a.py", "import selenium", "import playwright"),
        (
            "PaymentIntent.create must always pass an idempotency_key",
            "a.py",
            "stripe.PaymentIntent.create(amount=1)",
            "stripe.PaymentIntent.create(amount=1, idempotency_key=k)",
        ),
        (
            "Every call of http_client.get has to include request_timeout",
            "a.py",
            "http_client.get(url)",
            "http_client.get(url, request_timeout=3)",
        ),
        (
            "http.Client must set read_timeout",
            "a.py",
            "http.Client()",
            "http.Client(read_timeout=1)",
        ),
    ],
)
def test_code_breaks_a_rule_in_plain_words(rule, path, breaking, harmless):
    assert breaks(rule, deed(path=path, written=breaking))
    assert not breaks(rule, deed(path=path, written=harmless))
    assert not breaks(rule, deed(path="docs/a.md", written=breaking))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("CREATE INDEX without CONCURRENTLY took an hour in May", "CREATE INDEX a ON b (c);"),
        ("CREATE INDEX without CONCURRENTLY is fine on small tables", "CREATE INDEX a ON b (c);"),
        ("How does CREATE INDEX work without CONCURRENTLY?", "CREATE INDEX a ON b (c);"),
        ("POST without CSRF fails", "client.post('/a')"),
        ("There are no new Celery tasks this week", "from celery import shared_task"),
        ("No new Celery version came out, the tasks wait", "from celery import shared_task"),
        ("The tests must pass", "pass_tests()"),
        ("stripe.Charge.create can include trace_id", "stripe.Charge.create(1)"),
    ],
)
def test_what_is_told_of_code_is_no_rule_against_it(text, written):
    assert not deed(path="app/tasks.py", written=written).breaks(text)


@pytest.mark.parametrize(
    "command", ["celery -A app worker", "pip install celery", "celery inspect active_tasks"]
)
def test_a_rule_about_what_is_made_with_a_library_denies_no_command(command):
    assert not deed(command).breaks(TASKS)
