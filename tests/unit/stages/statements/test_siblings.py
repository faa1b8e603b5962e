import pytest

from subcog.stages.statements.comparison import contradicts, holds_beside, settles


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Crane 4 lifts 40 t and is serviced in March",
            "Crane 5 lifts 60 t and is serviced in May",
        ),
        ("Gate A is controlled by a Siemens S7", "Gate B is controlled by a Beckhoff CX"),
        ("Build agent 1 runs Windows Server 2019", "Build agent 2 runs Ubuntu 24.04"),
        ("Team A meets on Mondays.", "Team B meets on Tuesdays."),
        ("billing-api uses RabbitMQ", "gate-api uses NATS now instead of RabbitMQ"),
        (
            "The pipeline in Tromsø runs on Airflow 2.8.",
            "The Tenerife pipeline moved from Airflow to Prefect.",
        ),
        (
            "The flare catalogue of GOES is downloaded from NOAA over FTP.",
            "The flare catalogue of Solar Orbiter is downloaded over HTTPS instead of FTP.",
        ),
        (
            "The crane telemetry service is deployed on Nomad in the Antwerp data centre.",
            "The crane telemetry of the Zeebrugge terminal moved from Nomad to Kubernetes.",
        ),
        (
            "We deploy the web shop with Capistrano.",
            "the admin panel is deployed with Kamal now instead of Capistrano",
        ),
        (
            "sccache with an S3 bucket in eu-north-1",
            "the Ardour people moved from S3 to R2 for their sccache",
        ),
        ("Hamburg's tickets are in Jira", "Bremen's tickets are in Linear now instead of Jira"),
    ],
)
def test_what_is_said_of_another_of_its_kind_changes_nothing(older: str, newer: str) -> None:
    assert not contradicts(newer, older)
    assert not contradicts(older, newer)
    assert not settles(newer, older)
    assert holds_beside(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Crane 4 is maintained by Kone", "Crane 4 is maintained by Liebherr now"),
        ("Cranes 4 and 5 lift 40 t", "Crane 5 lifts 60 t now instead of 40 t"),
        ("The batch importer sends 500 rows at once", "The batch importer sends 300 rows at once"),
        ("The pipeline in Tenerife runs on Airflow", "The Tenerife pipeline moved to Prefect"),
        ("Server 3 hosts the wiki", "Server 4 hosts the wiki now"),
        ("Bea leads the search team.", "Viktor leads the search team."),
        (
            "react 17 for now because of the editor",
            "the editor works with react 19, we've upgraded",
        ),
        ("The admin panel is deployed with Capistrano", "we deploy the admin panel with Kamal now"),
        (
            "Crashes in the map renderer go to Sabine's queue.",
            "Assign crashes in the map renderer to Tomek, who took the renderer over from Sabine.",
        ),
    ],
)
def test_what_is_said_of_the_same_changes_it(older: str, newer: str) -> None:
    assert contradicts(newer, older)
    assert not holds_beside(newer, older)
