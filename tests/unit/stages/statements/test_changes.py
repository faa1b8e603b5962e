import pytest

from subcog.stages.statements.changes import says_lasting, says_new
from subcog.stages.statements.comparison import claim_of, contradicts, settles
from subcog.stages.statements.remainder import leaves_clause
from subcog.stages.statements.statement import Statement


def replaced(text):
    return {word for phrase in Statement(text).replaced for word in phrase}


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Flux now, ArgoCD is gone", {"argocd"}),
        ("We moved the orders from PostgreSQL to MySQL", {"postgresql"}),
        ("Use ruff format instead of black", {"black"}),
        ("Caddy has taken nginx's place", {"nginx"}),
        ("We dropped Prometheus, metrics go to Datadog", {"prometheus"}),
        ("Kim has left, Kar releases from now on", {"kim"}),
        ("NATS replaced RabbitMQ as the queue", {"rabbitmq"}),
        ("Heron uses Jira now, Linear is cancelled", {"linear"}),
        ("Linear is cancelled because nobody used it", {"linear"}),
        ("Linear has been cancelled", {"linear"}),
        ("lumen.yaml has been renamed to config.toml", {"lumen.yaml"}),
        ("With no downtime we moved from Postgres to MySQL", {"postgresql"}),
        ("We do not use Jenkins since we moved from Jenkins to CircleCI", {"jenkins"}),
        ("We not only dropped Redis but also Kafka", {"redis"}),
        ("We removed Redis from the stack", {"redis"}),
        ("We dropped unittest in the tests", {"unittest"}),
    ],
)
def test_what_is_no_more_is_found(text, gone):
    assert gone <= replaced(text)


@pytest.mark.parametrize(
    "text",
    [
        "Deleted users cannot be restored",
        "The standup is cancelled today",
        "The appointment is cancelled when the patient calls",
        "The subscription was cancelled by the user",
        "The order is cancelled after 30 days",
        "The demo was cancelled",
        "There is no way to restore a deleted project",
        "PDFs are archived in the bucket",
        "Quiet hours are from 22:00 to 06:00",
        "SMS goes through MessageBird",
        "A certificate has less than 20 days left",
        "We removed the Redis cache from the unit tests",
    ],
)
def test_what_is_only_described_is_not(text):
    assert replaced(text) == set()


@pytest.mark.parametrize(
    ("denied", "kept"),
    [
        ("We did not drop Redis", "We use Redis for sessions"),
        ("Don't drop Redis, we still need it", "We use Redis for sessions"),
        ("Please do not replace Redis with Valkey", "We use Redis for sessions"),
        ("We have not moved from Postgres to MySQL", "We use Postgres for orders"),
        ("We cannot drop Python 3.9 support yet", "We support Python 3.9"),
        ("Never remove the lock file", "The lock file is kept in git"),
        ("Nobody decided that Kafka is gone", "We use Kafka for events"),
        ("No Kafka topic was removed", "We use Kafka topics for events"),
    ],
)
def test_a_denied_change_settles_nothing(denied: str, kept: str) -> None:
    assert replaced(denied) == set()
    assert not settles(denied, kept)


BESIDE = [  # what is told, and what holds all the same
    ("From now on Mara also reviews the Ansible changes", "Mara reviews the Terraform changes"),
    ("Weekly jobs no longer start at 03:00 but at 05:00", "Nightly jobs start at 02:00"),
    ("Backups on Wednesday no longer go to S3 but to Glacier", "Backups on Monday go to S3"),
    ("The US cluster is no longer on Hetzner but on AWS", "The EU cluster runs on Hetzner"),
    ("Redis on production now has 16 GB instead of 2 GB", "Redis on staging has 2 GB"),
    (
        "The v2 API is no longer limited to 100 requests a minute but to 500",
        "The v1 API is limited to 100 requests a minute",
    ),
    (
        "Weekend alerts no longer go to the on-call phone but to a ticket queue",
        "Weekday alerts go to the on-call phone",
    ),
    (
        "Tickets from parents are no longer answered within one day but within three",
        "Tickets from schools are answered within one day",
    ),
    ("We moved from Jest to Vitest in the web package.", "We use Jest."),
    ("In the web package we moved from Jest to Vitest.", "We use Jest."),
    ("We no longer use tabs in the Makefile", "We use tabs."),
    ("We moved from npm to pnpm under packages/ui.", "We use npm."),
    ("For the load test we switched from Postgres to SQLite.", "Orders are stored in Postgres."),
    ("We replaced Redis with Valkey on staging", "We use Redis for sessions."),
    ("From now on in the web package we use Vitest instead of Jest", "We use Jest."),
    ("Invoices in EUR are no longer rounded", "Invoices in CHF are rounded to 5 cents"),
    ("On rev C the fan is no longer on PB4 but on PA8", "On rev B the fan is on PB4"),
    ("The primary moved from Frankfurt to Dublin", "Read replicas run in Frankfurt"),
    ("We dropped Redis for the job queue, sessions stay in Redis", "We use Redis for sessions"),
    (
        "We dropped Loki for metrics experiments, logs stay where they are",
        "Logs are shipped with Fluent Bit to Loki",
    ),
    (
        "We no longer use WeasyPrint for the letters; invoices keep it",
        "Invoices are rendered with WeasyPrint",
    ),
    ("Lucho asked for Zephyr 3.7 instead of 3.6", "We stay on Zephyr 3.6 for now"),
    (
        "We moved the TestFlight builds from Tuesdays to Thursdays",
        "The field app is shipped over EAS Build, TestFlight on Tuesdays",
    ),
    (
        "The payment gateway times out after 12 seconds now instead of 8",
        "The payment gateway times out after 8 seconds, so our client gives up at 7 s and retries",
    ),
]


@pytest.mark.parametrize(("told", "older"), BESIDE)
def test_what_holds_beside_a_change_is_not_settled_by_it(told, older):
    assert not settles(told, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Redis on production now has 16 GB", "Redis on staging has 2 GB"),
        ("Alerts at night go to Priya", "Alerts during the day go to Sanne"),
        ("From now on Mara also reviews the Ansible changes", "Mara reviews the Terraform changes"),
    ],
)
def test_what_is_of_another_place_or_added_contradicts_nothing(newer, older):
    assert not contradicts(newer, older)
    assert claim_of(newer).holds_beside(claim_of(older))


@pytest.mark.parametrize(
    ("told", "older"),
    [
        ("We moved from Jest to Vitest in the web package.", "The web package uses Jest."),
        ("We moved from Jest to Vitest in the last sprint.", "We use Jest."),
        ("We switched from tabs to spaces in the whole project", "We use tabs."),
        ("We moved from Postgres to MySQL in production.", "We use Postgres."),
        ("For the record, we moved from Jest to Vitest", "We use Jest."),
        ("In the end we moved from Jest to Vitest", "We use Jest."),
        ("We moved from npm to pnpm at the request of Mara", "We use npm."),
        ("Sessions are now stored in the database instead of Redis", "Sessions live in Redis."),
    ],
)
def test_what_is_said_of_the_same_place_or_of_all_settles(told, older):
    assert settles(told, older)


def test_what_is_of_the_same_may_still_change():
    assert settles("Releases were moved from Monday to Wednesday", "Releases are cut on Mondays")
    assert contradicts("We deploy on Monday", "We deploy on Friday")
    told = "Payments switched from Stripe to Adyen for all countries"
    assert settles(told, "Payments go through Stripe")
    told = "The web app no longer caches for 5 minutes but for one"
    assert settles(told, "The web app caches for 5 minutes")


def test_a_change_may_leave_a_part():
    assert leaves_clause(
        "The gateway gives up after 12 s now",
        "The gateway gives up after 8 s, the client retries twice at 7 s",
    )
    assert leaves_clause("We moved from Jest to Vitest in the web package", "We use Jest")
    assert leaves_clause("Signatures are optional except in the API", "All commits must be signed")
    assert leaves_clause("Exception: docs-only PRs need one", "All PRs need two approvals")
    assert leaves_clause(
        "We moved from ArgoCD to Flux", "We deploy with ArgoCD, never with kubectl"
    )
    assert not leaves_clause("We moved from ArgoCD to Flux", "We deploy with ArgoCD")
    assert not leaves_clause(
        "Sessions moved to Postgres",
        "Sessions live in Redis, because Memcached lost them at restarts",
    )


def test_words_of_change_are_known():
    assert says_new(Statement("The timeout is 30 s now").line)
    assert not says_lasting(Statement("The timeout is 30 s now").line)
    assert says_lasting(Statement("From now on Kar releases").line)
    assert not says_new(Statement("Kar releases").line)
