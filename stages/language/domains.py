"""Fields of work and technologies: which a text is about, under one name each.

"OAuth", "login" and "JWT" are all authentication; "Next.js 14", "nextjs" and "next.js" are one
technology. A static table, made from what the parts of software are commonly called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .words import STOP_WORDS, words

_DOMAINS = {
    "authentication": "auth authentication authenticate authenticated login logins logout logged "
    "signin sign-in signup sign-up sign sso oauth oauth2 oidc openid saml jwt jwts token tokens "
    "password passwords passwordless credential credentials bcrypt argon2 "
    "argon2id scrypt nextauth nextauth.js passport mfa 2fa totp passkey passkeys webauthn",
    "authorization": "authorization authorisation authorize permission permissions role roles "
    "rbac acl acls tenancy tenant tenants",
    "database": "database databases db sql query queries schema schemas postgres postgresql mysql "
    "sqlite mongodb duckdb orm transaction transactions prisma sqlalchemy ecto activerecord",
    "migration": "migration migrations migrate column columns alembic flyway backfill uuid",
    "api": "api apis endpoint endpoints rest graphql grpc router openapi swagger rpc",
    "pagination": "pagination paginate paginated cursor cursors",
    "caching": "cache caches cached caching redis memcached invalidate invalidation ttl memoize",
    "payments": "payment payments billing stripe paypal refund refunds subscription subscriptions",
    "pricing": "price prices pricing tax taxes vat discount discounts currency currencies",
    "webhooks": "webhook webhooks callback callbacks idempotent idempotency",
    "invoicing": "invoice invoices invoicing receipt receipts pdf pdfs",
    "search": "search searching elasticsearch opensearch fulltext full-text autocomplete facets",
    "testing": "test tests testing pytest jest vitest fixture fixtures mocks coverage flaky e2e "
    "playwright cypress",
    "ci": "ci pipeline pipelines workflow workflows actions jenkins",
    "deployment": "deploy deploys deployment deployments rollout rollback docker dockerfile "
    "dockerise dockerize container containers kubernetes k8s cluster helm terraform argocd",
    "styling": "css style styles styling theme themes dark layout tailwind responsive",
    "forms": "form forms input inputs validation modal dialog",
    "jobs": "queue queues worker workers job jobs celery sidekiq oban scheduler cron retry retries "
    "background",
    "messaging": "kafka rabbitmq nats consumer producer pubsub event-bus broker",
    "email": "email emails e-mail mail mailer smtp newsletter",
    "notifications": "notification notifications push sms",
    "uploads": "upload uploads uploading avatar avatars attachment attachments attach s3 bucket",
    "exports": "export exports exporting csv excel xlsx import imports",
    "logging": "log logs logging logger",
    "monitoring": "metric metrics prometheus grafana opentelemetry sentry alert alerts monitoring",
    "performance": "performance slow latency throughput profiling benchmark bottleneck faster "
    "speed optimise optimize n+1",
    "memory": "memory leak leaks leaking oom",
    "security": "security vulnerability vulnerabilities xss csrf cors sanitise sanitize injection "
    "sanitisation",
    "encryption": "encryption encrypt encrypted decrypt tls ssl certificate certificates secret "
    "secrets",
    "localisation": "i18n l10n locale locales localisation localization translation translations "
    "translate timezone timezones",
    "flags": "flag flags toggle toggles rollout experiment experiments",
    "configuration": "config configuration settings env environment dotenv",
    "concurrency": "thread threads mutex deadlock race concurrency concurrent goroutine goroutines",
    "realtime": "websocket websockets realtime real-time streaming stream sse live",
    "dependencies": "upgrade bump dependency dependencies lockfile",
    "documentation": "document docs documentation readme changelog guide tutorial",
}
_DOMAIN_OF: dict[str, tuple[str, ...]] = {}
for _name, _words in _DOMAINS.items():
    for _word in _words.split():
        _DOMAIN_OF[_word] = (*_DOMAIN_OF.get(_word, ()), _name)

TECHNOLOGIES = frozenset(
    "python javascript typescript rust golang java kotlin scala ruby php perl lua elixir erlang "
    "haskell clojure swift dart zig c++ c# f# react vue angular svelte solidjs nextjs next.js "
    "nuxt remix astro gatsby node nodejs node.js deno bun express fastify nestjs koa django flask "
    "fastapi starlette tornado aiohttp rails sinatra laravel symfony spring phoenix gin echo "
    "actix axum tokio electron tauri flutter expo redux zustand tailwind bootstrap webpack vite "
    "rollup esbuild babel swc turbopack turborepo nx lerna pnpm npm yarn pip uv poetry pipenv "
    "conda cargo maven gradle bazel cmake make ninja postgres postgresql mysql mariadb sqlite "
    "duckdb mongodb redis valkey memcached cassandra dynamodb elasticsearch opensearch clickhouse "
    "snowflake bigquery redshift neo4j influxdb timescaledb cockroachdb supabase firebase "
    "planetscale pgvector qdrant weaviate milvus chroma pinecone kafka rabbitmq nats celery "
    "sidekiq oban airflow dagster prefect dbt spark flink beam pulsar mqtt grpc graphql rest "
    "protobuf avro thrift openapi websocket websockets webrtc docker podman kubernetes k8s helm "
    "kustomize istio envoy nginx caddy traefik haproxy apache gunicorn uvicorn hypercorn "
    "terraform pulumi ansible puppet chef vagrant packer aws gcp azure lambda s3 ec2 ecs eks rds "
    "cloudfront cloudflare vercel netlify heroku fly.io digitalocean hetzner github gitlab "
    "bitbucket jenkins circleci argocd flux prometheus grafana loki jaeger opentelemetry otel "
    "datadog sentry newrelic splunk kibana logstash pytest unittest jest vitest mocha cypress "
    "playwright selenium junit rspec hypothesis ruff black mypy pyright eslint prettier biome "
    "clippy sqlalchemy alembic prisma drizzle typeorm sequelize knex hibernate pydantic msgspec "
    "anyio asyncio trio numpy pandas polars pytorch tensorflow keras jax sklearn scikit-learn "
    "transformers langchain llamaindex litellm ollama vllm onnx openai anthropic claude gemini "
    "mcp oauth oauth2 oidc saml jwt keycloak auth0 okta vault argon2 argon2id bcrypt tls ssl ssh "
    "git linux macos windows android ios wasm webassembly bash zsh powershell vim neovim vscode "
    "unity godot unreal opencv ffmpeg".split()
)
_SAME = {
    "next": "nextjs",
    "node": "nodejs",
    "nuxt": "nuxtjs",
    "vuejs": "vue",
    "reactjs": "react",
    "postgres": "postgresql",
    "pg": "postgresql",
    "k8s": "kubernetes",
    "golang": "go",
    "ts": "typescript",
    "js": "javascript",
    "py": "python",
    "scikitlearn": "sklearn",
    "oauth2": "oauth",
}
_VERSION = re.compile(r"[@v]\d[\w.]{0,20}$|\s.*", re.DOTALL)
_PLURAL = re.compile(r"(?<=[a-z]{3}[^sijou])s$")
_NO_PLURALS = frozenset(
    "postgres kubernetes rails pandas keras windows jenkins transformers https always".split()
)
_MARKS = re.compile(r"[\s._-]+")


def domains_of(names: Iterable[str]) -> tuple[str, ...]:
    """The fields that lower-case ``names`` belong to, each once, those named most often first."""
    counts: dict[str, int] = {}
    for word in names:
        for domain in _DOMAIN_OF.get(word, ()):
            counts[domain] = counts.get(domain, 0) + 1
    return tuple(sorted(counts, key=lambda domain: -counts[domain]))


def technology(name: str) -> str:
    """One spelling for a technology: "Next.js 14" and "nextjs" are both ``nextjs``."""
    plain = _MARKS.sub("", _VERSION.sub("", name.strip().lower()))
    return _SAME.get(plain, plain)


def words_of(text: str) -> list[str]:
    """The words of ``text`` that say something, lower-cased, plurals as singulars, in order."""
    said = (word for word in words(text) if word not in STOP_WORDS and len(word) > 1)
    return [word if word in _NO_PLURALS else _PLURAL.sub("", word) for word in said]
