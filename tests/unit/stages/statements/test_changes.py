import pytest

from subcog.stages.statements.changes import says_lasting, says_new
from subcog.stages.statements.comparison import settles
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


def test_words_of_change_are_known():
    assert says_new(Statement("The timeout is 30 s now").line)
    assert not says_lasting(Statement("The timeout is 30 s now").line)
    assert says_lasting(Statement("From now on Kar releases").line)
    assert not says_new(Statement("Kar releases").line)
