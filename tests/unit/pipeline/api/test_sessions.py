from datetime import UTC, datetime

from subcog.bus.sessions import SessionHit
from subcog.bus.values import Scope
from subcog.pipeline.api.sessions import _best_first

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE, BEFORE = Scope("project", "here"), Scope("project", "before")


def hit(session, relevance, scope=HERE, **more):
    return SessionHit(session=session, scope=scope, relevance=relevance, began_at=NOW, **more)


def test_sessions_of_several_scopes_come_best_first_and_pairs_stay_together():
    here = [hit("new", 0.6, replaces="old"), hit("old", 0.2, replaced_by="new"), hit("last", 0.3)]
    before = [hit("first", 0.9, BEFORE), hit("next", 0.4, BEFORE)]
    found = [one.session for one in _best_first([*here, *before])]
    assert found == ["first", "new", "old", "next", "last"]
