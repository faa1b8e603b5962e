import pytest

from subcog.stages.injection.entity_mismatch import entity_mismatch
from tests.fakes import make_parsed


def mismatch(prompt, memory):
    return entity_mismatch(make_parsed(question=prompt).parsed, memory)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("who leads team Falcon?", "The mailer belongs to team Heron; their lead is Grace Obi."),
        ("who owns the emissions pipeline?", "Marta owns the customs_declarations pipeline"),
        ("what's the import job timeout?", "Timeout of the export job is now 90 minutes"),
        ("what's the retention of booking.events?", "Retention of vessel.positions is 72 hours"),
        ("what is the SLA of mart_bookings?", "The SLA of mart_invoices is 07:30; finance's books"),
        ("who reviews changes in internal/auth?", "Two reviews for a PR in internal/payroll"),
        ("who does the postgres upgrade?", "Kubernetes upgrades are done by Anneke"),
        ("how do we upgrade Go?", "Kubernetes upgrades: one minor version per quarter"),
        ("how often do we rotate the Looker API key?", "The key for Fivetran is rotated quarterly"),
        ("who decides on the 'Sales' folder?", "Sanne decides what goes into the 'Board' folder"),
        ("what lag is fine for group mail-writer?", "Lag on group shipment-enricher pages us"),
        ("freshness SLA of mart_bookings?", "The SLA of mart_invoices is 07:30"),
        ("ok, and where is the Oslo office?", "We meet at the Bergen office, second floor"),
    ],
)
def test_a_memory_of_a_sibling_is_about_another_thing(prompt, memory):
    assert mismatch(prompt, memory)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("who owns the customs pipeline?", "Marta owns the customs_declarations pipeline"),
        ("what's the phone number of the lab?", "the lab's number is 4471"),
        ("who pays for the marketing team's queries?", "Every team pays: the label team tells"),
        ("how many bq slots do we have?", "BigQuery slots: 500 in prod, 100 in dev"),
        ("where does the GHA runner live?", "The GitHub Actions runner lives in the cluster"),
        ("who does the postgres upgrade?", "The database upgrade is done by Anneke"),
        ("what is the main queue called?", "The mail queue is called outbox"),
        ("what's the API limit?", "The Envoy limit is 600 requests a minute"),
        ("what are the accounts HOUSE-3 for?", "The account HOUSE-0 is split into 16"),
        ("can I put a policy_id label on it?", "we drop any label ending in customer_id"),
        ("may I import UIKit in the Bluetooth package?", "SPM packages: AuriBLE has no UIKit"),
        ("why does team Falcon not deploy?", "Team Heron may not deploy on Fridays"),
        ("team Falcon wants the role", "the role goes to team Heron only"),
        ("what's the retention of orders.created?", "The Kafka retention is seven days"),
        ("who leads team Herron?", "Grace leads team Heron"),
        ("who owns the custms pipeline?", "Marta owns the customs_declarations pipeline"),
        ("who knows the lab’s number?", "the lab's number is 4471"),
        ("does tabulith._score stay?", "the API is what's in tabulith/__init__.py"),
    ],
)
def test_what_may_be_the_same_thing_is_not(prompt, memory):
    assert mismatch(prompt, memory) == ""


def test_it_says_which_thing_it_is_about():
    said = mismatch("who leads team Falcon?", "team Heron has Grace Obi as lead")
    assert said == "it speaks of Heron, and not of Falcon"


def test_of_several_questions_each_has_to_be_about_another_thing():
    parsed = make_parsed(parts=("who leads team Falcon?", "who leads the mailer?")).parsed
    assert entity_mismatch(parsed, "team Heron leads the mailer") == ""


def test_a_long_memory_without_sentences_is_read_as_well():
    assert mismatch("who leads team Falcon?", "team Heron " + "lead word " * 400)
