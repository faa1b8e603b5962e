from pathlib import Path

from subcog.config.paths import agent_folders, find_paths


def test_the_xdg_directories_are_used():
    paths = find_paths(
        {
            "HOME": "/home/u",
            "XDG_DATA_HOME": "/d",
            "XDG_CONFIG_HOME": "/c",
            "XDG_STATE_HOME": "/s",
            "XDG_RUNTIME_DIR": "/r",
        }
    )
    assert (paths.data, paths.config) == (Path("/d/subcog"), Path("/c/subcog"))
    assert (paths.state, paths.runtime) == (Path("/s/subcog"), Path("/r/subcog"))


def test_without_them_the_defaults_of_the_specification_hold():
    paths = find_paths({"HOME": "/home/u", "XDG_DATA_HOME": "relative/is/ignored"})
    assert paths.database == Path("/home/u/.local/share/subcog/subcog.duckdb")
    assert paths.config_file == Path("/home/u/.config/subcog/config.toml")
    assert paths.runtime == paths.data


def test_one_variable_moves_all_of_them():
    paths = find_paths({"HOME": "/home/u", "SUBCOG_HOME": "/x", "XDG_DATA_HOME": "/d"})
    places = (paths.data, paths.config, paths.state, paths.runtime)
    assert all(str(place).startswith("/x/") for place in places)


def test_the_socket_is_found_whatever_the_runtime_directory_is():
    hook = find_paths({"HOME": "/home/u"})
    terminal = find_paths({"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1"})
    assert hook.link == terminal.link


def test_the_rotations_of_the_log_come_oldest_first():
    names = [path.name for path in find_paths({"HOME": "/home/u"}).logs]
    assert names == ["daemon.log.3", "daemon.log.2", "daemon.log.1", "daemon.log"]


def test_the_homes_of_agents_may_be_moved():
    assert agent_folders({"HOME": "/u"}) == {
        "claude": Path("/u/.claude"),
        "codex": Path("/u/.codex"),
        "gemini": Path("/u/.gemini"),
    }
    moved = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "GEMINI_CLI_HOME": "/g"}
    assert agent_folders({"HOME": "/u"} | moved) == {
        "claude": Path("/c"),
        "codex": Path("/x"),
        "gemini": Path("/g/.gemini"),
    }
