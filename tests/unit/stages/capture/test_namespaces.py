import pytest

from subcog.bus.values import NAMESPACES
from subcog.config.linear_model import LinearModel
from subcog.stages.capture.namespaces import DEFAULT, WEIGHTS, namespace_of, remembered_as
from subcog.stages.capture.statement_classifier import detect_namespace


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("We decided to use Kafka because RabbitMQ lost messages.", "decisions"),
        ("We use Jenkins for CI.", "decisions"),
        ("Beware: the parser treats empty strings as null.", "gotchas"),
        ("The API returns 429 after 100 requests a minute.", "gotchas"),
        ("All endpoints return problem+json errors.", "patterns"),
        ("I prefer short commit messages.", "preferences"),
        ("Waiting for the API key from the vendor.", "blockers"),
        ("Finished the migration of invoices.", "progress"),
        ("The auth module is a mess and needs a rewrite.", "tech-debt"),
        ("TODO: write the docs for the importer.", "tasks"),
    ],
)
def test_the_words_tell_the_namespace(text, namespace):
    assert detect_namespace(text) == namespace


@pytest.mark.parametrize("text", ["", "x", "Port 8443"])
def test_what_says_too_little_is_a_learning(text):
    assert namespace_of(text) == DEFAULT


@pytest.mark.parametrize(
    "text",
    ["Deploys go via Flux now, ArgoCD is gone", "The ECONNRESET is gone after pinning undici"],
)
def test_what_is_gone_blocks_nobody(text):
    assert detect_namespace(text) not in {"blockers", "tasks"}


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("numpy 2 is ok now, the new image has pyarrow 17, the pin is gone", DEFAULT),
        ("the old cluster is gone", DEFAULT),
        ("CI works again", DEFAULT),
        ("the signing key is gone and we cannot release", "blockers"),
    ],
)
def test_what_is_over_is_remembered_as_a_blocker_only_where_it_is_in_the_way(text, namespace):
    assert remembered_as(text) == namespace


@pytest.mark.parametrize(
    "text",
    [
        "We cannot send boarding texts until Telenor gives us the SMS gateway key",
        "We cannot publish the app before the store review is done",
        "Nothing can be merged until the CI runner is back",
        "The export cannot go live until Bram finishes the mapping",
        "Unable to run the e2e tests till the staging cluster is restored",
        "still waiting for the design of the seat map from Lena",
        "waiting on Oksana for the API key, cant continue with the texts",
    ],
)
def test_what_waits_for_something_is_remembered_as_a_blocker(text):
    assert remembered_as(text) == "blockers"


@pytest.mark.parametrize(
    "text",
    [
        "You can't use the session before connect() is called",
        "You cannot merge until two reviewers have approved",
        "We cannot merge until two reviewers have approved",
        "Callers cannot rely on the order until Redis answers",
        "Orders cannot be cancelled after they are shipped",
        "We never merge until QA has signed the checklist",
        "We can merge before CI finishes",
        "We can use SQLite until we need more than one writer",
        "We can raise the limit unless Ops objects",
        "I can deploy before noon",
        "Nobody can merge until CI passes",
        "We cannot merge until CI is green",
        "We can't push to main before QA signs off",
    ],
)
def test_what_holds_each_time_is_no_blocker(text):
    assert remembered_as(text) == DEFAULT


@pytest.mark.parametrize(("log_odds", "namespace"), [(1.0, "blockers"), (0.3, "context")])
def test_what_is_to_be_dealt_with_has_to_be_sure(log_odds, namespace):
    outputs, bias = ("blockers", "context", "gotchas"), (log_odds, 0.1, -0.1)
    assert namespace_of("odd", LinearModel(about="", outputs=outputs, bias=bias, weights={})) == (
        namespace
    )


def test_another_language_is_told_by_its_cues():
    assert detect_namespace("Wir kommen nicht weiter, wir warten auf den Schlüssel.") == "blockers"


def test_the_weights_are_of_every_namespace():
    assert LinearModel.load(WEIGHTS, outputs=NAMESPACES).outputs == NAMESPACES
