"""What is acknowledged is found by whoever asks next, without a moment in between."""

from __future__ import annotations

import json

from tests.integration.house import House
from tests.thorough import times

CAPTURES = times(12, 100)


def ask(house: House, name: str, **params: object) -> dict[str, object]:
    body = json.dumps(params).encode()
    status, answer = house.exchange("call", name, body, project=str(house.project), client="cli")
    assert status == "ok", answer
    return json.loads(answer)


def test_every_capture_is_found_by_the_very_next_question(fresh):
    """Of a rate below one, some captures were acknowledged before they could be found."""
    house = fresh
    house.start()
    found_by_recall = found_by_topic = 0
    for number in range(CAPTURES):
        text = f"The zebra{number} service listens on port {9_000 + number}"
        kept = ask(house, "capture", text=text)["id"]
        recalled = ask(house, "recall", query=f"zebra{number} port", limit=1)["memories"]
        found_by_recall += [memory["id"] for memory in recalled] == [kept]
        topic = ask(house, "topics", topic=f"zebra{number}")["memories"]
        found_by_topic += [memory["id"] for memory in topic] == [kept]

    assert found_by_recall == CAPTURES
    assert found_by_topic == CAPTURES
