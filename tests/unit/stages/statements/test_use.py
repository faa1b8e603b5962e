import pytest

from subcog.stages.statements.comparison import contradicts, settles
from subcog.stages.statements.remainder import leaves_clause

CHANGES = [
    "We'll go with NATS instead of RabbitMQ.",
    "We moved from RabbitMQ to NATS",
    "RabbitMQ is gone, NATS now",
    "From now on we use NATS, not RabbitMQ",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "older",
    [
        "We use RabbitMQ for the events",
        "Events go through RabbitMQ",
        "The queue is RabbitMQ",
        "The job queue runs on a RabbitMQ cluster",
        "RabbitMQ carries the events",
        "RabbitMQ is our queue",
    ],
)
def test_what_says_that_it_is_used_is_over(change: str, older: str) -> None:
    assert settles(change, older)
    assert not leaves_clause(change, older)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "older",
    [
        "RabbitMQ is run by team Heron.",
        "The RabbitMQ admin UI is at mq.rosterly.internal.",
        "RabbitMQ needs 4 GB of memory",
        "RabbitMQ lost messages in March when a node ran out of disk",
        "We had two outages with RabbitMQ in March",
        "Ask Anneke Bos about RabbitMQ.",
        "The RabbitMQ jobs take 12 minutes.",
    ],
)
def test_what_merely_tells_of_it_is_not_replaced(change: str, older: str) -> None:
    assert not settles(change, older)
    assert leaves_clause(change, older)


@pytest.mark.parametrize(
    ("change", "older"),
    [
        (
            "We'll go with Mimir instead of Grafana Cloud",
            "Grafana Cloud billed us 9,000 EUR in October because of the label cardinality",
        ),
        (
            "we'll go with dbt tests for bookings instead of great expectations",
            "The Great Expectations suite for bookings is off since October because its checks "
            "took 25 minutes",
        ),
        ("We'll go with Materialize instead of Flink", "The Flink job belongs to Bjarne."),
        ("we moved from Sentry to GlitchTip", "The Sentry DSN is in 1Password"),
    ],
)
def test_the_reason_for_a_change_is_not_replaced_by_it(change: str, older: str) -> None:
    assert not settles(change, older)
    assert leaves_clause(change, older)


@pytest.mark.parametrize(
    ("change", "older"),
    [
        ("Kim has left, Kar releases from now on", "Ask Kim about releases"),
        (
            "Tomasz signs off each submission now instead of Henrike",
            "Henrike signs off every submission",
        ),
        (
            "Ingrid Solheim has moved teams; Petr runs Raft",
            "Ingrid Solheim maintains the Raft module",
        ),
        ("Livewire instead of Alpine for the calendar widget", "Alpine for the calendar widget"),
        ("bundler: vite now instead of webpack", "bundler: webpack 5"),
        (
            "Resolver tests are now written for Vitest instead of Jest",
            "Resolver tests are written for Jest",
        ),
        (
            "Caddy has taken nginx's place in front of the web tier",
            "The web tier sits behind nginx",
        ),
    ],
)
def test_a_duty_or_a_note_may_be_over_as_well(change: str, older: str) -> None:
    assert settles(change, older)


@pytest.mark.parametrize(
    ("change", "older"),
    [
        (
            "we moved from Codemagic to GitHub Actions last night",
            "CI is Codemagic, 500 free min eaten in a week, so PRs only build android; ios builds "
            "nightly + on tags",
        ),
        (
            "we moved from Sentry to GlitchTip",
            "crash reports: Sentry, dsn per flavor in env/*.json",
        ),
        (
            "returns are now handled by Ayla in Fulda instead of Ute",
            "returns are handled by Ute in Kassel, 30 days instead of the legal 14, customer pays "
            "label over 2kg",
        ),
    ],
)
def test_one_of_several_facts_may_be_over(change: str, older: str) -> None:
    assert contradicts(change, older)
    assert leaves_clause(change, older)
    assert not settles(change, older)


def test_what_a_named_thing_takes_the_place_of_is_one_however_it_looks() -> None:
    change = "we moved from slang to easy_localization"
    assert settles(change, "strings via slang, not intl/arb")
    assert settles(change, "Translations are made with slang")
    for told in ("slang files live in lib/i18n", "The slang upgrade broke the types"):
        assert not settles(change, told)
        assert not contradicts(change, told) or leaves_clause(change, told)


def test_a_long_text_that_tells_of_it_among_other_things_is_not_contradicted() -> None:
    older = (
        "The import of the orders was slow in March, since the nightly batch, the vacuum of the "
        "warehouse and the Codemagic runners wanted the same disk"
    )
    assert not contradicts("We moved from Codemagic to GitHub Actions", older)
