import json

import pytest
from click.testing import CliRunner

from subcog.pipeline.commands.insight import config_command


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_settings_are_shown_without_the_password_of_an_address(form, monkeypatch, tmp_path):
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path))
    monkeypatch.setenv("SUBCOG_TEAM_URL", "postgresql://ana:s3cret@db/subcog")
    shown = CliRunner().invoke(config_command, form).stdout
    assert "s3cret" not in shown
    assert "postgresql://ana:…@db/subcog" in (
        json.loads(shown)["team.url"]["value"] if form else shown
    )
