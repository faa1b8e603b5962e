"""Rules on what code has to go through or bring along: what breaks each, and what keeps it."""

import pytest

from subcog.stages.code_rules.layers import places_of_layers
from tests import deeds


def breaks(rule, path, written, replaced=""):
    return deeds.breaks(rule, deeds.deed("", path, written, replaced))


POOL = "Connections come out of `Pool.lease()`. A bare DriverManager opened 900 of them in May."
TIMERS = "A plain setInterval keeps running after logout, use `useTicker()`."
SQL = "Reads go through `repo.forShop(id)`. A raw knex.orders.select shows other shops' rows."
SPAWN = "Never plain `thread::spawn`, panics get lost. Use `jobs::spawn_named`."
UREQ = "A hand-rolled ureq session has no proxy, take `net::shared_agent()`."
TIDE = "Always via QuoteCache.readThrough(id), nothing calls QuoteApi directly"
SMS = "Texts leave by `Outbox.put(msg)`. Calling Twilio from a controller sent two of each."
PUBLISH = (
    "Write a row with outbox.Store(ctx, ev); calling nc.Publish beside a commit lost 30 events."
)
TODAY = "Date.current gives the server's day and invoices were early. Use `Clock.business_day`."
SLOW = "`Model.findAll` drags the blobs in, the list took 9 s. Use `Model.listRows()`."
ISN_T = "Toast messages go through flash.show(). Toast.makeText isn't used, it ignores themes."
GOT = "Use `dispatch_later()`. ThreadPoolExecutor got killed with each deploy."
PER = "`new S3Client()` per request leaks sockets. Always `clients.s3()`."
WAITS = "An own OpenScope throws with retries on. Wrap it in `db.Scoped(...)`."
LIMIT = "`sortBy` silently drops your `.limit`. Use `topRows()`."
TABLE = "UsageRows has 900 M rows. EF's DropColumn isn't online, write `ops.Online(sql)`."
NUMBER = '`repartition(1)` wrote one file for 4 h, use option("maxRows", 500000).'
LIBRARY = "requests session has no retries by default. Set `mount_retries()` on it."
LISTED = "Endless effects (ripple, animateForever(2)) = screenshots hang. Guard with `isCapture()`."
EACH = "Every class with @RestController needs @Audited on it."
USING = 'Suites using RedisFixture must be in `[Serial("redis")]`.'
MADE = "KafkaProducer comes from `Producers.shared()`. Two of them reorder the events."
THERE = (
    "lib/core is built for the browser as well: `fs.readFileSync()` breaks, use `assets_api` there."
)
LAYER = "Never bare `query(Model)` in services. Use `scoped_query(Model)`."
EXCEPT = "New workers: `serveQueue(fn)`. No naked Bun.serve (health-probe is the one exception)."
INSIDE = "Use `Mailbox.add()`. Direct `smtp.sendMail` only lives inside mail-relay."
TESTS = "A bare HttpAgent has no timeout, use `agents.outbound()`."


@pytest.mark.parametrize(
    ("rule", "path", "breaking", "harmless"),
    [
        (POOL, "src/Dao.java", "c = DriverManager.open(url);", "c = Pool.lease();"),
        (TIMERS, "web/Clock.tsx", "setInterval(tick, 1000)", "useTicker(tick)"),
        (SQL, "src/list.ts", "this.knex.items.select('*')", "repo.forShop(id).items()"),
        (SPAWN, "src/run.rs", "thread::spawn(move || go());", "jobs::spawn_named(go);"),
        (UREQ, "src/geo.rs", "let s = ureq::Session::new();", "let s = net::shared_agent();"),
        (TIDE, "src/price.ts", "await this.quoteApi.get(id)", "await quotes.readThrough(id)"),
        (SMS, "app/controllers/pay.rb", "Twilio.deliver(to)", "Outbox.put(msg)"),
        (PUBLISH, "svc/order.go", "h.nc.Publish(subject, b)", "outbox.Store(ctx, ev)"),
        (TODAY, "app/bill.rb", "due = Date.current + 3", "due = Clock.business_day + 3"),
        (SLOW, "src/list.js", "await Model.findAll()", "await Model.listRows()"),
        (ISN_T, "app/Pay.kt", "Toast.makeText(ctx, m).show()", "flash.show(m)"),
        (GOT, "app/mail.py", "pool = ThreadPoolExecutor(4)", "dispatch_later(send)"),
        (PER, "src/up.ts", "const s3 = new S3Client({});", "const s3 = clients.s3();"),
        (WAITS, "src/Pay.cs", "await db.OpenScopeAsync(t);", "await db.Scoped(t);"),
        (LIMIT, "src/top.js", "rows.sortBy(x).limit(5)", "rows.sortBy(x)"),
        (TABLE, "Db/M1.cs", "m.DropColumn(UsageRows, a)", "m.DropColumn(Users, a)"),
        (NUMBER, "job/Out.scala", "df.repartition(1).write", "df.repartition(100).write"),
        (
            LIBRARY,
            "app/api.py",
            "s = requests.Session()",
            "s = requests.Session()\nmount_retries(s)",
        ),
        (LISTED, "ui/Dot.kt", "animateForever(x, 2)", "if (!isCapture()) animateForever(x, 2)"),
        (
            EACH,
            "src/A.java",
            "@RestController\nclass A {}",
            "@Audited\n@RestController\nclass A {}",
        ),
        (USING, "tests/A.cs", "A(RedisFixture r)", '[Serial("redis")]\nA(RedisFixture r)'),
        (MADE, "src/Bus.java", "p = new KafkaProducer(c);", "void on(KafkaProducer p) {"),
        (LAYER, "app/services/a.py", "rows = query(Item)", "rows = scoped_query(Item)"),
        (EXCEPT, "fn/geo/index.ts", "Bun.serve(handle)", "serveQueue(handle)"),
        (INSIDE, "app/pay.js", "smtp.sendMail(m)", "Mailbox.add(m)"),
        (TESTS, "src/Geo.cs", "a = new HttpAgent();", "a = agents.outbound();"),
    ],
)
def test_code_that_goes_by_what_it_has_to_go_through(rule, path, breaking, harmless):
    assert breaks(rule, path, breaking)
    assert not breaks(rule, path, harmless)
    assert not breaks(rule, path, f"{breaking} // same", replaced=breaking)


@pytest.mark.parametrize(
    ("rule", "written", "inside", "outside"),
    [
        (THERE, "fs.readFileSync()", "lib/core/a.ts", "tools/a.ts"),
        (LAYER, "rows = query(Item)", "app/use_cases/a.py", "db/seeds/a.py"),
        (EXCEPT, "Bun.serve(handle)", "fn/geo/index.ts", "fn/health-probe/index.ts"),
        (INSIDE, "smtp.sendMail(m)", "app/pay.js", "mail-relay/loop.js"),
        (TESTS, "a = new HttpAgent();", "src/Geo.cs", "tests/GeoTests.cs"),
        (TIDE, "await this.quoteApi.get(id)", "src/price.ts", "src/quote-cache/read.ts"),
    ],
)
def test_it_holds_only_in_some_places(rule, written, inside, outside):
    assert breaks(rule, inside, written)
    assert not breaks(rule, outside, written)


@pytest.mark.parametrize(
    ("rule", "path", "written"),
    [
        ("Entities are plain DataHolder classes, see `Holder.of()`.", "a.kt", "DataHolder()"),
        ("A bare Collator is fine here, or use `texts.sorter()`.", "a.kt", "Collator.get()"),
        ("BookingDesk knows the rooms. Use `rooms.free()` for lists.", "a.kt", "BookingDesk()"),
        ("ErrorPage renders problems, use `fail()` in handlers.", "a.ts", "ErrorPage.show()"),
        ("Retry it → QueueFullError. `send_batch` throws it.", "a.py", "send_batch(x)"),
        ("`send_batch` hangs with 200 rows.", "a.py", "send_batch(x)"),
    ],
)
def test_what_is_only_told_of_is_no_rule(rule, path, written):
    assert not breaks(rule, path, written)


SCHEDULED = "Each scheduled task starts with `claimRun(name)`, two pods ran it twice."
SAVING = "Every POST or PATCH that touches invoices takes `Depends(fresh_lock)`."
VIEWSET = "All viewsets have explicit throttle_classes."
ALERT = "Every alert carries `team_label` and a ticket."
ROUTE = "Each endpoint ends with `.RequireScope(Scopes.Read)`."
CALLABLE = "Any callable begins with `requireStaff(req)` (or requireAdmin)."
CONSUMER = "Consumers must begin with `seen.Once(ctx, id)`."
POST = '@api.post("/i")\ndef save(invoices):'


@pytest.mark.parametrize(
    ("rule", "path", "breaking", "harmless"),
    [
        (SCHEDULED, "src/a.ts", "onSchedule('0 1 * * *', run)", "onSchedule(x, claimRun('a'))"),
        (SAVING, "app/a.py", f"{POST}\n    pass", f"{POST}\n    Depends(fresh_lock)"),
        (SAVING, "app/a.py", f"{POST}\n    pass", '@api.post("/r")\ndef rate(stars):'),
        (
            VIEWSET,
            "api/a.py",
            "class RoomViewSet(Base):",
            "class RoomViewSet:\n throttle_classes=1",
        ),
        (ALERT, "a.yaml", "- alert: Slow\n  expr: up", "- alert: Slow\n  team_label: a"),
        (ROUTE, "A.cs", 'g.MapGet("/a", List)', 'g.MapGet("/a", List).RequireScope(s)'),
        (CALLABLE, "f/a.ts", "onCall(opts, run)", "onCall(opts, r => requireAdmin(r))"),
        (
            CONSUMER,
            "q/a.go",
            "func (c *Consumer) Handle() {",
            "func (c *Consumer) Handle() { seen.Once(x)",
        ),
    ],
)
def test_what_every_piece_of_code_of_a_kind_needs(rule, path, breaking, harmless):
    assert breaks(rule, path, breaking)
    assert not breaks(rule, path, harmless)


def test_a_kind_that_may_not_have_something_or_is_limited_otherwise_needs_nothing():
    assert not breaks("Consumers cannot have `seen.Once()`.", "q/a.go", "class AConsumer {}")
    rule = "Every POST that creates something takes `Depends(fresh_lock)`."
    assert not breaks(rule, "app/a.py", POST)


@pytest.mark.parametrize(
    ("rule", "written", "breaking", "harmless"),
    [
        (
            "raw_event() in models/landing only",
            "select raw_event()",
            "marts/a.sql",
            "models/landing/a.sql",
        ),
        ("only `raw_` models may call load_raw().", "load_raw()", "m/fct_a.sql", "m/raw_a.sql"),
        ("Settings: ENV is read only in conf/env.rb.", 'ENV["A"]', "app/a.rb", "conf/env.rb"),
        (
            "We log. eyre is for binaries only: bin/cli and main.rs",
            "use eyre::x;",
            "lib/a.rs",
            "bin/cli/a.rs",
        ),
        (
            "HttpError is for controllers only.",
            "throw HttpError(4)",
            "jobs/a.ts",
            "app/controllers/a.ts",
        ),
        (
            "StoreClient lives in app/store and nowhere else.",
            "StoreClient()",
            "ui/a.kt",
            "app/store/a.kt",
        ),
        (
            "SQL stays in db/access/: reviews bounce any rawQuery() outside.",
            "rawQuery(x)",
            "ui/a.kt",
            "db/access/a.kt",
        ),
        (
            "Handlers don't call res.sendRaw and never put err.stack in it",
            "err.stack",
            "src/routes/a.ts",
            "src/log/a.ts",
        ),
        (
            "stores/* get the session and never commit or flush.",
            "s.flush()",
            "stores/a.py",
            "app/unit.py",
        ),
        (
            "apps/site is static. No import of @acme/db there.",
            "import x from '@acme/db'",
            "apps/site/a.ts",
            "apps/api/a.ts",
        ),
        (
            "No HttpError below the router layer",
            "raise HttpError()",
            "app/core/a.py",
            "app/api/a.py",
        ),
        (
            "nb/ runs on samples. Never point it at shop-live",
            'c = "shop-live"',
            "nb/a.py",
            "jobs/a.py",
        ),
    ],
)
def test_names_in_their_places(rule, written, breaking, harmless):
    assert breaks(rule, breaking, written)
    assert not breaks(rule, harmless, written)


def test_layers_are_found_by_their_other_names():
    assert any(place.holds("src/use-cases/pay.ts") for place in places_of_layers("in services"))
    assert not list(places_of_layers("in the evening"))
