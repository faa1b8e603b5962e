"""Rules about commits, protected places, options and dependencies, each with a harmless twin."""

import pytest

from tests.deeds import breaks, deed

PREFIXED = "Commits: `type(scope): subject`, e.g. `fix(api): retry twice`, max 50 characters."
TICKET_FIRST = (
    "Commit subject `PAY-12: Do it`, ticket first. Not conventional commits, no feat:/fix:."
)
TICKET_LAST = (
    "Conventional commits, ticket at the end: `fix(cart): keep it [SHOP-1]`. "
    "docs/ci may go without."
)
TRAILERS = (
    'Commit messages: conventional. No Co-Authored-By or "generated with" lines, no [skip ci].'
)
HERE = "git commit -m \"$(cat <<'EOF'\n{}\n\nWhy.\nEOF\n)\""


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (PREFIXED, "git commit -m 'Retry twice'", "git commit -m 'fix(api): retry twice'"),
        (PREFIXED, HERE.format("Retry twice"), HERE.format("fix(api): retry twice")),
        (PREFIXED, "git commit -F - <<'M'\nRetry\nM", "git commit -F - <<'M'\nfix: retry\nM"),
        (PREFIXED, f"git commit -m 'fix: {'very ' * 10}long'", "git commit -m 'fix: short'"),
        (PREFIXED, "git commit -am Retry --amend -m 'Retry'", "git commit --amend --no-edit"),
        (PREFIXED, "git commit -qam 'Retry'", "git commit -qm 'Merge branch a'"),
        ("Commit style: conventional with the crate as scope", "git commit -m 'fix: a'",
         "git commit -m 'fix(core): a'"),
        (TICKET_FIRST, "git commit -m 'fix: a'", "git commit -m 'PAY-7: Fix a'"),
        (TICKET_FIRST, "git commit -m 'Fix a (PAY-7)'", "git commit --fixup HEAD"),
        (TICKET_LAST, "git commit -m 'fix(cart): keep it'", "git commit -m 'docs: say it'"),
        (TICKET_LAST, "git commit -m 'Keep it [SHOP-9]'", "git commit -m 'fix: it [SHOP-9]'"),
        ("Commits need a ticket in brackets at the end. Conventional commits.",
         "git commit -m 'fix: a'", "git commit -m 'fix: a (OPS-4)'"),
        ("Subject lines start with the Jira key: `PAY-12 Fix it`", "git commit -m 'Fix a'",
         "git commit -m 'PAY-3 Fix a'"),
        ("Commit format: `fix(a): b`, footer `Refs: KEY-1`", "git commit -m 'fix(a): c'",
         "git commit -m 'fix(a): c\n\nRefs: KEY-2'"),
        (TRAILERS, "git commit -m 'fix: a\n\nCo-Authored-By: Bot <b@c.d>'",
         "git commit -m 'fix: a\n\nReviewed-by: Bo'"),
        (TRAILERS, "git commit -m 'ci: a [skip ci]'", "git commit -m 'ci: a'"),
    ],
)  # fmt: skip
def test_a_commit_message_is_worded_otherwise(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("The commit `fix(api): retry` broke staging in May", "git commit -m 'Retry'"),
        ("We don't use conventional commits", "git commit -m 'Retry'"),
        ("Conventional commits, ticket in the subject when there is one", "git commit -m 'fix: a'"),
    ],
)
def test_what_is_told_of_commits_asks_for_no_message(text, command):
    assert not deed(command).breaks(text)


SHARED = "release/* branches are shared, no force pushing there, ever."
REVIEW = (
    "No squashing and no force-push once a review has started. Own wip/* branches: as you like."
)
SQUASHED = "git commit --amend --no-edit && git push --force-with-lease origin {}"


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        ("Nothing straight to main: branch, then a PR", "git push origin HEAD:main",
         "git push origin feat/main-menu"),
        ("Nothing straight to main: branch, then a PR",
         "git switch main && git merge a && git push", "git switch -c a main && git push"),
        ("never push to develop/trunk directly", "git push origin trunk", "git push origin a"),
        ("no direct commits on master", "git push origin master", "git push origin a"),
        ("master is MR only.", "git push origin master", "git push -u origin fix-master-key"),
        ("Pushes to develop are blocked", "git push origin develop", "git push origin a"),
        (SHARED, "git push --force-with-lease origin release/4", "git push -f origin a"),
        (REVIEW, SQUASHED.format("a"), SQUASHED.format("wip/a")),
        (REVIEW, "gh pr view 4 && git push --force-with-lease", "git commit --amend --no-edit"),
        ("Never skip the commit hooks", "git commit -n -m a", "git commit -m a"),
        ("Rebase, no merge commits in branches", "git merge origin/main", "git rebase origin/main"),
        ("Rebase, no merge commits in branches", "git merge main", "git merge --ff-only main"),
    ],
)  # fmt: skip
def test_a_branch_is_changed_otherwise(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


ONE_WAY = "Production goes out only via `just ship`: it signs and tags."
SHARED_DB = "The sales demo lives on staging. Never truncate, reseed or reset it."
HELD = "account acme-lab-7 is under legal hold, ask Jo."
BILLING = "At month end no deploy, restart or scale on job-run-billing."
SHIPPED = "prod is deployed by the release workflow only."


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (ONE_WAY, "fly deploy -a shop-production", "fly deploy -a shop-staging"),
        (ONE_WAY, "cd live/prod && terragrunt apply", "cd live/prod && terragrunt plan"),
        (ONE_WAY, "helm -n prod upgrade api ./chart", "ENV=prod just ship"),
        (SHIPPED, "kamal deploy -d production", "kubectl -n prod exec deploy/api -- date"),
        ("Deploys only by the pipeline", "ansible-playbook -i inventory/prod site.yml",
         "ansible-playbook -i inventory/dev site.yml"),
        ("Nobody publishes to the production channel from a laptop",
         "eas update --channel production", "eas update:list --channel production"),
        ("We never deploy prod by hand", "firebase deploy -P acme-prod", "firebase deploy -P dev"),
        ("Nobody, human or bot, runs migrations against prod",
         "DATABASE_URL=$PROD_URL alembic upgrade head", "alembic upgrade head"),
        (SHARED_DB, 'psql "$STAGING_URL" -c "truncate a"', 'psql "$STAGING_URL" -c "select 1"'),
        (SHARED_DB, "APP_ENV=staging bin/rails db:seed", "APP_ENV=dev bin/rails db:seed"),
        ("Before restoring or seeding on staging, ask Bo", "pg_restore -d $STAGING_URL a.dump",
         "pg_restore -d shop_dev a.dump"),
        ("Ask Bo before anything runs against prod", "dbt run --target prod",
         "dbt run --target dev"),
        ("Prod cluster: exec, scale and delete need a break-glass ticket",
         "kubectl --context prod scale deploy/a --replicas 0",
         "kubectl --context dev delete pod a"),
        (HELD, "aws ec2 delete-volume --profile acme-lab-7",
         "aws ec2 describe-volumes --profile acme-lab-7"),
        (BILLING, "az webapp restart -n job-run-billing", "az webapp restart -n job-run-mail"),
        ("The db qa_live is locked for the auditors", "psql qa_live -c 'update a set b = 1'",
         "psql qa_dev -c 'update a set b = 1'"),
        ("no posts to sap-qa.acme.local", "curl -X POST https://sap-qa.acme.local/a",
         "curl https://sap-qa.acme.local/a"),
        ("stacks of live/prod/*/pay-* are in audit, nothing triggered for them",
         "gh workflow run apply -f stack=live/prod/eu/pay-card",
         "gh workflow run apply -f stack=live/prod/eu/web"),
        ("prod is deployed only by tag. No terraform apply from a laptop.",
         "cd envs/prod && terraform apply", "cd envs/dev && terraform apply"),
    ],
)  # fmt: skip
def test_something_is_done_at_a_protected_place(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Never edit a migration that was applied in prod", "kamal deploy -d production"),
        ("Never deploy to prod on Fridays", "kamal deploy -d production"),
        ("Never deploy to prod without a tag", "kamal deploy -d production"),
        ("RESOLVED: no deploys to prod during the freeze", "kamal deploy -d production"),
        ("Don't write to apps/web-v2 by hand", "cd apps/web-v2 && pnpm add react"),
        ("We never deploy prod by hand", "git commit -m 'deploy prod'"),
    ],
)
def test_what_is_told_of_a_place_protects_it_from_nothing(text, command):
    assert not deed(command).breaks(text)


def test_a_file_that_names_a_place_changes_nothing_there():
    written = deed(path="bin/ship.sh", written="kamal deploy -d production")

    assert not written.breaks(ONE_WAY)


STAGED = "`fly secrets set` restarts every machine. Use `fly secrets set --stage`."
LINKED = "`supabase db push`, `db reset` hit production. Use --local."
REUSE = "helm upgrade with --reuse-values ignores new defaults, use --reset-values"


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (STAGED, "fly secrets set A=1 -a web", "fly secrets set A=1 --stage -a web"),
        (LINKED, "supabase db reset", "supabase db reset --local"),
        ("`prisma db push` silently drops triggers. Don't use it.", "pnpm prisma db push",
         "pnpm prisma migrate dev"),
        ("`nats stream rm` with default context hits prod. Always --context.",
         "nats stream rm A", "nats --context dev stream rm A"),
        ("A direct `nomad job run` against nomad.eu1.acme.internal leaves no record, use just.",
         "nomad job run -address=https://nomad.eu1.acme.internal a.hcl", "nomad job run a.hcl"),
        (REUSE, "helm upgrade a ./c --reuse-values", "helm upgrade a ./c --reset-values"),
        ("`--mode Complete` removed our DNS zone, never again",
         "az deployment group create --mode Complete",
         "az deployment group create --mode Incremental"),
        ("NEVER --full-refresh fct_orders, 9 TB scan", "dbt build -s fct_orders+ -f",
         "dbt build -s dim_day -f"),
        ("Don't use `--legacy-peer-deps`", "npm ci --legacy-peer-deps", "npm ci"),
        ("Proxying (--serve-artifacts) is off", "mlflow server --serve-artifacts", "mlflow server"),
        ("always `uv sync --frozen --all-groups`", "uv sync --frozen",
         "uv sync --all-groups --frozen"),
        ("`cargo sqlx prepare` needs `--workspace -- --all-targets`",
         "cargo sqlx prepare --workspace",
         "cargo sqlx prepare --workspace -- --all-targets"),
        ("az defaults to prod. Always give `--subscription`.", "az group delete -n a",
         "az group delete -n a --subscription dev"),
        ("az defaults to prod. Always give `--subscription`.", "az vm start -n a", "az vm list"),
        ("Don't remove the data volume (down -v, volume rm)", "docker compose down -v",
         "docker compose down"),
        ("run tests as `tox -e unit` rather than bare pytest", "pytest -q a", "tox -e unit -- a"),
        ("never `rails runner` in prod", 'kamal app exec -d prod "bin/rails runner a"',
         'kamal app exec -d prod "bin/rails about"'),
        ("never `redis-cli flushall`", "fly ssh console -a x -C 'redis-cli flushall'",
         "fly ssh console -a x -C 'redis-cli info'"),
        ("never `alembic upgrade head`",
         """aws ecs run-task --overrides '{"a":[{"command":["alembic","upgrade","head"]}]}'""",
         """aws ecs run-task --overrides '{"a":[{"command":["alembic","current"]}]}'"""),
    ],
)  # fmt: skip
def test_a_command_has_or_lacks_an_option(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        ("Ask Lena before adding any package", "npm install lodash", "npm install"),
        ("Ask Lena before adding any package", "pip install six", "pip install -r a.txt"),
        ("Ask Lena before adding a runtime dependency", "pnpm add a", "pnpm add -D a"),
        ("A new gem needs Tom's OK beforehand", "bundle add a", "npm install a"),
        ("New npm packages need an OK from Al", "yarn add a", "cargo add a"),
        ("Don't add UI libs to web without asking Jo", "npm i a", "npm ci"),
        ("No new dependencies without talking to Ken", "poetry add a", "poetry install"),
        ("New sbt dependency: ask Ines before", "", "uv add a"),
        ("Ask before adding a package", "pnpm add a", "pnpm add ui@workspace:*"),
    ],
)
def test_somebody_is_asked_before_a_dependency_is_added(rule, breaking, harmless):
    assert not breaking or breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))
