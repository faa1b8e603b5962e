"""What is heard as a question and what is not, through the real daemon."""

LIFETIMES = "We decided on token lifetimes of 15 minutes because longer ones leaked in the audit"
DEPLOY = "The deploy works in two steps: tag the release on main, then promote it from staging"
KAFKA = "We use Kafka for the queue because RabbitMQ lost messages when the disk was full"
RETRIES = "The uploader retries three times with jitter; more retries made the outage longer"

HEARD = {
    "remember when we decided on token lifetimes?": LIFETIMES,
    "tell me how the deploy works": DEPLOY,
    "I forgot how we deploy": DEPLOY,
}
NOT_HEARD = (
    "We decided to use Kafka because RabbitMQ lost messages",
    "TODO: add retries to the uploader",
    "can you add retries to the uploader?",
    'Here is what ChatGPT said: "use short token lifetimes because long ones leak"',
    "+    token_lifetime = 300\n-    token_lifetime = 900",
    "FAILED tests/test_tokens.py::test_lifetime - assert 900 == 300",
    "==== 1 failed, 212 passed in 4.20s ====",
)


def test_a_question_is_heard_in_whatever_form_and_nothing_else_is_taken_for_one(fresh):
    house = fresh
    for text in (LIFETIMES, DEPLOY, KAFKA, RETRIES):
        house.capture(text, "--namespace", "decisions")
    missed = {}
    for prompt, answer in HEARD.items():
        told = house.ask("explain", prompt)
        if not told["classify"]["search_intent_detected"] or answer not in told["context"]:
            missed[prompt] = told["classify"]
    wrong = {}
    for prompt in NOT_HEARD:
        told = house.ask("explain", prompt)
        if told["classify"]["search_intent_detected"] or told["context"]:
            wrong[prompt] = told["classify"]
    assert (missed, wrong) == ({}, {})
