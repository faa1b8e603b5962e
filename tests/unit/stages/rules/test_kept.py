"""What a memory says is to stay as it is: each form, and its twin that keeps it."""

import pytest

from tests import deeds
from tests.deeds import breaks


def deed(command="", path="", before="", now="", others=()):
    return deeds.deed(command, path, now, before, others)


SPEC = "spec/dto.rb"


@pytest.mark.parametrize(
    ("rule", "path", "before", "broken", "kept"),
    [
        (
            'Request DTOs must be unknown="strip". Raising broke the kiosk app.',
            "app/request_dto.py",
            'class RequestDto: meta(unknown="strip")',
            'class RequestDto: meta(unknown="raise")',
            'class RequestDto: meta(unknown="strip", many=True)',
        ),
        (
            "Order pages are rendered with `dynamic = 'force-dynamic'`, else stale prices.",
            "web/order/page.tsx",
            "export const dynamic = 'force-dynamic'",
            "export const dynamic = 'auto'",
            "export const dynamic = 'force-dynamic' as const",
        ),
        (
            'Keep `drain_timeout = "90s"` and `stop_signal = "SIGINT"`.',
            "deploy/hub.hcl",
            'stop_signal = "SIGINT"',
            'stop_signal = "SIGKILL"',
            'stop_signal = "SIGINT" # drained',
        ),
        (
            "In workflows always `npm ci --ignore-scripts --no-audit`.",
            ".github/workflows/a.yml",
            "run: npm ci --ignore-scripts --no-audit",
            "run: npm ci --no-audit",
            "run: npm ci --no-audit --ignore-scripts",
        ),
        (
            "List endpoints return `Slice[T]` from `slice_by_key(stmt, after)`, not offsets.",
            "api/rooms.py",
            "return slice_by_key(stmt, after)",
            "return stmt.offset(20)",
            "return slice_by_key(stmt, after, limit)",
        ),
        (
            "The day is cut off with `business_day()` from core/days.py. Use `business_day()`.",
            "core/fees.py",
            "day = business_day()",
            "day = date.today()",
            "day = business_day() + one",
        ),
        (
            "Fan-out goes through `publish_later` because the broker restarts nightly.",
            "svc/send.go",
            "publish_later(event)",
            "broker.publish(event)",
            "publish_later(ctx, event)",
        ),
        (
            "`for_each` rather than count for subnets.",
            "net/main.tf",
            "for_each = var.subnets",
            "count = length(var.subnets)",
            "for_each = toset(var.subnets)",
        ),
        (
            "The relocationRules in jars/build.gradle look pointless, they aren't. Leave.",
            "jars/build.gradle",
            "relocationRules = [a]\nx = 1",
            "x = 1",
            "relocationRules = [a, b]\nx = 1",
        ),
        (
            "POST_NOTIFICATIONS took a review of six weeks. That permission has to stay.",
            "app/AndroidManifest.xml",
            "<uses POST_NOTIFICATIONS />\n<b/>",
            "<b/>",
            "<uses POST_NOTIFICATIONS />\n<c/>",
        ),
        (
            "gevent hung the pool. Stay on uvloop.",
            "conf/server.py",
            'loop = "uvloop"',
            'loop = "asyncio"',
            'loop = "uvloop" ',
        ),
        (
            "The base image has to stay ruby:3.3-slim-bookworm.",
            "Dockerfile",
            "FROM ruby:3.3-slim-bookworm",
            "FROM ruby:3.4-alpine",
            "FROM ruby:3.3-slim-bookworm AS app",
        ),
    ],
)
def test_code_that_is_asked_for_is_not_replaced(rule, path, before, broken, kept):
    assert breaks(rule, deed(path=path, before=before, now=broken))
    assert not breaks(rule, deed(path=path, before=before, now=kept))


@pytest.mark.parametrize(
    ("rule", "path", "before", "now"),
    [
        ("A bare `http_get(url)` hung all workers.", "a.py", "http_get(url)", "client.get(url)"),
        ("We had `retry_all()` here and it flooded them.", "a.py", "retry_all()", "retry_one()"),
        ('Inbound models must be unknown="strip".', SPEC, 'x(unknown="strip")', "x()"),
        ("Use `to_cents()` from core/money.py.", "a.py", "to_cents(x)\ny", ""),
        ("The status is `pending` or `done`, keep both.", "a.py", "x = pending", "x = open"),
    ],
)
def test_code_that_is_only_spoken_of_may_go(rule, path, before, now):
    assert not breaks(rule, deed(path=path, before=before, now=now))


@pytest.mark.parametrize(
    ("rule", "path", "before", "broken", "kept"),
    [
        ("Keep fetch-max-items ≤ 30.", "a.yaml", "fetch-max-items: 30", ": 90", ": 10"),
        (
            "We cap each upstream pool at 25, the proxy has 200.",
            "src/pool.rs",
            ".pool_size(25)",
            ".pool_size(60)",
            ".pool_size(15)",
        ),
        (
            "Prefetch 128 is the sweet spot. With 1000 the consumer starved.",
            "mq.json",
            '"prefetch": 128',
            '"prefetch": 1000',
            '"prefetch": 128, "x": 1',
        ),
        (
            "Mails go out in batches of 50 with a pause.",
            "mail/send.rb",
            "each_batch(mails, 50)",
            "each_batch(mails, 500)",
            "each_batch(mails, 50, pause)",
        ),
        (
            "Attempts stay 2 in CI and 0 locally.",
            "play.ts",
            "attempts: ci ? 2 : 0",
            "attempts: ci ? 4 : 2",
            "attempts: ci ? 2 : 0,",
        ),
        (
            "Share links: 15 minutes, not longer. The constant is LINK_TTL.",
            "links.go",
            "share link ttl = 15 * time.Minute",
            "share link ttl = 96 * time.Hour",
            "share link ttl = 10 * time.Minute",
        ),
        ("JVM heap: no more than 4 GB here.", "api.yaml", "heap: 4", ": 8", ": 3"),
        ("We keep at most 5 retries.", "worker.go", "retries = 5", "= 9", "= 3"),
        ("So at least 12 characters for a password.", "p.py", "password_len = 12", "= 8", "= 16"),
        (
            "The Kafka client stays at 3.7.1: later ones break SASL here.",
            "msk/versions.tf",
            'version = "3.7.1"',
            'version = "3.9.0"',
            'version = "3.7.1" # msk',
        ),
    ],
)
def test_a_number_that_is_settled_is_not_replaced(rule, path, before, broken, kept):
    stem = before.split("=")[0].split(":")[0]
    broken, kept = (f"{stem}{one}" if one[0] in "=:" else one for one in (broken, kept))
    assert breaks(rule, deed(path=path, before=before, now=broken))
    assert not breaks(rule, deed(path=path, before=before, now=kept))
    assert not breaks(rule, deed(path=path, before=f"other {before}", now=f"other {before}\nx = 7"))


REFILL = "Refills of big tables: 1,000 rows per batch keep the replica close."
WIDE = "Pulumi --parallel over 8 gets throttled by IAM."


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        (REFILL, "python refill_tables.py --batch-size 20000", "refill --batch-size 1000"),
        (REFILL, "go run ./refill --tables a --chunk-size=9000", "wc --batch-size 20000"),
        (WIDE, "pulumi up --parallel 40 iam", "pulumi up --parallel 4 iam"),
    ],
)
def test_a_number_is_not_passed_otherwise(rule, broken, kept):
    assert breaks(rule, deed(broken))
    assert not breaks(rule, deed(kept))


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        ("Stay on Django 5.x, 6 drops our backend.", "uv add django@6.0", "uv add django@5.2"),
        ("Stay on Django 5.x, 6 drops our backend.", "uv add django@latest", "uv add flask@3"),
        ("The grpc gem stays < 2.", "bundle update grpc", "bundle update rack"),
        ("stay on numpy 1.26 until the ABI is sorted", "uv upgrade numpy", "uv lock"),
        ("`skip_backup` stays false.", "aws x --skip-backup", "aws x --no-skip-backup"),
        (
            "Flag `show_rates` must stay off in staging.",
            "aws ssm put-parameter --name /staging/show_rates --value true",
            "aws ssm put-parameter --name /staging/show_rates --value false",
        ),
    ],
)
def test_a_version_or_a_switch_is_not_changed_by_a_command(rule, broken, kept):
    assert breaks(rule, deed(broken))
    assert not breaks(rule, deed(kept))


def test_a_version_is_kept_in_a_manifest():
    rule = "Keep go 1.22 in go.mod, the HSM driver crashes with later ones."
    assert breaks(rule, deed(path="go.mod", before="go 1.22.5", now="go 1.23.1"))
    assert not breaks(rule, deed(path="go.mod", before="go 1.22.5", now="go 1.22.9"))


DEAD = "lib/old/feed_v1.rb looks dead (nobody requires it) but the importer loads it by name."
HOLD = "Don't delete cache/ of billing-api, it takes an hour to fill."
BUCKET = "s3://acme-state/prod/net/ must remain until the split is over."


@pytest.mark.parametrize(
    ("rule", "broken", "kept"),
    [
        (DEAD, "git rm lib/old/feed_v1.rb", "git rm lib/old/feed_v2.rb"),
        (DEAD, "git rm -r lib/old", "rm -r lib/new"),
        (DEAD, "git mv lib/old/feed_v1.rb lib/feed.rb", "git mv lib/a.rb lib/old/feed_v1.rb"),
        (HOLD, "rm -rf billing-api/cache", "rm -rf orders-api/cache"),
        (BUCKET, "aws s3 rm --recursive s3://acme-state/prod/net/", "aws s3 ls s3://acme-state/"),
        ("renderOld() looks unused, it isn't.", "git rm src/renderOld.ts", "git rm src/draw.ts"),
        ("internal/md4 looks odd; leave it in, old seals need it.", "rm -r internal/md4", "rm x/y"),
    ],
)
def test_a_file_that_is_to_stay_is_not_removed(rule, broken, kept):
    assert breaks(rule, deed(broken))
    assert not breaks(rule, deed(kept))


CLASS = "FeeTable rounds down and it's wrong; leave it until the audit."
OLD = "svc/tax_v0.py still serves two states. Hands off except security fixes."


@pytest.mark.parametrize(
    ("rule", "path", "other"),
    [
        (CLASS, "core/FeeTable.java", "core/FeeTables.java"),
        (OLD, "svc/tax_v0.py", "svc/tax_v1.py"),
    ],
)
def test_a_file_that_is_to_be_left_is_not_changed(rule, path, other):
    assert breaks(rule, deed(path=path, before="x = 1", now="x = 2"))
    assert not breaks(rule, deed(path=other, before="x = 1", now="x = 2"))


def test_the_comments_of_a_type_that_is_to_be_left_may_change():
    done = deed(path="core/FeeTable.java", before="// Rounds.", now="// Rounds down, see FEE-9.")
    assert not breaks(CLASS, done)


def test_what_a_command_deletes_of_a_file_is_taken_away():
    rule = "Containers use `font-noto`, keep it: names came out as boxes."
    assert breaks("apk stays with `font_noto`, keep it.", deed("sed -i '/font_noto/d' Dockerfile"))
    assert not breaks(rule, deed("sed -i '/curl/d' Dockerfile"))
    built = "builtDependencies in ws.yaml has all natives; leave them, the image crashes without."
    assert breaks(built, deed("yq -i 'del(.builtDependencies)' ws.yaml"))
    assert not breaks(built, deed("yq -i 'del(.catalog)' ws.yaml"))


TWICE = "Fee rates sit twice: core/fees.go and web/src/fees.ts. Change both in one PR."
OTHER = "The idle timeout lives in nginx/site.conf and infra/lb/main.tf, touch one and touch both."
SQL = "Grade limits exist twice: core/grades.rs and fn_grade_limit(). Change both together."
TABLE = "Room hours exist twice: Room.hours_map and core_closedday. Both are changed together."


@pytest.mark.parametrize(
    ("rule", "path", "before", "now", "broken"),
    [
        (TWICE, "core/fees.go", "x: 100", "x: 200", True),
        (TWICE, "core/fees.go", "", 'y: "new"', True),
        (TWICE, "core/fees.go", "func a() {}", "func b() {}", False),
        (TWICE, "core/fees.go", "", "assert(fee, 7)", False),
        (TWICE, "core/rooms.go", "x: 100", "x: 200", False),
        (OTHER, "infra/lb/main.tf", "idle_timeout = 60", "idle_timeout = 90", True),
        (OTHER, "infra/lb/main.tf", "", 'bucket = "logs"', False),
        (SQL, "core/grades.rs", "A => 90", "A => 95", True),
        (TABLE, "m/0003.py", "", 'room.hours_map["fri"] = []', True),
        (TABLE, "m/0003.py", "", 'room.hours_map["fri"] = []\nClosedDay.add(d)', False),
        (TABLE, "m/0003.py", "", 'print(room.hours_map["fri"])', False),
    ],
)
def test_what_is_in_two_places_is_changed_in_both(rule, path, before, now, broken):
    assert breaks(rule, deed(path=path, before=before, now=now)) is broken


def test_both_places_may_be_changed_at_once():
    done = deed(path="core/fees.go", before="x: 100", now="x: 200", others=("web/src/fees.ts",))
    assert not breaks(TWICE, done)
