import pytest

from subcog.stages.capture.retractions import says_more, taken_back

BLACK = "from now on we format with black"
REDIS = "we'll go with Redis streams, not Kafka"

HERE = "we're going with HERE for geocoding, Google Maps is out"
BUN = "we'll use bun from now on, pnpm is out"

LINT = "Always run the linter before you commit."
PUSH = "From now on we never push to main directly."


@pytest.mark.parametrize(
    ("stated", "then"),
    [
        (BLACK, "no wait, scrap that. ruff format is fine, we keep ruff"),
        (BLACK, "forget it, we don't use black"),
        (BLACK, "no, we do not use black"),
        (BLACK, "sorry, we don't format with black"),
        (BLACK, "that was a mistake. we use ruff"),
        (BLACK, "forget what I said, ruff is fine"),
        (BLACK, "oops, ignore that"),
        (BLACK, "on second thought, ruff is fine"),
        (REDIS, "hmm no, never mind, that was a bad idea"),
        (REDIS, "Wait. Scratch that."),
        (REDIS, "hm. let's not"),
        (REDIS, "actually Kafka it is after all, ops already runs it"),
        (REDIS, "no, we stay with Kafka"),
        (REDIS, "I changed my mind, let's keep Kafka"),
        (HERE, "actually no, Google Maps it is after all"),
        (BUN, "no wait, pnpm it is after all"),
    ],
)
def test_what_the_next_message_takes_back_is_found(stated, then):
    assert taken_back(then, [stated], asked=False) == (stated,)


@pytest.mark.parametrize(
    ("stated", "then"),
    [
        (BLACK, "never mind, found it"),
        (BLACK, "never mind the warnings"),
        (BLACK, "no, format the tests as well"),
        (BLACK, "nope, black is not installed"),
        (BLACK, "no, we don't use black for the notebooks"),
        (REDIS, "wait, why not Kafka?"),
        (HERE, "actually HERE it is after all"),
        (BUN, "actually pnpm is still in the Dockerfile, remove it"),
        (REDIS, "wait for the tests"),
        (REDIS, "forget the old consumer, delete it"),
        (REDIS, "actually Kafka is still running, stop it"),
        (REDIS, "keep the Kafka config for now"),
        (REDIS, "ok. now scrap that old consumer"),
        ("We always validate input at the boundary.", "That's a mistake, the status must be 201."),
        (BLACK, "This is a mistake: you deleted the wrong import"),
        (BLACK, "This is a mistake, you deleted the import of black"),
        (BLACK, "forget it, I'll do it by hand"),
        (BLACK, "scrap that. The retry helper should be a decorator"),
        (REDIS, "this is nonsense, the test asserts nothing"),
        (REDIS, "this is nonsense. You said so. It does not work. The test asserts nothing"),
        (LINT, "ok, commit without running the linter this time"),
        (LINT, "no, don't run the linter before this commit"),
        (LINT, "ok, don't run the linter before you commit"),
        (PUSH, "ok, now push to main directly"),
        (PUSH, "hm, now push to main directly"),
    ],
)
def test_what_is_said_of_something_else_takes_nothing_back(stated, then):
    assert taken_back(then, [stated], asked=False) == ()


def test_never_mind_may_be_said_of_a_question_that_came_with_it():
    assert taken_back("never mind", [BLACK], asked=True) == ()
    assert taken_back("never mind, that was a bad idea", [BLACK], asked=True) == ()
    assert taken_back("scrap that", [BLACK], asked=True) == (BLACK,)


def test_of_several_it_has_to_be_clear_which():
    labelled = "Redis streams instead of Kafka"
    assert taken_back("scrap that", [REDIS, labelled], asked=False) == (REDIS, labelled)
    assert taken_back("scrap that", [REDIS, BLACK], asked=False) == ()
    assert taken_back("no, we stay with Kafka", [REDIS, BLACK], asked=False) == (REDIS,)


@pytest.mark.parametrize(
    "beside", ["Also write a retry helper.", "The build is red too.", "Can you fix the import?"]
)
def test_what_came_with_an_order_or_a_fault_is_not_what_scrap_that_means(beside):
    message = f"{BLACK}. {beside}"
    assert says_more(message, [BLACK])
    assert taken_back("scrap that", [BLACK], asked=False, more=True) == ()
    assert taken_back("no, we do not use black", [BLACK], asked=False, more=True) == (BLACK,)


def test_a_reason_or_an_ok_beside_what_is_stated_is_no_order():
    assert not says_more(f"ok. {BLACK}. It is the standard.", [BLACK])
