import pytest

from subcog.stages.injection.entity_mismatch import entity_mismatch
from subcog.stages.parse import parse
from tests.fakes import make_parsed, make_prompt


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
        ("who's our contact at UPS?", "Yusuf is our contact at DHL for API keys."),
        ("what is team Falcon's lead called?", "Heron's lead is Tomasz Wilk since Monday"),
        ("where does crane-api log to?", "gate-api logs to Loki, and nowhere else"),
        ("when is the backup of the customs database?", "Backup of the yard database: 01:15"),
        ("how much is the parking fee?", "cleaning fee is 1100 NOK from january"),
        ("has the Xbox devkit arrived?", "PS5 devkit still stuck in customs"),
        ("where is the Gothenburg site hosted?", "The site in Oslo moved to Scaleway"),
        ("how long does the jumphost jmp07 boot?", "through jumphost jmp03, it boots for ages"),
        ("what does karst-04 do?", "Map tiles come from our own tileserver on karst-03."),
        ("who owns the icon set?", "The design system is owned by Leonie."),
        ("who approves access to the finance share?", "approver for test db access is Katrin"),
        ("who sends the yearly report?", "The weekly report is sent by Marta on Fridays."),
        ("minimum windows version?", "Minimum supported macOS is 12 Monterey."),
        ("which database does the demo environment use?", "Production's database is Aurora"),
        ("what is the desktop breakpoint?", "The mobile breakpoint is 600 px."),
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
        ("is the playstation devkit here yet?", "PS5 devkit still stuck in customs"),
        ("which box is host mx3?", "The hosts mx1 to mx4 are on four boxes"),
        ("who owns billing?", "Every squad owns what it wrote"),
        ("who retrains the model, and when?", "Retraining is done by hand: Ingrid does it"),
        ("who reviews it?", "Two people review a change of the schema"),
        ("who pays for the database?", "Finance pays for Postgres"),
        ("can I deploy from windows?", "deploys run on Linux only"),
        ("which cluster is production on?", "k8s-2, and staging is a VM on it"),
        ("what runs daily, and what weekly?", "the index is rebuilt hourly"),
        ("When is the daily standup?", "Standup every weekday at 9:15, retro weekly."),
        ("How do we build for Windows?", "Cross-compile from Linux with `make dist-exe`."),
        ("how do we translate the app into French?", "Translations: English strings to Crowdin"),
        ("what is the desktop breakpoint?", "Breakpoints: mobile up to 600 px, then 1024 px"),
        ("what is the mac address of the printer?", "It is 00:1b:44, seen from the Linux box"),
        ("how do we polish the release notes?", "Release notes: Ann edits them, English only."),
        ("how do I demo the app?", "Start with `make show`, never against production data."),
        ("who checks the daily import?", "The weekly export starts at 9, the import is Ann's"),
        ("what does karst-04 do?", "karst-03 to karst-06 render the map tiles"),
        ("what runs on python-12?", "CI runs on python-10 for the old glibc"),
        ("does tabulith._score stay?", "the API is what's in tabulith/__init__.py"),
    ],
)
def test_what_may_be_the_same_thing_is_not(prompt, memory):
    assert mismatch(prompt, memory) == ""


def test_it_says_which_thing_it_is_about():
    said = mismatch("who leads team Falcon?", "team Heron has Grace Obi as lead")
    assert said == "it speaks of Heron, and not of Falcon"


def test_what_was_found_by_other_words_may_call_a_thing_otherwise_but_not_by_another_name():
    parsed = make_parsed(question="who owns the icon set?").parsed
    assert entity_mismatch(parsed, "The design system is owned by Leonie", reworded=True) == ""
    parsed = make_parsed(question="who owns crane-api?").parsed
    assert entity_mismatch(parsed, "gate-api belongs to Osprey", reworded=True)


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Who leads the payments team?", "Grace Obi leads billing."),
        ("who deploys the backend?", "Marta deploys the API on Thursdays."),
        ("who maintains the docs?", "Ann maintains the handbook."),
    ],
)
def test_what_reads_like_the_answer_may_call_what_is_done_to_otherwise(question, memory):
    parsed = make_parsed(question=question).parsed
    assert entity_mismatch(parsed, memory, relevance=0.96) == ""
    assert entity_mismatch(parsed, memory, relevance=0.9)


def test_another_name_is_another_thing_however_relevant():
    parsed = make_parsed(question="who leads team Falcon?").parsed
    assert entity_mismatch(parsed, "Grace Obi leads team Heron", relevance=0.99)


def test_of_several_questions_each_has_to_be_about_another_thing():
    parsed = make_parsed(parts=("who leads team Falcon?", "who leads the mailer?")).parsed
    assert entity_mismatch(parsed, "team Heron leads the mailer") == ""


def test_a_question_for_one_of_a_kind_is_not_two():
    question = "which database does the demo environment use?"
    parsed = parse(make_prompt(question)).parsed
    assert len(parsed.parts) > 1
    assert entity_mismatch(parsed, "Production's database is Aurora PostgreSQL 15")


def test_a_long_memory_without_sentences_is_read_as_well():
    assert mismatch("who leads team Falcon?", "team Heron " + "lead word " * 400)
