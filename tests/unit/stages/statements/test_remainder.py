import pytest

from subcog.stages.statements.comparison import contradicts, settles
from subcog.stages.statements.remainder import keeps_a_fact, leaves_clause


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Backups go to Backblaze B2 every night and are kept for 35 days",
            "We switched from Backblaze B2 to Wasabi for backups",
        ),
        (
            "Deploys go out on Tuesdays with ArgoCD, never by hand",
            "We moved from ArgoCD to Flux for deploys",
        ),
        ("We deploy with ArgoCD, never with kubectl", "Flux now, ArgoCD is gone"),
        (
            "We deploy with Fly.io from the main branch, staging is campo-staging",
            "We deploy with Kamal to Hetzner servers; Fly.io is no longer used.",
        ),
        (
            "Test data is fetched with pooch from Zenodo record 7781234.",
            "Test data moved to Zenodo record 9912003.",
        ),
        (
            "We meet on the first Wednesday of the month at 15:00 UTC on Zoom.",
            "The monthly meeting is on Google Meet instead of Zoom.",
        ),
        (
            "Route planning belongs to team Heron, whose lead is Mirela Stanciu.",
            "Heron's lead is Tomasz Wilk since Monday, Mirela moved to billing.",
        ),
        (
            "Help pages are written in mdBook and published to help.lumen.fm.",
            "The help pages moved to docs.lumen.fm.",
        ),
        (
            "yard-planner is written in Rust, solver is OR-Tools 9.9.",
            "Correction: yard-planner's solver is HiGHS, not OR-Tools.",
        ),
        (
            "The test harbour's simulator listens on port 7700 on host sim-1.",
            "We moved the simulator from sim-1 to sim-4.",
        ),
        (
            "The nightly job runs on Jenkins at 02:00.",
            "We moved the nightly job from Jenkins to GitHub Actions.",
        ),
        (
            "Invoices are sent by Postmark with a copy to the archive.",
            "We switched from Postmark to Resend for invoices.",
        ),
        (
            "dispatch-worker retries a call 5 times with exponential backoff, base 2 s.",
            "dispatch-worker retries 3 times instead of 5.",
        ),
    ],
)
def test_what_states_another_fact_is_contradicted_and_not_replaced(older: str, newer: str) -> None:
    assert keeps_a_fact(newer, older)
    assert contradicts(newer, older)
    assert not settles(newer, older)
    assert leaves_clause(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Backups go to Backblaze B2", "We switched from Backblaze B2 to Wasabi for backups"),
        ("Deploys go out with ArgoCD", "We moved from ArgoCD to Flux for deploys"),
        ("The simulator runs on host sim-1.", "We moved the simulator from sim-1 to sim-4."),
        (
            "Returns are handled by Ute in Kassel",
            "returns are now handled by Ayla in Fulda instead of Ute",
        ),
        ("bundler: webpack 5", "bundler: vite now instead of webpack"),
        ("We use Kafka for events, not RabbitMQ", "We use NATS for events instead of Kafka"),
        ("The sandbox bank runs on port 9999.", "The sandbox bank was shut down."),
        ("Shared components live in packages/ui", "The shared components moved to libs/design"),
        (
            "We use NATS JetStream between the gateway and the ingest service",
            "We moved from NATS JetStream to RabbitMQ between gateway and ingest, NATS kept "
            "losing consumers",
        ),
        ("We lint with eslint", "From now on we lint with biome"),
    ],
)
def test_what_states_nothing_else_is_replaced(older: str, newer: str) -> None:
    assert not keeps_a_fact(newer, older)
    assert settles(newer, older)
    assert not leaves_clause(newer, older)


def test_what_is_replaced_may_have_a_clause_that_is_shown_beside_it() -> None:
    older, newer = "Deploys go through ArgoCD, which polls every three minutes", "ArgoCD is gone"
    assert not keeps_a_fact(newer, older)
    assert settles(newer, older)
    assert leaves_clause(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We write no raw SQL", "In the reporting module raw SQL is fine"),
        ("We use no global state", "In the test fixtures global state is fine"),
        ("Invoices are rendered with WeasyPrint", "In the portal module invoices use Prince"),
    ],
)
def test_what_holds_in_one_place_leaves_the_rest(older, newer):
    assert leaves_clause(newer, older) or not contradicts(newer, older)
    assert not settles(newer, older)
