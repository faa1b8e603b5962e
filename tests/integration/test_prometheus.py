"""A real Prometheus scrapes a real daemon, with the alert rules and the dashboard that we ship."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from .house import PATIENCE_S, House

CONFIG = Path(__file__).parents[2] / "config"
RULES = CONFIG / "prometheus" / "alerts.yml"
RULE_TESTS = CONFIG / "prometheus" / "alerts.test.yml"
DASHBOARD = CONFIG / "grafana" / "subcog.json"
ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
SCRAPED = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: subcog
    static_configs: [{{targets: ["{target}"]}}]
"""


def tool(name):
    """A program of Prometheus; continuous integration has it, a developer may not."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI") != "true":
        pytest.skip(f"{name} is not installed (Debian's package: prometheus)")
    assert found, f"{name} is not installed"
    return found


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return (done.stdout + done.stderr).decode()


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
        return page.read()


def eventually(ask):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if found := ask():
                return found
        except (urllib.error.URLError, ConnectionError):
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A daemon with a model named, that was used a little; and what a scrape of it says."""
    house = House(tmp_path_factory.mktemp("scraped"))
    house.env["SUBCOG_LLM_MODEL"] = "openai/unreachable"
    house.env["SUBCOG_LLM_API_BASE"] = "http://127.0.0.1:9/v1"
    house.env["OPENAI_API_KEY"] = "none"
    try:
        house.capture(ARGON, "--namespace", "decisions")
        assert ARGON in house.context("how do I hash passwords here?")
        house.prompt("rename foo to bar")
        house.url = house.ask("status")["metrics_url"]
        house.scrape = eventually(lambda: fetch(house.url))
        yield house
    finally:
        house.close()


@pytest.fixture(scope="module")
def exposed(used):
    """The name of every sample that a scrape may bring, by the client library's own parser."""
    families = list(text_string_to_metric_families(used.scrape.decode()))
    names = {sample.name for family in families for sample in family.samples}
    for family in families:
        if family.type == "counter":
            names.add(f"{family.name}_total")
        elif family.type == "histogram":
            names |= {f"{family.name}_bucket", f"{family.name}_count", f"{family.name}_sum"}
    return names


def named(expressions):
    text = "\n".join(expressions)
    return set(re.findall(r"\b(?:subcog|process)_\w+", text))


def dashboard_expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_what_is_exposed_is_clean(used):
    assert run(tool("promtool"), "check", "metrics", stdin=used.scrape) == ""


@pytest.mark.slow
def test_the_rules_are_valid_and_fire_when_they_should_and_no_sooner():
    promtool = tool("promtool")
    run(promtool, "check", "rules", str(RULES))
    run(promtool, "test", "rules", str(RULE_TESTS))


def test_every_rule_has_a_test():
    rules = re.findall(r"- alert: (\w+)", RULES.read_text())
    assert set(rules) == set(re.findall(r"alertname: (\w+)", RULE_TESTS.read_text()))


def test_every_metric_of_the_rules_and_the_dashboard_is_exposed(exposed):
    wanted = named([RULES.read_text(), *dashboard_expressions()])
    assert len(wanted) > 20
    assert wanted - exposed == set()


def test_every_metric_of_ours_is_on_the_dashboard(exposed):
    shown = named(dashboard_expressions())
    ends = re.compile(r"_(?:bucket|count|sum|created)$")
    ours = {ends.sub("", name) for name in exposed if name.startswith("subcog_")}
    assert {name for name in ours if name.endswith("_total")} <= shown
    assert ours - {ends.sub("", name) for name in shown} - {"subcog_ready"} <= {
        name.removesuffix("_total") for name in shown
    }


@pytest.fixture(scope="module")
def prometheus(used, tmp_path_factory):
    """A server on this machine that has scraped the daemon at least twice; its address."""
    server, folder = tool("prometheus"), tmp_path_factory.mktemp("prometheus")
    target = urllib.parse.urlsplit(used.url).netloc
    (folder / "prometheus.yml").write_text(SCRAPED.format(rules=RULES, target=target))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        server,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            eventually(lambda: value(address, "count_over_time(subcog_ready[1m])") >= 2)
            yield address
        finally:
            process.terminate()


def query(address, expression):
    page = fetch(f"{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
    return json.loads(page)["data"]["result"]


def value(address, expression):
    result = query(address, expression)
    return float(result[0]["value"][1]) if result else 0.0


@pytest.mark.slow
def test_prometheus_reads_from_the_daemon_what_happened(prometheus):
    assert value(prometheus, "up") == 1
    prompts = 'sum(subcog_hooks_total{event="UserPromptSubmit"})'
    assert value(prometheus, prompts) == 2
    assert value(prometheus, 'subcog_capture_decisions_total{decision="stored"}') == 1
    assert value(prometheus, "sum(subcog_memories)") == 1
    assert value(prometheus, "sum(subcog_topics)") > 0
    assert value(prometheus, 'subcog_injections_total{stage="inject"}') == 1


@pytest.mark.slow
def test_prometheus_evaluates_every_rule_of_ours_and_none_fires(prometheus):
    def evaluated():
        groups = json.loads(fetch(f"{prometheus}/api/v1/rules"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        return rules if all(rule["health"] == "ok" for rule in rules) else []

    rules = eventually(evaluated)
    assert len(rules) == RULES.read_text().count("- alert:")
    assert {rule["state"] for rule in rules} == {"inactive"}


@pytest.mark.slow
def test_prometheus_understands_every_panel_of_the_dashboard(prometheus):
    for expression in dashboard_expressions():
        plain = expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
        query(prometheus, plain)  # what it cannot read it refuses with an error
