import pytest

from subcog.bus.frames import (
    BadFrame,
    Head,
    ReplyHead,
    read_fields,
    read_head,
    read_reply_head,
    reply_frame,
    request_frame,
)


def test_a_request_reads_back_as_it_was_written():
    frame = request_frame("hook", "Stop", {"project": "/a=b", "cwd": "/ü"}, b"{}\n")
    line, rest = frame.split(b"\n", 1)
    head = read_head(line + b"\n")
    assert (head.kind, head.name) == ("hook", "Stop")
    assert read_fields(rest[: head.fields]) == {"project": "/a=b", "cwd": "/ü"}
    assert rest[head.fields :] == b"{}\n"


def test_a_path_that_is_not_utf8_survives():
    frame = request_frame("call", "recall", {"cwd": "/\udcff"}, b"")
    head = read_head(frame.split(b"\n")[0])
    assert read_fields(frame.split(b"\n", 1)[1][: head.fields]) == {"cwd": "/\udcff"}


def test_a_reply_reads_back_as_it_was_written():
    assert read_reply_head(reply_frame("ok", "0.1.0", b"body").split(b"\n")[0]) == ReplyHead(
        "ok", "0.1.0", 4
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"GET / HTTP/1.1", "does not begin"),
        (b"subcog/2 hook Stop 0 0", "does not begin"),
        (b"subcog/1 hook Stop 0", "4 parts"),
        (b"subcog/1 look Stop 0 0", "no known kind"),
        (b"subcog/1 hook Stop -1 0", "not a number"),
        (b"subcog/1 hook Stop 0 99999999999", "more than"),
        (b"subcog/1 hook Stop 0 9999999999999999999999", "not a number"),
        (b"subcog/1 hook St\xc3\xb6p 0 0", "not ASCII"),
        (b"", "does not begin"),
    ],
)
def test_what_is_not_a_frame_is_refused_without_repeating_it(line, says):
    with pytest.raises(BadFrame, match=says) as caught:
        read_head(line)
    assert "Stop" not in str(caught.value)


def test_the_head_of_a_request_has_its_lengths():
    assert read_head(b"subcog/1 mcp - 12 34\n") == Head("mcp", "-", 12, 34)
