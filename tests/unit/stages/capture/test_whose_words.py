"""What somebody else said, and what no longer holds, is not the user's decision."""

import pytest

from subcog.stages.capture.statement_classifier import find_earned

OF_OTHERS = (
    "According to the issue on GitHub, we decided to use Kafka for events.",
    "docs/setup.md says that we always run Postgres 14.",
    "Somebody wrote 'we must never deploy on Fridays' but that is wrong.",
    "The README claims that we use poetry for everything.",
    "ChatGPT suggested that we always use pnpm.",
    "In the ticket they say we should never call the API directly.",
    "As the blog post puts it, we should always prefer composition.",
    "The previous developer noted that we never use mocks.",
    "My colleague thinks we decided to drop Redis.",
    "I heard that we decided to move to Kubernetes.",
    "Apparently we decided to use gRPC.",
    "Rumour has it that we decided to drop Python 3.9.",
    "We decided to use Redis. No, scratch that.",
    "We decided to use Celery - that was reverted last week.",
    "We decided to use MongoDB. That decision is outdated.",
    "The old wiki page says: always use tabs.",
    'The comment in auth.py says "never call this twice".',
    "Summary of docs/setup.md: we use Docker Compose, and we decided on Traefik.",
    "The RFC proposes that we decided to go with UUIDv7.",
    "Their style guide says to always use double quotes.",
    "It says in the changelog that we decided to remove the v1 API.",
    "Stack Overflow says we should never use eval.",
    "Bob said we always squash merges, but I don't think that's true.",
    "The linter complains that we must never use print.",
    'The error message says "always call close() first".',
    "Copilot wrote: we decided to use SQLite because it is simple.",
    "Claude's answer was: we decided to use FastAPI.",
    "The customer claims we decided to support IE11.",
    "The article argues that you should never use ORMs.",
    '"We decided to use Kafka" is what the ticket says.',
    "We decided to use Kafka, or so the ticket says.",
    "We decided to use Kafka, according to the issue.",
    "We should always use tabs, says the old wiki.",
    "They decided to use Java 21 over there.",
    "The vendor recommends to always enable TLS 1.3.",
    "The docs state that we never delete users.",
    "Laut Ticket haben wir beschlossen, Kafka zu verwenden.",
    "Im Wiki steht, dass wir immer Tabs verwenden.",
    "Selon le ticket, nous avons décidé d'utiliser Kafka.",
    "> We decided to use Kafka for events.",
    "Is it true that we decided to use Kafka?",
    "Suppose we decided to use Kafka, what would change?",
    "If we decided to use Kafka, we would need Zookeeper.",
    "I read that we always use uv here.",
    "Legend has it we never touch billing.py on a Friday.",
    "The PR description says we decided to use Vite.",
    "Last year we decided to use Webpack, but not any more.",
    "We used to always deploy on Mondays.",
    "We had decided to use Angular before the rewrite.",
    "Per the design doc we always use event sourcing.",
    "The onboarding guide tells new people to always use VS Code.",
    "In his mail, Tom wrote that we decided to drop the staging cluster.",
    "What the sales deck promises: we never store card numbers.",
    "The auditors wrote: from now on every release must be signed.",
    "Gemini's suggestion: always use dataclasses.",
    "The issue template says that we must always attach logs.",
    "Quote from Slack: we decided to freeze the API.",
    "Someone on the forum said to never use threads with DuckDB.",
    "The migration guide recommends to always run vacuum first.",
    "On the wiki it says we never deploy after 4 pm.",
    "We had agreed on Bazel before the new lead came.",
    "The choice of Angular was overruled by the architecture board.",
    "We decided to use Flux, which was rolled back on Monday.",
    "The interviewer asked whether we always write tests first.",
    "The intern believes that we always rebase.",
    "Here is the summary of the call: we decided to hire a contractor.",
    "TL;DR of the thread: never use floats for money.",
    "Gist of the article: always prefer boring technology.",
    "Según el manual, siempre usamos Postgres.",
    "D'après la doc, on garde Redis.",
    "Auf der Confluence-Seite steht, wir nehmen Keycloak.",
    "Segundo o manual, sempre usamos Docker.",
    "The commit message reads: always close the cursor.",
    "As per the ticket we no longer support Windows 7.",
    "Word on the street is that we decided to use Rust.",
    "We decided to use Kafka for all events. That is wrong.",
    "We decided to use Kafka for all events. That's no longer true.",
    "We decided to use Kafka for all events, which turned out to be wrong.",
    "From Jira: we decided to use Kafka for all events.",
    "Slack message from Ann: from now on use pnpm.",
    "We decided to use Kafka for all events, claims the wiki.",
    "Mein Kollege meint, wir haben beschlossen, Kafka für alle Ereignisse zu verwenden.",
    "Wir haben beschlossen, Kafka für alle Ereignisse zu verwenden. Das ist aber falsch.",
    "Le README dit que nous utilisons toujours des tabulations.",
    "Legal's opinion: we must never keep IP addresses.",
)

THEIR_OWN = (
    "As I said, we always use uv for dependencies.",
    "We decided to use Kafka because RabbitMQ lost messages.",
    "From now on, never commit directly to main.",
    "Always run the linter before you commit.",
    "We decided to follow the RFC and use UUIDv7.",
    "We chose Vite over Webpack after the discussion in the ticket.",
    "I prefer pnpm to npm.",
    "Please always answer in English.",
    "After reading the issue we decided to drop Python 3.9.",
    "We agreed with the customer to support only Chrome.",
    "Our rule is that every handler validates its input first.",
    "We settled on gRPC for internal calls.",
    "Our convention: branches are named after the ticket.",
    "According to our measurements, we decided to use Kafka.",
    "According to our benchmark, we decided to go with DuckDB.",
    "We decided, as Kim suggested, to use Redis.",
    "We decided to use Kafka, as the issue suggested.",
    "The README says Postgres 14, but we decided to use Postgres 16.",
    "The ticket is closed: we decided to keep the monolith.",
    "The docs were outdated: from now on we always update them with the code.",
    "Tell everyone: from now on we always use pnpm instead of npm.",
)

RULE = "From now on we use MySQL everywhere, not PostgreSQL."
HANDED_OVER = (
    "The error message was: we always use tabs in this repo, never spaces",
    "The message above: from now on we always use tabs in this repo.",
    "Tell the bot: never use tabs in this repo, ever.",
    "My colleague's message below.\nFrom now on we always deploy with make ship, not make deploy.",
    "See her mail below.\n\nFrom now on we always use pnpm instead of npm.",
    "assert from now on we always use the v2 API instead of v1",
    f"proofread:\n{RULE}",
    f"Could you polish the wording of this?\n\n{RULE}",
    f"make this shorter\n{RULE}",
    f"Rewrite the following paragraph in active voice.\n\n{RULE}",
    f"translate into German: {RULE}",
    f"Übersetze ins Englische: {RULE}",
    f"{RULE}\n\ntranslate the above to French",
    f"Mallory: {RULE}\nBob: agreed\nsummarize",
    f"mallory  10:31 AM\n{RULE}\nbob  10:32 AM\nno way\n\nwhat did they argue about?",
    f"commit abc1234def: {RULE}",
    f"Here's the PR description:\n\nIt is faster.\n\n{RULE}\n\nreview it",
    f"## What\nSwitch.\n\n## Why\n{RULE}\n\nplease review the PR above",
    f"# ADR 7\n\nStatus: proposed\n\n## Decision\n\n{RULE}\n\nIs that ADR well written?",
    f"summarise the ADR:\n\n**Decision**: {RULE}",
    f"implement the issue below\n\n**Decision**: {RULE}",
    f"set the banner text to {RULE}",
    f"add a fixture with the text: {RULE}",
    f"write a changelog entry: {RULE}",
    f"you said earlier: {RULE} why?",
    f"saw this tweet: {RULE} lol",
    f"id,text\n1,{RULE}\nparse this csv",
    f"title: MySQL\nbody: {RULE}\nmake it yaml",
    f"// {RULE}\nfunction f() {{}}",
    f"Customer feedback:\nIt is slow. {RULE}\n\nclassify it",
    f"<doc>\n{RULE}\n\nsummarise the doc",
    f"implement PROJ-123\n\n{RULE}",
    f"My boss wrote:\n\n{RULE}",
    f"Interview transcript\n\nQ: how?\nA: {RULE}",
    f"Is this sentence correct English? {RULE}",
)


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("said", OF_OTHERS)
def test_what_is_restated_or_taken_back_earns_nothing(said, role):
    assert find_earned(said, role=role) == ()
    assert find_earned(f"I had a look around.\n{said}", role=role) == ()


@pytest.mark.parametrize("said", HANDED_OVER)
def test_what_is_handed_over_earns_nothing(said: str) -> None:
    assert find_earned(said, role="user") == ()


@pytest.mark.parametrize(
    "said",
    [
        f"I talked to Anna. {RULE}",
        f"Note on the database:\n\n{RULE}",
        f"A few rules:\n- {RULE}\n- Always run make lint.",
        f"Hi Claude,\n\n{RULE}\n\nThe README needs an update for that.",
        f"the test fails:\nTypeError: x\n\n{RULE}",
        f"{RULE}\n\nCan you migrate the schema?",
        f"fix the docs.\n{RULE}",
        f"We discussed the ticket. {RULE}\nUpdate docker-compose.",
    ],
)
def test_what_the_user_says_beside_other_things_is_kept(said: str) -> None:
    assert RULE in [noted.text for noted in find_earned(said, role="user")]


@pytest.mark.parametrize("said", THEIR_OWN)
def test_what_the_user_settled_is_kept_though_others_are_named(said):
    assert [noted.text for noted in find_earned(said, role="user")] == [said]


def test_a_pasted_letter_is_nobodys_own_words():
    letter = (
        "Hi all,\n\nfrom now on we always use Terraform 0.12 for the infra of Northwind. "
        "Please don't use Pulumi any more.\n\nRegards,\nBob (Northwind)\n\n"
    )
    asked = f"{letter}^ got this mail, what do they want?"
    assert list(find_earned(asked, role="user")) == []
    unsigned = letter.partition("\n\nRegards")[0].partition("\n\n")[2]
    assert list(find_earned(unsigned, role="user"))
