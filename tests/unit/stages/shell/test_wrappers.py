import pytest

from subcog.bus.values import Action
from subcog.stages.actions.reading import read_action
from subcog.stages.breaches.deed import Deed
from subcog.stages.shell.wrappers import raw_words, unwrapped
from tests.waiting import ends_soon

RULE = "Never run `terraform apply` here."


@pytest.mark.parametrize(
    "line",
    [
        "sudo -u deploy {}",
        "nice -n 5 {}",
        "env -i PATH=/bin {}",
        "timeout -k 5 60 {}",
        "stdbuf -oL {}",
        "time -p {}",
        "command -p {}",
        "command -v terraform && {}",
        "cat <<<EOF\n{}\nEOF",
        "xargs -n 1 {}",
        "aws-vault exec prod -- {}",
        "op run -- {}",
        "direnv exec . {}",
        "nix develop -c {}",
        "dotenv -e .env -- {}",
        "uv run {}",
        "bash -euo pipefail -c '{}'",
        "bash -c 'cd x && sudo {}'",
        "bash <<'EOF'\n{}\nEOF",
        "cat a | ssh host bash <<'EOF'\n{}\nEOF",
        "eval '{}'",
        "script -c '{}'",
        "ssh -p 22 host '{}'",
        "ssh host {}",
        "docker compose exec web bash -c '{}'",
        "docker run -e A=b image {}",
        "docker run --rm --env-file .env image {}",
        "docker compose -f x.yml exec web {}",
        "docker compose -p x -f y exec -T web {}",
        "docker-compose --profile dev run --rm web {}",
        "docker --context prod exec web {}",
        "docker -H tcp://a compose --ansi never exec web {}",
        "podman --log-level=debug run image {}",
        "kubectl exec pod -- {}",
        "for e in a b; do {}; done",
        "x=$({})",
    ],
)
def test_a_rule_sees_through_what_runs_a_command(line):
    command = line.format("terraform apply")
    assert Deed(read_action(Action(tool="Bash", command=command))).breaks(RULE)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'terraform apply'",
        "git log -- terraform apply",
        "git commit -m 'terraform apply'",
        "npm run build -- terraform apply",
        "cat > x.md <<'EOF'\nterraform apply\nEOF",
        "python - <<'EOF'\nterraform apply\nEOF",
        "bash -c 'terraform plan'",
        "command -v terraform apply",
    ],
)
def test_what_hands_words_on_runs_no_command(command):
    assert not Deed(read_action(Action(tool="Bash", command=command))).breaks(RULE)


def test_what_a_command_is_given_is_kept_apart():
    run = unwrapped(("A=1", "sudo", "-u", "me", "uv", "run", "--extra", "dev", "B=2", "pytest"))
    assert (run.assigned, run.runners) == (("A=1", "B=2"), ("uv run --extra dev",))
    assert (run.as_root, run.words, run.script) == (True, ("pytest",), "")
    assert unwrapped(("bash", "-c", "make dev")).script == "make dev"
    assert unwrapped(("env",)).words == ("env",)
    assert unwrapped(()).words == ()


@pytest.mark.parametrize(
    "command",
    [
        "nx run web:deploy -- --prod",
        "bazel run --config=ci //deploy:prod -- --yes",
        "nix run .#deploy -- --yes",
        "gcloud run deploy web --command ./serve",
        "gh run rerun 12 -c x",
        "swift run -c release App",
    ],
)
def test_a_task_with_arguments_is_no_wrapper(command):
    assert " ".join(unwrapped(command.split(" ")).words) == command


def test_words_keep_their_quotes():
    assert raw_words("a 'b c'd \"e f\" 'g") == ("a", "'b c'd", '"e f"', "'g")


@pytest.mark.parametrize(
    "unit", ["sudo ", "A=b ", "'", '"', "x exec ", "sh -c ", "eval ", "{", "-"]
)
def test_a_hostile_command_is_unwrapped_soon(unit):
    with ends_soon():
        read_action(Action(tool="Bash", command=(unit * 6_000)[:6_000]))
        Deed(read_action(Action(tool="Bash", command=(unit * 6_000)[:6_000])))


@pytest.mark.parametrize(
    "line",
    [
        "timeout{} make",
        "nice{} make",
        "sudo{}",
        "watch{}",
        "uv run{} -",
        "ssh{} x y <<E\n",
        "ssh{} -x <<E\n",
        "bash{} x <<E\n",
        "docker run{}",
        "docker{} run x",
        "docker compose{} x",
        "nix-shell{}",
        "script{}",
        "x exec{}",
        "x run{}",
        "kubectl{}",
    ],
)
@pytest.mark.parametrize("option", [" -k", " -p", " -s", " -o", " -n", " -e", " --", " -c"])
def test_options_without_end_are_read_soon(line, option):
    for count in (32, 1_500):
        with ends_soon():
            Deed(read_action(Action(tool="Bash", command=line.format(option * count))))
