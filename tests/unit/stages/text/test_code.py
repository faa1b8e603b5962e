import pytest

from subcog.stages.text.code import CODE_NAME


@pytest.mark.parametrize(
    "word", ["src/app.py", "lock_id", "userName", "argon2id", "k8s", "utf-8", "server.port"]
)
def test_what_is_written_like_a_name_from_the_code_is_told(word):
    assert CODE_NAME.search(word)


@pytest.mark.parametrize("word", ["mailer", "well-known", "don't", "24/7", "3.5", "API"])
def test_what_prose_has_is_no_name_from_the_code(word):
    assert CODE_NAME.search(word) is None
