"""The language model's place in the race: when it is asked, for how long, and what is late."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio

from ...bus.events import IntentRefined
from ...bus.values import SearchIntent, Vote
from ..ports import Model

Policy = Literal["when_unsure", "always", "never"]
Late = Callable[[Vote], Awaitable[bool]]


class ModelRacer:
    """``model``, and the rules by which it is asked.

    ``timeout_s`` is the most that a prompt waits for it; ``need_s`` tells what the stages after the
    race need of the prompt's time, given how many races are on. ``refined`` takes what came late,
    and says whether it has.
    """

    def __init__(
        self,
        model: Model,
        *,
        policy: Policy,
        timeout_s: float,
        need_s: Callable[[int], float],
        refined: Callable[[IntentRefined], Awaitable[bool]],
    ) -> None:
        self._model = model
        self._policy = policy
        self._timeout_s = timeout_s
        self._need_s = need_s
        self._racing = 0
        self.refined = refined

    def is_asked(self, *, decisive: bool) -> bool:
        """Whether to ask, given that the keywords are sure enough by themselves or are not."""
        return self._policy == "always" or (self._policy == "when_unsure" and not decisive)

    def racer(self, late: Late | None) -> Callable[[str, SearchIntent | None], Awaitable[Vote]]:
        """The model as a racer; what comes after the race goes to ``late``."""

        async def run(text: str, held: SearchIntent | None) -> Vote:
            self._racing += 1
            try:
                return await self._model.ask(text, within_s=self._within_s(), late=late)
            finally:
                self._racing -= 1

        return run

    def _within_s(self) -> float:
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        return min(self._timeout_s, left_s - self._need_s(self._racing))
