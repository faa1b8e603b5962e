import pytest

from subcog.bus.values import EARNED_PERCENT
from subcog.stages.capture.statement_classifier import find_all, find_earned


def kept(text, role="user"):
    return [(noted.namespace, noted.text) for noted in find_earned(text, role=role)]


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("we'll go with Redis streams, not Kafka", "decisions"),
        ("after the benchmark: we decided to keep RabbitMQ, NATS loses messages", "decisions"),
        ("we drop the Electron client, two customers don't justify it", "decisions"),
        ("from now on every migration gets its own PR", "patterns"),
        ("we never delete rows in the ledger, corrections are new entries", "patterns"),
        ("don't ever mock the db here", "patterns"),
        ("I prefer small commits", "preferences"),
        ("i hate mocks of the database, use the testcontainer that is there", "preferences"),
        ("I always want the tests written before the code.", "preferences"),
        ("Let's standardise on ruff and throw out black and isort.", "decisions"),
        ("we'll read the charset from the header and never guess it with chardet", "decisions"),
        ("settle it for good: everything in the database is UTC, timestamptz only", "decisions"),
        ("decision: we ship on thursdays", "decisions"),
        ("decided with Jens: We use Polly for retries with backoff, 5 attempts", "decisions"),
        ("decided by Mara and Tom: We use Polly for retries, 5 attempts", "decisions"),
        ("Priya insists: terraform apply only from CI, never from a laptop", "patterns"),
        ("Rule: never run `cargo update` without -p, it broke the build twice", "patterns"),
        ("We decided that TLS_VERIFY must never be false, not even in dev", "decisions"),
        ("we leave Fly.io and go to Hetzner", "decisions"),
        ("we no longer ask for 5/20/50, rollout is 10/50/100 over 3 days now", "decisions"),
        ("I'd rather you ask before adding a new dependency", "preferences"),
    ],
)
def test_rules_choices_and_preferences_of_the_user_are_earned(text, namespace):
    assert kept(text) == [(namespace, text)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "hm, from now on no direct pushes to main please, Oleg complained. always a PR",
            "from now on no direct pushes to main please",
        ),
        (
            "I prefer small PRs, max 300 lines, can you split this one in two?",
            "I prefer small PRs, max 300 lines",
        ),
        (
            "rollouts: 5% first, wait a day, then the rest. that's how we do it from now on",
            "rollouts: 5% first, wait a day, then the rest. that's how we do it from now on",
        ),
        (
            "thanks. By the way: raw SQL is only allowed in apps/reporting, the rest uses the ORM",
            "raw SQL is only allowed in apps/reporting, the rest uses the ORM",
        ),
        (
            "btw we moved from Codemagic to GitHub Actions",
            "we moved from Codemagic to GitHub Actions",
        ),
    ],
)
def test_a_statement_among_other_talk_is_kept_by_itself(text, said):
    assert [one for _, one in kept(text)] == [said]


@pytest.mark.parametrize("lead", ["Add a logger, please. Right. And ", "ok, so ", "yes. "])
def test_what_leads_to_a_statement_is_left_out(lead):
    said = "we'll go with zap for logging, not logrus"
    assert kept(lead + said) == [("decisions", said)]


@pytest.mark.parametrize(
    "text",
    [
        "should we go with Redis streams or Kafka?",
        "maybe we should go with Redis streams, not Kafka",
        "we'll go with Redis streams, not Kafka. or is that a bad idea?",
        "we'll go with Redis streams, not Kafka. hm wait, let me check the licence first",
        "Tom says we should always squash",
        "the testers want the app to say 'u' rather than 'je'",
        "the roles have names like PNSGRP07 and nobody understands them.",
        "let's go with it",
        "story: as an admin I want to disable users. rule: the last admin can never be disabled",
        "imagine we decided to drop Postgres. what would break?",
        "for this PR use merge instead of rebase",
        "use tabs for this one file please, it's a Makefile",
        "the button must always be visible when the form is dirty",
        "we always get a 404 here",
        'the wiki has "we never delete rows in the ledger", is that true?',
        "we used to deploy every friday",
        "turn this into a checklist\n- always sign commits\n- never push to main",
        "all 212 tests pass now",
        "Nobody has opened the export since 2021.",
        "I'd rather have you investigate with a sub-agent, so that our context doesn't fill up",
        "From now on I'll be working from home on Fridays, so I can't come over.",
        "then we drop the table and recreate it with the new column",
        "ok so we're moving on to the next ticket, the header",
        "also the modal must only open once",
        "so far we use Redis, not NATS",
        "Ute is out of office until monday",
        "Resolved by Mara, the ticket about the login can go.",
        "Resolved with Mara, the ticket about the login can go.",
        "The customer insists: always answer on the same day, never later",
    ],
)
def test_questions_proposals_quotes_and_orders_for_once_are_not(text):
    assert kept(text) == []


def test_a_rule_is_found_among_other_sentences():
    text = "Good catch. From now on every migration gets its own PR. Please fix the test too."
    assert kept(text) == [("patterns", "From now on every migration gets its own PR.")]


@pytest.mark.parametrize(
    ("joined", "text"),
    [
        ("And ", "never restart the consumer during a tide window, the pilots lose their tracks."),
        ("And ", "colours: use blue and orange from now on, never red and green, for Sanne."),
        ("ok so ", "we'll go with Postgres 16, not 17."),
        ("Also, ", "we agreed with Multraship to send tug orders by six o'clock."),
        ("Then ", "we'll go with a nightly batch instead of a stream."),
        ("Ok, ", "we'll use Leaflet for the map, not Google Maps, because of the licence."),
    ],
)
def test_what_says_all_by_itself_is_kept_without_the_word_that_joins_it(joined, text):
    assert [said for _, said in kept(f"Sure. {joined}{text}")] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I've made up my mind: we're dropping the Oracle export. Nobody has opened it since 2021.",
        "We go with NATS JetStream and drop Kafka. Not because Kafka is bad but because nobody"
        " here could repair it at three in the morning.",
        "we go with Hetzner instead of AWS. Otherwise we'd pay twice.",
    ],
)
def test_a_reason_in_the_next_sentence_belongs_to_its_choice(text):
    assert kept(f"{text} Please update the docs.") == [("decisions", text)]
    first, _, _ = text.partition(". ")
    assert kept(f"{text[:-1]}?") == [("decisions", f"{first}.")]


def test_half_a_rule_is_kept_with_what_it_is_about():
    said = "pre-cooling after harvest always alarms. so new rule: above 6 degrees for 20 minutes."
    assert kept(f"Marta again. {said}") == [("patterns", said)]
    assert kept(f"Marta again.\n\n{said[41:]}") == [("patterns", said[44:])]


def test_the_agents_prose_is_a_point_and_no_memory():
    text = "We decided to use argon2id instead of bcrypt, because bcrypt truncates at 72 bytes."
    assert kept(text, role="assistant") == []
    (point,) = find_all(text, role="assistant")
    assert not point.earned
    assert point.confidence_percent < EARNED_PERCENT


def test_the_agents_labelled_line_is_a_memory():
    assert kept("Done.\n\n- **Gotcha**: the dates are local", role="assistant") == [
        ("gotchas", "the dates are local")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "and no amounts at all on the lock screen unless they turned that on, default off",
        "No. POST 2 automatic retries max. GETs can stay at 5.",
        "never raw.",
        "and we use it for the rest, not logrus",
        "so we never got it to run on the old image",
        "always kept, P and LP with at least 2 stars.",
        "That's the rule the report has to implement going forward.",
        "we go read-only at 10 and they get angry.",
        "We'll ship after the election weekend, not before",
        "i wanna write a post with publish_at in the future and have the cron build pick it up",
    ],
)
def test_what_says_nothing_without_the_talk_around_it_is_no_memory(text):
    assert kept(text) == []


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ("We now use pnpm instead of npm. Scratch that.", True),
        ("We now use pnpm instead of npm. Or wait, is that right?", True),
        ("Assume the following. We now use pnpm instead of npm.", True),
        ("What if we said this in the readme? We now use pnpm instead of npm.", True),
        ("The platform was moved from Kafka to NATS, it now uses NATS instead of Kafka.", False),
    ],
)
def test_a_point_is_doubted_that_the_same_message_takes_back_or_supposes(text, doubted):
    points = [noted for noted in find_all(text, role="user") if not noted.earned]
    assert {noted.doubted for noted in points} == {doubted}
