import pytest

from subcog.stages.injection.general_question import read_asked, read_general
from tests.fakes import make_parsed


def refuses(prompt, memory, relevance=0.95):
    return read_asked(make_parsed(question=prompt).parsed).refuses(memory, relevance)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("what does VIN stand for?", "VIN lookups are cached in Redis for 6 h"),
        ("what is RFID", "RFID card readers: Elatec TWN4, firmware 4.51"),
        ("What is a geofence?", "the geofence job snaps a parked bike to the nearest zone"),
        ("what is karpenter?", "karpenter evicts the prometheus pod on consolidation"),
        ("what's AUROC's definition", "primary metric is AUPRC, AUROC looked great"),
        ("quick question: what does minSdk mean?", "minSdk 24, we lose 0.8% of users"),
        ("what's the difference between npm and yarn workspaces", "use pnpm, not npm"),
        ("explain vpc peering vs transit gateway", "vpc peering with Norvik is done by hand"),
        ("is postgres faster than mysql for reads?", "staging db is Postgres 16"),
        ("what does docker compose up -d do?", "docker images are built with ko"),
        ("what does pytest -k do", "pytest -m 'not slow' before push"),
        ("how does 1Password sharing work?", "Android signing key is in 1Password"),
        ("what does kubectl rollout undo do in general", "we deploy with ArgoCD, never kubectl"),
        ("which gpu should I buy for gaming?", "gpu box is `brontes`, book it first"),
        ("is mirjam on holiday?", "minSdk 24, ok by Mirjam"),
        ("what's hanne's phone number?", "dns is at Gandi, Hanne has the login"),
        ("who wrote minimap2?", "aligner is minimap2 for ONT"),
        ("what is a gauge in prometheus?", "the gauge of the queue is scraped by Prometheus"),
        ("hey, what's EDIFACT?", "EDIFACT files come at night from Multraship"),
        ("how does a websocket handshake work?", "the websocket pings every 25 seconds"),
        ("is weblate down?", "translations go through Weblate"),
        ("is Sentry open source?", "crash reports: Sentry, not Crashlytics"),
        ("how much does a Joulescope cost?", "Mirko found it with the Joulescope"),
        ("does the DHL api support pickup points?", "DHL labels API: sandbox accepts zip 00000"),
        ("is MCUboot written in rust?", "MCUboot slots: primary 0x08010000"),
        ("what is Riverpod named after?", "riverpod 2 with codegen, no bloc"),
        ("what's the weather in Gent?", "beta testers are bike couriers from Gent"),
        ("who is the CEO of Multraship?", "the order API of Multraship answers 200 with HTML"),
        ("when does Frau Lindner's holiday end?", "VAT: Frau Lindner insists on net prices"),
        ("how old is Selin?", "small PRs, Selin can't review more"),
        ("how do I round VAT in Excel?", "VAT rounding: NAV rounds per line, shop per invoice"),
        ("difference between decimal and float in C#?", "quantities decimal, float lost cents"),
        ("how do I install RabbitMQ on macos", "we'll go with NATS, RabbitMQ is out"),
        ("is Plausible GDPR compliant?", "fonts self hosted, google fonts is a no (GDPR)"),
        ("is Sentry down?", "Crash reports go to Sentry, in the EU region"),
        ("what is Twilio?", "the Twilio account is in the vault, under sms"),
        ("when was Redis first released?", "Celery with Redis is set up in jobs/beat.py"),
        ("who makes Keycloak?", "Logins go through Keycloak, in the realm staff"),
        ("what's new in Vue 3.5?", "The admin is written in Vue with Pinia"),
        ("is Mapbox down right now?", "Map tiles come from Mapbox, the token is in the vault"),
        ("what is redis?", "Celery with Redis is set up in jobs/beat.py"),
        ("what does trace level mean in kafka?", "log lines have ts, trace and level; kafka too"),
    ],
)
def test_what_only_shares_a_name_with_a_general_question_is_refused(prompt, memory):
    assert refuses(prompt, memory)


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [
        ("what does VIN stand for?", "VIN (vehicle id number) lookups are cached"),
        ("what is a berth window?", "a berth window is the time a pilot may enter"),
        ("what is brontes?", "GPU box is `brontes`, book it in #gpu"),
        ("what is holdout?", "holdout = last 28 days, never a random split"),
        ("what is reclaimer?", "the reclaimer frees what is older than 30 days"),
        ("what's the difference between npm and pnpm?", "pnpm, as npm hoists what we do not list"),
        ("what does make seed do?", "make seed wipes the local database first"),
        ("is mirjam on holiday?", "Mirjam is out until 14 August"),
        ("is staging down?", "staging is off at weekends"),
        ("how much is Codemagic per month?", "Codemagic: 95 EUR a seat"),
        ("does Mapbox support offline tiles?", "Mapbox: tiles are kept for offline rides"),
        ("how do I release a build on macos?", "macOS builds are released from the Mac mini"),
        ("how do I search for text in postgres?", "the database has an index for search of text"),
        ("how do I reach prod in kubernetes?", "k8s: prod is reached by Teleport"),
        ("is Plausible GDPR compliant?", "Plausible: the lawyer says GDPR is fine with it"),
        ("how do i run tests in docker?", "Run the tests in the container with `make ctest`."),
        ("how do I reach postgres in docker?", "Postgres is in the container `db`, port 5433"),
        ("who makes Keycloak?", "Keycloak is developed by Red Hat, as is our base image"),
        ("what's new in Tidewater 2.0?", "Tidewater 2.0 adds berth maps"),
        ("is Mapbox down right now?", "Mapbox has an outage until tonight"),
        ("how does ArgoCD roll things out?", "everything is rolled out by ArgoCD"),
    ],
)
def test_what_answers_a_general_question_is_not(prompt, memory):
    assert not refuses(prompt, memory)


@pytest.mark.parametrize(
    "prompt",
    [
        "how do I write a ruff plugin?",
        "how do I write a linter in Go?",
        "how do I write a style in ruff?",
    ],
)
def test_where_nothing_else_tells_relevance_does(prompt):
    assert refuses(prompt, "code style: ruff with line length 100", 0.8)
    assert not refuses(prompt, "code style: ruff with line length 100", 0.95)


@pytest.mark.parametrize(
    "prompt",
    [
        "what's the holdout?",
        "kill switch?",
        "who makes the invoices?",
        "who makes releases?",
        "when was checkout released?",
        "what's new in checkout?",
        "is staging down right now?",
        "who owns the POS feed?",
        "what is the release branch called?",
        "which gpu machine do we have",
        "what does the reclaimer do?",
        "how do we deploy?",
        "how do I run the tests?",
        "does checkout support vouchers?",
        "what is a carry-over in billing?",
        "how do agencies log in?",
        "how does an incoming payment find its invoice?",
        "how old are backups?",
        "are looked up hosts kept?",
        "is React allowed?",
        "what is our RFID firmware?",
        "how does Flux work here?",
        "snakemake or nextflow?",
        "what is pay_off_all?",
        "what does exit code 3 mean?",
        "what is blocked?",
        "what's the difference between staging and prod?",
        "can I bump numpy?",
        "when is Annika away?",
        "how do I add a feature flag?",
        "why aren't we on kafka?",
        "how does a build get from test to production",
        "gVisor versus Firecracker, who decided and for which reasons",
        "what's holding up Apple Pay",
        "how should I name a branch, and what is RFID in our readers?",
        "how do i run tests in docker?",
        "what is NATS? " + "and so on " * 20,
    ],
)
def test_what_may_be_about_the_project_is_no_general_question(prompt):
    assert read_general(prompt) is None


@pytest.mark.parametrize(
    ("other", "general"), [("which firmware do we use?", False), ("what is NATS?", True)]
)
def test_beside_a_question_on_the_project_nothing_is_refused(other, general):
    parsed = make_parsed(parts=("what is RFID?", other)).parsed
    assert read_asked(parsed).refuses("RFID card readers: Elatec TWN4", 0.9) is general


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("is staging down?", "Staging is dead until the new certificate arrives."),
        ("is Jenkins down?", "Jenkins is broken: its disk is full"),
        ("how much does Datadog cost?", "The Datadog bill is 900 a month."),
        ("is Terraform open source?", "We moved to OpenTofu, as Terraform is under the BUSL"),
    ],
)
def test_what_a_memory_says_of_it_in_other_words_answers(question, memory):
    general = read_general(question)
    assert general is None or general.is_answered_by(memory, 0.5)
