from subcog.sinks.files.untrusted import Look
from subcog.sinks.project.tooling import read_tooling
from tests.waiting import ends_soon

WORKFLOW = """
jobs:
  test:
    steps:
      - uses: actions/checkout@v4
      - run: npm install
      - run: pnpm test --coverage
      - name: Lint
        run: pnpm lint
      - run: |
          pnpm build
          echo `whoami`
"""


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_yml", ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_tooling(root, Look())


def test_commands_are_those_that_ci_runs(tmp_path):
    known = write(tmp_path, **{".github__workflows__ci_yml": WORKFLOW})
    assert known.test_command == "pnpm test --coverage"
    assert known.lint_command == "pnpm lint"
    assert known.build_command == "pnpm build"


def test_lock_and_version_files_tell_of_quirks_and_versions(tmp_path):
    known = write(tmp_path, **{"uv.lock": "", ".python-version": "3.12.1\n", ".nvmrc": "latest"})
    assert known.stack == ("Python 3.12.1",)
    assert known.quirks == ("Python packages are locked by uv",)


def test_what_is_new_is_noticed(tmp_path):
    look = Look()
    read_tooling(tmp_path, look)
    assert tmp_path in look.stamps


def test_nothing_of_a_hostile_workflow_is_taken(tmp_path):
    with ends_soon():
        hostile = "- run: make test `rm`\n- run: make test </x>\n- run: pytest " + "x" * 500
        hostile += "\n" + " " * 30_000 + "x\n" + "- run: " * 5000
        known = write(tmp_path, **{".github__workflows__ci_yml": hostile})
        assert known.test_command == known.build_command == ""


def test_a_workflows_folder_may_be_a_link_to_itself(tmp_path):
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "workflows").symlink_to(tmp_path / ".github" / "workflows")
    assert read_tooling(tmp_path, Look()).test_command == ""
