import anyio
import pytest
from starlette.applications import Starlette

from subcog.bus.frames import MAX_BODY
from subcog.pipeline.entrance.handler import HookAnswer
from subcog.sinks.http.server import guard, hook_route, is_local


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:6274", "https://127.0.0.1:1", "http://[::1]:2"]
)
def test_a_page_that_this_machine_serves_is_local(origin):
    assert is_local(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "localhost",
        "http://localhost.evil.example",
        "http://evil.example#localhost",
        "http://localhost@evil.example",
        "http://127.0.0.1.evil.example:80",
        "http://[::1",
        "http://0.0.0.0",
    ],
)
def test_no_other_page_is_local(origin):
    assert not is_local(origin)


KEY = (b"authorization", b"Bearer key")


class Door:
    """The route with a hook that notes what it is asked, driven as a server drives it.

    The client of a door that ``is_left`` hangs up as soon as it has asked.
    """

    def __init__(self, said: bytes = b"{}", *, is_left: bool = False) -> None:
        self.said = said
        self.is_left = is_left
        self.taken_back = 0
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.seen = 0
        self.app = Starlette(routes=[hook_route(self.hook, self.see, guard("key"))])

    async def hook(self, event: str, fields: dict[str, str], body: bytes) -> HookAnswer:
        self.asked.append((event, fields, body))
        return HookAnswer(self.said, "answered", take_back=self.take_back)

    def take_back(self) -> None:
        self.taken_back += 1

    def see(self) -> None:
        self.seen += 1

    async def post(self, path: str, body: bytes = b"{}", *headers: tuple[bytes, bytes]):
        """The status and the body of the answer."""
        parts = [body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20)] or [b""]
        heard: list[dict] = []

        async def receive():
            if not parts:
                if not self.is_left:
                    await anyio.sleep_forever()
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message):
            heard.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": list(headers),
        }
        await self.app(scope, receive, send)
        return heard[0]["status"], b"".join(message.get("body", b"") for message in heard[1:])


async def test_payload_goes_in_and_the_answer_of_the_hook_comes_back():
    door = Door(b'{"systemMessage": "x"}')

    got = await door.post("/hooks/Stop", b'{"a": 1}', KEY, (b"x-subcog-client", b"claude"))

    assert got == (200, b'{"systemMessage": "x"}')
    ((event, fields, body),) = door.asked
    assert (event, fields["client"], body) == ("Stop", "claude", b'{"a": 1}')
    assert door.seen == 1


@pytest.mark.parametrize("is_left", [False, True])
async def test_an_answer_that_nobody_waits_for_any_more_is_taken_back(is_left):
    door = Door(is_left=is_left)

    await door.post("/hooks/UserPromptSubmit", b"{}", KEY)

    assert len(door.asked) == 1
    assert door.taken_back == is_left


@pytest.mark.parametrize("key", [(), ((b"authorization", b"Bearer other"),)])
async def test_nobody_without_the_token_is_heard(key):
    door = Door()
    assert (await door.post("/hooks/Stop", b"{}", *key))[0] == 401
    assert (door.asked, door.seen) == ([], 0)


async def test_plain_text_is_not_said_over_http():
    assert await Door(b"plain").post("/hooks/PreCompact", b"{}", KEY) == (200, b"{}")


@pytest.mark.parametrize("name", ["a.b", "x" * 65, "é"])
async def test_what_is_no_event_is_not_found(name):
    door = Door()
    assert (await door.post(f"/hooks/{name}", b"{}", KEY))[0] == 404
    assert door.asked == []


async def test_too_large_a_payload_is_refused():
    door = Door()
    assert (await door.post("/hooks/Stop", b" " * (MAX_BODY + 1), KEY))[0] == 413
    assert door.asked == []


async def test_client_that_cannot_be_is_another_one():
    door = Door()
    await door.post("/hooks/Stop", b"{}", KEY, (b"x-subcog-client", b"a b"))
    assert door.asked[0][1]["client"] == "other"
