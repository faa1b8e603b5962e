"""What a user asked to keep, and what became of it: sent by the installed pipe, told, stored."""

from __future__ import annotations

import json
import re
from collections import Counter

from .integration.house import House
from .waiting import eventually

# What the agent waits for, and not more: a busy machine must not be given time here.
DEFAULTS = {"SUBCOG_HOOK_TOTAL_MS": "200", "SUBCOG_HOOK_START_MS": "1000"}
STORED = re.compile(r"^subcog: (?:kept as|known already)", re.MULTILINE)
SET_ASIDE = "set aside safely"
NOT_KEPT = "not kept"


def fact(number: int) -> str:
    return f"Rule {number:05}: the {number}th shelf holds box {number * 7919 % 99991}"


def send(house: House, number: int) -> str:
    """What the user is told about one marked prompt."""
    answer = house.prompt(f"[remember:decisions] {fact(number)}", session=f"s{number}")
    return str((answer or {}).get("systemMessage", ""))


def outcome(told: str) -> str:
    """``stored`` or ``set aside``; else what was told, or ``silence``."""
    if STORED.search(told):
        return "stored"
    return "set aside" if SET_ASIDE in told else told or "silence"


def stored(house: House) -> Counter[str]:
    """How often each fact is in the store, once nothing waits in the spool."""
    house.run("daemon", "start")
    eventually(lambda: house.ask("status")["ready"])
    eventually(lambda: not list(house.paths.spool.glob("*.json")))
    exported = house.run("export", "--json").stdout.splitlines()
    contents = [json.loads(line)["content"] for line in exported]
    return Counter(content for content in contents if content.startswith("Rule"))


def assert_kept(house: House, sent: int) -> None:
    """Each of the first ``sent`` facts is stored once, and nothing that was set aside is bad."""
    assert stored(house) == Counter(fact(number) for number in range(sent))
    assert not list(house.paths.spool.glob("*.bad"))
