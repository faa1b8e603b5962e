"""The page's way to the calls: the same as the command line's, for whoever opened it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import anyio
import msgspec

from ...bus.values import Scope
from ...sinks.page.visits import Finding, PagePort, Refused, T
from ..app.app import App
from ..entrance.handler import HookHandler
from .dispatch import Calls
from .params import reason_of

DOCTOR_S = 60.0
# With -P, since the interpreter would import what lies in the directory that the daemon is in.
COMMAND = (sys.executable, "-P", "-m", "subcog.pipeline.cli.main")


class PageCalls(PagePort):
    """Answers the page of one daemon. ``app`` does the work, ``calls`` are those of its clients."""

    def __init__(self, app: App, calls: Calls, entrance: HookHandler) -> None:
        self._app = app
        self._calls = calls
        self._entrance = entrance

    async def ask(
        self, fields: dict[str, str], call: str, kind: type[T], params: Mapping[str, object]
    ) -> T:
        done, body = await self._calls.handle(call, fields, msgspec.json.encode(params))
        if not done:
            raise Refused(msgspec.json.decode(body, type=dict[str, str])["error"])
        return msgspec.json.decode(body, type=kind)

    def has_team(self) -> bool:
        return self._app.team.status() is not None

    def project(self, fields: dict[str, str]) -> str:
        return PurePath(fields["project"]).name or fields["project"]

    async def readable(self, fields: dict[str, str]) -> Sequence[Scope]:
        try:
            return (await self._entrance.places.find(fields)).readable
        except TimeoutError as error:
            raise Refused(reason_of(error)) from None

    def clean(self, text: str) -> str:
        return self._app.clean(text)

    async def doctor(self, fields: dict[str, str]) -> tuple[Finding, ...]:
        command = [*COMMAND, "doctor", "--json"]
        env = os.environ | {"CLAUDE_PROJECT_DIR": fields["project"]}
        with anyio.move_on_after(DOCTOR_S):
            ended = await anyio.run_process(command, check=False, env=env)
            try:
                return msgspec.json.decode(ended.stdout, type=tuple[Finding, ...])
            except msgspec.DecodeError:
                raise Refused("the checks could not be run: try `subcog doctor`") from None
        raise Refused(f"the checks took more than {DOCTOR_S:.0f} s: try `subcog doctor`")
