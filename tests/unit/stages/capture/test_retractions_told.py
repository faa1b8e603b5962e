from __future__ import annotations

import pytest

from subcog.stages.capture.retractions import find_changes, is_outdated
from subcog.stages.statements.comparison import contradicts

from ....fakes import make_hit, make_memory

KNOWN = [
    make_hit(make_memory(number, text))
    for number, text in enumerate(
        (
            "Unit tests run with Vitest, end-to-end tests with WebdriverIO.",
            "Session timeout is 30 minutes.",
            "Maximum attachment size is 25 MB because the preview holds whole files in RAM.",
            "CI runs on GitHub Actions; the macOS builds run on the Mac mini in Lyon.",
            "orders-api is written in Kotlin with Ktor and runs on EKS in eu-central-1.",
            "The staging server is stg.haulix.internal, at Hetzner in Falkenstein.",
            "Yusuf is our contact at DHL for API keys.",
            "Returns are handled by Ute.",
            "Feature flags are in config/flags.toml, never behind environment variables.",
            "Timeouts to the terminal operating system are 3 s, no retries.",
            "We use Redis for the session cache.",
            "Gauges report every 60 seconds, and we keep raw readings for 90 days.",
            "Log files rotate at 10 MB, five are kept.",
            "We deploy with ArgoCD; kubectl apply is forbidden in production.",
            "Wout is our DBA; he is on holiday until Monday, Ilke stands in.",
        ),
        start=1,
    )
]


def kept(text: str, known=KNOWN) -> list[str]:
    found = [one.text for one in find_changes(text)]
    return [one for one in found if is_outdated(one, known)]


@pytest.mark.parametrize(
    "said",
    [
        "the e2e tests are Playwright now, WebdriverIO is out",
        "session timeout is 60 minutes now",
        "attachment limit is 50 MB now, we raised it for the new renderer",
        "macOS builds run on Cirrus CI now",
        "production moved from eu-central-1 to eu-west-1",
        "the staging server is at OVH in Gravelines now",
        "Yusuf left DHL, Carina Boldt is our contact there now",
        "returns are no longer handled by Ute",
        "feature flags live in LaunchDarkly now",
        "I was wrong earlier: TOS timeouts are 5 s, not 3",
        "Redis is out, we use Valkey now",
        "back to Redis, legal said no to Valkey",
        "we don't use Redis anymore",
        "log files rotate at 50 MB now, ten are kept",
        "we deploy with Flux these days",
        "retention goes from 90 days to 400 days",
        "Wout is back from holiday",
        "Wout is back from PTO",
        "Wout is back from his parental leave",
    ],
)
def test_a_change_of_what_a_memory_tells_is_kept(said):
    assert kept(said) == [said]
    assert kept(said, []) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("btw, the session timeout is 60 minutes now", "the session timeout is 60 minutes now"),
        ("session timeout is 60 minutes now, please adapt it", "session timeout is 60 minutes now"),
        (
            "session timeout is 60 minutes now, security wanted it",
            "session timeout is 60 minutes now",
        ),
        (
            "works. right, so gauges report every 120 seconds from now on, fix should_alert",
            "gauges report every 120 seconds from now on",
        ),
    ],
)
def test_it_is_kept_without_what_leads_to_it_and_the_order_after_it(text, said):
    assert kept(text) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "the e2e tests are green now",
        "the e2e tests take forever now",
        "I'm on the release branch now",
        "the staging server is down now",
        "the upload of a 30 MB attachment no longer works",
        "now the session timeout test fails",
        "the session timeout test now has 60 minutes in it",
        "I'm running the e2e tests with Playwright now to see whether it's faster",
        "what if the session timeout were 60 minutes now?",
        "session timeout is 60 minutes now, right?",
        "I think the session timeout is 60 minutes now",
        "session timeout should be 60 minutes now",
        "set the session timeout to 60 minutes now",
        "log the file sizes from 10 MB to 50 MB now",
        "test whether returns are now handled by Ayla instead of Ute",
        "please move the feature flags from config/flags.toml to LaunchDarkly",
        "production will be moved from eu-central-1 to eu-west-1",
        "the ticket says session timeout is 60 minutes now",
        "'session timeout is 60 minutes now'",
        "at my last job returns were handled by Ayla instead of Ute",
        "the Kafka folks moved from Redis to Valkey",
        "team Falcon switched from Redis to Valkey",
        "Redis is out of memory",
        "Yusuf is out today",
        "session timeout is 60 minutes now. no wait, scrap that",
        "the report is 60 pages now",
        "Wout is back from lunch",
        "Wout is back and forth on this",
        "on my machine the session timeout is 60 minutes now",
        "session timeout is 60 minutes now but that is only my laptop",
        "session timeout is 60 minutes locally now",
    ],
)
def test_what_is_of_the_moment_supposed_ordered_or_of_others_is_not(said):
    assert kept(said) == []


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ("the bundle is 400 KB now", "The bundle must stay below 300 KB."),
        ("coverage is 78 percent now", "Coverage must be 85 percent."),
        ("the file has 300 lines now", "No file has more than 200 lines."),
        ("the PR has 12 commits now", "A PR has at most 3 commits."),
    ],
)
def test_a_measurement_leaves_what_bounds_it(said, bound):
    assert kept(said, [make_hit(make_memory(1, bound))]) == []
    assert not contradicts(said, bound)


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ("the bundle may be up to 400 KB now", "The bundle may be up to 300 KB."),
        ("the bundle limit is 400 KB now", "The bundle limit is at most 300 KB."),
        ("Node 20 is required now", "Node must be 18."),
        ("the embeddings run locally now, no longer on the GPU server", "Embeddings run on GPU."),
    ],
)
def test_another_bound_is_a_change_of_it(said, bound):
    assert kept(said, [make_hit(make_memory(1, bound))]) == [said]
