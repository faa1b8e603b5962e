"""The calls about which project a directory is, and the user's word on it."""

from __future__ import annotations

from ...bus.results import ProjectResult
from ...bus.values import Place
from ...sinks.project.identity import Standing
from ..app.app import App
from .params import CallRefused, NoParams, Table


class ProjectCalls:
    """Each method of ``table`` answers one call about the directory that the client is in."""

    def __init__(self, app: App) -> None:
        self._projects = app.projects
        self.table: Table = {
            "project": (NoParams, self.show),
            "project-alias": (NoParams, self.alias),
            "project-split": (NoParams, self.split),
        }

    async def show(self, params: NoParams, place: Place) -> ProjectResult:
        return _answer(self._projects.standing(place.root))

    async def alias(self, params: NoParams, place: Place) -> ProjectResult:
        return self._judge(place, is_member=True)

    async def split(self, params: NoParams, place: Place) -> ProjectResult:
        return self._judge(place, is_member=False)

    def _judge(self, place: Place, *, is_member: bool) -> ProjectResult:
        try:
            return _answer(self._projects.judge(place.root, is_member=is_member))
        except ValueError as error:
            raise CallRefused(str(error)) from None


def _answer(standing: Standing) -> ProjectResult:
    claimed = standing.claimed
    return ProjectResult(
        directory=standing.top,
        project=standing.project.id,
        claimed=claimed.id if claimed else "",
    )
