import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.doctor.installation import open_to_others


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('[team]\nurl = "postgresql://ana:s3cret@db/subcog"\n', True),
        ('[team]\nurl = "postgresql://ana@db/subcog"\n', False),
        ("[http]\nport = 1\n", False),
        ("not toml", False),
    ],
)
def test_settings_that_others_may_read_are_named_where_a_password_stands_in_them(
    text, secret, tmp_path
):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.config.mkdir()
    paths.config_file.write_text(text)
    paths.config_file.chmod(0o644)
    assert open_to_others(paths) == ([paths.config_file] if secret else [])
    paths.config_file.chmod(0o600)
    assert open_to_others(paths) == []
