"""The settings as structs. ``default.toml`` is the reference; a test holds the two equal.

A struct has no defaults of its own: the loader merges the file of defaults, the user's file and
the environment, and decodes the result once.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from msgspec import Meta, Struct

Fraction = Annotated[float, Meta(ge=0.0, le=1.0)]
Weight = Annotated[float, Meta(ge=0.0, le=10.0)]
MOST_TEXT_CHARS = 1_000_000
"""As many characters as ``capture.max_chars`` may allow a memory."""
Count = Annotated[int, Meta(ge=0, le=1000)]
# The same names as the namespaces of memories; a test holds them equal.
Namespace = Literal[
    "decisions",
    "learnings",
    "patterns",
    "blockers",
    "context",
    "progress",
    "tech-debt",
    "preferences",
    "gotchas",
    "tasks",
]
Milliseconds = Annotated[int, Meta(ge=1, le=60_000)]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: immutable, and strict about names."""


class ContextSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[search_intent.context]``: how much may be injected."""

    base_count: Count
    max_count: Count
    max_tokens: Annotated[int, Meta(ge=0, le=100_000)]
    min_relevance: Fraction
    min_relevance_beside: Fraction
    learn_from_use: bool
    skip_instructed: bool

    @property
    def least_relevance(self) -> float:
        """What is less relevant is injected in no case."""
        return min(self.min_relevance, self.min_relevance_beside)


class WeightSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[search_intent.weights.*]``: namespace → weight, for each kind of question.

    The loader refuses what is no ``Namespace``.
    """

    howto: dict[str, Weight]
    troubleshoot: dict[str, Weight]
    location: dict[str, Weight]
    explanation: dict[str, Weight]
    comparison: dict[str, Weight]
    general: dict[str, Weight]


class SearchIntentSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[search_intent]``."""

    enabled: bool
    min_confidence: Fraction
    use_llm: bool
    llm_policy: Literal["when_unsure", "always", "never"]
    llm_timeout_ms: Milliseconds
    llm_late_ms: Annotated[int, Meta(ge=0, le=60_000)]
    context: ContextSettings
    weights: WeightSettings


class LlmSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[llm]``: the language model; its key is no setting, only a variable."""

    model: Annotated[str, Meta(max_length=200)]
    api_base: Annotated[str, Meta(max_length=2000, pattern=r"^(https?://\S+)?$")]
    consolidate: bool


class SessionStartSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.session_start]``."""

    enabled: bool
    max_memories: Count
    include_guidance: bool
    guidance_detail: Literal["minimal", "standard", "detailed"]


class UserPromptSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.user_prompt]``."""

    suggest_captures: bool
    notices: bool


class FailureSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.post_tool_use_failure]``."""

    enabled: bool
    min_similarity: Fraction
    max_results: Count


class ToolSettings(FailureSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.post_tool_use]``."""

    tools: tuple[str, ...]


class ActionSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.pre_tool_use]``."""

    enabled: bool
    tools: tuple[str, ...]
    min_relevance: Fraction
    max_results: Count


class ReviewSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook.pre_compact]`` and ``[hook.stop]``: what is kept of what was said."""

    enabled: bool
    auto_capture: bool
    min_confidence: Fraction
    max_captures: Annotated[int, Meta(ge=0, le=20)]


class HookSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[hook]``: budgets as the agent sees them."""

    total_ms: Milliseconds
    start_ms: Milliseconds
    session_start: SessionStartSettings
    user_prompt: UserPromptSettings
    pre_tool_use: ActionSettings
    post_tool_use: ToolSettings
    post_tool_use_failure: FailureSettings
    pre_compact: ReviewSettings
    stop: ReviewSettings


class TaskSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[capture.tasks]``."""

    enabled: bool


class FailureCaptureSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[capture.failures]``."""

    enabled: bool


class CaptureSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[capture]``."""

    merge_similarity: Fraction
    max_chars: Annotated[int, Meta(ge=100, le=MOST_TEXT_CHARS)]
    find_contradictions: bool
    tasks: TaskSettings
    failures: FailureCaptureSettings


class SessionsSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[sessions]``: what was said in sessions."""

    enabled: bool
    exclude: tuple[str, ...]
    days: Annotated[int, Meta(ge=1, le=36_500)]
    max_passages: Annotated[int, Meta(ge=0, le=1_000_000)]
    min_relevance: Fraction
    max_tokens: Annotated[int, Meta(ge=0, le=2_400)]

    def excluded(self, root: str) -> str | None:
        """The entry of ``exclude`` that ``root`` lies in; both are paths without links."""
        return next((one for one in self.exclude if PurePath(root).is_relative_to(one)), None)


class RedactionSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[redaction]``: how secrets are taken out; never whether."""

    mode: Literal["redact", "mask", "block", "warn"]
    personal: bool
    allow: tuple[str, ...]


class EmbeddingSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[embedding]``."""

    model: str


class StoreSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[store]``."""

    memory_limit_mb: Annotated[int, Meta(ge=64, le=65_536)]
    warm_index: bool


class BackupSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[backup]``: the backups that are made without being asked for."""

    enabled: bool
    every_hours: Annotated[float, Meta(gt=0, le=87_600)]
    keep: Annotated[int, Meta(ge=1, le=1000)]
    max_mb: Annotated[int, Meta(ge=1, le=1_000_000)]
    folder: str


class DaemonSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[daemon]``."""

    idle_exit_minutes: Annotated[float, Meta(gt=0, le=5_256_000)]
    drain_s: Annotated[float, Meta(ge=0, le=60)]


class TeamSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[team]``. Anything goes for the address: a complaint would show what is wrong with it."""

    url: str


class HttpSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[http]``."""

    enabled: bool
    port: Annotated[int, Meta(ge=0, le=65_535)]


class TraceSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[trace]``: what is noted of each prompt."""

    enabled: bool
    keep_text: bool


class LogSettings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[log]``."""

    level: Literal["debug", "info", "warning", "error"]
    format: Literal["json", "console"]


class Settings(Section, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of them."""

    search_intent: SearchIntentSettings
    llm: LlmSettings
    hook: HookSettings
    capture: CaptureSettings
    sessions: SessionsSettings
    redaction: RedactionSettings
    embedding: EmbeddingSettings
    store: StoreSettings
    backup: BackupSettings
    daemon: DaemonSettings
    http: HttpSettings
    team: TeamSettings
    trace: TraceSettings
    log: LogSettings
