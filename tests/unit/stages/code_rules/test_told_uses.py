"""Names of which a memory tells that they do harm, were given up, or are not to be there."""

import pytest

from tests.deeds import breaks, deed

HTTP = "A bare OkHttpClient took the app down in May, get it from HttpModule.client()."
SQL = "Never use raw db.session.execute in handlers, go through the repositories."
SPIN = "Thread.sleep blocks the event loop. Use delay() in coroutines."
ZONE = "`Time.now` gives the server's zone. Use `Time.current`."
HOOKS = "update_all and delete_all skip the callbacks on Invoice. Loop with update!."
FAKE = "`vi.stubTimers()` hangs the pg suite. Use `vi.stubTimers({ keep: ['nextTick'] })`."
AUDIT = "upsertAll with returning drops the audit rows."
PAY = "Calling PaymentGateway from a controller booked orders twice."
S3 = "Nothing calls S3Client directly, storage/ wraps it."
TOAST = "Toast.makeText isn't used, it looks alien."
TIMEOUTS = "Net::FTP, open-uri and RestClient are not ok: no timeouts."
SOURCES = "only `base_` models may call source()"
STAGING = "dbt: source() in models/base only."
SPLIT = "Moved sessions to Dynamo tables in June, rolled back after a week."
OLD_WEB = "No Array.at(), structuredClone, replaceAll: the kiosk has Chrome 84."
EDGE = "services/edge must stay tiny: no pandas, no full scipy stack."
SESSION = "No AsyncStorage session, keychain only."
CURSOR = "We use cursors. OFFSET timed out for the big tenants."
STATIC = "apps/site must stay static. No import of @acme/db there."
BUTTON = "No Button from antd, ours is in ui."
FROZEN = "lib/old.rb (`Legacy.fetch`) is frozen: no new callers."
DAGS = "DAG files only orchestrate: no torch/polars imports and no computing in them."
INDEX = "A plain create index blocked the desk, always CONCURRENTLY."


@pytest.mark.parametrize(
    ("rule", "path", "breaking", "harmless"),
    [
        (HTTP, "app/Login.kt", "val c = OkHttpClient()", "val c = HttpModule.client()"),
        (SPIN, "src/a.kt", "Thread.sleep(200)", "delay(200)"),
        (ZONE, "app/a.rb", "x = Time.now", "x = Time.current"),
        (HOOKS, "app/a.rb", "Invoice.update_all(y: 2)", "Comment.update_all(y: 2)"),
        (FAKE, "a.test.ts", "vi.stubTimers()", "vi.stubTimers({ keep: ['nextTick'] })"),
        (AUDIT, "app/a.rb", "Order.upsertAll(rows, returning: 1)", "Order.upsertAll(rows)"),
        (PAY, "a/OrderController.java", "paymentGateway.charge(x);", "events.add(x);"),
        ("Ids come from ids.next(). Not uuid.uuid4().", "a.py", "uuid.uuid4()", "ids.next()"),
        (TOAST, "a.kt", "Toast.makeText(c, t, 1)", "Snackbar.make(c, t, 1)"),
        (TIMEOUTS, "a.rb", "RestClient.get(u)", "Http.get(u)"),
        ("`mergeDeep` loses dates. Don't use it.", "a.ts", "mergeDeep(a, b)", "merge(a, b)"),
        (SPLIT, "a.tf", 'type = "dynamo_table"', 'type = "rds"'),
        (OLD_WEB, "web/a.ts", "return xs.at(-1)", "return xs[0]"),
        (SESSION, "a.ts", "AsyncStorage.set('session', s)", "AsyncStorage.set('theme', s)"),
        ("Page by keyset, no offset.", "a.py", "q.offset(n * 2)", "q.where(t.id > after)"),
        (CURSOR, "a.sql", "select 1 limit 10 offset $2", "select 1 limit 10"),
        (BUTTON, "a.tsx", "import { Button } from 'antd'", "import { Button } from '../ui'"),
        (
            "ui/old is leaving. Don't import from there.",
            "a.ts",
            "from '@/ui/old/X'",
            "from '@/ui/X'",
        ),
        (FROZEN, "app/a.rb", "x = Legacy.fetch(1)", "x = Store.fetch(1)"),
        (INDEX, "db/1.sql", "CREATE INDEX a ON b (c);", "CREATE INDEX CONCURRENTLY a ON b (c);"),
        ("All amounts are cents, no floats.", "a.py", "amount: float", "amount: int"),
    ],
)
def test_a_name_in_code_breaks_a_rule_and_its_replacement_does_not(rule, path, breaking, harmless):
    assert breaks(rule, deed(path=path, written=breaking))
    assert not breaks(rule, deed(path=path, written=harmless))
    assert not breaks(rule, deed(path=path, written=breaking + " ", replaced=breaking))


@pytest.mark.parametrize(
    ("rule", "written", "where", "elsewhere"),
    [
        (SQL, "await db.session.execute(q)", "src/handlers/order.py", "src/repositories/order.py"),
        (S3, "new S3Client({})", "src/a.ts", "storage/s3.ts"),
        (SOURCES, "{{ source('a', 'b') }}", "models/marts/m.sql", "models/base/base_m.sql"),
        (STAGING, "{{ source('a', 'b') }}", "models/marts/m.sql", "models/base/m.sql"),
        (EDGE, "pandas==2.2", "services/edge/requirements.txt", "services/batch/requirements.txt"),
        (STATIC, "import { db } from '@acme/db'", "apps/site/a.ts", "apps/api/a.ts"),
        ("dao/* never commit or rollback.", "s.commit()", "dao/a.py", "services/a.py"),
        (
            DAGS,
            "import polars",
            "dags/a.py",
            "lib/a.py",
        ),
        ("Thread.sleep blocks the loop. Use delay().", "Thread.sleep(1)", "src/a.kt", "test/a.kt"),
    ],
)
def test_it_holds_where_the_memory_says(rule, written, where, elsewhere):
    assert breaks(rule, deed(path=where, written=written))
    assert not breaks(rule, deed(path=elsewhere, written=written))


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (
            "Tried Istio for mTLS, gave up.",
            "helm install istio istio/base",
            "helm install linkerd l",
        ),
        ("Evaluated Kafka/Pulsar; dropped.", "go get a.b/x/pulsar-client-go", "go get a.b/x/nats"),
        ("PgBouncer was proposed twice, refused.", "brew install pgbouncer", "brew install pgcat"),
        ("No Redux, MobX or Recoil in the app.", "npm i mobx", "npm uninstall mobx"),
        ("No map gems (leaflet-rails, mapbox).", "bundle add mapbox", "bundle add rmagick"),
        ("In particular no joda, guava, lang3: no.", "cargo add guava", "cargo add guavas"),
        ("Ask Jo before adding a crate.", "cargo add rayon", "npm install rayon"),
        ("New npm dependency → RFC first.", "npm install pad", "npm install ./packages/pad"),
        ("No new runtime dependencies.", "npm install pad", "npm install -D pad"),
        ("Don't add any packages without asking Li.", "flutter pub add foo", "flutter pub get"),
        ("Tried edges (branch exp/edge), abandoned.", "git merge exp/edge", "git merge main"),
        ("No zio, no cats.", 'sed -i \'/Seq(/a\\ "z" %% "zio" % "2",\' build.sbt', "sbt update"),
    ],
)
def test_what_is_installed_breaks_a_rule(rule, breaking, harmless):
    assert breaks(rule, deed(breaking))
    assert not breaks(rule, deed(harmless))


@pytest.mark.parametrize(
    ("path", "line", "is_new"),
    [
        ("package.json", '"left-pad": "^1.3.0",', True),
        ("package.json", '"left-pad": "workspace:*",', False),
        ("package.json", '"test": "vitest run",', False),
        ("Cargo.toml", 'rayon = { version = "1.10" }', True),
        ("Cargo.toml", 'edition = "2021"', False),
        ("build.sbt", '"org.x" %% "cats" % "2.1",', True),
        ("build.sbt", 'scalaVersion := "3.4"', False),
        ("Gemfile", 'gem "discard"', True),
    ],
)
def test_a_dependency_is_new_where_a_manifest_lists_it(path, line, is_new):
    rule = "A new dependency needs the OK of Jo."
    assert breaks(rule, deed(path=path, written=line)) is is_new
    assert not breaks(rule, deed(path=path, written=line + " ", replaced=line))


NO_DATA = "No personal data in logs: no names, e-mails, phone numbers."


@pytest.mark.parametrize(
    ("rule", "breaking", "harmless"),
    [
        (NO_DATA, 'log.Printf("by %s", user.Email)', 'log.Printf("by e-mail %s", user.ID)'),
        (NO_DATA, "logger.info(`x ${fullName}`)", "logger.info(`x ${fileName}`)"),
        (NO_DATA, "log.warn(a.phone)", "send(a.phone)"),
        ("Never log request bodies or tokens.", "logger.info({ token })", "logger.info({ id })"),
        ("IBAN and phone never in a log.", "log.info(a.iban)", "log.info(mask(a.iban))"),
    ],
)
def test_what_is_personal_is_not_logged(rule, breaking, harmless):
    assert breaks(rule, deed(path="a.ts", written=breaking))
    assert not breaks(rule, deed(path="a.ts", written=harmless))


@pytest.mark.parametrize(
    ("text", "path", "written"),
    [
        ("`track()` takes events from a list. Counts only.", "a.ts", "track('x')"),
        ("The job returns job_id, not batch_id.", "a.py", "x = batch_id"),
        ("`call` returns a Result. Don't raise in it.", "a.rb", "x.call(1)"),
        ("Kyverno wants runAsNonRoot, drop ALL.", "a.yaml", "runAsNonRoot: true"),
        ("No customer_id, no order_id as a label.", "a.py", "x = customer_id"),
        ("No StatusCode returns in handlers.", "src/handlers/a.rs", "use http::StatusCode;"),
        ("No broadcast() for it, the table grew.", "a.scala", "broadcast(rates)"),
        ("One stray this.orm in there deadlocks. Use tx.", "a.ts", "this.orm.find()"),
        ("Offset paging is fine with cursors.", "a.py", "q.offset(3)"),
        ("Adding a gem takes a minute.", "Gemfile", 'gem "discard"'),
        ("Logs go to Loki. Names of jobs are short.", "a.py", "log.info(user.email)"),
    ],
)
def test_what_only_tells_of_a_name_is_no_rule(text, path, written):
    assert not breaks(text, deed(path=path, written=written))
