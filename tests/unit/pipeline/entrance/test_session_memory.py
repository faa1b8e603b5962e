from subcog.pipeline.entrance.session_memory import MAX_SESSIONS, Greetings


def test_a_greeting_is_given_once_to_the_session_that_it_is_for():
    greetings = Greetings()
    greetings.hold("s1", "hello")
    assert greetings.take("s2", max_tokens=100) == ""
    assert greetings.take("s1", max_tokens=100) == "hello"
    assert greetings.take("s1", max_tokens=100) == ""


def test_only_an_agent_that_loses_the_first_prompt_with_a_greeting_is_greeted_later():
    concern = Greetings().concern
    assert concern("gemini", "SessionStart")
    assert concern("gemini", "UserPromptSubmit")
    assert not concern("gemini", "PostToolUse")
    assert not concern("claude", "SessionStart")
    assert not concern("codex", "SessionStart")


def test_a_greeting_that_does_not_fit_waits():
    greetings = Greetings()
    greetings.hold("s1", "hello to everybody " * 20)
    assert greetings.take("s1", max_tokens=10) == ""
    assert greetings.take("s1", max_tokens=1000)


def test_a_session_that_starts_again_is_greeted_anew_and_old_ones_are_forgotten():
    greetings = Greetings()
    for number in range(MAX_SESSIONS + 1):
        greetings.hold(f"s{number}", "before")
    greetings.hold("s1", "after")
    greetings.hold("s1", "")
    assert greetings.take("s0", max_tokens=100) == ""
    assert greetings.take("s1", max_tokens=100) == "after"
