import json

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from subcog.bus.service_results import IndexStatus
from subcog.config.paths import find_paths
from subcog.pipeline.cli.status_view import describe_index
from subcog.pipeline.commands.insight import _COUNTED, config_command, stats_command, trace_command

SIZES = IndexStatus(bytes=1_234_567, scopes=2, without_vectors=0, in_topics=31)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_settings_are_shown_without_the_password_of_an_address(form, monkeypatch, tmp_path):
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path))
    monkeypatch.setenv("SUBCOG_TEAM_URL", "postgresql://ana:s3cret@db/subcog")
    shown = CliRunner().invoke(config_command, form).stdout
    assert "s3cret" not in shown
    assert "postgresql://ana:…@db/subcog" in (
        json.loads(shown)["team.url"]["value"] if form else shown
    )


def test_the_index_is_described_in_one_line():
    assert describe_index(SIZES) == "1.2 MB in memory, 2 scopes, 31 memories in topics"


def test_stats_name_their_columns_and_say_what_they_count():
    told = CliRunner().invoke(stats_command, ["--help"]).stdout
    assert {name for name in _COUNTED if name not in told} == set()


def test_what_is_found_by_text_alone_is_named_where_there_is_any():
    assert "4 found by words alone" in describe_index(replace(SIZES, without_vectors=4))


def test_a_trace_of_another_version_is_passed_over_or_told_in_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path))
    file = find_paths({"SUBCOG_HOME": str(tmp_path)}).traces
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"id": "abc", "project": "p", "prompt": "of another shape"}\n')
    runner = CliRunner()
    assert "no prompts traced yet" in runner.invoke(trace_command).stdout
    assert "trace abc is of another version" in runner.invoke(trace_command, ["abc"]).stderr
    for args in ((), ("abc",)):
        assert "another shape" in runner.invoke(trace_command, [*args, "--json"]).stdout
