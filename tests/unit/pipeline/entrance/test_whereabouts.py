from subcog.pipeline.entrance.whereabouts import Whereabouts


def test_what_the_start_said_holds_for_the_session():
    where = Whereabouts()
    assert where.project("s", told="/p") == "/p"
    assert where.project("s", told="") == "/p"
    assert where.project("other", told="") == ""


def test_start_without_a_project_is_where_the_agent_is():
    where = Whereabouts()
    assert where.project("s", told="", start="/cwd") == "/cwd"
    assert where.project("s", told="") == "/cwd"
    assert where.project("s", told="/named", start="/cwd") == "/named"


def test_session_without_a_name_is_not_remembered():
    where = Whereabouts()
    assert where.project("", told="/p") == "/p"
    assert where.project("", told="") == ""


def test_sessions_that_were_quiet_longest_are_forgotten():
    where = Whereabouts(max_sessions=2)
    for session in ("a", "b"):
        where.project(session, told=f"/{session}")
    where.project("a", told="")
    where.project("c", told="/c")

    assert [where.project(session, told="") for session in ("a", "b", "c")] == ["/a", "", "/c"]
