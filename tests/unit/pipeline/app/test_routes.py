import inspect

from subcog.bus import events
from subcog.bus.bus import Overflow
from subcog.bus.events import AgentEvent, Event
from subcog.pipeline.app.routes import ENTRANCES, EXITS, ROUTES, diagram


def _every_event():
    return {
        thing
        for _, thing in inspect.getmembers(events, inspect.isclass)
        if issubclass(thing, Event) and thing not in {Event, AgentEvent}
    }


def test_nothing_is_said_unheard():
    heard = {route.consumes for route in ROUTES} | set(EXITS)
    for route in ROUTES:
        for event in (*route.produces, *route.publishes_during):
            assert event in heard, f"{route.stage} says {event.__name__}, and nobody hears it"


def test_nothing_is_waited_for_in_vain():
    said = {
        event for route in ROUTES for event in (*route.produces, *route.publishes_during)
    } | set(ENTRANCES)
    for route in ROUTES:
        assert route.consumes in said, f"{route.stage} hears {route.consumes.__name__}, never said"


def test_every_event_is_on_the_map():
    mapped = {e for r in ROUTES for e in (r.consumes, *r.produces, *r.publishes_during)} | set(
        EXITS
    )
    assert mapped == _every_event()


def test_the_map_has_no_circle():
    follows = {}
    for route in ROUTES:
        follows.setdefault(route.consumes, set()).update(route.produces, route.publishes_during)

    def walk(event, path):
        assert event not in path, f"a circle through {event.__name__}"
        for following in follows.get(event, ()):
            walk(following, (*path, event))

    for event in ENTRANCES:
        walk(event, ())


def test_stages_have_distinct_names():
    names = [route.stage for route in ROUTES]
    assert len(set(names)) == len(names)


def test_the_diagram_shows_every_stage():
    drawn = diagram()
    assert all(f"--> {route.stage}" in drawn for route in ROUTES)


def test_nobody_waits_for_room_to_have_a_session_looked_through():
    (review,) = [route for route in ROUTES if route.stage == "review"]
    assert (review.overflow, review.capacity) == (Overflow.DROP, 256)
