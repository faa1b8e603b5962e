"""What is released: built once, installed into an environment of its own, and used there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from subcog.hooks.client import VERSION

HOUSE = Path(__file__).parents[2]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text())
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "out")
NO_INDEX = ("No matching distribution found", "Failed to establish a new connection")

pytestmark = pytest.mark.slow


def run(*command: str, **more) -> str:
    """What a command prints; without a package index the test is skipped, but never in CI."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)
    said = done.stdout + done.stderr
    if done.returncode and any(one in said for one in NO_INDEX) and not os.environ.get("CI"):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, said[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """An sdist, and the wheel that was built from it."""
    source = tmp_path_factory.mktemp("source") / "subcog"
    shutil.copytree(HOUSE, source, ignore=LEFT_OUT)
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", str(out), str(source))
    return out


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    [wheel] = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> dict[str, str]:
    """An environment with the wheel and what it says that it needs, and a home of its own.

    What it needs is here already, since this environment was made by the same list; each of its
    files is linked into the new one, and nothing else is.
    """
    place = tmp_path_factory.mktemp("clean")
    venv.create(place / "venv", with_pip=False)
    python = str(place / "venv" / "bin" / "python")
    # Byte code is made when it is needed: most of it never is.
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--no-index")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, str(wheel))
    [packages] = place.glob("venv/lib/python*/site-packages")
    for needed in needs(wheel):
        link(needed, packages)
    (place / "project").mkdir()
    env = {
        "PATH": f"{place}/venv/bin:/usr/bin:/bin",
        "HOME": str(place),
        "SUBCOG_HOME": str(place / "home"),
        "CLAUDE_PROJECT_DIR": str(place / "project"),
        "SUBCOG_HOOK_TOTAL_MS": "10000",
        "SUBCOG_HOOK_START_MS": "10000",
    }
    yield env
    subprocess.run(["subcog", "daemon", "stop"], env=env, check=False, capture_output=True)


def needs(wheel: Path) -> list[Distribution]:
    """The distributions of this environment that a wheel needs, and those that they need."""
    with zipfile.ZipFile(wheel) as archive:
        about = archive.read(f"subcog-{VERSION}.dist-info/METADATA").decode()
    asked = [(one, {""}) for one in Parser().parsestr(about).get_all("Requires-Dist")]
    found: dict[tuple[str, str], Distribution] = {}
    while asked:
        text, extras = asked.pop()
        one = Requirement(text)
        if one.marker and not any(one.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        there = distribution(one.name)
        assert one.specifier.contains(there.version, prereleases=True), f"{text}: {there.version}"
        for extra in ("", *one.extras):
            if (there.name, extra) not in found:
                found[there.name, extra] = there
                asked += [(more, {extra}) for more in there.requires or ()]
    return list({there.name: there for there in found.values()}.values())


def link(there: Distribution, packages: Path) -> None:
    """Link what ``there`` consists of, by its topmost names, into a folder of packages."""
    names = {file.parts[0] for file in there.files or () if file.parts[0] != ".."}
    for name in names - {"__pycache__"}:
        place = packages / name
        if not place.is_symlink():
            place.symlink_to(there.locate_file(name))


def expected() -> set[str]:
    """Every file that the lists in ``pyproject.toml`` name."""
    setuptools = PROJECT["tool"]["setuptools"]
    files = set()
    for package in setuptools["packages"]:
        folder = HOUSE / Path(*package.split(".")[1:])
        for pattern in ("*.py", *setuptools["package-data"].get(package, ())):
            files |= {f"subcog/{file.relative_to(HOUSE)}" for file in folder.glob(pattern)}
    return files


def test_the_wheel_that_the_sdist_builds_holds_what_is_listed_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"subcog-{VERSION}.dist-info"
    assert {name for name in names if not name.startswith(about)} == expected()
    licences = {"LICENSE", "LICENSE-APACHE", "NOTICE"}
    assert {f"{about}/licenses/{name}" for name in licences} <= names
    assert not [name for name in names if "/tests/" in name or "/perf/" in name]


def test_the_sdist_holds_its_licence_and_nothing_that_is_for_developers(dist):
    [sdist] = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "LICENSE-APACHE", "NOTICE", "README.md", "CHANGELOG.md"} <= names
    assert "pyproject.toml" in names
    assert not [name for name in names if name.startswith(("tests", "perf", "."))]


def test_its_metadata_are_those_of_the_project(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"subcog-{VERSION}.dist-info/METADATA").decode()
    about = Parser().parsestr(text)
    assert (about["Name"], about["Version"]) == ("subcog", PROJECT["project"]["version"])
    needed = [one for one in about.get_all("Requires-Dist") if "extra ==" not in one]
    assert len(needed) == len(PROJECT["project"]["dependencies"])


def test_what_was_installed_remembers_through_the_hook_that_it_installs(installed):
    assert run("subcog", "--version", env=installed) == f"subcog, version {VERSION}\n"
    kept = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
    stored = json.loads(run("subcog", "capture", kept, "--json", env=installed))
    found = json.loads(run("subcog", "recall", "hash passwords", "--json", env=installed))
    assert found["memories"][0]["id"] == stored["id"]

    run("subcog", "install", "claude", env=installed)
    settings = json.loads(Path(installed["HOME"], ".claude", "settings.json").read_text())
    [hook] = settings["hooks"]["UserPromptSubmit"][0]["hooks"]
    payload = json.dumps({"session_id": "s1", "prompt": "how do I hash passwords here?"})
    answer = run("sh", "-c", hook["command"], input=payload, env=installed)
    assert kept in json.loads(answer)["hookSpecificOutput"]["additionalContext"]


def test_it_brings_its_documents(installed):
    assert "# For users" in run("subcog", "help", "users", env=installed)
    assert "## hook" in run("subcog", "help", "settings", env=installed)
