-- The tables of all teams. Every key begins with the team; docs/team.md tells who may do what.

CREATE TABLE teams (
    team text PRIMARY KEY CHECK (team <> ''),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A role of the server is in one team at most; "member" is the name that its colleagues see.
CREATE TABLE members (
    role text PRIMARY KEY,
    team text NOT NULL REFERENCES teams,
    member text NOT NULL CHECK (member <> '' AND member !~ '[[:cntrl:]]'),
    UNIQUE (team, member)
);

CREATE TABLE projects (
    team text NOT NULL REFERENCES teams,
    scope text NOT NULL CHECK (scope LIKE 'project:%' AND length(scope) <= 1000),
    name text NOT NULL CHECK (name !~ '[[:cntrl:]]' AND length(name) <= 200),
    shared_by text NOT NULL,
    shared_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team, scope)
);

-- One row an id, as on every machine: which version is current, what finding needs, the tombstone.
CREATE TABLE memories (
    team text NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL,
    scope text NOT NULL CHECK (scope LIKE 'project:%' OR scope LIKE 'org:%'),
    namespace text NOT NULL,
    fingerprint bigint,
    created_at timestamptz NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    superseded_by text,
    forgotten_at timestamptz,
    tags text[] NOT NULL DEFAULT '{}',
    found_by tsvector,
    words text, -- kept for pg_textsearch alone, which indexes text
    PRIMARY KEY (team, id)
);
CREATE INDEX memories_by_scope ON memories (team, scope, created_at);
CREATE INDEX memories_by_text ON memories USING gin (found_by) WITH (gin_pending_list_limit = 512);

-- Appended to and deleted from, never changed. "digest" tells equal versions, "content" equal
-- texts.
CREATE TABLE versions (
    team text NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    author text NOT NULL,
    digest bytea NOT NULL,
    content bytea,
    body text NOT NULL CHECK (octet_length(body) <= 1000000),
    model text NOT NULL CHECK (octet_length(model) <= 1000),
    vectors bytea NOT NULL CHECK (octet_length(vectors) <= 2000000),
    words bytea NOT NULL CHECK (octet_length(words) <= 1000000),
    lengths bytea NOT NULL CHECK (octet_length(lengths) <= 1000000),
    terms bytea NOT NULL CHECK (octet_length(terms) <= 1000000),
    PRIMARY KEY (team, id, version)
);
-- Half-precision numbers and hashes do not get shorter by compression.
ALTER TABLE versions ALTER vectors SET STORAGE EXTERNAL, ALTER terms SET STORAGE EXTERNAL;

-- The mean of a current version's passages. Apart from "memories", so that a scan of a scope reads
-- little; in the graph only once "graphed" is set, for that costs more than all else of a put.
CREATE TABLE vectors (
    team text NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL,
    scope text NOT NULL,
    graphed boolean NOT NULL DEFAULT false,
    embedding halfvec(256),
    PRIMARY KEY (team, id)
);
ALTER TABLE vectors ALTER embedding SET STORAGE PLAIN;
CREATE INDEX vectors_by_scope ON vectors (team, scope);
CREATE INDEX vectors_ungraphed ON vectors (team, scope) WHERE NOT graphed AND embedding IS NOT NULL;
CREATE INDEX vectors_graph ON vectors USING hnsw (embedding halfvec_cosine_ops) WHERE graphed;

-- Counted apart: a count in "memories" would write its index entries anew with each use.
CREATE TABLE uses (
    team text NOT NULL,
    id text NOT NULL,
    times bigint NOT NULL,
    last timestamptz NOT NULL,
    PRIMARY KEY (team, id)
);

-- The feed. Its order is (xid, seq), and it is read up to the oldest transaction that still runs:
-- by seq alone a row that is committed late would be passed over. Version 0 says forgotten.
CREATE TABLE changes (
    team text NOT NULL,
    scope text NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id text NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (team, scope, xid, seq)
);

-- Which server this is, for a restored one starts a new epoch: "stamp" is the transaction that
-- wrote this row, and after a restore the row has another.
CREATE TABLE feed (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    epoch bigint NOT NULL,
    system bigint NOT NULL,
    timeline text NOT NULL,
    stamp xid NOT NULL
);
