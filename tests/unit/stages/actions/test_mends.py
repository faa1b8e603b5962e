import pytest

from subcog.bus.values import Action
from subcog.stages.actions.commands import read_line
from subcog.stages.actions.mends import (
    MAX_EDITS,
    MAX_FAILED,
    MAX_USES,
    Attempts,
    is_worth_watching,
    telling_lines,
)
from tests.waiting import ends_soon

LOCKED = "Exit code 1\nOperationalError: database is locked"
RESOLVE = "Exit code 1\nnpm error ERESOLVE could not resolve dependency: peer react@18"
NO_MODULE = "Exit code 1\nModuleNotFoundError: No module named 'psycopg2'"
ASSERTED = "Exit code 1\nFAILED tests/test_a.py::test_a - AssertionError: assert 3 == 4"
REFUSED = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"
NOT_FOUND = "Exit code 127\nbash: pytest: command not found"
NO_TARGET = "make: *** No rule to make target 'tests'.  Stop."
NO_MATCH = "ERROR: no match for platform in manifest"
HEADS = "ERROR: Multiple head revisions are present"
TESTS_FAILED = "Execution failed for task ':test'. There were failing tests"
NO_KEY = "FAILED: No 'script_location' key found in configuration"
NO_TARGET_ES = "Transforming const to the configured target environment is not supported yet"
ERROR = "OperationalError: database is locked"


def edit(path, added="", removed="x"):
    return Action(tool="Edit", paths=(path,), written=added, replaced=removed)


def followed(*steps):
    """What is mended by steps: (command, error), a command that passed, or an edit."""
    attempts, found = Attempts(), ()
    for step in steps:
        if isinstance(step, tuple):
            attempts.failed(step[0], telling_lines(step[1]), step[1])
        elif isinstance(step, str):
            found += attempts.passed(step)
        else:
            attempts.edited(step)
    return [(record.failed, record.works or record.files) for record in found]


@pytest.mark.parametrize(
    ("failed", "error", "passed", "differs"),
    [
        ("pytest -n 8 tests/api", LOCKED, "pytest -n0 tests/api", "`-n 0` instead of `-n 8`"),
        ("npm install", RESOLVE, "npm install --legacy-peer-deps", "`--legacy-peer-deps` is added"),
        ("pytest tests", NO_MODULE, "uv run pytest tests", "`uv run` is added"),
        ("pytest tests", NOT_FOUND, ".venv/bin/pytest tests -q", "`.venv/bin/pytest` instead of"),
        ("pytest tests", NO_MODULE, "python -m pytest tests", "`python -m` is added"),
        ("uv run pytest", NO_MODULE, "uv run --extra dev pytest", "`uv run --extra dev` instead"),
        ("cd /src && make dev", LOCKED, "cd /src && CI=1 make dev", "`CI=1` is added"),
        ("make tests", NO_TARGET, "make test", "`test` instead of `tests`"),
        ("vite --target es5", NO_TARGET_ES, "vite --target es2020", "`--target=es2020` instead of"),
        ("./run.sh", "./run.sh: Permission denied", "bash run.sh", "`bash`"),
        ("pytest tests", NO_MODULE, "source .venv/bin/activate && pytest tests", "`source .venv"),
        ("cargo build --offline", LOCKED, "cargo build", "`--offline` is left out"),
        # what it chooses otherwise is what the error says is missing
        ("kubectl apply x", "error: no context exists", "kubectl --context dev apply x", "`"),
        ("sqlfluff lint a", "Error: No dialect was specified", "sqlfluff lint a --dialect b", "`"),
        ("cargo test", "error: requires the env RUST_ENV", "RUST_ENV=a cargo test", "`RUST_ENV=a`"),
        ("go test ./...", ASSERTED, "TZ=UTC go test ./...", "`TZ=UTC` is added"),
        # an option with a path
        ("docker build .", NO_MATCH, "docker build --platform linux/amd64 .", "`--platform="),
        ("alembic current", NO_KEY, "alembic -c api/alembic.ini current", "`-c api/al"),
        ("celery -A skerry worker", NO_KEY, "celery -A skerry.app worker", "`-A skerry.app`"),
        ("vite build", NO_KEY, "vite build --config vite.prod.ts", "`--config=vite.prod.ts` is"),
        ("play a.yml", NO_KEY, "play a.yml --vault-password-file .vault", "`--vault-pass"),
        ("play a.yml", NO_KEY, "play a.yml --with b/c.yml", "`--with=b/c.yml` is added"),
        ("timeout 60 pytest -n 8 tests", LOCKED, "timeout 90 pytest -n 2 tests", "`-n 2` instead"),
    ],
)
def test_another_form_that_passes_mends_the_one_that_failed(failed, error, passed, differs):
    attempts = Attempts()
    attempts.failed(failed, telling_lines(error), error)
    found = attempts.passed(passed)
    (record,) = found
    assert record.differs.startswith(differs)
    assert attempts.passed(passed) == ()


@pytest.mark.parametrize(
    "steps",
    [
        # it passes unchanged: it was the network, the load, or chance
        [("npm ci", REFUSED), "npm ci"],
        [("pytest tests", LOCKED), "pytest tests"],
        [("pytest tests", LOCKED), "pytest -v --tb=short tests"],
        [
            ("pip install foo", "ReadTimeoutError: Connection timed out"),
            "pip install --retries 9 foo",
        ],
        [("npm ci", REFUSED), "npm ci --prefer-offline"],
        # it was stopped
        [("make -j16", "Exit code 137\nKilled"), "make -j2"],
        [("make all", "Command timed out after 2m 0.0s"), "make all -j2"],
        # a red test before its fix
        [("pytest tests", ASSERTED), edit("src/a.py"), "pytest tests"],
        [("pytest tests", ASSERTED), edit("src/a.py"), "pytest tests -x --lf"],
        [("tsc -p .", "a.ts(3,1): error TS2304: Cannot find name"), edit("src/a.ts"), "tsc -p ."],
        [("ruff check .", "E501 Line too long"), edit("stages/a.py"), "ruff check ."],
        [("pytest tests", ASSERTED), edit("tests/test_a.py"), edit("setup.cfg"), "pytest tests"],
        # less is done than before
        [("pytest tests", ASSERTED), "pytest tests --ignore=tests/a"],
        [("pytest tests", ASSERTED), "pytest tests -k 'not slow'"],
        [("pytest tests", ASSERTED), "pytest tests/unit"],
        [("pytest -n 8 tests", ASSERTED), "pytest -n 8 tests/a.py::test_b"],
        [("npm run lint", LOCKED), "npm run lint --if-present"],
        [("ruff check .", "E501 Line too long"), "ruff check --fix ."],
        [("mypy --strict src", "error: missing type"), "mypy src"],
        [("eslint .", "error: no-undef x"), "eslint . --max-warnings 9"],
        [("pytest --cov=src tests", "FAIL Required coverage not reached"), "pytest tests"],
        [("go test ./...", "panic: broken"), "go test -short ./..."],
        [("python manage.py migrate", LOCKED), "python manage.py migrate --fake"],
        [("ctest", TESTS_FAILED), "ctest -E seat_test"],
        [("gradle check", TESTS_FAILED), "gradle check -x integrationTest"],
        [("bazel test //...", "undefined symbol foo"), "bazel test //... --build_tests_only"],
        [("alembic upgrade head", HEADS), "alembic upgrade head --sql"],
        [("make all", HEADS), "make all -n"],
        [("dotnet test", HEADS), "dotnet test --no-restore"],
        # the same is tried until it passes
        [("pytest tests", "ValueError: seat 3 is taken"), "pytest tests --reruns 3"],
        [("vitest run", "ValueError: seat 3 is taken"), "vitest run --retry 2"],
        [("pytest tests", "ValueError: seat 3 is taken"), "pytest tests --randomly-seed=3"],
        # another thing is checked, or another place is changed
        [("cargo test", HEADS), "cargo test --lib"],
        [("docker build -t a .", HEADS), "docker build -t a . --target base"],
        [("npm run deploy", "Error: stack is in ROLLBACK state"), "npm run deploy --stage=dev"],
        [("rake db:seed", HEADS), "RAILS_ENV=test rake db:seed"],
        [("python manage.py migrate", HEADS), "python manage.py migrate --database replica"],
        [("phpstan analyse src", HEADS), "phpstan analyse src --memory=2"],
        [("go vet ./...", "vet: a.go:3:2: undefined: foo"), "go vet -composites=false ./..."],
        [("go build ./...", "a.go:3:2: undefined: foo"), "go build -a ./..."],
        [("pytest tests", ASSERTED), "pytest tests --forked"],
        [("pytest", HEADS), "pytest --forked tests/unit/a.py"],
        # a guard is switched off
        [("terraform plan", "Error: no valid credential source"), "terraform plan -lock=false"],
        [("helm install a b", "x509: unknown authority"), "helm install a b --insecure"],
        [("npm ci", "unable to get local issuer"), "NODE_TLS_REJECT_UNAUTHORIZED=0 npm ci"],
        [("npm ci", "unable to get local issuer"), "npm ci --strict-ssl=false"],
        [("make release", "gpg: signing failed"), "SKIP_SIGNING=1 make release"],
        [("gradle build", "verification failed: x.jar"), "gradle build --no-verify-metadata"],
        # somebody else holds the lock
        [("terraform plan", "Error acquiring the state lock"), "terraform plan -out=p"],
        # the other file may be mended later, the port be free
        [("kubectl apply -f a.yaml", "error: invalid field"), "kubectl apply -f b.yaml"],
        [("vite --config=a.ts", LOCKED), "vite --config=b.ts"],
        [("vite --port 1", "Error: listen EADDRINUSE :::3000"), "vite --port 2"],
        # another program, or other words
        [("npm ci", "npm error `npm ci` can only install with a lock file"), "npm install"],
        [("npm install left-padd", "npm error 404 Not Found"), "npm install left-pad"],
        [("npm install", RESOLVE), "yarn install"],
        [("python scripts/a.py", "can't open file 'a.py'"), "python tools/a.py"],
        [("git push", "fatal: no upstream"), "git push -u origin main"],
        [("git commit -m x", "hook failed: lint"), "git commit --no-verify -m x"],
        # what only looks
        [("grep -r foo src", "Exit code 1\nerror: nothing"), "grep -ri foo src"],
        [("cat a.txt", "cat: a.txt: No such file or directory"), "cat b.txt"],
        # the agent's own tools, and who may use them
        [("npm i", "<tool_use_error>InputValidationError: x</tool_use_error>"), "npm i --foo"],
        [("npm i", "Permission to use Bash has been denied."), "npm i --foo"],
        [("npm i", "The user doesn't want to proceed with this tool use."), "npm i --foo"],
        # nothing telling was said
        [("npm i", "Exit code 1"), "npm i --foo"],
        # something else was done in between
        [("pytest tests", NO_MODULE), "pip install psycopg2", "pytest -p foo tests"],
        [("npm start", LOCKED), edit("src/a.ts"), "npm start --legacy"],
        [("cargo build", LOCKED), "cd api", "cargo build --release"],
        [("npm start", LOCKED), "echo A=1 >> .env", "npm start --legacy"],
        [("npm start", LOCKED), "for i in 1 2; do x $i; done", "npm start --legacy"],
        # what passed cannot be told
        [("npm i", RESOLVE), "npm i --legacy-peer-deps | tail -5"],
        [("npm i", RESOLVE), "npm i --legacy-peer-deps || true"],
        [("npm i", RESOLVE), "npm i --legacy-peer-deps; echo $?"],
        [("npm i && npm test", RESOLVE), "npm i --legacy-peer-deps && npm test"],
        # code in an argument
        [("python -c 'import foo bar'", NO_MODULE), "python -c 'import foo bar' --x"],
    ],
)
def test_what_says_nothing_about_the_next_time_is_not_kept(steps):
    assert followed(*steps) == []


@pytest.mark.parametrize(
    "error",
    [
        "Error: page.goto: net::ERR_INTERNET_DISCONNECTED",
        "fatal: unable to access 'https://a/': Failed to connect to a port 443",
        "error: OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104",
        "urllib3.exceptions.MaxRetryError: Max retries exceeded with url",
        "dial tcp: lookup proxy.golang.org: no such host",
        "OSError: [Errno 113] No route to host",
        "error: failed to download from `https://static.crates.io/x`",
        "socket.gaierror: [Errno 11001] getaddrinfo failed",
        "java.net.UnknownHostException: repo.maven.org",
        "Error: read: unexpected EOF",
        "TypeError: fetch failed",
        "fatal: the remote end hung up unexpectedly",
        "requests.exceptions.HTTPError: 503 Server Error for url",
        "error: the requested URL returned error: 502",
        "error: your session has expired, log in",
        "ERROR: 403 Forbidden quota exceeded for quota metric",
        "Error: Deadlock found when trying to get lock; try restarting transaction",
        "error: file is locked by another process",
        "Error: Cannot connect to the Docker daemon",
        "Error: flaky: expected 3 got 2",
    ],
)
def test_what_fails_by_itself_is_mended_by_nothing(error):
    assert followed(("make all", error), "make all --jobs 1") == []


@pytest.mark.parametrize(
    "error",
    [
        "SyntaxError: unexpected EOF while parsing",
        "FATAL ERROR: JavaScript heap out of memory",
        "npm error ERESOLVE could not resolve dependency",
        "error: failed to load the configuration",
        "Error: unable to open database file",
        "error: could not find a lock file",
        "Error: error:0308010C:digital envelope routines::unsupported",
    ],
)
def test_what_fails_each_time_is_mended(error):
    assert followed(("make all", error), "make all --jobs 1")


@pytest.mark.parametrize(
    ("error", "path", "added", "removed"),
    [
        (NO_MODULE, "pyproject.toml", 'dependencies = ["psycopg2"]', "dependencies = []"),
        ("KeyError: 'REDIS_URL'", ".env", "REDIS_URL=redis://x", "OTHER=1"),
        ("error: invalid key in docker-compose.yml", "docker-compose.yml", "a: 1", "b: 1"),
        (REFUSED, "config/database.yml", "port: 5433", "port: 5432"),
        ("Error: Cannot find tsconfig.base.json", "tsconfig.base.json", "{}", "x"),
    ],
)
def test_a_configuration_that_the_error_is_about_mends_the_same_command(
    error, path, added, removed
):
    steps = [("make serve", error), edit(path, added, removed), edit("README.md"), "make serve -s"]
    steps[-1] = "make serve"
    assert followed(*steps) == [("make serve", (path,))]


@pytest.mark.parametrize(
    "edits",
    [
        [edit("config/app.yml", "colour: red", "colour: blue")],
        [edit(".env", "REDIS_URL=x"), edit("src/app.py", "REDIS_URL")],
        [edit("tests/fixtures/app.json", "REDIS_URL")],
        [Action(tool="Write", paths=("settings.toml",), written="REDIS_URL = 1")],
        [edit(f"config/{number}.yml", "REDIS_URL") for number in range(4)],
        [edit(f"config/{number}.yml", "REDIS_URL") for number in range(20)],
        [],
    ],
)
def test_an_edit_that_may_have_nothing_to_do_with_it_mends_nothing(edits):
    assert followed(("make serve", "KeyError: 'REDIS_URL'"), *edits, "make serve") == []


def test_an_edit_before_the_last_failure_did_not_mend_it():
    error = "KeyError: 'REDIS_URL'"
    steps = [
        ("make serve", error),
        edit(".env", "REDIS_URL=x"),
        ("make serve", error),
        "make serve",
    ]
    assert followed(*steps) == []


def test_every_form_that_failed_is_mended_by_the_one_that_passes():
    steps = [("pytest -n 8 tests", LOCKED), ("pytest -n 4 tests", LOCKED), "pytest -n0 tests"]
    assert [failed for failed, _ in followed(*steps)] == ["pytest -n 8 tests", "pytest -n 4 tests"]


@pytest.mark.parametrize(
    "between", ["pip install redis && pytest tests", "alembic upgrade head", "make x > made.txt"]
)
def test_what_failed_in_between_may_have_done_a_part_of_its_work(between):
    steps = [("pytest tests", "KeyError: 'REDIS_URL'"), (between, LOCKED), "pytest -n0 tests"]
    assert ("pytest tests", "pytest -n0 tests") not in followed(*steps)


def test_a_form_that_failed_as_well_made_no_difference():
    steps = [("npm install", RESOLVE), ("npm install --x", RESOLVE), "npm install --legacy"]
    assert [failed for failed, _ in followed(*steps)] == ["npm install", "npm install --x"]


def test_what_only_looks_or_checks_in_between_disturbs_nothing():
    steps = [
        ("npm i", RESOLVE),
        "ls -la",
        "git status",
        "cat package.json",
        "npm i --legacy-peer-deps",
    ]
    assert followed(*steps) == [("npm i", "npm i --legacy-peer-deps")]


def test_no_secret_is_cut_in_halves():
    lines = telling_lines("Error: token " + "s3cret" * 40, lambda text: text.replace("s3cret", ""))
    assert "s3cre" not in "".join(lines)


@pytest.mark.parametrize("unit", ["x", "\n", "error: s3cret ", "Error\n", "/a"])
def test_of_a_long_output_whole_lines_are_read(unit):
    with ends_soon():
        lines = telling_lines((unit * 20_000)[:20_000])
    assert all(len(line) <= 140 for line in lines)
    assert "cret" not in "".join(telling_lines("s3cret " * 5_000 + "\nError: no"))


@pytest.mark.parametrize("line", ["x" * 300, "psql -c 'select 1'", "curl http://a", "git pull"])
def test_some_commands_are_not_watched(line):
    assert not is_worth_watching(read_line(line).commands[0])


def failing(attempts, line):
    attempts.failed(line, (ERROR,), ERROR)


def test_only_the_latest_failures_are_remembered():
    attempts = Attempts()
    for number in range(10 * MAX_FAILED):
        failing(attempts, f"make dev{number}")
    assert len(attempts) == MAX_FAILED
    assert attempts.passed(f"make dev{10 * MAX_FAILED - 1} --fast")


@pytest.mark.parametrize(("uses", "count"), [(MAX_USES - 1, 1), (MAX_USES, 0)])
def test_a_failure_of_long_ago_is_forgotten(uses, count):
    attempts = Attempts()
    failing(attempts, "make dev")
    for _ in range(uses):
        attempts.passed("ls")
    assert len(attempts.passed("make dev --fast")) == count


def test_of_many_edits_nothing_is_concluded():
    attempts = Attempts()
    failing(attempts, "make dev")
    for _ in range(MAX_EDITS + 1):
        attempts.edited(Action(tool="Edit", paths=("a.toml",), written="locked", replaced="x"))
    assert attempts.passed("make dev") == ()


def test_a_huge_edit_is_kept_small():
    attempts = Attempts()
    failing(attempts, "make dev")
    big = "word " * 1_000_000
    attempts.edited(Action(tool="Edit", paths=("a.toml",), written=big, replaced="x"))
    assert attempts.passed("make dev") == ()


@pytest.mark.parametrize("line", ["", "\0", "'", "x" * 100_000, "make dev | tail", "a && b"])
def test_a_line_of_which_nothing_is_certain_is_not_remembered(line):
    attempts = Attempts()
    failing(attempts, line)
    assert len(attempts) == 0


def test_what_may_have_made_the_difference_leaves_doubt():
    attempts = Attempts()
    failing(attempts, "make dev")
    attempts.disturb()
    assert attempts.passed("make dev --fast") == ()


def test_what_began_before_the_other_failed_is_no_answer_to_it():
    attempts = Attempts()
    for line in ("pytest -n 8 a", "pytest -n0 a"):
        attempts.begun(line)
    attempts.ended("pytest -n 8 a")
    failing(attempts, "pytest -n 8 a")
    assert attempts.passed("pytest -n0 a", attempts.ended("pytest -n0 a")) == ()
    attempts.begun("pytest -n0 a")
    assert attempts.passed("pytest -n0 a", attempts.ended("pytest -n0 a"))


def test_of_the_lines_that_never_end_few_are_remembered():
    attempts = Attempts()
    for number in range(10 * MAX_FAILED):
        attempts.begun(f"make dev{number}")
    failing(attempts, "make dev0")
    assert attempts.ended("make dev0") == 1
    assert attempts.ended(f"make dev{10 * MAX_FAILED - 1}") == 0
