"""A script of edits of a real repository: what of them a memory that names the code must say.

Nothing for what is moved, renamed or formatted anew; for what changed or vanished always something.
"""

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from subcog.bus.anchors import Anchor, CodeState, add_up
from subcog.sinks.code.anchors import examine, resolve
from subcog.sinks.code.checkout import Checkout
from subcog.stages.language.code_names import code_names

FILES = {
    "src/auth.py": '''"""Signing in."""

import os
import time
from dataclasses import dataclass, field
from typing import overload

MAX_ATTEMPTS = 5
GREETING = "Hello,  you"
TIMEOUTS = {"connect": 3, "read": 30}


@dataclass(frozen=True)
class Session:
    """One sign-in."""

    user: str
    token: str = field(repr=False)

    def is_old(self, now: float) -> bool:
        # A day.
        return now - float(self.token[:10]) > 86400

    @property
    def name(self) -> str:
        return self.user.title()

    def close(self) -> None:
        self.token = ''


@overload
def find_user(key: int) -> str: ...
@overload
def find_user(key: str) -> str: ...
def find_user(key):
    return str(key)


def refresh_token(session, attempts=MAX_ATTEMPTS):
    """Ask for a new token."""
    for attempt in range(attempts):
        if ask(session, attempt):
            return True
    return (False)


async def ask(session, attempt):
    message = f"try {attempt!r:>4} of {MAX_ATTEMPTS}"
    return await send(message, to=session.user)


def send(message, to): return [message, to, os.getpid(), time.time()]
''',
    "src/rates.py": """def load_rates(path):
    with open(path) as file:
        return file.read().splitlines()


def net_price(gross, rate):
    return gross / (1 + rate)
""",
    "web/cart.ts": """import { api } from "./api";
import type { Item } from "./types";

export const LIMITS = { items: 20, coupons: 2, names: { max: 40 } };
export const FREE_SHIPPING = 49.50;

export interface CartLine {
  item: Item;
  count: number;
}

export type CartEvent = 'added' | 'removed' | 'cleared';

export enum Stage { Open, Paid = 4, Sent }

export class Cart {
  private lines: CartLine[] = [];

  constructor(readonly owner: string) {}

  add(item: Item, count = 1): void {
    this.lines.push({ item, count });
  }

  get total(): number {
    return this.lines.reduce((sum, line) => sum + line.item.price * line.count, 0);
  }
}

export function applyCoupon(cart: Cart, code: string): boolean;
export function applyCoupon(cart: Cart, code: string, force?: boolean) {
  if (!code || cart.total < 10) return false;
  return api.post(`/coupons/${code}  now`, { 'owner': cart.owner });
}

export const isEmpty = (cart: Cart) => cart.total === 0;
export const useCart = (owner: string) => {
  const cart = new Cart(owner)
  return { cart, clear: () => new Cart(owner) }
};
""",
    "web/Badge.tsx": """export function Badge({ text }: { text: string }) {
  return <span className='badge'>New: {text}</span>;
}
""",
    "store/store.go": """package store

import (
	"errors"
	"sync"
)

// MaxEntries bounds the store.
const MaxEntries = 1000

const (
	ModeRead = iota
	ModeWrite
)

var ErrFull = errors.New("store is full")

// Store keeps entries.
type Store struct {
	mu      sync.Mutex
	entries map[string]string // by key
	Limit   int `json:"limit"`
}

type Reader interface {
	Get(key string) (string, bool)
}

func New(limit int) *Store { return &Store{entries: map[string]string{}, Limit: limit} }

func (s *Store) Put(key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) >= s.Limit {
		return ErrFull
	}
	s.entries[key] = value
	return nil
}

func (s *Store) Get(key string) (string, bool) {
	value, ok := s.entries[key]
	return value, ok
}
""",
    "config/app.yaml": """# Settings of the service.
defaults: &defaults
  retries: 3
  timeout: 30

server:
  host: localhost
  port: 8080
  tls:
    enabled: true
    ciphers: [modern, intermediate]

worker:
  <<: *defaults
  queue: "jobs"

steps:
  - name: build
    run: make all
  - name: publish
    run: make publish
motd: |
  welcome
    back
""",
    "config/limits.yml": "upload:\n  max_bytes: 1048576\n",
    "Makefile": """PYTHON = python3

.PHONY: test
test: setup  ## run the tests
	$(PYTHON) -m pytest -q

setup:
	pip install -e .
""",
    "package.json": """{
  "name": "shop",
  "scripts": { "build": "tsc -p .", "lint": "eslint ." }
}
""",
    "docs/guide.md": "# Guide\n\nFirst sign in.\n\nThen shop.\n",
}


class Tree:
    """The repository in which the edits are made."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def git(self, *args: str) -> None:
        done = subprocess.run(
            ["git", "-C", str(self.root), *args], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr

    # --- edits -----------------------------------------------------------------------------------

    def swap(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, (path, old)
        self.write(path, text.replace(old, new))

    def move(self, path: str, to: str) -> None:
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", path, to)

    def rename(self, path: str, to: str) -> None:
        """Without telling git."""
        (self.root / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.root / path, self.root / to)

    def delete(self, path: str) -> None:
        (self.root / path).unlink()

    def cut(self, path: str, begin: str, end: str) -> str:
        """Take out what is between the two, without ``end``."""
        text = self.read(path)
        start = text.index(begin)
        stop = text.index(end, start + len(begin)) if end else len(text)
        self.write(path, text[:start] + text[stop:])
        return text[start:stop]

    def carry(self, path: str, begin: str, end: str, to: str, head: str = "") -> None:
        """Move what is between the two to the end of another file, or of the same."""
        part = self.cut(path, begin, end)
        before = self.read(to) if (self.root / to).exists() else head
        self.write(to, f"{before}\n\n{part}")

    def sub(self, path: str, pattern: str, new: str) -> None:
        text, count = re.subn(pattern, new, self.read(path), flags=re.MULTILINE)
        assert count, (path, pattern)
        self.write(path, text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The repository before any edit."""
    made = Tree(tmp_path_factory.mktemp("whole") / "shop")
    for path, text in FILES.items():
        made.write(path, text)
    made.git("init", "-q", "--template=")
    made.git("add", ".")
    made.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    return made.root


@pytest.fixture
def tree(whole, tmp_path):
    return Tree(shutil.copytree(whole, tmp_path / "shop"))


def never() -> bool:
    return False


def anchored(tree: Tree, text: str) -> tuple[Anchor, ...]:
    return resolve(code_names(text), Checkout(tree.root), late=never)


def state_of(tree: Tree, anchors: tuple[Anchor, ...]) -> CodeState:
    return add_up(examine(one, Checkout(tree.root), late=never) for one in anchors)


def edit(name: str, *args: str):
    return lambda tree: getattr(tree, name)(*args)


swap, move, rename = partial(edit, "swap"), partial(edit, "move"), partial(edit, "rename")
delete, cut, carry, sub = (partial(edit, name) for name in ("delete", "cut", "carry", "sub"))


def both(*edits):
    def make(tree: Tree) -> None:
        for each in edits:
            each(tree)

    return make


AUTH, CART, GO, YAML = "src/auth.py", "web/cart.ts", "store/store.go", "config/app.yaml"
# What a memory says, the edit, and what became of the code.
QUIET = {
    # Python
    "py-file-renamed": ("refresh_token() in src/auth.py retries", move(AUTH, "src/sign_in.py")),
    "py-file-renamed-whole": ("All of sign-in is in src/auth.py", rename(AUTH, "src/login.py")),
    "py-renamed-and-reformatted": (
        "`Session.is_old` in src/auth.py means a day",
        both(
            move(AUTH, "lib/auth.py"),
            swap("lib/auth.py", "86400\n", "86_400  # a day\n"),
            swap("lib/auth.py", "self.token[:10]", "self.token[\n            :10\n        ]"),
        ),
    ),
    "py-symbol-moved": (
        "refresh_token() retries 5 times",
        carry(AUTH, "def refresh_token", "async def ask", "src/tokens.py", "import os\n"),
    ),
    "py-class-moved": (
        "The class Session in src/auth.py is frozen",
        carry(AUTH, "@dataclass", "@overload", "src/session.py"),
    ),
    "py-moved-within": (
        "net_price() divides by the rate",
        both(carry("src/rates.py", "def net_price", "", "src/rates.py")),
    ),
    "py-quotes": ("`Session.close` empties the token", swap(AUTH, "''", '""')),
    "py-trailing-comma": (
        "refresh_token() in src/auth.py retries",
        swap(
            AUTH,
            "(session, attempts=MAX_ATTEMPTS)",
            "(\n    session,\n    attempts=MAX_ATTEMPTS,\n)",
        ),
    ),
    "py-parentheses": (
        "refresh_token() ends with False",
        swap(AUTH, "return (False)", "return False"),
    ),
    "py-comments": (
        "`Session.is_old` means a day",
        both(swap(AUTH, "        # A day.\n", "\n"), swap(AUTH, "86400\n", "86400  # seconds\n")),
    ),
    "py-docstring": (
        "refresh_token() asks",
        swap(AUTH, '"""Ask for a new token."""', '"""Ask."""'),
    ),
    "py-imports": (
        "refresh_token() asks",
        swap(AUTH, "import os\nimport time\n", "import time\nimport json\nimport os\n"),
    ),
    "py-one-line-opened": ("send() returns a list", swap(AUTH, "to): return", "to):\n    return")),
    "py-neighbour-changed": ("ask() sends a message", swap(AUTH, "return (False)", "return None")),
    "py-dict-opened": (
        "TIMEOUTS in src/auth.py has two",
        swap(AUTH, '{"connect": 3, "read": 30}', "{\n    'connect': 3,\n    'read': 30,\n}"),
    ),
    # TypeScript
    "ts-file-renamed": ("`Cart.add` in web/cart.ts pushes", move(CART, "web/basket.ts")),
    "ts-to-javascript": ("isEmpty in web/cart.ts compares", rename(CART, "web/cart.mts")),
    "ts-prettier": (
        "applyCoupon() posts to the API",
        both(
            swap(CART, "{ 'owner': cart.owner }", "{\n    owner: cart.owner,\n  }"),
            swap(CART, "return false;", "return false"),
        ),
    ),
    "ts-arrow-parens": (
        "isEmpty compares the total",
        swap(CART, "(cart: Cart) => cart.total === 0;", "(\n  cart: Cart,\n) => cart.total === 0"),
    ),
    "ts-semicolons": (
        "useCart makes a cart",
        swap(CART, "new Cart(owner)\n", "new Cart(owner);\n"),
    ),
    "ts-interface": (
        "CartLine has an item",
        swap(CART, "item: Item;\n  count: number;", "item: Item,\n\n  count: number"),
    ),
    "ts-union": (
        "CartEvent in web/cart.ts has three",
        swap(CART, "'added' | 'removed'", "\n  | \"added\"\n  | 'removed'\n "),
    ),
    "ts-moved-not-exported": (
        "applyCoupon() posts to the API",
        both(
            carry(CART, "export function applyCoupon", "export const isEmpty", "web/coupons.ts"),
            swap("web/coupons.ts", "export function", "function"),
        ),
    ),
    "ts-const-moved": (
        "LIMITS in web/cart.ts",
        carry(CART, "export const LIMITS", "export const FREE", "web/limits.ts"),
    ),
    "ts-number": ("FREE_SHIPPING is in euros", swap(CART, "49.50", "49.5")),
    "ts-comments": (
        "`Cart.total` sums",
        swap(CART, "get total()", "/** The sum. */\n  get total()"),
    ),
    "tsx-quotes": (
        "Badge in web/Badge.tsx is a span",
        swap("web/Badge.tsx", "'badge'>", '"badge">\n    '),
    ),
    # Go
    "go-file-renamed": ("`Store.Put` locks, see store/store.go", move(GO, "store/memory.go")),
    "go-file-renamed-whole": ("The store is all in store/store.go", move(GO, "store/all.go")),
    "go-gofmt": (
        "The struct Store has a Limit",
        swap(GO, "	mu      sync.Mutex\n", "	mu sync.Mutex\n\n"),
    ),
    "go-comments": (
        "(*Store).Get does not lock",
        swap(GO, "	value, ok :=", "	// No lock.\n	value, ok :="),
    ),
    "go-method-moved": (
        "`Store.Get` in store/store.go does not lock",
        carry(GO, "func (s *Store) Get", "", "store/get.go", "package store\n"),
    ),
    "go-func-opened": (
        "New in store/store.go makes",
        swap(
            GO,
            "limit int) *Store { return &Store{entries: map[string]string{}, Limit: limit} }",
            "limit int) *Store {\n	return &Store{\n		entries: map[string]string{},\n"
            "		Limit:   limit,\n	}\n}",
        ),
    ),
    "go-const-grouped": (
        "MaxEntries is 1000",
        swap(GO, "const MaxEntries = 1000", "const (\n	MaxEntries = 1000\n)"),
    ),
    "go-imports": (
        "ErrFull tells that it is full",
        swap(GO, '	"errors"\n	"sync"\n', '	"sync"\n\n	"errors"\n	"fmt"\n'),
    ),
    # Settings
    "yaml-file-renamed": (
        "server.port in config/app.yaml is 8080",
        move(YAML, "config/service.yaml"),
    ),
    "yaml-quotes": ("`worker.queue` is jobs", swap(YAML, '"jobs"', "jobs")),
    "yaml-style": (
        "`server.tls` has two ciphers",
        swap(
            YAML,
            "ciphers: [modern, intermediate]",
            "ciphers:\n      - modern\n      - intermediate  # old",
        ),
    ),
    "yaml-key-moved": (
        "upload.max_bytes is a megabyte",
        both(
            delete("config/limits.yml"),
            swap(YAML, "server:\n", "upload:\n  max_bytes: 1048576\n\nserver:\n"),
        ),
    ),
    "yaml-neighbour": ("server.port is 8080", swap(YAML, "localhost", "0.0.0.0")),
    "yaml-comment": (
        "All settings are in config/app.yaml",
        swap(YAML, "# Settings of the service.\n", "\n"),
    ),
    "make-format": (
        "Run `make test` first",
        swap(
            "Makefile",
            "	$(PYTHON) -m pytest -q\n",
            "	# all\n	$(PYTHON)  -m pytest \\\n	  -q\n",
        ),
    ),
    "npm-format": (
        "Run `npm run build` first",
        swap("package.json", '{ "build"', '{\n    "build"'),
    ),
    "md-spaces": ("See docs/guide.md", swap("docs/guide.md", "\n\nThen", "\n\n\nThen")),
}
CHANGED = {
    "py-body": ("refresh_token() retries", swap(AUTH, "return True", "return session")),
    "py-signature": ("refresh_token() retries", swap(AUTH, "attempts=MAX_ATTEMPTS", "attempts=3")),
    "py-constant": ("MAX_ATTEMPTS in src/auth.py is 5", swap(AUTH, "ATTEMPTS = 5", "ATTEMPTS = 6")),
    "py-space-in-string": (
        "GREETING in src/auth.py has two spaces",
        swap(AUTH, "Hello,  you", "Hello, you"),
    ),
    "py-decorator": ("Session in src/auth.py is frozen", swap(AUTH, "frozen=True", "frozen=False")),
    "py-overload": (
        "find_user() takes two kinds of keys",
        swap(AUTH, "def find_user(key: int)", "def find_user(key: bytes)"),
    ),
    "py-format-spec": ("ask() pads the number", swap(AUTH, ":>4", ":>5")),
    "py-async": ("ask() is a coroutine", swap(AUTH, "async def ask", "def ask")),
    "py-moved-and-changed-file": (
        "src/rates.py has all about prices",
        swap("src/rates.py", "1 + rate", "1 - rate"),
    ),
    "py-indent": (
        "refresh_token() asks",
        swap(AUTH, "    return (False)", "        return (False)"),
    ),
    "py-broken": (
        "refresh_token() asks",
        swap(AUTH, "def refresh_token(session, attempts", "def refresh_token(session, (attempts"),
    ),
    "ts-body": ("`Cart.total` sums", swap(CART, "* line.count", "* 2")),
    "ts-template": ("applyCoupon() posts", swap(CART, "}  now`", "} now`")),
    "ts-type": ("CartEvent in web/cart.ts has three", swap(CART, " | 'cleared'", "")),
    "ts-object": ("LIMITS.items is 20", swap(CART, "items: 20", "items: 30")),
    "ts-nested-object": ("LIMITS.names in web/cart.ts", swap(CART, "max: 40", "max: 50")),
    "ts-enum": ("The enum Stage in web/cart.ts", swap(CART, "Paid = 4", "Paid = 5")),
    "ts-arrow": ("isEmpty compares", swap(CART, "=== 0", "<= 0")),
    "ts-overload": (
        "applyCoupon() posts",
        swap(CART, "code: string): boolean;", "code: string): void;"),
    ),
    "tsx-text": ("Badge in web/Badge.tsx says New", swap("web/Badge.tsx", "New:", "Fresh:")),
    "go-body": ("`Store.Put` locks", swap(GO, ">= s.Limit", "> s.Limit")),
    "go-receiver": ("`Store.Get` has a pointer", swap(GO, "(s *Store) Get", "(s Store) Get")),
    "go-iota": (
        "ModeWrite is 1",
        swap(GO, "	ModeRead = iota\n", "	ModeNone = iota\n	ModeRead\n"),
    ),
    "go-tag": ("The field `Store.Limit` has a tag", swap(GO, 'json:"limit"', 'json:"max"')),
    "go-interface": (
        "Reader in store/store.go",
        swap(GO, "	Get(key string) (string, bool)\n}", "	Get(key string) string\n}"),
    ),
    "go-const": ("MaxEntries is 1000", swap(GO, "1000", "2000")),
    "yaml-value": ("server.port is 8080", swap(YAML, "8080", "9090")),
    "yaml-type": ("server.port is a number", swap(YAML, "8080", '"8080"')),
    "yaml-nested": (
        "`server.tls` in config/app.yaml",
        swap(YAML, "enabled: true", "enabled: false"),
    ),
    "yaml-merged": ("`worker.timeout` is 30", swap(YAML, "timeout: 30", "timeout: 60")),
    "yaml-list": ("`server.tls.ciphers` has two", swap(YAML, ", intermediate", "")),
    "yaml-item": ("steps.publish runs make", swap(YAML, "make publish", "make release")),
    "yaml-block": (
        "The key motd in config/app.yaml is indented",
        swap(YAML, "    back", "   back"),
    ),
    "make-recipe": ("Run `make test`", swap("Makefile", "pytest -q", "pytest -x")),
    "npm-script": ("Run `npm run lint`", swap("package.json", "eslint .", "eslint src")),
    "md-text": ("See docs/guide.md", swap("docs/guide.md", "First", "Never")),
    "line": ("See src/auth.py:44, it retries", swap(AUTH, "return True", "return None")),
    "renamed-and-changed": (
        "refresh_token() in src/auth.py retries",
        both(move(AUTH, "src/login.py"), swap("src/login.py", "return True", "return None")),
    ),
    "one-of-two-gone": ("src/rates.py and docs/guide.md tell the prices", delete("docs/guide.md")),
}
GONE = {
    "py-function": ("refresh_token() retries", cut(AUTH, "def refresh_token", "async def ask")),
    "py-method": ("`Session.close` empties", cut(AUTH, "    def close", "@overload")),
    "py-renamed": ("refresh_token() retries", sub(AUTH, "refresh_token", "renew_token")),
    "py-file": ("See src/rates.py", delete("src/rates.py")),
    "py-file-of-symbol": ("load_rates() in src/rates.py reads", delete("src/rates.py")),
    "py-constant": ("MAX_ATTEMPTS in src/auth.py", sub(AUTH, "MAX_ATTEMPTS", "MOST")),
    "ts-method": ("`Cart.add` pushes", cut(CART, "  add(", "  get total")),
    "ts-interface": ("CartLine in web/cart.ts", cut(CART, "export interface", "export type")),
    "ts-renamed": ("isEmpty compares", sub(CART, "isEmpty", "hasNothing")),
    "ts-key": ("LIMITS.coupons is 2", swap(CART, " coupons: 2,", "")),
    "go-method": ("`Store.Get` does not lock", cut(GO, "func (s *Store) Get", "")),
    "go-struct-renamed": ("Reader in store/store.go", sub(GO, r"\bReader\b", "Getter")),
    "go-file": ("`Store.Put` in store/store.go", delete(GO)),
    "yaml-key": ("server.port is 8080", swap(YAML, "  port: 8080\n", "")),
    "yaml-renamed": ("`worker.queue` is jobs", swap(YAML, "queue:", "line:")),
    "yaml-file": ("upload.max_bytes in config/limits.yml", delete("config/limits.yml")),
    "make-target": ("Run `make setup`", sub("Makefile", "setup", "install")),
    "npm-script": ("Run `npm run lint`", swap("package.json", ', "lint": "eslint ."', "")),
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_was_only_moved_or_formatted(tree, name):
    text, make = QUIET[name]
    anchors = anchored(tree, text)
    assert anchors
    make(tree)
    assert state_of(tree, anchors).state in {"unchanged", "moved"}, anchors


@pytest.mark.parametrize("name", CHANGED)
def test_what_changed_is_noticed(tree, name):
    text, make = CHANGED[name]
    anchors = anchored(tree, text)
    assert state_of(tree, anchors).state == "unchanged", anchors
    make(tree)
    assert state_of(tree, anchors).state == "changed", anchors


@pytest.mark.parametrize("name", GONE)
def test_what_vanished_is_noticed(tree, name):
    text, make = GONE[name]
    anchors = anchored(tree, text)
    assert state_of(tree, anchors).state == "unchanged", anchors
    make(tree)
    assert state_of(tree, anchors).state == "gone", anchors
