from datetime import UTC, date, datetime, timedelta

import pytest

from subcog.stages.statements.outdated import (
    amends,
    contradicted,
    contradictions,
    outdates,
    planned_for,
    replaces,
    tells_of_others,
)
from subcog.stages.statements.remainder import leaves_clause
from tests.fakes import make_memory

NOW = datetime(2026, 11, 27, tzinfo=UTC)
LATER = NOW + timedelta(days=365)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Minimum astropy is 5.3", "From 2027 on we will require astropy 6."),
        ("Beta builds go to TestFlight on Thursdays", "From May on, they will go out daily."),
        ("Error pages are served by Caddy", "next sprint we'll switch them from Caddy to nginx"),
        ("The macOS builds run in Oslo", "we'll move the macOS builds to Cirrus CI in March"),
        ("Logs are kept for 30 days", "Starting 2027-02-01 logs are kept for 60 days"),
    ],
)
def test_a_plan_outdates_nothing_before_its_day(older, newer):
    assert not outdates(newer, older, said=NOW, now=NOW)
    assert not outdates(newer, older, said=NOW)
    assert outdates(newer, older, said=NOW, now=LATER)


@pytest.mark.parametrize(
    "text",
    [
        "We'll go with NATS, RabbitMQ is out",
        "We will use bun from now on",
        "We moved the database to Postgres 16 in June",
        "Beta builds go out daily since May",
        "As of October we use Flux",
        "Tests run on Node 22.1 in CI",
        "PRs may be merged in May or June",
        "We'll release on Friday instead of Thursday from now on",
        "The worker will retry once",
        "Requests will time out in 2.5 s",
        "Accounts will be deleted in 30 days",
    ],
)
def test_what_holds_is_no_plan(text):
    begins = planned_for(text, NOW.date())
    assert begins is None or begins <= NOW.date()


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("In 0.9 we will require Python 3.11", date.max),
        ("In 0.9, we will require Python 3.11", date.max),
        ("We will require Python 3.11 in 0.9.1", date.max),
        ("We'll drop it once the audit is through", date.max),
        ("We are planning to drop it", date.max),
        ("By the end of Q1 we will have dropped it", date.max),
        ("Starting in April it is dropped", date(2027, 4, 1)),
        ("From Monday on Kim drops it", date(2026, 11, 30)),
        ("We'll drop it tomorrow", date(2026, 11, 28)),
        ("We'll drop it next Monday", date(2026, 11, 30)),
        ("We will drop it in two weeks", date(2026, 12, 11)),
        ("We will drop it next month", date(2026, 12, 27)),
        ("We will drop it next January", date(2027, 1, 1)),
        ("We're going to drop it in March 2028", date(2028, 3, 1)),
        ("We will drop it on 2026-13-45", None),
        ("We will drop it next time", None),
        ("Next spring we want to drop it", date(2027, 3, 1)),
        ("We'd like to drop it next winter", date(2026, 12, 1)),
        ("We hope to drop it", date.max),
        ("We want to drop it", None),
    ],
)
def test_a_plan_begins_on_its_day(text, begins):
    assert planned_for(text, NOW.date()) == begins


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("All PRs need two approvals", "Exception: docs-only PRs need one approval."),
        ("All PRs need two approvals", "**Decision**: the one exception: docs need one approval"),
        ("Never push to main", "Only the release bot may push to main"),
        ("Minimum Python is 3.10", "maybe we should drop Python 3.10"),
        ("Crash reports go to Sentry", "What if we moved them to Bugsnag? just thinking aloud"),
        ("All PRs need two approvals", "An exception to the two approvals: docs need one"),
        ("We use pnpm", "could we use bun instead of pnpm?"),
        ("Uploads are 10 MB", "Let's consider 50 MB for uploads"),
        ("All services log JSON", "Only the gateway may log plain text"),
        ("Crash reports go to Sentry", "Proposal: crash reports go to Bugsnag"),
        ("Crash reports go to Sentry", "My suggestion is Bugsnag for crash reports"),
        ("Crash reports go to Sentry", "Kim suggested Bugsnag instead of Sentry"),
        ("Crash reports go to Sentry", "We could move from Sentry to Bugsnag"),
        ("Crash reports go to Sentry", "We are considering a move from Sentry to Bugsnag"),
        ("All PRs need two approvals", "The only exceptions are the docs"),
        ("All PRs need two approvals", "One exception is granted to the docs"),
        ("No console.log in the code", "console.log is fine in scripts/, nowhere else"),
    ],
)
def test_neither_an_exception_nor_a_proposal_outdates_it(older, newer):
    assert not outdates(newer, older, said=NOW, now=LATER)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Everybody may deploy", "Only the leads may deploy"),
        ("sccache is on S3", "We moved sccache from S3 to R2, as the Ardour people did"),
        ("We use pnpm", "We moved to bun, maybe pnpm comes back"),
        ("Exceptions go to Sentry", "Exceptions are reported to GlitchTip now"),
        ("We use pnpm", "Which package manager? bun it is, pnpm is out"),
        ("Exceptions give 400", "Exceptions are mapped to 422 now, no longer to 400."),
        ("Suggestion emails go out on Fridays", "Suggestion emails go out on Mondays now"),
        ("The endpoint uses Elastic", "The suggest endpoint uses Typesense instead of Elastic"),
        ("The proposal template is in Word", "The proposal template moved from Word to Notion."),
        ("The cache is Redis", "They could not scale Redis, so we switched from Redis to Valkey"),
        ("We use Datadog", "Considering the cost, we moved from Datadog to Grafana."),
        ("Orders are deleted by support", "Only admins can delete orders now."),
        ("Requests from 10.0.0.5 pass", "Requests from 10.0.0.5 will be blocked."),
        ("We support Python 3.9", "We dropped Python 3.9 in 2.0, it will not come back."),
    ],
)
def test_a_decision_does(older, newer):
    assert outdates(newer, older, said=NOW, now=NOW)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The quota is 50k events a month, paid by Ole.", "The quota is 100k now."),
        (
            "mails go thru Postmark stream 'outbound', newsletter stays in Mailchimp, dont mix",
            "mails go through Resend now, Postmark is cancelled",
        ),
        (
            "rates live in Workers KV, filled by a cron at :05 every hour, can be 60s stale",
            "rates cron runs at :20 now",
        ),
        ("The backup runs at 01:15 and takes 40 minutes.", "the backup takes 70 minutes now"),
        ("Help is written in mdBook and published to help.lumen.fm", "Help is at docs.lumen.fm"),
        ("We deploy with ArgoCD; kubectl apply is forbidden", "ArgoCD is out, Flux is in."),
    ],
)
def test_a_clause_of_which_the_newer_says_nothing_stays(older, newer):
    assert leaves_clause(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We use pnpm, never npm.", "We use bun from now on, pnpm is out."),
        ("We deploy with ArgoCD, because it shows the drift", "ArgoCD is gone, we use Flux"),
        ("We use Jenkins. It was here before us.", "We moved from Jenkins to GitHub Actions"),
        ("The session timeout is 30 minutes.", "The session timeout is 60 minutes now."),
    ],
)
def test_of_a_single_one_and_its_reason_nothing_stays(older, newer):
    assert not leaves_clause(newer, older)


GAUGES = "gauges report every 60 seconds, and we keep raw readings for 90 days"
OFTEN = "gauges report every 120 seconds now, not every 60."
LONG = "raw readings are kept for 400 days now, no longer 90"


def told(number, text, **fields):
    return make_memory(number, text, updated_at=NOW + timedelta(days=number), **fields)


def test_several_may_each_contradict_a_clause_of_one():
    old = told(1, GAUGES)
    often, long = (told(at, text, contradicts=old.id) for at, text in ((2, OFTEN), (3, LONG)))
    assert contradictions([often, old, long]) == {old.id: [long.id, often.id]}
    assert contradicted([often, old, long]) == {old.id: long.id}


def test_of_two_that_make_the_same_void_the_older_is_void_itself():
    old = told(1, "The docs are built with Sphinx.")
    first = told(2, "mkdocs renders the manual", contradicts=old.id)
    last = told(3, "Antora it is", contradicts=old.id)
    assert contradicted([old, first, last]) == {old.id: last.id, first.id: last.id}


@pytest.mark.parametrize(
    ("older", "first", "last"),
    [
        ("Node 18 on Debian 11.", "We run Node 20 now.", "We run Debian 12 now."),
        (
            "Backups go to B2 every night.",
            "Backups run every 6 hours now.",
            "Backups go to Wasabi now.",
        ),
        (
            "Ole owns the billing service, in Go.",
            "Mara owns the billing service now",
            "The billing service is in Rust now, not in Go",
        ),
    ],
)
def test_of_two_about_different_parts_both_are_in_force(older, first, last):
    old = told(1, older)
    one, other = (told(at, text, contradicts=old.id) for at, text in ((2, first), (3, last)))
    assert contradicted([old, one, other]) == {old.id: other.id}


def test_what_others_do_leaves_ones_own_memory_in_force():
    old = told(1, "We store assets in S3.")
    others = told(2, "The Ardour people moved from S3 to R2.", contradicts=old.id)
    assert contradicted([old, others]) == {}


@pytest.mark.parametrize(
    "said", ["In 2099 we will deploy with ArgoCD.", "Maybe we deploy with ArgoCD."]
)
def test_what_outdates_nothing_yet_leaves_what_made_the_same_void(said):
    old = told(1, "We deploy with Jenkins.")
    used = told(2, "We deploy with Buildkite now, Jenkins is gone.", contradicts=old.id)
    later = told(3, said, contradicts=old.id)
    assert contradicted([old, used, later], now=NOW) == {old.id: used.id}


def test_a_plan_and_an_exception_leave_the_older_memory_in_force():
    old = told(1, "Beta builds go to TestFlight every Thursday.")
    plan = told(2, "From May on, beta builds will go to TestFlight daily.", contradicts=old.id)
    assert contradicted([old, plan], now=NOW) == {}
    assert contradicted([old, plan], now=LATER) == {old.id: plan.id}


@pytest.mark.parametrize(
    ("said", "of_others"),
    [
        ("the Ardour people moved from S3 to R2 for their sccache", True),
        ("We moved sccache to R2, as the Ardour people did", False),
        ("They moved our bucket to R2", False),
        ("The people table moved from MySQL to Postgres", False),
        ("The Ardour people finally moved to R2", True),
    ],
)
def test_what_others_do_is_told_from_ones_own(said, of_others):
    assert tells_of_others(said) == of_others


@pytest.mark.parametrize(
    ("older", "newer", "at_once"),
    [
        ("We build with Jenkins.", "We switched from Jenkins to Buildkite.", True),
        ("We build with Jenkins.", "We will switch from Jenkins to Buildkite in March.", False),
        (
            "Measurements go into TimescaleDB at Hetzner",
            "Next spring we want to move the measurements from TimescaleDB to ClickHouse",
            False,
        ),
        ("We build with Jenkins.", "Maybe we should switch from Jenkins to Buildkite.", False),
        ("We store assets in S3.", "The Ardour people moved from S3 to R2.", False),
    ],
)
def test_only_what_takes_effect_at_once_replaces_a_memory(older, newer, at_once):
    assert replaces(newer, older) == at_once


def test_one_of_several_texts_amends_another():
    older = ["We deploy on Friday", "Logs are JSON"]
    assert amends(["Thanks!", "We deploy on Monday"], older)
    assert not amends(["Thanks!", "Logs are JSON"], older)
    assert not amends(["Maybe we should deploy on Monday"], older)
    assert not amends(["The Ardour people deploy on Monday"], older)
    assert not amends([], older)


def test_why_something_was_given_up_is_no_clause_that_may_hold():
    older = (
        "We moved from NATS JetStream to RabbitMQ between gateway and ingest, NATS kept losing "
        "consumers"
    )
    back = "We are back to NATS JetStream between the gateway and ingest, RabbitMQ is out again"
    assert not leaves_clause(back, older)
    assert leaves_clause(back, f"{older}, Kim watches the queue")
