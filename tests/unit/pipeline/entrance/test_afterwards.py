from subcog.pipeline.entrance.afterwards import MOST_SESSIONS, Afterwards


def test_a_session_is_told_once_beside_its_answer_and_again_if_that_did_not_arrive():
    afterwards = Afterwards()
    afterwards.note("a", "subcog: kept")
    afterwards.note("", "nobody's")
    assert afterwards.beside("b", b"{}")[0] == b"{}"
    told, note_again = afterwards.beside("a", b"{}")
    assert told == b'{"systemMessage": "subcog: kept"}'
    assert afterwards.beside("a", b"{}")[0] == b"{}"
    note_again()
    afterwards.note("a", "subcog: kept", "subcog: another")
    assert afterwards.beside("a", b"{}")[0] == (
        b'{"systemMessage": "subcog: kept\\nsubcog: another"}'
    )


def test_only_the_latest_sessions_are_remembered():
    afterwards = Afterwards()
    for number in range(MOST_SESSIONS + 1):
        afterwards.note(str(number), "line")
    assert afterwards.beside("0", b"")[0] == b""
    assert afterwards.beside("1", b"")[0]
