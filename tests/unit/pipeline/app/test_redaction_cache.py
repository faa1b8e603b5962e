from subcog.pipeline.app.redaction_cache import RedactionCache


class Redactor:
    def __init__(self):
        self.read = []

    def __call__(self, text):
        self.read.append(text)
        return text.replace("hunter2", "[password]")


def test_a_text_without_a_secret_is_read_once():
    redactor = Redactor()
    clean = RedactionCache(redactor)
    assert clean("plain") == clean("".join(["pl", "ain"])) == "plain"
    assert redactor.read == ["plain"]


def test_a_secret_is_taken_out_every_time():
    redactor = Redactor()
    clean = RedactionCache(redactor)
    assert clean("it is hunter2") == clean("it is hunter2") == "it is [password]"
    assert len(redactor.read) == 2


def test_it_remembers_a_bounded_number():
    redactor = Redactor()
    clean = RedactionCache(redactor, max_texts=2)
    for text in ("a", "b", "c", "c", "b", "a"):
        clean(text)
    assert redactor.read == ["a", "b", "c", "a"]
