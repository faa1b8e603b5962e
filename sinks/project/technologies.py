"""How technologies are written: "nextjs" is Next.js. For what a project's files name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WRITTEN = """Next.js React Vue Svelte Angular Express NestJS Nuxt Remix Astro Supabase Firebase
Prisma Drizzle Vite Vitest Jest Playwright Cypress Tailwind TypeScript JavaScript Node.js Deno Bun
Python Django FastAPI Flask SQLAlchemy Pydantic AnyIO pytest NumPy pandas PyTorch Celery Rust Tokio
Axum Actix Serde SQLx Go Gin Echo GORM Java Kotlin Spring Ruby Rails PHP Laravel Symfony Elixir
Phoenix Swift Scala PostgreSQL MySQL SQLite MongoDB Redis DuckDB Elasticsearch Kafka RabbitMQ Docker
Kubernetes Terraform GraphQL gRPC Stripe NextAuth Auth0 Vercel AWS Azure GCP Oban""".split()
_NAMES = {re.sub(r"[._-]", "", name.lower()): name for name in _WRITTEN} | {
    "next": "Next.js",
    "node": "Node.js",
    "postgres": "PostgreSQL",
    "golang": "Go",
    "k8s": "Kubernetes",
}
# Words of a sentence before they are names.
_ORDINARY = frozenset("go next express echo gin spring swift node rust phoenix bun remix".split())
_WORD = re.compile(r"[A-Za-z][\w.+-]*\w")


def display_name(name: str) -> str:
    """``name`` as its makers write it, where that is known."""
    return _NAMES.get(re.sub(r"[._\s-]", "", name.lower()), name)


def named_in(texts: Iterable[str]) -> list[str]:
    """The technologies that ``texts`` name, each once."""
    words = (word.lower() for text in texts for word in _WORD.findall(text))
    plain = (re.sub(r"[._-]", "", word) for word in words if word not in _ORDINARY)
    return list(dict.fromkeys(_NAMES[word] for word in plain if word in _NAMES))
