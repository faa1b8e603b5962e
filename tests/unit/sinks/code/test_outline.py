"""What formatters make of code, beside what it was: for every name in it that is the same."""
# ruff: noqa: E501 - code as people write it before a formatter does

import pytest

from subcog.sinks.code.definitions import definitions
from subcog.sinks.code.languages import parse
from subcog.sinks.code.outline import may_define, outline
from tests.waiting import ends_soon

BEFORE = {
    "app/jobs.py": '''class Base:
    def run(self):
        return 1


class Job(Base):
    retries: int = 3

    @staticmethod
    def make(kind='fast', *, deep=True):
        if kind == 'fast' and deep: return Job()
        return {
            'a': [1, 2, 3],
            'b': (1, 2),
        }

    def run(self):
        x = lambda y: y + 1
        with open('a') as f, open('b') as g:
            return x(f.read() + g.read())


def helper(a, b=2, *args, **kw) -> dict[str, int]:
    """Doc."""
    def inner(z):
        return z * b
    try:
        return {k: inner(v) for k, v in kw.items() if v is not None}
    except (ValueError, TypeError) as e:
        raise RuntimeError("bad  value: " + str(e)) from e


DEFAULTS = dict(a=1, b=2)
pattern = r"\\d+'x'"
''',
    "web/user.tsx": """import React, { useState } from 'react'
export type Props = { title: string; onClose?: () => void }
export interface Api<T = unknown> extends Base { get(id: string): Promise<T>; readonly url: string }
@Injectable()
export class UserService {
  static instance?: UserService
  private readonly cache = new Map<string, User>()
  constructor(private http: Http, @Inject(LOG) private log: Log) {}
  async load(id: string): Promise<User | undefined> {
    const hit = this.cache.get(id); if (hit) return hit
    return (await this.http.get<User>(`/users/${id}?q=a b`)).data ?? undefined
  }
  get size() { return this.cache.size }
  private async fetchAll({ page = 1, size }: Options = {}) { for (let i = 0; i < size; i++) { await this.load(String(i)) } }
}
export const routes = [ { path: '/', name: "home" }, { path: '/a', name: 'a' } ] as const
export const Panel: React.FC<Props> = ({ title, onClose }) => {
  const [open, setOpen] = useState(true)
  return open ? <section onClick={() => { setOpen(false); onClose?.() }}><h1>{title}</h1></section> : null
}
export async function* pages(max: number) { for (let i = 0; i < max; i++) yield i }
export const debounce = <T,>(fn: (x: T) => void, ms = 200) => { let t: number; return (x: T) => { clearTimeout(t); t = setTimeout(() => fn(x), ms) } }
declare global { interface Window { app: string } }
const regex = /[a-z]+\\/x/gi, other = 5
""",
    "svc/server.go": """package svc

import "fmt"

type State int

const (
	Idle State = iota
	Running
	Stopped
)

const Timeout, Retries = 30, 3

// Server serves.
type Server struct {
	Addr string // where
	opts map[string]Option
}

type Handler func(w Writer, r *Request) error

type Option interface {
	~int | ~string
	Apply(s *Server)
}

func (srv *Server) Run(ctx Context, addrs ...string) (n int, err error) {
	switch s := srv.state(); {
	case s == Idle:
		go func() { fmt.Println("x") }()
	default:
		return 0, fmt.Errorf("bad state: %v", s)
	}
	for i := 0; i < 3; i++ { n += i }
	select {
	case <-ctx.Done():
	}
	return
}

func Map[T, U any](xs []T, f func(T) U) []U {
	var out []U
	for _, x := range xs { out = append(out, f(x)) }
	return out
}

var registry = map[string]Handler{"a": nil, "b": nil}
""",
    "deploy/compose.yml": """version: "3.8"
x-common: &common
  restart: always
  env: {A: 1, B: "two"}
services:
  web:
    <<: *common
    image: nginx:1.25
    ports: ["80:80", "443:443"]
  db:
    <<: *common
    image: postgres
    command: >-
      postgres
      -c x=1
jobs:
  - id: nightly
    cron: "0 3 * * *"
on: [push, pull_request]
""",
}
AFTER = {
    "app/jobs.py": '''class Base:
    def run(self):
        return 1


class Job(Base):
    retries: int = 3

    @staticmethod
    def make(kind="fast", *, deep=True):
        if kind == "fast" and deep:
            return Job()
        return {
            "a": [
                1,
                2,
                3,
            ],
            "b": (1, 2),
        }

    def run(self):
        x = lambda y: y + 1
        with (
            open("a") as f,
            open("b") as g,
        ):
            return x(f.read() + g.read())


def helper(
    a,
    b=2,
    *args,
    **kw,
) -> dict[str, int]:

    """Doc."""

    def inner(z):
        return z * b
    try:
        return {k: inner(v) for k, v in kw.items() if v is not None}
    except (ValueError, TypeError) as e:
        raise RuntimeError(
            "bad  value: " + str(e)
        ) from e


DEFAULTS = dict(
    a=1,
    b=2,
)
pattern = r"\\d+'x'"
''',
    "web/user.tsx": """import React, { useState } from "react";
export type Props = {
  title: string;
  onClose?: () => void;
};
export interface Api<T = unknown> extends Base {
  get(id: string): Promise<T>;
  readonly url: string;
}
@Injectable()
export class UserService {
  static instance?: UserService;
  private readonly cache = new Map<string, User>();
  constructor(
    private http: Http,
    @Inject(LOG) private log: Log,
  ) {}
  async load(id: string): Promise<User | undefined> {
    const hit = this.cache.get(id);
    if (hit) return hit;

    return (await this.http.get<User>(`/users/${id}?q=a b`)).data ?? undefined;
  }
  get size() {
    return this.cache.size;
  }
  private async fetchAll({ page = 1, size }: Options = {}) { for (let i = 0; i < size; i++) { await this.load(String(i)) } }
}
export const routes = [
  { path: "/", name: "home" },
  { path: "/a", name: "a" },
] as const;
export const Panel: React.FC<Props> = ({ title, onClose }) => {
  const [open, setOpen] = useState(true);
  return open ? (
    <section
      onClick={() => {
        setOpen(false);
        onClose?.();
      }}
    >
      <h1>{title}</h1>
    </section>
  ) : null;
}
export async function* pages(max: number) {
  for (let i = 0; i < max; i++) yield i;
}
export const debounce = <T,>(fn: (x: T) => void, ms = 200) => { let t: number;
  return (x: T) => {
    clearTimeout(t);
    t = setTimeout(() => fn(x), ms);
  };
};
declare global { interface Window { app: string } }
const regex = /[a-z]+\\/x/gi, other = 5
""",
    "svc/server.go": """package svc

import "fmt"

type State int

const (
	Idle State = iota
	Running
	Stopped
)

const Timeout, Retries = 30, 3

// Server serves.
type Server struct {
	Addr string            // the address
	opts map[string]Option
}

type Handler func(w Writer, r *Request) error

type Option interface {
	~int | ~string
	Apply(s *Server)
}

func (srv *Server) Run(ctx Context, addrs ...string) (n int, err error) {
	switch s := srv.state(); {
	case s == Idle:
		go func() {
			fmt.Println("x")
		}()
	default:
		return 0, fmt.Errorf("bad state: %v", s)
	}
	for i := 0; i < 3; i++ {
		n += i
	}
	select {
	case <-ctx.Done():
	}
	return
}

func Map[T, U any](xs []T, f func(T) U) []U {
	var out []U
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

var registry = map[string]Handler{
	"a": nil,
	"b": nil,
}
""",
    "deploy/compose.yml": """version: "3.8"
x-common: &common
  restart: always
  env:
    A: 1
    B: two
services:
  web:
    <<: *common
    image: nginx:1.25
    ports:
      - "80:80"
      - '443:443'
  db:
    <<: *common
    image: postgres
    command: postgres -c x=1
jobs:
  - id: nightly
    cron: "0 3 * * *"
on:
  - push
  - pull_request
""",
}


@pytest.mark.parametrize("path", BEFORE)
def test_a_formatter_changes_no_digest(path):
    before = outline(path, BEFORE[path].encode())
    after = outline(path, AFTER[path].encode())
    assert BEFORE[path] != AFTER[path]
    assert before.is_whole
    assert len(before.names) > 8
    assert before.names == after.names
    differing = [name for name in before.names if before.digest_of(name) != after.digest_of(name)]
    assert differing == []
    assert before.digest() == after.digest()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *BEFORE.items(),
        ("a.py", 'def ask():\n    return """select a\n    from b"""\n'),
        ("a.ts", "const ask = () => q(`select *\n from u`);\n"),
        ("a.go", "package a\n\nconst Query = `select\n  x`\n"),
        ("a.rs", 'fn ask() -> i32 {\n    run("select\n a")\n}\n'),
        ("A.java", 'class A {\n  String q = """\n  select\n  a""";\n}\n'),
        ("Makefile", "test: a \\\n  b\n\tpytest -q \\\n\t  -x\n"),
        ("justfile", "test: a\n  pytest -q \\\n    -x\n"),
        ("a.md", "# x\n\na word\n"),
    ],
)
def test_how_lines_end_changes_no_digest(path, text):
    before = outline(path, text.encode())
    after = outline(path, text.replace("\n", "\r\n").encode())
    assert before.names == after.names
    digests = {name: before.digest_of(name) for name in before.names}
    assert digests == {name: after.digest_of(name) for name in after.names}
    assert before.digest() == after.digest()
    assert before.digest() != outline(path, text.replace("a", "z").encode()).digest()


@pytest.mark.parametrize("path", BEFORE)
def test_every_word_and_sign_counts(path):
    """Whatever is changed in a line that is code, the file's digest is another one."""
    text = BEFORE[path]
    was = outline(path, text.encode()).digest()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        mark = next((at for at, char in enumerate(line) if char.isalnum()), None)
        if mark is None or "package " in line or '"""' in line or line.lstrip().startswith("//"):
            continue
        other = line[:mark] + ("q" if line[mark] != "q" else "z") + line[mark + 1 :]
        changed = "\n".join((*lines[:number], other, *lines[number + 1 :])) + "\n"
        assert outline(path, changed.encode()).digest() != was, line


def test_a_number_of_very_many_zeros_is_read_in_linear_time():
    with ends_soon():
        assert outline("a.ts", b"export const x = 0." + b"0" * 390_000 + b"1\n").digest()


@pytest.mark.parametrize("number", ["1.50", "1.5000"])
def test_zeros_behind_a_fraction_say_nothing(number):
    digests = {outline("a.ts", f"const x = {one}\n".encode()).digest() for one in (number, "1.5")}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "a.yaml",
            "l0: &l0 {}\n"
            + "".join(f"l{n + 1}: &l{n + 1} {{<<: [*l{n}, *l{n}]}}\n" for n in range(40)),
        ),
        ("b.yaml", "a: &a [" + "x," * 40_000 + "]\nb: [" + "*a," * 30_000 + "]\n"),
        ("a.json", '\\"' * 90_000),
        ("b.json", ",/*" * 60_000),
        ("a.ini", "[s]\na" + " " * 190_000 + "b\n"),
        (
            "b.ini",
            "[DEFAULT]\n"
            + "".join(f"k{n}=1\n" for n in range(9_000))
            + "".join(f"[s{n}]\n" for n in range(9_000)),
        ),
        ("Makefile", "a/b " * 45_000),
        ("Makefile", " ".join(f"a{n}" for n in range(12_000)) + ":\n" + "\tx\n" * 40_000),
        ("a.toml", "a." * 90_000 + "a=1"),
    ],
    ids=lambda value: value[:8],
)
def test_hostile_settings_are_read_soon(path, text):
    with ends_soon():
        outline(path, text.encode())


def test_a_go_file_of_many_opened_functions_is_searched_in_linear_time():
    text = b"func (c *Cart[T]) Add() {}\n// Total\n" + b"func(" * 190_000
    with ends_soon():
        assert may_define("a.go", text, "Add")
        assert not may_define("a.go", text, "Total")


def test_a_long_group_of_constants_that_count_is_read_in_linear_memory():
    lines = "".join(f"\tState{number}\n" for number in range(5_000))
    source = f"package svc\n\nconst (\n\tState State = iota\n{lines})\n".encode()
    tree = parse(source, ".go")
    found = list(definitions(tree.root_node, ".go"))
    assert len(found) == 5_001
    assert sum(len(one.nodes) for one in found) <= 2 * len(found)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", 'x = "one " "two"\n', 'x = "one two"\n'),
        ("a.py", "raise E(\n    'a'\n    'b'\n)\n", 'raise E("ab")\n'),
        ("a.py", "x = (\n    'a'  # why\n    'b'\n)\n", 'x = "ab"\n'),
        ("a.py", "import os, sys\nx = 1\n", "import os\nimport sys\n\nx = 1\n"),
        ("a.py", "from a import c, b\nx = 1\n", "from a import b\nfrom a import c\nx = 1\n"),
        (
            "a.go",
            "package a\nfunc f() { if (t > 4) { g() } }\n",
            "package a\n\nfunc f() {\n\tif t > 4 {\n\t\tg()\n\t}\n}\n",
        ),
        (
            "a.rs",
            "fn f() { match x { 0 => { 0 } _ => 1 } }\n",
            "fn f() {\n    match x {\n        0 => 0,\n        _ => 1,\n    }\n}\n",
        ),
        ("a.rs", "fn f() { g(|c| { c * 2 }) }\n", "fn f() {\n    g(|c| c * 2)\n}\n"),
        (
            "a.rs",
            "fn f<T>() where T: A { return x }\n",
            "fn f<T>()\nwhere\n    T: A,\n{\n    return x;\n}\n",
        ),
        ("a.json", '{"a": 1}\n', '\ufeff{"a": 1}\n'),
        ("Dockerfile", "FROM a\n# one\nRUN b\n", "FROM a\n# two\nRUN b\n"),
        ("requirements.txt", "a==1 \n", "# why\na==1\n"),
        ("api.proto", "// one\nmessage A {}\n", "message A {}\n"),
        ("chart.yaml", "{{ if a }}\n# one\nb: c\n", "{{ if a }}\nb: c\n"),
        ("broken.py", "def f(:\n    # one\n    x\n", "def f(:\n    x\n"),
    ],
)
def test_what_a_formatter_or_a_remark_changes_says_nothing(path, before, after):
    was, now = outline(path, before.encode()), outline(path, after.encode())
    assert was.digest() == now.digest()
    assert [was.digest_of(name) for name in was.names] == [
        now.digest_of(name) for name in now.names
    ]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", 'x = "one " "two"\n', 'x = "one" "two"\n'),
        ("a.py", 'x = "one", "two"\n', 'x = "one" "two"\n'),
        ("a.py", "import os, sys\n", "import os\n"),
        (
            "a.go",
            "package a\nfunc f() { return (a + b) * c }\n",
            "package a\nfunc f() { return a + (b * c) }\n",
        ),
        (
            "a.rs",
            "fn f() { match x { 0 => { g(); } _ => 1 } }\n",
            "fn f() { match x { 0 => g(), _ => 1 } }\n",
        ),
        ("a.rs", "fn f() { g(x); }\n", "fn f() { g(x) }\n"),
        ("notes.txt", "# one\na\n", "# two\na\n"),
    ],
)
def test_what_means_something_else_has_another_digest(path, before, after):
    assert outline(path, before.encode()).digest() != outline(path, after.encode()).digest()
