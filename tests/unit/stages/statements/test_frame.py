import pytest

from subcog.stages.statements.comparison import contradicts


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The event bus is Kafka (MSK); topics are named after events, retention is 7 days.",
            "Kafka retention is 14 days now.",
        ),
        (
            "Sync is encrypted with XChaCha20-Poly1305, keys derived by Argon2id with 64 MB.",
            "Argon2id now uses 128 MB instead of 64 MB.",
        ),
        ("Spectra are stored as Zarr, chunks of 64 MB.", "Zarr chunks are 256 MB now, not 64 MB."),
        (
            "The compute cluster Alvis is paid by grant VR-2023-0417 until June 2027.",
            "The grant of Alvis was extended to June 2028.",
        ),
        (
            "nightly build kicks off 02:30 CET, takes ~48 min, anvil is the slow one (LTO)",
            "nightly build moved to 01:00 CET, bellows gets the win build too now",
        ),
        ("Team Heron keeps its tickets in Linear.", "Heron uses Jira now, Linear is cancelled."),
        (
            "The kiosk uses Chromium 118 in kiosk mode, restarts at 03:00.",
            "The kiosk uses Firefox now.",
        ),
        (
            "Docker images are built by kaniko and pushed to ghcr.io.",
            "Docker images are built by buildkit now.",
        ),
        (
            "Sprint reviews are on Thursdays at 14:00 in room Kiel.",
            "Sprint reviews moved to Fridays.",
        ),
    ],
)
def test_a_value_that_holds_now_contradicts_one_among_other_facts(older: str, newer: str) -> None:
    assert contradicts(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The event bus is Kafka; retention is 7 days.", "Kafka topics have 12 partitions now."),
        ("The demo runs for 14 days.", "The demo shows 5 products now."),
        ("The trial lasts 14 days", "The trial can be extended by 7 days now"),
        ("Invoices are due after 14 days", "Invoices are archived for 10 years now"),
        ("Cache entries live 5 minutes", "Cache entries are checked every 2 minutes now"),
        ("The kiosk restarts at 03:00.", "The kiosk reports its state at 06:00 now."),
        ("The museum shop opens 3 days, mostly on weekends", "The museum opens 5 days a week now"),
        ("The cache is shared, items larger than 1 GB are refused", "The cache holds 10 GB now"),
        ("The team room fits 10 members and a projector", "The team has 6 members now"),
        ("The release is in June 2027", "The release party is in June 2028 now"),
    ],
)
def test_a_value_of_something_else_contradicts_nothing(older: str, newer: str) -> None:
    assert not contradicts(newer, older)
