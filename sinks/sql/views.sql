-- What people read: the memories that count now.
CREATE OR REPLACE VIEW memory.main.memories AS
SELECT
    v.id,
    v.version,
    m.namespace,
    v.scope,
    v.body ->> '$.content' AS content,
    v.body ->> '$.summary' AS summary,
    coalesce(CAST(v.body -> '$.tags' AS VARCHAR[]), []) AS tags,
    coalesce(CAST(v.body ->> '$.confidence_percent' AS DOUBLE), 100) / 100 AS confidence,
    m.created_at,
    try_cast(v.body ->> '$.updated_at' AS TIMESTAMP) AS updated_at,
    m.valid_to,
    v.body ->> '$.supersedes' AS supersedes,
    v.body ->> '$.contradicts' AS contradicts,
    v.body ->> '$.provenance.author' AS author,
    v.body ->> '$.provenance.hook' AS hook,
    v.body ->> '$.provenance.client' AS client,
    v.body ->> '$.provenance.session' AS session,
    v.body ->> '$.provenance.branch' AS branch,
    m.times_injected AS times_shown,
    m.last_used AS last_shown
FROM store.memories m
JOIN store.versions v ON v.key = m.key
WHERE list_contains(getvariable('subcog_scopes'), m.scope)
    AND m.superseded_by IS NULL
    AND (m.valid_from IS NULL OR m.valid_from <= make_timestamp(epoch_us(now())))
    AND (m.valid_to IS NULL OR m.valid_to > make_timestamp(epoch_us(now())));

-- Every version that is kept, superseded and expired ones too.
CREATE OR REPLACE VIEW memory.main.versions AS
SELECT
    v.id,
    v.version,
    v.body ->> '$.namespace' AS namespace,
    v.scope,
    v.body ->> '$.content' AS content,
    v.body ->> '$.summary' AS summary,
    coalesce(CAST(v.body -> '$.tags' AS VARCHAR[]), []) AS tags,
    try_cast(v.body ->> '$.created_at' AS TIMESTAMP) AS created_at,
    try_cast(v.body ->> '$.updated_at' AS TIMESTAMP) AS updated_at,
    try_cast(v.body ->> '$.valid_to' AS TIMESTAMP) AS valid_to,
    v.body ->> '$.superseded_by' AS superseded_by,
    v.body ->> '$.provenance.author' AS author,
    v.body ->> '$.provenance.hook' AS hook
FROM store.versions v
WHERE list_contains(getvariable('subcog_scopes'), v.scope);

-- What became of memories when they were shown.
CREATE OR REPLACE VIEW memory.main.uses AS
SELECT u.memory_id AS id, u.session, u.seen_at, u.kind, u.moment, u.rank, u.detail
FROM store.use_events u
JOIN store.memories m ON m.id = u.memory_id
WHERE list_contains(getvariable('subcog_scopes'), m.scope) AND m.forgotten_at IS NULL;

-- What was said in sessions.
CREATE OR REPLACE VIEW memory.main.passages AS
SELECT id, session, scope, client, speaker, said_at, branch, body AS content
FROM store.passages
WHERE list_contains(getvariable('subcog_scopes'), scope);

-- Okapi BM25 over the scopes as one collection: k1 = 1.2, b = 0.75, of the 32 rarest terms.
CREATE OR REPLACE MACRO memory.main.memory_bm25(terms, scopes := NULL) AS TABLE
WITH documents AS (
    SELECT doc, length
    FROM store.search_documents
    WHERE list_contains(getvariable('subcog_scopes'), scope)
        AND (scopes IS NULL OR list_contains(scopes, scope))
),
collection AS (
    SELECT count(*) AS memories, greatest(avg(length), 1.0) AS mean_length FROM documents
),
having_terms AS MATERIALIZED (
    SELECT t.doc, t.term, t.count, d.length
    FROM store.search_terms t
    JOIN documents d USING (doc)
    WHERE t.term IN (SELECT unnest(CAST(terms AS UINTEGER[])))
),
rarest AS (
    SELECT term, ln(1 + (any_value(memories) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
    FROM having_terms, collection
    GROUP BY term
    ORDER BY idf DESC, term
    LIMIT 32
),
scores AS (
    SELECT
        h.doc,
        sum(idf * 2.2 * h.count / (h.count + 1.2 * (0.25 + 0.75 * h.length / mean_length))) AS score
    FROM having_terms h
    JOIN rarest USING (term), collection
    GROUP BY h.doc
)
SELECT m.id, s.score
FROM scores s
JOIN store.search_documents d USING (doc)
JOIN store.memories m ON m.key = d.key
ORDER BY s.score DESC, m.id;

-- The cosine of the passage that is nearest to a vector of unit length.
CREATE OR REPLACE MACRO memory.main.memory_cosine(vector, scopes := NULL) AS TABLE
WITH documents AS (
    SELECT doc
    FROM store.search_documents
    WHERE list_contains(getvariable('subcog_scopes'), scope)
        AND (scopes IS NULL OR list_contains(scopes, scope))
),
scores AS (
    SELECT
        p.doc,
        max(
            CASE WHEN len(p.vector) = len(CAST(vector AS FLOAT[]))
            THEN p.scale * list_inner_product(CAST(p.vector AS FLOAT[]), CAST(vector AS FLOAT[])) END
        ) AS score
    FROM store.search_vectors p
    SEMI JOIN documents USING (doc)
    GROUP BY p.doc
)
SELECT m.id, s.score
FROM scores s
JOIN store.search_documents d USING (doc)
JOIN store.memories m ON m.key = d.key
WHERE s.score IS NOT NULL
ORDER BY s.score DESC, m.id;
