import re
from pathlib import Path

import pytest

from subcog.stages.actions import orders
from subcog.stages.actions.orders import read_order
from subcog.stages.actions.reading import SHELL_FORMS
from subcog.stages.breaches import stated
from subcog.stages.breaches.deed import Deed
from subcog.stages.breaches.stated import rules_of
from subcog.stages.code_rules import denied_names, told_uses
from subcog.stages.rules import denied_commands
from subcog.stages.rules.claims import RULE_FORMS
from tests.deeds import breaks, deed
from tests.waiting import ends_soon

SEED = "`make seed` wipes the local database"
RANDOM = "pytest needs -p no:randomly here, the fixtures depend on order"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("We deploy with ArgoCD, never with kubectl", "kubectl apply -f deploy/"),
        ("Never use kubectl, deploy with ArgoCD.", "kubectl apply -f deploy/"),
        ("We deploy with ArgoCD, never with kubectl apply", "kubectl -n prod apply -k overlays"),
        ("Use pnpm, not npm: npm's lockfile breaks the docker build", "npm i left-pad"),
        ("npm is forbidden, pnpm only", "npm ci"),
        ("terraform apply only from CI. On 14 March Ines lost the NAT.", "terraform apply"),
        ("terraform apply only from CI", "terraform -chdir=infra apply -auto-approve"),
        ("Don't run terraform apply on a laptop: Ines killed staging", "terraform apply"),
        ("never run black", "black ."),
        ("We format with ruff format, not black", "uv run black ."),
        ("uv instead of pip", "pip3 install tenacity"),
        ("Never force-push to main or release branches, a fix got lost", "git push -f origin main"),
        ("Never force-push release/* branches", "git push origin +release/4.3"),
        ("git commit --no-verify is forbidden, the hook strips names", "git commit -m x -n"),
        ("docker compose down -v also deletes the tiles", "docker-compose down --volumes"),
        ("`helm install` by hand is forbidden, ArgoCD does it", "helm install redis bitnami/redis"),
        ("vendor/ is patched by hand, go mod vendor would lose the patches", "go mod vendor"),
        ("Never point psql at pg-primary", "psql -h pg-primary -c 'select 1'"),
        ("Secrets come from Vault, never commit a .env file", "git add .env && git commit -m x"),
        (SEED, "make -j4 seed"),
        (SEED, "bash -c 'make seed'"),
        (SEED, "ssh box 'make seed'"),
        (SEED, "(cd /srv/tw; make seed)"),
        (SEED, "docker compose run --rm app make seed"),
        (SEED, "if true; then make seed; fi"),
        (SEED, "make \\\n seed"),
        (RANDOM, "uv run pytest -q tests"),
        ("run pytest with -p no:randomly, always", "pytest -x"),
        ("Always run pytest with -n0 in tests/integration", "pytest tests"),
        ("never run make reset-db on staging", "ENV=staging make reset-db"),
        ("never docker compose down -v", "docker compose --profile a -f b.yml down -v"),
        ("Never commit with --no-verify, please: packwerk", "git add -A && git commit -n -m wip"),
        ("No pushing with --force to main", "git push --force origin main"),
        (
            "rubocop -A is forbidden since it rewrote 300 files; -a is OK",
            "bundle exec rubocop -A app",
        ),
        (
            "terraform apply in infra/prod runs only from the GitLab pipeline.",
            "cd infra/prod && terraform apply -auto-approve",
        ),
        ("--no-verify is not allowed", "git commit -m x --no-verify"),
        ("Niemals force-push auf den Branch release.", "git push --force origin release"),
        ("pnpm benutzen, nicht npm", "npm install left-pad"),
        ("Utiliser pnpm, pas npm.", "npm install left-pad"),
        ("用 pnpm，不要用 npm", "npm install left-pad"),
        ("npmではなくpnpmを使う", "npm install left-pad"),
    ],
)
def test_a_command_breaks_a_rule_that_names_it(rule, command):
    assert breaks(rule, deed(command))


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (RANDOM, "uv run pytest -p no:randomly -q tests"),
        ("never docker compose down -v", "docker compose down"),
        ("Use pnpm, not npm", "git commit -m 'use pnpm, not npm'"),
        ("Use pnpm, not npm", "pnpm install"),
        (
            "terraform apply in infra/prod runs only from the GitLab pipeline.",
            "cd infra/sandbox && terraform apply -auto-approve",
        ),
        ("`pytest -m slow` runs in the nightly pipeline", "pytest -m slow"),
        ("rubocop -A is forbidden since it rewrote 300 files; -a is OK", "rubocop -a app"),
        ("Never commit with --no-verify, please: packwerk", "git commit -m wip"),
        ("No pushing with --force to main", "git push --force origin feature"),
        ("Never force-push to main", "git push --force-with-lease origin fix/main-menu"),
        ("Never force-push", "git push --force-with-lease"),
        ("We deploy with ArgoCD, never with kubectl", "kubectl get pods"),
        ("terraform apply only from CI", "terraform plan"),
        (SEED, "make -n seed"),
        (SEED, "make test"),
        ("never run make reset-db on staging", "make reset-db"),
        ("run pytest with -x to see the first failure", "pytest tests"),
        (SEED, "rg 'make seed' docs"),
        ("never run black", "black --check ."),
        ("No send_mail elsewhere", 'rg -n "send_mail|EmailMessage" backend'),
    ],
)
def test_what_keeps_a_rule_or_only_names_it_does_not(rule, command):
    assert not breaks(rule, deed(command))


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Never edit files under gen/, they are generated by buf", "gen/ts/user.pb.ts"),
        ("Never edit generated files under gen/. Change proto/*.proto.", "gen/user.ts"),
        ("gen/ is generated, don't touch it", "gen/go/x.go"),
        ("never edit *.sql.go", "internal/store/guests.sql.go"),
        ("requirements/*.txt are generated with hashes", "requirements/prod.txt"),
        ("pkg/api/generated is built from the spec, don't edit by hand", "pkg/api/generated/a.ts"),
        ("src/api/generated.ts comes out of openapi-typescript", "admin/src/api/generated.ts"),
        ("never change a merged file in db/migrations", "db/migrations/1.sql"),
        ("infra/ is owned by Ines, ask her before you change anything there", "infra/vpc/main.tf"),
        ("Once merged, a file in db/migrations is never changed", "db/migrations/1.sql"),
        ("vendor/ is patched by hand", "vendor/github.com/x/y.go"),
        ("Please leave src/legacy alone until June", "src/legacy/a.py"),
        ("src/out is written by codegen. Don't touch it by hand.", "src/out/a.ts"),
        ("infra/net belongs to the platform team (Ines). Don't change it, ask.", "infra/net/a.tf"),
        ("The limits are in src/limits.ts. Please don't change them without me.", "src/limits.ts"),
        ("pnpm-lock.yaml conflicts: never resolve them by hand, take main's", "pnpm-lock.yaml"),
        ("*.po is generated", "locale/nl/django.po"),
        ("*.zcml is generated", "src/site.zcml"),
        ("never edit .po by hand", "locale/nl/django.po"),
        ("never edit .po files, use Weblate", "locale/nl/django.po"),
        ("uv.lock isn't edited by hand.", "uv.lock"),
        ("Deps in BUILD.bazel are not written by hand, gazelle does it", "services/a/BUILD.bazel"),
        ("src/api is written by `make api`.", "src/api/client.ts"),
        ("src/api: hand edits are lost with the next run", "src/api/client.ts"),
        ("src/api/schema.ts is not to be changed", "src/api/schema.ts"),
        ("Only the platform team edits values-prod.yaml.", "charts/values-prod.yaml"),
        ("values-prod.yaml: only the platform team edits it.", "charts/values-prod.yaml"),
        ("values-prod.yaml belongs to Ines. Nobody else edits it.", "charts/values-prod.yaml"),
    ],
)  # fmt: skip
def test_an_edit_breaks_a_rule_that_names_its_file_or_folder(rule, path):
    assert breaks(rule, deed(path=path, replaced="a", written="b"))
    assert not breaks(rule, deed(path="src/gen.py", replaced="a", written="b"))


@pytest.mark.parametrize(
    "text",
    [
        "src/limits.ts is written by Ines, she knows why",
        "src/limits.ts isn't changed by the deploy",
        "src/limits.ts: unsaved edits are lost on reload",
        "Only edit src/limits.ts after the sync",
        "The page is rendered by `node src/limits.ts`, hand edits are lost",
    ],
)
def test_what_is_said_of_a_file_is_no_rule_against_changing_it(text):
    assert not deed(path="src/limits.ts", replaced="a", written="b").breaks(text)


def test_what_is_not_to_be_changed_is_what_the_sentence_before_is_about():
    rule = "We read src/limits.ts at the start. Don't change the order of the calls."
    assert not breaks(rule, deed(path="src/limits.ts", replaced="a", written="b"))


def test_a_shell_command_that_writes_a_file_edits_it():
    rule = "gen/ is generated, don't touch it"
    assert breaks(rule, deed("sed -i s/a/b/ gen/api.ts"))
    assert breaks(rule, deed("cat > gen/api.ts <<'END'\nexport {}\nEND"))
    assert not breaks(rule, deed("cp src/a.ts gen.ts"))


def test_what_is_only_added_to_breaks_no_rule_about_the_files_that_are_there():
    for rule in (
        "Migrations are append-only: never change a file in db/migrations after it is merged",
        "Be careful. Once merged, a file in db/migrations is never changed, write a new one",
    ):
        assert not breaks(rule, deed(path="db/migrations/0004.sql", written="create table a ();"))
        assert breaks(rule, deed(path="db/migrations/0003.sql", replaced="a", written="b"))


@pytest.mark.parametrize(
    ("rule", "path", "written"),
    [
        ("We never call requests directly, always http", "src/a.py", "import requests\n"),
        ("use http_client, not requests", "src/a.py", "import os\nimport requests\n\ndef f(): ..."),
        ("never use datetime.utcnow(), use clock.now()", "a.py", "return datetime.utcnow()"),
        ("never use print()", "src/a.py", "print(x)"),
        ("No ChangeNotifier, no Bloc in app/", "app/m.dart", "class M with ChangeNotifier {}"),
        ("We use date-fns. moment was thrown out", "src/a.ts", "import moment from 'moment'"),
        ("requests and aiohttp both turned down", "src/geo.py", "import aiohttp"),
        ("we dropped Redis, it was one more thing to run", "src/dedupe.py", "import redis"),
        ("Money is Decimal, never float", "money.py", "x = float(decimal)"),
        ("moment was thrown out in January", "web/package.json", '"moment": "2.30.1"'),
        ("black is forbidden", "pyproject.toml", 'dev = ["black>=24"]'),
        ("never set replicas in values-prod.yaml", "values-prod.yaml", "replicas: 4"),
        ("no default exports in src/", "src/a.ts", "export default function App() {}"),
        ("No new jest.config, no @jest/globals imports", "a.ts", "x } from '@jest/globals'"),
        ("cursor.execute is only allowed in apps/reporting", "apps/a.py", "cursor.execute(sql)"),
        ("process.env is read only in src/env.ts", "src/a.ts", "new Redis(process.env.REDIS)"),
        ("we use pino. console.log in api/ gets swallowed", "api/a.ts", "console.log(1)"),
        ("A plain RENAME COLUMN took booking down", "a.sql", "RENAME COLUMN a TO b"),
        ("RunPython always gets a reverse_code.", "a.py", "RunPython(fill)"),
        ("requests.get without timeout= hangs for ever", "a.py", "requests.get(url)"),
        ("through the parser, never raw uart_write from app code", "a.c", "uart_write(x);"),
        ("ruff replaced black and isort", ".pre-commit-config.yaml", "  - id: black"),
        ("No jest imports. apps/job was the last one", "apps/job/a.ts", "x } from 'jest'"),
        ("psycopg2 must not come back", "pyproject.toml", '"psycopg2-binary>=2.9",'),
        ("logrus is out.", "a.go", 'import log "github.com/sirupsen/logrus"'),
        ("log/slog, not logrus.", "go.mod", "github.com/sirupsen/logrus v1.9.3"),
        ("github.com/pkg/errors was removed in May", "a.go", 'import "github.com/pkg/errors"'),
        ("Don't use testify.", "a_test.go", '"github.com/stretchr/testify/require"'),
        ("No zap.", "a.go", 'import "go.uber.org/zap"'),
        ("RxJava is out.", "A.kt", "import io.reactivex.rxjava3.core.Single"),
        ("No Koin.", "app/build.gradle.kts", 'implementation("io.insert-koin:koin-android:3.5.6")'),
        ("No Gson.", "gradle/libs.versions.toml", 'gson = "2.11.0"'),
        ("No Gson.", "app/build.gradle.kts", "implementation(libs.gson)"),
        ("eval() must never be used.", "a.py", "x = eval(s)"),
        ("dropAll() must never be used", "a.kt", "builder.dropAll()"),
        ("os.system is not to be called anywhere", "a.py", "os.system('ls')"),
        ("fonts lie in web/fonts, google fonts is a no", "a.vue", "'//fonts.googleapis.com/css'"),
        ("Log.d is fine in src/debug; anywhere else it is Timber", "a.kt", 'Log.d("a", "b")'),
        ("RxJava may stay in legacy/ and nowhere else.", "A.kt", "import io.rxjava3.Single"),
        ("DagOperator only lives on in dags/legacy.", "dags/a.py", "x = DagOperator()"),
        ("SELECT * is tolerated in models/raw, not in marts.", "models/a.sql", "select  * from x"),
        ("Only main and tests may call ctx.Background().", "a.go", "ctx.Background()"),
        ("randf() breaks the daily replays, use rng.gd", "a.gd", "return randf() < 0.3"),
        ("bundle limit 1 MB -> no moment", "a.ts", "import moment from 'moment'"),
        ("Background jobs run on arq, not Celery", "a.py", "import celery"),
    ],
)  # fmt: skip
def test_code_breaks_a_rule_that_names_what_it_uses(rule, path, written):
    assert breaks(rule, deed(path=path, written=written))
    assert not breaks(rule, deed(path=path, replaced=written, written="pass"))
    assert not breaks(rule, deed(path="docs/rules.md", written=written))


STANDALONE = "output: 'standalone' in web/next.config.mjs must stay, the Dockerfile copies it"
PINNED = (
    "Node is pinned to 20.11. 22 breaks sharp, so don't touch the `FROM node:20.11-alpine` lines."
)
REPLICAS = "The scheduler runs with replicaCount: 1. Two double-booked a crane, so it must stay 1."
COYOTE = (
    "coyote time 0.11s, jump buffer 0.14s - 12 people playtested, don't touch without asking her"
)
MEMORY = "The memory limit of the worker stays at 2Gi: with 1Gi it was killed"


@pytest.mark.parametrize(
    ("rule", "path", "old", "broken", "kept"),
    [
        (STANDALONE, "web/next.config.mjs", "output: 'standalone',", "output: 'x',", ""),
        ("don't remove `lock_timeout`", "a.py", "lock_timeout=5", "", "lock_timeout=9"),
        (PINNED, "api/Dockerfile", "FROM node:20.11-alpine AS a", "FROM node:22-alpine AS a", ""),
        ("DEBUG must stay False in prod.py", "prod.py", "DEBUG = False", "DEBUG = True", ""),
        (MEMORY, "k8s/worker.yaml", "memory: 2Gi", "memory: 1Gi", "memory: 2Gi # as it was"),
        ("don't lower memory in a.yaml", "a.yaml", "memory: 2Gi", "memory: 1Gi", "memory: 3Gi"),
        ("never upgrade zod", "package.json", '"zod": "5.1"', '"zod": "6.0"', '"zx": "6.0"'),
        ("Don't bump zod past 5.14", "go.mod", "zod = 5.1", "zod = 6.0", "zod = 5.14.2"),
        ("never change PORT in a.env", "a.env", "PORT=80", "PORT=81", "HOST=81"),
        ("max_runs in a.py must stay 1.", "a.py", "max_runs=1,", "max_runs=4,", "max_rows=4,"),
        ("max_runs in a.py must never be more than 1", "a.py", "max_runs=1", "max_runs=4", ""),
        ("The job's replicas must stay 1", "charts/job/a.yaml", "replicas: 1", "replicas: 2", ""),
        (REPLICAS, "charts/scheduler/a.yaml", "replicaCount: 1", "replicaCount: 2", ""),
        ("Don't touch versionCode in a.kts.", "a.kts", "versionCode = 7", "versionCode = 8", ""),
        ("versionCode is set by CI. Hands off.", "a.kts", "versionCode = 7", "versionCode = 8", ""),
        ("Leave minSdk alone.", "a.kts", "minSdk = 24", "minSdk = 26", ""),
        ("jvmargs keeps -Xmx4g, 6g is killed", "a.ini", "jvmargs=-Xmx4g", "jvmargs=-Xmx6g", ""),
        ("a-lint stays at 1.59.1.", ".ci/a.yml", "a-lint@v1.59.1", "a-lint@v1.61.0", "b@v1.61.0"),
        (COYOTE, "player.gd", "COYOTE_TIME = 0.11", "COYOTE_TIME = 0.15", "CHEST_TIME = 0.15"),
        ("dbt-core has to stay below 1.8.", "a.toml", "dbt-core~=1.7.0", "dbt-core~=1.8.2", ""),
        ("Don't bump the Big BOM past 2.6", "a.toml", "bigBom=2.6", "bigBom=2.9", ""),
    ],
)  # fmt: skip
def test_a_value_that_is_to_stay_is_not_changed(rule, path, old, broken, kept):
    assert breaks(rule, deed(path=path, replaced=old, written=broken))
    assert not breaks(rule, deed(path=path, replaced=f"x\n{old}", written=f"y\n{kept or old}"))
    assert not breaks(rule, deed(path="src/other.py", replaced="DEBUG = 1", written="DEBUG = 2"))


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        ("catchup must be False.", "catchup=True,", "catchup=False,"),
        ("catchup=False, always.", "catchup=True,", "catchup=None,"),
        ("DEBUG is always False", "DEBUG = True", "debug_toolbar = True"),
        ("minSdk stays at 24.", "minSdk = 26", "minSdk = 24"),
        ("The pool size stays at 18", "pool_size: 20", "pool_size: int"),
        ("Keep gracePeriodSeconds at 90", "gracePeriodSeconds: 30", "if gracePeriodSeconds == 30:"),
        ("batch_size must stay at or under 500", "batch_size: 800", "batch_size: MOST"),
        ("is_open must be True", "is_open = False", "is_open = opened"),
    ],
)
def test_a_value_that_is_to_stay_is_not_newly_set_otherwise(rule, broken, kept):
    assert breaks(rule, deed(path="app/a.py", replaced="x", written=f"x\n{broken}"))
    assert not breaks(rule, deed(path="app/a.py", replaced="x", written=f"x\n{kept}"))


def test_a_plain_word_is_a_value_where_it_had_the_one_that_is_to_stay_or_a_command_sets_it():
    rule = "replicas must stay 1."
    assert breaks(rule, deed("kubectl scale deploy/scheduler --replicas=2"))
    assert breaks(rule, deed("helm upgrade x charts/x --set replicas=2"))
    assert not breaks(rule, deed(path="web.yaml", replaced="a: 1", written="a: 1\nreplicas: 2"))
    assert not breaks(rule, deed("kubectl scale deploy/scheduler --replicas=1"))


def test_a_value_that_is_to_stay_on_prod_may_be_another_elsewhere():
    for name in ("prod", "production"):
        rule = f"max_wait stays at 30 on {name}"
        assert breaks(rule, deed(path="config/prod.toml", written="max_wait = 60"))
        assert not breaks(rule, deed(path="config/dev.toml", written="max_wait = 60"))


@pytest.mark.parametrize(
    ("rule", "path", "written"),
    [
        ("The default is always true.", "openapi.yaml", "default: false"),
        ("Debug is always false in release builds.", "config/dev.toml", "debug = true"),
        ("Timeout must be at least 30 for uploads.", "test_a.py", "run(cmd, timeout=5)"),
        ("Memory must be at most 512 on the Pi.", "k8s/api.yaml", "memory: 1024"),
        ("Line length must be at most 100 in Python code.", ".editorconfig", "line_length=120"),
        ("Price must stay at least 10.", "fixtures/a.json", '"price": 5'),
        ("Retries must stay below 3.", "src/mail.py", "retries = 5"),
    ],
)
def test_a_value_that_is_said_of_one_thing_may_be_another_of_others(rule, path, written):
    assert not breaks(rule, deed(path=path, written=written))


def test_a_value_is_kept_where_the_words_behind_it_are_shared():
    rule = "max_wait must be at most 30 s for uploads, the proxy hangs up."
    assert breaks(rule, deed(path="src/upload.py", written="x = 1\nmax_wait = 60  # uploads"))
    assert breaks(rule, deed(path="src/uploads/a.py", written="max_wait = 60"))
    assert not breaks(rule, deed(path="src/mail.py", written="max_wait = 60"))
    moved = deed(path="a.py", replaced="retries = 2", written="retries = 5")
    assert breaks("Retries must stay below 3.", moved)


def test_a_file_of_a_version_alone_keeps_the_one_it_is_pinned_to():
    rule = "node 22 breaks sharp in CI, pin 20.17 in .nvmrc"
    assert breaks(rule, deed(path=".nvmrc", written="22.9.0\n"))
    assert not breaks(rule, deed(path=".nvmrc", written="20.17.1\n"))
    assert not breaks(rule, deed(path=".python-version", written="3.12\n"))


def test_a_command_that_replaces_a_value_changes_it_and_one_that_uses_it_keeps_it():
    assert breaks(PINNED, deed("sed -i 's/node:20.11-alpine/node:22-alpine/' apps/*/Dockerfile"))
    assert not breaks(PINNED, deed("sed -i 's/npm ci/npm i/' apps/*/Dockerfile"))
    assert not breaks(PINNED, deed("docker run --rm node:20.11-alpine node -v"))


@pytest.mark.parametrize(
    "rule",
    [
        "prod.py: DEBUG must never be True there, the rest comes from the environment",
        "never set DEBUG = True in prod.py",
        "Never set DEBUG to True in prod.py",
    ],
)
def test_a_value_that_must_not_be_is_not_set(rule):
    assert breaks(rule, deed(path="prod.py", replaced="DEBUG = False", written="DEBUG = True"))
    assert breaks(rule, deed(path="prod.py", written="DEBUG = True"))
    assert not breaks(rule, deed(path="test.py", written="DEBUG = True"))
    assert not breaks(rule, deed(path="prod.py", replaced="DEBUG = True", written="DEBUG = False"))


def test_a_plain_word_that_is_not_to_be_changed_is_no_value():
    renamed = deed(path="a.py", replaced="name = 1", written="name = 2")
    assert not renamed.breaks("Don't change the name, clients depend on it")
    assert not renamed.breaks("We stay with what we have: the name stays until 2027")
    row = deed(path="a.py", written="is_active = False")
    assert not row.breaks("is_active must be True for the job to pick a row up")
    moved = deed(path="a.py", replaced="it = 1\nso = 1", written="it = 2\nso = 2")
    assert not moved.breaks("it must stay 1, and so must stay 1. Don't touch it in a.py.")


def test_a_version_that_is_too_new_is_not_installed():
    rule = "Don't bump Prisma past 5.14: 5.15 breaks the transactions"
    assert breaks(rule, deed("pnpm add -E prisma@5.16.1 @prisma/client@5.16.1"))
    assert not breaks(rule, deed("pnpm add prisma@5.14.0"))
    assert not breaks(rule, deed("pnpm exec prisma generate"))


@pytest.mark.parametrize(
    "rule",
    [
        "moment is out, use dayjs",
        "moment is gone",
        "moment was replaced by dayjs",
        "moment is deprecated here",
        "dayjs, not moment",
        "moment must not come back",
        "don't add moment back",
        "moment is not used any more",
        "we removed moment in March",
        "moment is out: we use dayjs with the helpers in src/dates.ts",
        "We go with dayjs for the dates, not moment",
        "dates w/ dayjs not moment",
        "no moment in the checkout",
    ],
)
def test_a_library_that_is_out_is_told_in_many_words(rule):
    assert breaks(rule, deed("pnpm add moment"))
    assert not deed("pnpm add dayjs").breaks(rule)
    if "checkout" not in rule:
        assert breaks(rule, deed(path="src/a.ts", written="import moment from 'moment'"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Push fails silently. No error message, the job just hangs.", "@hookform/error-message"),
        ("Dark mode is out.", "use-dark-mode"),
        ("Push notifications are out in version 2.1!", "expo-push-notifications"),
        ("No message queue here, we poll.", "message-queue"),
        ("google fonts is a no", "google-sheets-fonts"),
    ],
)
def test_two_words_that_are_no_service_ban_none(text, name):
    assert not deed(path="src/a.ts", written=f"import x from '{name}'").breaks(text)


def test_who_may_use_a_part_of_the_product_is_no_rule_about_code():
    for rule, call in (
        ("Only admins can use export.", "export(report)"),
        ("Only managers can use approve.", "approve(id)"),
    ):
        assert not breaks(rule, deed(path="a.py", written=call))
    assert breaks("Only src/queue may use redis.", deed(path="src/a.py", written="import redis"))
    assert breaks("Only admins may call run_all.", deed(path="src/a.py", written="run_all()"))


def test_a_limit_that_is_only_of_no_use_is_none():
    many = deed("pytest -n 16")
    assert not breaks("`pytest` with -n above 8 is not faster on the CI box.", many)
    assert breaks("`pytest` with -n above 8 is not supported on the CI box.", many)


def test_a_name_of_blanks_is_none():
    assert not rules_of("`    ` is out, and `   ` must not be used.").names


def test_a_service_of_two_words_is_known_by_its_address():
    for rule in ("No Google Fonts here.", "google fonts is a no (GDPR)", "Google Fonts are banned"):
        assert breaks(rule, deed(path="a.vue", written="'//fonts.googleapis.com/css'"))
        assert not breaks(rule, deed(path="a.vue", written="'//google.com/fonts'"))


@pytest.mark.parametrize(
    "text",
    [
        "moment 3 is out, we upgrade in May",
        "moment is out of sync",
        "The moment is gone in a blink",
    ],
)
def test_what_is_new_or_lost_is_no_library_that_is_out(text):
    assert not deed(path="src/a.ts", written="import moment from 'moment'").breaks(text)


@pytest.mark.parametrize(
    ("rule", "path", "written"),
    [
        ("cursor.execute is only allowed in apps/job", "apps/job/a.py", "cursor.execute(sql)"),
        ("requests.get without timeout= hangs for ever", "a.py", "requests.get(url, timeout=1)"),
        ("RunPython always gets a reverse_code", "a.py", "RunPython(fill, reverse_code=noop)"),
        ("A plain add_index locks, use `algorithm: :soon`", "a.rb", "add_index :a, algorithm: :b"),
        ("No `Store.instance` outside app/lib/data/", "app/lib/data/v.dart", "x = Store.instance"),
        ("Everything in apps/api runs on Workers: no node: imports", "a.ts", "import 'node:fs'"),
        ("no JSON fixtures in tests", "src/a.js", "JSON.parse(text)"),
        ("never use print() in src/", "tools/a.py", "print(x)"),
        ("no sleep in tests", "src/worker.py", "sleep(3)"),
        ("eval() must never be used.", "a.py", "model.eval()"),
        ("Only main and tests may call ctx.Background().", "cmd/main.go", "ctx.Background()"),
        ("Only main and tests may call ctx.Background().", "a_test.go", "ctx.Background()"),
        ("Log.d is fine in src/debug; anywhere else use Timber", "src/debug/a.kt", "Log.d(x)"),
        ("run() hangs on Windows, that is known", "a.py", "run()"),
        ("redis is fine in apps/a, but the queue is not in it", "b.py", "import redis"),
        ("No requests.", "requirements-dev.txt", "requests-mock==1.12"),
        ("No zap.", "a.go", 'import "github.com/zap/uuid"'),
        ("google fonts is a no", "a.vue", "see https://developer.google.com/css"),
        ("never call print()", "src/a.py", "# print(x) is not allowed here"),
    ],
)  # fmt: skip
def test_a_rule_holds_where_it_says_that_it_does(rule, path, written):
    assert not breaks(rule, deed(path=path, written=written))


FLOAT = "Decimal for money, never float. A FloatField on the invoice model was why totals were off."
REVERSE = "No RunPython without reverse_code"
NO_NULL = "no null=True on a CharField, use blank=True and default=''"
BANNED = (
    "Use dayjs instead of moment. moment got banned after it grew the apps/web bundle by 290 kB."
)


@pytest.mark.parametrize(
    ("rule", "path", "broken", "kept"),
    [
        (FLOAT, "app/models.py", "price = models.FloatField()", "weight = models.FloatField()"),
        (FLOAT, "app/geo.py", "fee: float = 0", "lat = float(found['lat'])"),
        (FLOAT, "app/chart.py", "float(invoice.sum)", "ratio = float(done) / total"),
        ("Never use FloatField for money", "a.py", "price = FloatField()", "size = FloatField()"),
        ("Money is cents. Never a float.", "a.py", "fee: float", "x: float"),
        (NO_NULL, "a.py", "CharField(\n  max=3,\n  null=True,\n)", "x = DateField(null=True)"),
        (NO_NULL, "a.py", "x = CharField(null=True)", "CharField()\nx = TextField(null=True)"),
        (REVERSE, "m.py", "[RunPython(fill)]", "[RunPython(fill, reverse_code=noop)]"),
        (REVERSE, "m.py", "RunPython(\n  fill,\n)", "[RunPython(fill, noop)]"),
        ("no `any` in src/", "src/a.ts", "payload: any;", "const text = 'any of them'"),
        ("Never `:db/id` in a link", "a.clj", "(link (:db/id d))", "(link (:db/ident d))"),
        ("Never use RENAME COLUMN in a migration", "migrations/1.sql", "RENAME COLUMN a", "ADD a"),
    ],
)
def test_what_a_rule_says_of_the_use_has_to_be_said_of_that_very_use(rule, path, broken, kept):
    assert breaks(rule, deed(path=path, written=broken))
    assert not breaks(rule, deed(path=path, written=kept))


@pytest.mark.parametrize(
    ("rule", "there", "elsewhere", "written"),
    [
        ("no `export default` in packages/ui", "packages/ui/a.ts", "web/a.ts", "export default f"),
        ("no default exports in ui/", "ui/a.ts", "ui/vite.config.ts", "export default f"),
        ("no run() outside apps/job", "apps/api/a.py", "apps/job/a.py", "run()"),
        ("use db(), not run(), see lib/db.py", "api/a.py", "lib/db.py", "run()"),
        ("run() is banned, use apps/*/db.py", "apps/x/a.py", "apps/x/db.py", "run()"),
        (BANNED, "apps/web/a.ts", "docs/a.md", "import moment from 'moment'"),
        ("Never use a Float column in db.prisma", "db.prisma", "a.ts", "price Float"),
        (
            "Don't use the le-prod issuer in k8s/dev",
            "k8s/dev/a.yaml",
            "k8s/prod.yaml",
            "x: le-prod",
        ),
    ],
)
def test_a_place_in_a_rule_is_where_it_holds_or_where_it_does_not(rule, there, elsewhere, written):
    assert breaks(rule, deed(path=there, written=written))
    allowed = deed(path=elsewhere, written=written)
    assert not allowed.breaks(rule)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Never edit files in gen/", "node gen/check.js 2>&1 | tail -5"),
        ("Never edit files in gen/", "cp gen/x.ts src/"),
        ("No sed -z, no date -d there, it is busybox", "sed -i s/a/b/ a.txt"),
        ("Never edit files in gen/", "cat gen/x.ts > /tmp/x"),
        ("If the tests fail, run `make clean` first.", "make clean"),
        (
            "When the container hangs, run `docker compose restart web`.",
            "docker compose restart web",
        ),
        ("Never merge without running `make check`.", "make check"),
        ("`pytest` needs --timeout", "pytest --timeout=60"),
        ("`git commit` requires --signoff", "git commit -sm x"),
        ("`pytest` needs -n 4", "pytest -n4"),
        ("We install with `npm ci` without --force", "npm ci"),
        ("Never run terraform apply against prod.", "docker run x && terraform apply prod.plan"),
        ("Never push before `make test` passes", "bash -c ''; ls"),
    ],
)
def test_what_a_memory_recommends_or_only_reads_is_no_rule_broken(rule, command):
    assert not breaks(rule, deed(command))


CHANGESET = "Versions are bumped with `pnpm changeset`, not npm version: CI fails otherwise."
IGNORE = "npm ci without --ignore-scripts ran a malicious postinstall"
MIGRATE = "Never run `prisma migrate dev` on staging, it resets the schema"
POD = "`kubectl delete pod` on pawbill-worker loses in-flight invoices, scale down first"
REDIS = "`pnpm test` in apps/api hangs unless redis is up: `docker compose up -d redis` first"
VITEST = "Vitest for packages/db has to run with --no-file-parallelism"
REFRESH = "Never run dbt with --full-refresh on fct_shipments: it takes 11 hours."
CLINICS = "loaddata fixtures/clinics.json needs `manage.py migrate` first"
KAFKA = "Topics are made through Terraform in infra/topics.tf, never with kafka-topics.sh"

SAMPLE = "`make load-sample` needs SNOWFLAKE_ROLE=LOADER, it dies otherwise"


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        (CHANGESET, "npm version minor", "pnpm changeset && git add .changeset"),
        (IGNORE, "npm ci", "npm ci --ignore-scripts"),
        ("uv sync without --frozen in infra/ breaks it", "cd infra && uv sync", "uv sync"),
        ("docker build without --platform linux/amd64 made an arm image", "docker build -t x .",
         "docker build --platform linux/amd64 -t x ."),
        ("Docker images must be built with --platform linux/amd64", "docker build -t x .",
         "docker build --platform=linux/amd64 -t x ."),
        ("Never commit without -s, the DCO check fails", "git commit -m x", "git commit -sm x"),
        ("Don't run pytest without -n0", "pytest tests", "pytest -n 0 tests"),
        ("makemigrations without --name is not OK", "python manage.py makemigrations",
         "uv run python manage.py makemigrations -n a"),
        ("Always pass --context to kubectl", "kubectl apply -f a", "kubectl config get-contexts"),
        ("Always pass --context to kubectl: prod is the default", "kubectl delete pod x",
         "kubectl --context dev delete pod x"),
        (VITEST, "cd packages/db && npx vitest run", "cd packages/ui && npx vitest run"),
        (VITEST, "cd packages/db && vitest", "cd packages/db && vitest --no-file-parallelism"),
        (MIGRATE, "DATABASE_URL=$STAGING npx prisma migrate dev", "npx prisma migrate dev"),
        (POD, "kubectl delete pods -l app=pawbill-worker", "kubectl delete pod redis-0"),
        (POD, "kubectl delete pod/pawbill-worker-1", "kubectl get pod pawbill-worker-1"),
        (REDIS, "cd apps/api && pnpm test", "cd apps/web && pnpm test"),
        (REDIS, "cd apps/api && pnpm test",
         "docker compose up -d redis && cd apps/api && pnpm test"),
        (CLINICS, "python manage.py loaddata fixtures/clinics.json", "python manage.py migrate"),
        ("terraform state rm and state mv need a backup first (make tf-backup)",
         "cd infra && terraform state mv a b", "make tf-backup && terraform state mv a b"),
        ("gunicorn --preload breaks the exporter", "gunicorn a.wsgi --preload", "gunicorn a.wsgi"),
        ("never run terraform destroy", "terraform destroy -auto-approve", "terraform apply"),
        ("Rollback: revert the tag; Helm isn't involved.", "helm rollback api 3", "git revert x"),
        (REFRESH, "dbt run --full-refresh -s fct_shipments", "dbt run -s fct_shipments"),
        (KAFKA, "/opt/kafka/bin/kafka-topics.sh --create", "terraform apply -target x"),
        ("uv instead of pip", "./.venv/bin/pip install x", "/tmp/v/bin/pip install x"),
        ("Never `helm upgrade` on prod from a laptop.", "helm upgrade a -f values-prod.yaml",
         "helm upgrade a charts/a --kube-context staging"),
        ("`helm upgrade` against the prod cluster only from CI",
         "helm upgrade a --kube-context prod", "helm upgrade a --kube-context staging"),
        ("never run alembic upgrade on prod by hand", "DB=prod alembic upgrade head",
         "alembic upgrade head"),
        ("Don't use `airflow variables set`.",
         "kubectl exec -n prod deploy/airflow -- airflow variables set a 1",
         "kubectl exec -n prod deploy/airflow -- airflow variables list"),
        ("Never `git push --force` to release-*", "git push -f origin release-2.14",
         "git push --force origin feature/x"),
        ("No git push --force on release branches.", "git push --force origin release/2",
         "git push --force origin fix/release-notes"),
        ("Never `sqlfluff fix` on models/legacy", "sqlfluff fix models/legacy/a.sql",
         "sqlfluff fix models/marts"),
        ("`sqlfluff fix` wrecks the jinja in models/legacy", "sqlfluff fix models/legacy",
         "sqlfluff fix models/marts"),
        (SAMPLE, "make load-sample", "SNOWFLAKE_ROLE=LOADER make load-sample"),
        (SAMPLE, "make load-sample", "export SNOWFLAKE_ROLE=LOADER && make load-sample"),
        ("buf breaking wants --against '.git#branch=main'", "buf breaking",
         "buf breaking --against '.git#branch=main'"),
        ("Never `dbt run` without --select.", "dbt run", "dbt run --selector nightly"),
        ("Never `dbt run` without --select.", "dbt run --full-refresh", "dbt run --models a"),
        ("fastlane only with `bundle exec`.", "fastlane android internal",
         "bundle exec fastlane android internal"),
        ("Never run fastlane without `bundle exec`.", "fastlane supply",
         "bundle exec fastlane supply"),
        ("Start `make tunnel` before `make migrate`.", "make migrate",
         "make tunnel && make migrate"),
        ("Before `make migrate` run `make tunnel`.", "make migrate", "make tunnel"),
        ("Never `./gradlew bundleRelease` by hand.",
         "cd app && ../gradlew clean :app:bundleRelease", "./gradlew :app:bundleDebug"),
        ("Never `./gradlew :app:bundleRelease`", "./gradlew :app:bundleRelease",
         "./gradlew :wear:bundleRelease"),
        ("no EF migrations here, schema changes go through DACPAC",
         "dotnet ef migrations add X", "dotnet ef dbcontext info"),
        ("Terraform apply only from CI", "terraform apply", "terraform plan"),
        ("`fastlane supply` with --rollout above 0.2 isn't allowed.",
         "fastlane supply --rollout 0.5", "fastlane supply --rollout 0.1"),
        ("Never more than `--jobs 4` with bazel build.", "bazel build --jobs=8 //...",
         "bazel build --jobs 4 //..."),
        ("kubectl apply is wrong for anything in charts/, Helm owns it",
         "kubectl apply -f charts/a/b.yaml", "kubectl apply -f jobs/b.yaml"),
        ("`terraform destroy` is forbidden on prod", "ENV=prod terraform destroy",
         "terraform destroy -var-file dev.tfvars"),
        ("go get is a no in this repo.", "go get github.com/google/uuid", "go mod tidy"),
    ],
)  # fmt: skip
def test_a_rule_tells_the_right_form_of_a_command_from_the_wrong_one(rule, broken, kept):
    assert breaks(rule, deed(broken))
    assert not breaks(rule, deed(kept))


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("We install with npm ci, without --force", "npm ci"),
        ("pytest without -n0 is fine on CI", "pytest"),
        ("`npm install` without --save is enough", "npm install x"),
        ("Run the migrations first, then `make seed`", "make seed"),
        ("helm is used only for cert-manager", "helm upgrade x"),
        ("Run `make check` before `git push`", "git push"),
        ("`npm ci` is a no-brainer, it takes 3 s", "npm ci"),
        ("`terraform plan` is wrong about the bucket", "terraform plan"),
        ("`scripts/tidy all` removes the build artefacts", "scripts/tidy all"),
    ],
)
def test_a_command_that_may_go_without_an_option_breaks_no_rule(rule, command):
    assert not breaks(rule, deed(command))


VOLUMES = "docker compose down -v wipes the seeded berths. Leave off the -v."
FROM_CI = "terraform apply only from CI"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("scripts/clean.sh", "", ""),
        ("Makefile", "clean:\n\t@", ""),
        ("package.json", '  "clean": "', ' && rm -rf dist",'),
        (".github/workflows/ci.yml", "    steps:\n      - run: ", ""),
        ("Dockerfile", "FROM a\nRUN ", ""),
        ("Procfile", "web: ", ""),
    ],
)
def test_a_command_that_is_written_into_a_script_breaks_its_rule(path, before, after):
    written = before + "docker compose down -v" + after
    assert breaks(VOLUMES, deed(path=path, written=written))
    assert not breaks(VOLUMES, deed(path=path, written=written.replace(" -v", "")))
    assert not breaks(VOLUMES, deed(path="src/notes.py", written=written))


@pytest.mark.parametrize(
    "rule",
    [
        "Use uv add, not pip install (except in docker/app/Dockerfile).",
        "No pip install. docker/app/Dockerfile is the exception, its image has no uv.",
        "No pip install outside docker/.",
    ],
)
def test_what_a_rule_excepts_breaks_it_elsewhere_alone(rule):
    done = {"written": "USER a\nRUN pip install x", "replaced": "USER a"}
    assert not breaks(rule, deed(path="docker/app/Dockerfile", **done))
    assert breaks(rule, deed(path="web/Dockerfile", **done))


@pytest.mark.parametrize("rule", ["Never run `make seed`", "Never run make seed"])
def test_what_is_denied_but_in_one_file_or_environment_is_denied_in_all_others(rule):
    seed = "make seed\n"
    for end in ("", ", it wipes the data"):
        excepted = f"{rule} except in scripts/dev.sh{end}"
        assert breaks(excepted, deed("make seed"))
        assert breaks(excepted, deed(path="scripts/ci.sh", written=seed))
        assert not breaks(excepted, deed(path="scripts/dev.sh", written=seed))
    assert breaks(f"{rule} outside staging", deed("make seed"))
    assert not breaks(f"{rule} outside staging", deed("ENV=staging make seed"))


BANNED = "GlobalScope.launch is banned."


@pytest.mark.parametrize(
    "command",
    [
        "git commit -am 'wallet: remove GlobalScope.launch'",
        "gh pr create --title 'Remove GlobalScope.launch' --body 'no GlobalScope.launch left'",
        "git add . && git commit -m \"$(cat <<'EOF'\nRemove GlobalScope.launch\n\nEOF\n)\"",
        "sed -i 's/GlobalScope.launch/viewModelScope.launch/' app/Wallet.kt",
        "rg -l GlobalScope | xargs sed -i 's/GlobalScope.launch/viewModelScope.launch/'",
    ],
)
def test_what_is_only_said_of_a_change_or_taken_away_breaks_nothing(command):
    assert not breaks(BANNED, deed(command))
    assert breaks(BANNED, deed("sed -i 's/scope.launch/GlobalScope.launch/' app/Wallet.kt"))


def test_what_is_forbidden_somewhere_is_allowed_elsewhere():
    rule = "time.Sleep is forbidden in tests, there is a fake clock in pkg/clocktest."
    sleeps = "x\ntime.Sleep(1)"
    assert breaks(rule, deed(path="pkg/a/a_test.go", replaced="x", written=sleeps))
    assert not breaks(rule, deed(path="pkg/a/a.go", replaced="x", written=sleeps))
    refresh = "--full-refresh on fct_orders is forbidden"
    assert breaks(refresh, deed("dbt run --full-refresh --select fct_orders"))
    assert not breaks(refresh, deed("dbt test --select fct_orders"))
    assert not breaks(refresh, deed("dbt run --full-refresh --select stg_a"))


def test_what_is_lost_is_not_what_writes_it():
    rule = "src/api is written by `make api`, hand edits are lost with the next run."
    assert not breaks(rule, deed("make api"))


def test_what_ci_has_to_run_may_be_written_into_its_files():
    written = "      - run: terraform apply -auto-approve"
    assert not breaks(FROM_CI, deed(path=".github/workflows/tf.yml", written=written))
    assert breaks(FROM_CI, deed(path="scripts/tf.sh", written="terraform apply -auto-approve"))
    quoted = 'CMD ["gunicorn", "a.wsgi", "--preload"]'
    assert breaks("gunicorn --preload breaks it", deed(path="Dockerfile", written=quoted))


EVIDENCE = "Hands off the table audit_log: rows there are evidence, corrections go in as new rows."
MASKED = "Don't query the raw_pii dataset from notebooks; only the job mask_pii may read it"


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        (EVIDENCE, "delete from audit_log where id = 17", "select count(*) from audit_log"),
        (EVIDENCE, "update audit_log set who = 2", "delete from audit_log_copy"),
        (MASKED, "select * from raw_pii.customers", "select * from masked.customers"),
        (
            "Hands off the table vessels.",
            "UPDATE public.vessels SET eta = 1",
            "select * from vessels",
        ),
        ("Hands off the vessels table", "alter table vessels add x int", "update vessels page"),
        ("We never write to vessels, they do.", "insert into vessels (a)", "insert into ports (a)"),
        (
            "No UPDATE or DELETE on ledger.",
            "delete from ledger where id = 1",
            "delete from ledgers",
        ),
        ("ledger is append-only", "update ledger set a = 1", "insert into ledger values (1)"),
        ("ledger is append-only and hashed", "update ledger set a = 1", "insert into ledger (a)"),
        ("The table vessels is read-only for us", "truncate vessels", "select 1 from vessels"),
        ("never truncate the events table", "truncate events", "insert into events values (1)"),
        ("never drop the sessions table", "drop table sessions", "update sessions set a = 1"),
        ("Don't delete rows in the users table.", "delete from users", "update users set a = 1"),
        ("Never alter the user_log table", "alter table user_log", "insert into user_log (a)"),
        ("No deletes on ledger.", "delete from ledger where id = 1", "update ledger set a = 1"),
        ("No UPDATE on ledger.", "update ledger set a = 1", "delete from ledger"),
    ],
)
def test_a_table_is_not_to_be_changed_or_not_to_be_read(rule, broken, kept):
    assert breaks(rule, deed(f"psql -c '{broken}'"))
    assert breaks(rule, deed(path="jobs/a.py", written=f'db.run("{broken}")'))
    assert not breaks(rule, deed(f"psql -c '{kept}'"))


def test_a_table_that_only_some_may_not_change_is_none_that_is_not_to_be_changed():
    insert = deed("psql -c 'insert into users values (1)'")
    assert breaks("users is read-only.", insert)
    assert not breaks("users is read-only on the replica.", insert)
    by_hand = "Never update the users table by hand in prod"
    assert not breaks(by_hand, deed(path="a.sql", written="ALTER TABLE users ADD COLUMN a int"))
    assert not rules_of("Never update the schema without a migration.").names
    imported = deed(path="tests/test_a.py", written="from tests.factories import make_user")
    assert not breaks("No inserts in tests.", imported)


def test_what_else_a_shell_line_does_hides_no_broken_rule():
    assert breaks("Never force-push to main.", deed("npm test && git push --force origin main"))
    assert breaks("Never run terraform apply against prod.", deed("terraform apply prod.plan"))


def test_rules_are_kept_apart_by_what_is_shared_and_what_is_ones_own():
    rule = "Never run bare `alembic upgrade head` against staging or prod"
    assert breaks(rule, deed("alembic upgrade head"))
    assert not breaks(rule, deed("docker compose up -d db && alembic upgrade head"))


FROZEN = "apps/billing/legacy_tax.py is frozen, the auditors signed exactly that file"
NO_AXIOS = "axios was thrown out after the SSRF advisory, use packages/http"


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        (FROZEN, "clean up legacy_tax.py, it's awful: type hints, shorter functions"),
        (FROZEN, "add type hints to apps/billing/legacy_tax.py"),
        ("openapi.yaml is generated", "fix the wrong description of /invoices in openapi.yaml pls"),
        ("never edit *.sql.go", "please edit internal/store/guests.sql.go"),
        (NO_AXIOS, "pull in axios for the weather client in apps/worker"),
        (NO_AXIOS, "rewrite the client with axios"),
        (NO_AXIOS, "switch the call in client.ts to axios"),
        ("imgproxy for thumbnails, no more sorl-thumbnail", "resize images with sorl-thumbnail"),
        ("riverpod, no bloc, no get_it", "add a bloc for the settings screen"),
        ("We moved from Jest to Vitest.", "set up jest for packages/http, it has no tests yet"),
        ("ruff replaced black, isort and flake8", "add a pre-commit hook for black and isort"),
        ("Never run terraform apply from a laptop", "run terraform apply in infra/envs/prod"),
        (SEED, "pull main, then run `make seed` and start the app"),
        ("docker compose down -v wipes the berths", "run docker compose down -v and start again"),
        ("`kubectl delete pod` loses invoices in flight", "kubectl delete pod worker-1"),
        ("git commit --no-verify is forbidden", "commit it with --no-verify"),
        ("Never force-push to main", "force-push that to main"),
        ("Don't edit values-prod.yaml.", "bump the cpu limit in values-prod.yaml to 1"),
        ("Never `go get`.", "go get the uuid package"),
        ("pandas is not allowed in pipelines/.", "use pandas in pipelines/shop/dedupe.py"),
        ("--full-refresh on fct_orders is forbidden", "rebuild fct_orders with --full-refresh"),
        ("No DROP TABLE on raw.*", "drop table raw.shop_orders, it's full of junk"),
        ("helm upgrade on prod only from CI", "do a helm upgrade on prod with the new chart"),
        ("Never raise pool_size above 100", "set pool_size to 200 on the primary"),
        ("Don't bump prisma past 5.14", "bump prisma to 5.20 and run the tests"),
    ],
)
def test_an_order_breaks_the_rule_that_forbids_what_it_names(rule, order):
    assert breaks(rule, Deed(read_order(order)))


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        (FROZEN, "use the rates from legacy_tax.py in invoice.py"),
        (FROZEN, "edit apps/billing/tax.py and add type hints"),
        ("gen/ is generated, don't touch it", "fix the import of gen/api.ts in src/x.ts"),
        (NO_AXIOS, "remove axios"),
        (NO_AXIOS, "replace axios with the client in packages/http"),
        (SEED, "make seed data more realistic"),
        ("No tests, no merge", "add tests for the parser"),
        ("never run tests on prod", "run the tests"),
        ("bun only, no yarn", "yarn or bun?"),
        ("Never force-push to main", "push it and open a draft"),
        ("Never use moment.", "Stop using moment in the calendar"),
        ("Never use moment.", "Get rid of everything that is still using moment"),
        ("Use httpx, not requests.", "Remove the last imports using requests"),
        ("Never run terraform apply from a laptop", "Don't run `terraform apply`, only plan it"),
        ("use pnpm, not npm", "`npm install` fails in CI, fix the workflow so it uses pnpm"),
        ("Never force-push to main", "Replace `git push --force` in release.sh by a merge"),
        ("never edit files under gen/", "Fix the build without changing anything in gen/"),
        ("pandas is not allowed in pipelines/.", "use pandas in notebooks/dedupe.ipynb"),
        ("helm upgrade on prod only from CI", "do a helm upgrade on staging"),
        ("Don't bump prisma past 5.14", "bump prisma to 5.13"),
        ("No DROP TABLE on raw.*", "drop the table of contents from the readme"),
    ],
)
def test_an_order_that_only_names_what_a_rule_is_about_breaks_none(rule, order):
    assert not breaks(rule, Deed(read_order(order)))


@pytest.mark.parametrize(
    "piece",
    [
        "never use a.b/",
        "a/b.py is ",
        "no `",
        "`a` without -",
        "not a, ",
        "a b c without -d e ",
        ". a b/c needs ",
        ", not git a ",
        "always pass -a to b ",
        "a -b wipes ",
        "never run a with -",
        "never set a=2b ",
        "x is out, ",
        "a b must stay 1",
        "keep a b c at ",
        "a b 1, don't touch",
        "is set by a, hands off ",
        "only a edits b/",
        "a/b any edits ",
        "hands off the table ",
        "no update, ",
        "no a b, ",
        "a may stay in a/b",
        "only a, b and c may use ",
    ],
)
def test_hostile_memories_and_actions_end_soon(piece):
    with ends_soon():
        done = deed(piece * 2_000 + "'" * 999, "a/" * 300 + "a.sh", '"' * 6_000, "(" * 6_000)
        done.breaks(piece * 2_000)
        done.keys()
    for order in ("add to " * 2_000, "fix a/" * 2_000, "use a, " * 2_000, "run " + "a " * 4_000):
        with ends_soon():
            Deed(read_order(order + piece * 100)).breaks(piece)


@pytest.mark.parametrize(
    "piece",
    ["a", "Ab", "0f", "\n", "_", "A", "a*"],
    ids=["a", "Ab", "hex", "lines", "_", "A", "wild"],
)
def test_one_long_word_ends_soon_wherever_it_stands(piece):
    long = piece * 6000
    with ends_soon():
        list(rules_of(f"Never use {long}").names)
        breaks("never use moment", Deed(read_order(f"Fix the login.{long} now")))
        breaks(
            f"do not touch {piece * 20}.lock",
            deed(path=f"{'a' * 3000}.loc", written=f"X = '{long}'"),
        )


def test_the_artifacts_of_a_manifest_are_read_soon():
    mock = deed(path="app/build.gradle.kts", written='testImplementation("io.mk:mockk-jvm:1.13")')
    assert breaks("Fakes are written by hand. Never use mockk", mock)
    with ends_soon():
        for path in ("package.json", "app/build.gradle.kts"):
            breaks("never use moment", deed(path=path, written="a.-" * 20_000))


def test_what_is_needed_first_is_not_denied_itself():
    rule = "`just migrate` needs `just tunnel` first, otherwise it hangs for two minutes"
    assert breaks(rule, deed("just migrate"))
    assert not breaks(rule, deed("just tunnel && just migrate"))
    assert not breaks(rule, deed("just tunnel"))


@pytest.mark.parametrize(
    ("rule", "is_order"),
    [
        ("You don't have to run `make gen` before `make build`.", False),
        ("No need to run `make gen` before `make build`.", False),
        ("Never run `make gen` before `make build`.", False),
        ("Fixed: the script did not run `make gen` before `make build`.", False),
        ("I usually run `make gen` before `make build`.", False),
        ("You have to run `make gen` before `make build`.", True),
        ("No cache here. Run `make gen` before `make build`.", True),
        ("Don't forget to run `make gen` before `make build`.", True),
        ("CI does not cache it so run `make gen` before `make build`.", True),
        ("No cache here — run `make gen` before `make build`.", True),
    ],
)
def test_what_need_not_be_run_first_or_was_not_is_no_order(rule, is_order):
    assert breaks(rule, deed("make build")) is is_order


def test_what_a_command_can_be_undone_with_is_no_rule_against_it():
    for undone in (
        "`git merge` is undone with `git reset --hard ORIG_HEAD`.",
        "git merge is undone by git reset.",
        "`git merge` by hand is undone with `git reset --hard ORIG_HEAD`.",
    ):
        assert not breaks(undone, deed("git merge a"))
    assert breaks("`helm upgrade` by hand gets reverted by Argo.", deed("helm upgrade a"))


GOLDEN = "Files under fixtures/golden/ must not be changed or deleted, they're the signed results"
POOL = "pool_size in config/prod.toml stays at 18: pgbouncer gives us 20"
TRUCE = "Don't use git commit --no-verify to get around the ticket hook"


@pytest.mark.parametrize(
    ("rule", "done", "is_broken"),
    [
        (GOLDEN, deed("rm fixtures/golden/run_4471.json"), True),
        (GOLDEN, deed("cat fixtures/golden/run_4471.json"), False),
        ("vendor/x is a drop, do not modify anything in there.", deed(path="vendor/x/a.c"), True),
        (
            POOL,
            deed(path="config/prod.toml", replaced="pool_size = 18", written="pool_size = 9"),
            True,
        ),
        (
            POOL,
            deed(path="config/dev.toml", replaced="pool_size = 18", written="pool_size = 9"),
            False,
        ),
        ("terraform apply runs only in CI, Priya approves it.", deed("terraform apply"), True),
        ("terraform apply runs only in CI, Priya approves it.", deed("terraform plan"), False),
        (TRUCE, deed("git commit -am 'quick fix' --no-verify"), True),
        (TRUCE, deed("git commit -m x"), False),
    ],
)
def test_rules_in_further_words(rule, done, is_broken):
    assert breaks(rule, done) is is_broken


WHOLE = "needed partners placed needed_kinds works".split()


def test_every_form_and_every_list_of_words_is_used():
    folders = (
        Path(module.__file__).parent for module in (denied_commands, denied_names, stated, orders)
    )
    modules = (path for folder in folders for path in folder.glob("*.py"))
    source = "\n".join(path.read_text("utf-8") for path in modules)
    asked = set(
        re.findall(r'_(?:FORMS|WORDS|SHELL|COMMITS|BRANCHES|ENVIRONMENTS)\["(\w+)"\]', source)
    )
    tried = RULE_FORMS["names_against"]
    whole = [RULE_FORMS[name] for name in WHOLE]
    held = {
        name
        for section in (RULE_FORMS | SHELL_FORMS).values()
        for name in (*section.forms, *section.words)
        if section is not tried and section not in whole
    }
    held -= {*RULE_FORMS["files"].forms, *RULE_FORMS["values_that_stay"].forms, *told_uses.FORMS}
    held -= {*RULE_FORMS["data"].forms, *RULE_FORMS["managers"].words}
    held -= {*RULE_FORMS["layers"].words}

    assert held - asked == set()
    assert {*tried.words, *denied_names.FORMS} <= set(tried.forms)


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ('gem "httparty"', True),
        ("gem 'rest-client', '~> 2.1'", True),
        ('gem "httparty-vcr"', False),
        ('gem "faraday"', False),
    ],
)
def test_a_gem_is_brought_in_by_its_line_in_the_gemfile(line, broken):
    rule = "We'll go with Faraday for all HTTP calls, HTTParty and rest-client are out."
    done = deed(path="Gemfile", written=f'gem "rails"\n{line}', replaced='gem "rails"')
    assert breaks(rule, done) is broken


@pytest.mark.parametrize(
    ("version", "broken"), [("~> 3.4", True), ("3.3.1", True), ("~> 3.2", False)]
)
def test_the_version_of_a_gem_is_a_value(version, broken):
    rule = "Don't bump faker past 3.2, 3.3 changed the seeds of the demo data."
    done = deed(
        path="Gemfile", written=f'gem "faker", "{version}"', replaced='gem "faker", "~> 3.1.0"'
    )
    assert breaks(rule, done) is broken


@pytest.mark.parametrize(
    ("path", "before", "now", "broken"),
    [
        ("config/sidekiq.yml", ":concurrency: 8", ":concurrency: 16", True),
        ("config/sidekiq.yml", ":queues: 8", ":queues: 16", False),
        ("config/sidekiq.yml", ":timeout: 8", ":concurrency: 16", False),
        ("config/sidekiq.py", "sidekiq_concurrency = 8", "sidekiq_concurrency = 16", True),
        ("config/puma.yml", ":concurrency: 8", ":concurrency: 16", False),
    ],
)
def test_a_value_is_named_by_its_file_as_well(path, before, now, broken):
    rule = "Sidekiq concurrency stays at 8: the database has 20 connections."
    assert breaks(rule, deed(path=path, written=now, replaced=before)) is broken


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        ("bundle exec rspec spec/system/booking_spec.rb", True),
        ("docker compose up -d postgres redis && bundle exec rspec spec/system", False),
        ("bundle exec rubocop", False),
    ],
)
def test_what_needs_another_command_first_is_known_without_its_runner(command, broken):
    rule = (
        "`bundle exec rspec` needs `docker compose up -d postgres redis` first, otherwise it dies"
    )
    assert breaks(rule, deed(command)) is broken


@pytest.mark.parametrize(
    ("written", "broken"),
    [
        ("default_scope { where(archived_at: nil) }", True),
        ("scope :open, -> { where(a: 1) }", False),
    ],
)
def test_a_rule_may_begin_with_from_now_on(written, broken):
    rule = "From now on no default_scope in models, ever. It hid archived berths."
    done = deed(
        path="app/models/berth.rb", written=f"class Berth\n{written}", replaced="class Berth"
    )
    assert breaks(rule, done) is broken


@pytest.mark.parametrize(
    ("path", "line", "broken"),
    [
        ("lib/tides/importer.rb", 'puts "importing #{r.id}"', True),
        ("app/models/berth.rb", "puts('x')", True),
        ("lib/tides/importer.rb", "puts_later = 1", False),
        ("lib/tides/importer.rb", 'log.puts "x"', False),
        ("lib/tasks/tides.rake", 'puts "importing"', False),
        ("bin/import.rb", 'puts "importing"', False),
    ],
)
def test_a_rule_holds_in_each_of_its_places_and_for_a_call_without_brackets(path, line, broken):
    rule = "No puts in app/ or lib/, use Rails.logger. lib/tasks and bin/ may print."
    assert breaks(rule, deed(path=path, written=line)) is broken


HELM = "helm upgrade needs --atomic, else a failed release stays half rolled out."
DOWN = "Never run `alembic downgrade` against staging or prod."


@pytest.mark.parametrize(
    ("rule", "command", "broken"),
    [
        (DOWN, "alembic -c api/alembic.ini downgrade -1", True),
        (DOWN, "alembic revision -m 'add downgrade path'", False),
        (DOWN, "alembic revision downgrade", False),
        (DOWN, "alembic downgrade -1 --sql", False),
        (HELM, "helm -n prod upgrade booking-api ./c", True),
        (HELM, "helm search repo upgrade", False),
        (HELM, "helm upgrade x ./c --dry-run", False),
        ("pytest -n auto needs --dist loadfile", "pytest --collect-only -n auto", False),
        ("Never commit a .env file", "git add src/a.py -v docs/b.md .env", True),
        ("Use pnpm, not yarn add", "yarn workspace web add dayjs", True),
        (SEED, "make lint test seed", True),
        ("Never run docker run", "docker compose run api sh", False),
    ],
)
def test_the_words_of_a_command_stand_in_the_order_and_places_of_one(rule, command, broken):
    assert breaks(rule, deed(command)) == broken


@pytest.mark.parametrize(
    ("denied", "command"),
    [
        ("nx run web:deploy", "nx run web:deploy -- --prod"),
        ("turbo run deploy", "turbo run deploy -- --prod"),
        ("lerna run publish", "lerna run publish -- --yes"),
        ("bazel run //deploy:prod", "bazel run //deploy:prod -- --yes"),
        ("nix run .#deploy", "nix run .#deploy -- --yes"),
        ("gcloud run deploy", "gcloud run deploy web --command ./serve"),
        ("gh run rerun", "gh run rerun 12 -c x"),
        ("modal run", "modal run app.py -- --x"),
        ("swift run", "swift run -c release App"),
        ("npm exec", "npm exec foo"),
        ("hatch run deploy", "hatch run deploy"),
        ("npx prisma migrate reset", "npx prisma migrate reset --force"),
        ("python -m http.server", "uv run python -m http.server 80"),
        ("poetry run deploy", "sudo poetry run deploy"),
        ("uv run alembic downgrade", "bash -c 'cd a && uv run alembic downgrade -1'"),
        ("sudo npm install", "sudo -E npm install left-pad"),
    ],
)
def test_a_rule_may_name_what_runs_a_command(denied, command):
    assert breaks(f"Never run `{denied}` here.", deed(command))
    assert not breaks(f"Never run `{denied}` here.", deed(command.split(" ")[-1]))


@pytest.mark.parametrize(
    ("command", "broken"), [("git add .", True), ("git add .;", True), ("git add a.py", False)]
)
def test_a_path_of_one_dot_belongs_to_the_command(command, broken):
    assert breaks("Never run `git add .` here.", deed(command)) == broken


def test_what_is_needed_first_is_not_done_by_what_needs_it():
    rule = "`uv run pytest` needs `docker compose up -d db` first."
    assert breaks(rule, deed("uv run pytest"))
    assert not breaks(rule, deed("docker compose up -d db && uv run pytest"))


@pytest.mark.parametrize(
    ("path", "written", "broken"),
    [
        ("a.py", 'msg = "use print() here"', False),
        ("a.py", "print('x')", True),
        ("a.py", "log(f'{print(1)}')", True),
        ("run.txt2", '"print(1)"', True),
    ],
)
def test_what_is_only_in_a_string_of_the_code_is_no_call(path, written, broken):
    assert breaks("print() is not allowed", deed(path=path, written=written)) == broken
