import pytest

from subcog.stages.statements.changes import says_lasting, says_new
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
    ],
)
def test_what_is_only_described_is_not(text):
    assert replaced(text) == set()


def test_words_of_change_are_known():
    assert says_new(Statement("The timeout is 30 s now").line)
    assert not says_lasting(Statement("The timeout is 30 s now").line)
    assert says_lasting(Statement("From now on Kar releases").line)
    assert not says_new(Statement("Kar releases").line)
