import os
import tomllib
from typing import get_args

import msgspec
import pytest

from subcog.bus.values import NAMESPACES
from subcog.config.load import DEFAULTS, SettingsError, load_settings, variable, without_password
from subcog.config.settings import Namespace, Section, Settings


def test_without_a_file_the_defaults_are_in_force(tmp_path):
    loaded = load_settings(tmp_path / "none.toml", {})
    assert loaded.settings.search_intent.min_confidence == 0.5
    assert {origin.source for origin in loaded.origins} == {"default"}


def _same_names(tree, struct):
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    assert set(tree) == set(fields)
    for name, field in fields.items():
        assert field.required, f"{struct.__name__}.{name} has a default of its own"
        if isinstance(field.type, type) and issubclass(field.type, Section):
            _same_names(tree[name], field.type)


def test_the_reference_file_and_the_structs_have_the_same_names():
    _same_names(tomllib.loads(DEFAULTS.read_text()), Settings)


def test_every_default_has_a_comment_above_it_or_its_section():
    lines = DEFAULTS.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("[") and "weights." not in line:
            following = lines[number + 1]
            assert following.startswith(("#", "base_count")), f"{line} is not explained"


def test_namespaces_are_the_same_in_the_settings():
    assert get_args(Namespace) == NAMESPACES


def test_the_file_overrides_a_default_and_the_environment_the_file(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("[hook]\ntotal_ms = 300\nstart_ms = 900\n")
    loaded = load_settings(file, {"SUBCOG_HOOK_TOTAL_MS": "400"})
    assert (loaded.settings.hook.total_ms, loaded.settings.hook.start_ms) == (400, 900)
    sources = {origin.key: origin.source for origin in loaded.origins}
    assert sources["hook.total_ms"] == "SUBCOG_HOOK_TOTAL_MS"
    assert sources["hook.start_ms"] == str(file)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("0", False), ("FALSE", False)])
def test_switches_in_the_environment(tmp_path, text, value):
    loaded = load_settings(tmp_path / "x", {"SUBCOG_SEARCH_INTENT_ENABLED": text})
    assert loaded.settings.search_intent.enabled is value


def test_hook_settings_are_taken_without_the_prefix(tmp_path):
    loaded = load_settings(tmp_path / "x", {"HOOK_SESSION_START_ENABLED": "false"})
    assert loaded.settings.hook.session_start.enabled is False


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[hook]\ntotal_mss = 1\n", r"unknown key hook.total_mss; did you mean hook.total_ms\?"),
        ("[zzz]\nqqq = 1\n", r"unknown key zzz.qqq; the tables are search_intent, llm, "),
        ("[log]\nqqqqq = 1\n", r"unknown key log.qqqqq; \[log\] has level, format"),
        ("[zzz]\n", r"unknown key zzz; the tables are"),
        ("[hook.total_ms]\nx = 1\n", r"hook.total_ms is no table, but takes a value"),
        ("[hook]\ntotal_ms = {}\n", r"hook.total_ms = \{\}; allowed: a whole number"),
        ("[hook]\ntotal_ms = -1\n", r"hook.total_ms = -1; allowed: int >= 1"),
        ("[hook]\ntotal_ms = 'soon'\n", r"hook.total_ms = 'soon'; allowed: a whole number"),
        ("[backup]\nevery_hours = inf\n", r"backup.every_hours = inf; allowed: float <= 87600"),
        ("[backup]\nevery_hours = 1e12\n", r"backup.every_hours = 10+\.0; allowed: float <= "),
        ("[daemon]\nidle_exit_minutes = inf\n", r"idle_exit_minutes = inf; allowed: float <= "),
        ("[log]\nlevel = 'loud'\n", r"log.level = 'loud'; allowed: debug, info, warning, error"),
        (
            "[search_intent.weights.howto]\nnonsense = 1.0\n",
            r"unknown key search_intent.weights.howto.nonsense",
        ),
        ("[search_intent.weights.howto]\npatterns = 99.0\n", r"howto.patterns = 99.0; allowed: "),
        ("[search_intent.weights.howto]\ndecisions = 99.0\n", r"howto.decisions = 99.0; allowed: "),
        ("[search_intent.weights.howto]\ntasks = -1\n", r"howto.tasks = -1; allowed: "),
        ("[redaction]\nallow = [1]\n", r"redaction.allow = \[1\]; allowed: a text"),
        ("hook = 3\n", r"hook = 3; allowed: a table, \[hook\], with total_ms, start_ms, "),
        (
            "search_intent.weights = 3\n",
            r"a table, \[search_intent.weights\], with howto, ",
        ),
        ("a = " + "[" * 5000 + "]" * 5000, r"nested too deeply"),
        ("a." * 5000 + "b = 1", r"nested too deeply"),
        ("[" + "a." * 200_000 + "b]", r"nested too deeply"),
        ("x = {" + "'a' . \"=\" ." * 50_000 + "b = 1}", r"nested too deeply"),
        ("[hook]\ntotal_ms = " + "9" * 9000, r"a number of thousands of digits"),
        ("[hook\n", r"not TOML: .*line 1"),
    ],
)
def test_a_bad_file_says_file_key_value_and_what_is_allowed(tmp_path, text, says):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says) as caught:
        load_settings(file, {})
    assert str(file) in str(caught.value)
    assert len(str(caught.value)) < len(str(file)) + 250


def test_a_table_without_keys_changes_nothing(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("[hook]\n[search_intent.weights.howto]\n")
    assert load_settings(file, {}) == load_settings(tmp_path / "none.toml", {})


def test_what_a_terminal_would_obey_is_not_shown(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('"\\u001b[31m" = 1\n')
    with pytest.raises(SettingsError, match=r"unknown key \?\[31m"):
        load_settings(file, {})


@pytest.mark.parametrize("kind", ["pipe", "directory", "endless"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    place = tmp_path / "config.toml"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises(SettingsError, match=r"a pipe|Is a directory|larger than") as caught:
        load_settings(place, {})
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("name", ["SUBCOG_LOG_LEVEL", "SUBCOG_HOOK_TOTAL_MS", "SUBCOG_LLM_MODEL"])
def test_a_variable_that_is_not_text_is_refused(tmp_path, name):
    with pytest.raises(SettingsError, match=f"{name}: not UTF-8"):
        load_settings(tmp_path / "x", {name: "\udcff"})


def test_a_file_that_is_not_text_is_refused(tmp_path):
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_settings(file, {})


def test_a_bad_value_in_the_environment_names_the_variable(tmp_path):
    with pytest.raises(SettingsError, match=r"SUBCOG_HOOK_TOTAL_MS = 'x'; allowed: a whole number"):
        load_settings(tmp_path / "x", {"SUBCOG_HOOK_TOTAL_MS": "x"})


def test_excluded_directories_are_without_home_and_links(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    file = tmp_path / "config.toml"
    file.write_text(f'[sessions]\nexclude = ["~/work", "{tmp_path}/link"]\n')
    sessions = load_settings(file, {}).settings.sessions
    real = os.path.realpath(tmp_path)
    assert sessions.exclude == (f"{real}/work", f"{real}/real")
    assert sessions.excluded(f"{real}/real/shop") == f"{real}/real"
    assert sessions.excluded(f"{real}/shop") is None


def test_the_folder_of_the_backups_is_without_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    backup = load_settings(tmp_path / "x", {"SUBCOG_BACKUP_FOLDER": "~/copies"}).settings.backup
    assert backup.folder == f"{tmp_path}/copies"


@pytest.mark.parametrize("entry", ["copies", "./copies", "~nobody-of-that-name/b", "/a\\u0000b"])
def test_a_folder_of_backups_that_is_relative_or_no_path_is_refused(tmp_path, entry):
    file = tmp_path / "config.toml"
    file.write_text(f'[backup]\nfolder = "{entry}"\n')
    with pytest.raises(SettingsError, match=r"config.toml: backup.folder = .*; allowed: paths"):
        load_settings(file, {})


@pytest.mark.parametrize("entry", ["work", "./work", "~nobody-of-that-name/work", ""])
def test_an_excluded_directory_that_is_relative_is_refused(tmp_path, entry):
    file = tmp_path / "config.toml"
    file.write_text(f'[sessions]\nexclude = ["{entry}"]\n')
    with pytest.raises(SettingsError, match=r"config.toml: sessions.exclude = .*; allowed: paths"):
        load_settings(file, {})


@pytest.mark.parametrize(
    "text",
    [
        '[team]\nurl = ["postgresql://ann:pw123@db/memory"]\n',
        'team = "postgresql://ann:pw123@db/memory"\n',
        '[team]\nurl = ["host=db password=pw123"]\n',
        '[backup]\nfolder = "postgresql://ann:pw123@db/memory"\n',
    ],
)
def test_no_complaint_shows_the_password_of_an_address(tmp_path, text):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as complaint:
        load_settings(file, {})
    assert "pw123" not in str(complaint.value)


def test_an_unknown_variable_is_a_warning_that_names_the_nearest(tmp_path):
    env = {"SUBCOG_HOOK_TOTL_MS": "1", "SUBCOG_HOME": "/x", "SUBCOG_TEST_ANY": "1"}
    (warning,) = load_settings(tmp_path / "x", env).warnings
    assert warning.endswith("SUBCOG_HOOK_TOTL_MS; did you mean SUBCOG_HOOK_TOTAL_MS?")
    (warning,) = load_settings(tmp_path / "x", {"SUBCOG_FROB": "1"}).warnings
    assert warning.endswith("SUBCOG_FROB; `subcog config` lists the names")
    (warning,) = load_settings(tmp_path / "x", {"SUBCOG_\udcff": "\udcff"}).warnings
    warning.encode()


def test_no_two_settings_share_a_variable(tmp_path):
    keys = [origin.key for origin in load_settings(tmp_path / "x", {}).origins]
    assert len({variable(key) for key in keys}) == len(keys)


def test_a_key_is_refused_in_the_file_and_says_where_it_belongs(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('[llm]\nmodel = "openai/m"\napi_key = "sk-secret"\n')
    with pytest.raises(SettingsError, match="SUBCOG_LLM_API_KEY") as caught:
        load_settings(file, {})
    assert str(file) in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_no_complaint_shows_a_key_that_was_pasted_in_the_wrong_place(tmp_path):
    key = "gh" + "p_3tBTOU7njPzQaQs1yCUuHMoveidQfscYstYI"
    (tmp_path / "config.toml").write_text(f'[redaction]\nmode = "{key}"\n')
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "config.toml", {})
    assert "redaction.mode = '…'" in str(caught.value)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "none.toml", {"SUBCOG_DAEMON_DRAIN_S": key})
    assert key not in str(caught.value)


def test_a_key_in_the_environment_is_neither_unknown_nor_shown(tmp_path):
    loaded = load_settings(tmp_path / "x", {"SUBCOG_LLM_API_KEY": "sk-secret"})
    assert loaded.warnings == ()
    assert "sk-secret" not in repr(loaded)


def test_a_model_is_named_by_environment_alone(tmp_path):
    env = {
        "SUBCOG_LLM_MODEL": "openai/m",
        "SUBCOG_LLM_API_BASE": "http://127.0.0.1:9/v1",
        "SUBCOG_SEARCH_INTENT_LLM_POLICY": "always",
        "SUBCOG_SEARCH_INTENT_USE_LLM": "true",
        "SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS": "150",
        "SUBCOG_SEARCH_INTENT_LLM_LATE_MS": "0",
    }
    loaded = load_settings(tmp_path / "x", env)
    search = loaded.settings.search_intent
    assert loaded.settings.llm.model == "openai/m"
    assert loaded.settings.llm.api_base == "http://127.0.0.1:9/v1"
    assert (search.llm_policy, search.use_llm) == ("always", True)
    assert (search.llm_timeout_ms, search.llm_late_ms) == (150, 0)
    assert env.keys() <= {origin.source for origin in loaded.origins}


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("SUBCOG_SEARCH_INTENT_LLM_POLICY", "sometimes", "when_unsure, always, never"),
        ("SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS", "0", ">= 1"),
        ("SUBCOG_LLM_API_BASE", "127.0.0.1:9", "https?"),
    ],
)
def test_a_bad_setting_of_the_model_is_explained(tmp_path, name, value, allowed):
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "x", {name: value})
    assert name in str(caught.value)
    assert allowed in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:s3cret@db:5432/x", "postgresql://ana:…@db:5432/x"),
        ("postgresql://ana:a:b/c?d#e@f@db/x", "postgresql://ana:…@db/x"),
        ("postgresql://:s3cret@db/x", "postgresql://:…@db/x"),
        ("postgresql://ana@db/x?password=s3cret&sslmode=require", None),
        ("postgres//ana:s3cret/@db/x", "postgres//ana:…@db/x"),
        ("postgres:/ana:s3cret@db/x", "postgres:/ana:…@db/x"),
        ("ana:s3cret@db/x", "ana:…@db/x"),
        ("host=db password=s3cret user=ana", "host=db password=… user=ana"),
        (r"host=db password = 's3\' cret' user=ana", "host=db password = … user=ana"),
        ("postgresql://db/x?sslpassword=s3cret", "postgresql://db/x?sslpassword=…"),
    ],
)
def test_no_password_is_left_in_an_address(url, shown):
    assert shown is None or without_password(url) == shown
    assert "cret" not in without_password(url)


@pytest.mark.parametrize(
    "url", ["", "postgresql://ana@db:5432/x", "postgresql:///x", "http://localhost:11434/v1"]
)
def test_an_address_without_one_stays_as_it_is(url):
    assert without_password(url) == url
