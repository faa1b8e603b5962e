-- Finding. Row security would keep these queries off their indexes, since neither text search nor
-- distances are leakproof; so they run as the owner, and name the caller's team themselves.

-- The graph is asked only where a scope is too large to look at every vector of it.
CREATE FUNCTION nearest(asked halfvec, scopes text[], most integer)
RETURNS TABLE (id text, cosine real)
LANGUAGE plpgsql ROWS 60 STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    exact CONSTANT integer := 4000;
BEGIN
    IF (
        SELECT count(*) FROM (
            SELECT FROM vectors v WHERE v.team = mine AND v.scope = ANY (scopes) LIMIT exact + 1
        ) AS few
    ) <= exact THEN
        RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT v.id, v.embedding <=> asked AS distance FROM vectors v
            WHERE v.team = mine AND v.scope = ANY (scopes) AND v.embedding IS NOT NULL
        )
        SELECT n.id, (1 - n.distance)::real FROM near n ORDER BY n.distance LIMIT most;
        RETURN;
    END IF;
    -- Set here, for a clause of the function could not be restored by an owner who is no superuser.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    RETURN QUERY
    WITH graphed AS MATERIALIZED (
        SELECT v.id, v.embedding <=> asked AS distance FROM vectors v
        WHERE v.team = mine AND v.scope = ANY (scopes) AND v.graphed
        ORDER BY v.embedding <=> asked LIMIT most
    ), fresh AS MATERIALIZED (
        SELECT v.id, v.embedding <=> asked AS distance FROM vectors v
        WHERE v.team = mine AND v.scope = ANY (scopes) AND NOT v.graphed
            AND v.embedding IS NOT NULL
        ORDER BY distance LIMIT most
    )
    SELECT n.id, (1 - n.distance)::real
    FROM (SELECT * FROM graphed UNION ALL SELECT * FROM fresh) AS n
    ORDER BY n.distance LIMIT most;
END $$;

-- Puts up to "most" vectors of the team into the graph; how many are left, 1,000 at most.
CREATE FUNCTION graph(most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
BEGIN
    UPDATE vectors v SET graphed = true
    FROM (
        SELECT w.id FROM vectors w
        WHERE w.team = mine AND NOT w.graphed AND w.embedding IS NOT NULL
        LIMIT most FOR UPDATE SKIP LOCKED
    ) AS few
    WHERE v.team = mine AND v.id = few.id;
    RETURN (
        SELECT count(*) FROM (
            SELECT FROM vectors w
            WHERE w.team = mine AND NOT w.graphed AND w.embedding IS NOT NULL LIMIT 1000
        ) AS rest
    );
END $$;

-- The words of a question, the rarest first, each with the share of memories that have it: what
-- ANALYZE keeps of the column "found_by". A word that it does not list is rarer than all it lists.
CREATE FUNCTION rarest(asked text) RETURNS TABLE (word text, share real)
LANGUAGE sql ROWS 8 STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH known AS MATERIALIZED (
        SELECT e.word, e.share
        FROM pg_stats s, unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs)
            AS e (word, share)
        WHERE s.schemaname = 'subcog' AND s.tablename = 'memories' AND s.attname = 'found_by'
            AND e.word IS NOT NULL
    )
    SELECT w.lexeme, coalesce(k.share, (SELECT min(share) / 2 FROM known), 0)::real AS rarity
    FROM unnest(to_tsvector('english', asked)) AS w LEFT JOIN known k ON k.word = w.lexeme
    ORDER BY rarity, length(w.lexeme) DESC, w.lexeme
$$;

-- Memories that have some of the five rarest words of a question, the more and the rarer the
-- better. Words that too many memories have only count where no rarer one is asked for.
CREATE FUNCTION having_words(asked text, scopes text[], most integer)
RETURNS TABLE (id text, score real)
LANGUAGE plpgsql ROWS 60 STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    seen CONSTANT integer := 3000;
    total real := (SELECT greatest(reltuples, 1) FROM pg_class WHERE oid = 'memories'::regclass);
    words tsquery[];
    weights real[];
    either tsquery;
BEGIN
    IF to_regclass('memories_by_bm25') IS NOT NULL THEN
        RETURN QUERY SELECT * FROM ranked_by_bm25(asked, scopes, most);
        RETURN;
    END IF;
    SELECT array_agg(quote_literal(chosen.word)::tsquery),
        array_agg(ln(1 + 1 / (chosen.share + 1e-6))),
        string_agg(quote_literal(chosen.word), ' | ')::tsquery
    INTO words, weights, either
    FROM (
        SELECT r.*, sum(r.share) OVER (ORDER BY r.place) AS together
        FROM rarest(asked) WITH ORDINALITY AS r (word, share, place)
    ) AS chosen
    WHERE chosen.place <= 5 AND (chosen.place = 1 OR chosen.together * total <= seen);
    IF either IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT f.id, (
        SELECT sum(weights[n]) FROM generate_subscripts(words, 1) AS n WHERE f.found_by @@ words[n]
    )::real AS score
    FROM (
        SELECT m.id, m.found_by FROM memories m
        WHERE m.found_by @@ either AND m.team = mine AND m.scope = ANY (scopes) LIMIT seen
    ) AS f
    ORDER BY score DESC, f.id DESC LIMIT most;
END $$;

-- The same by pg_textsearch, which has to be asked in words that a server without it cannot parse.
CREATE FUNCTION ranked_by_bm25(asked text, scopes text[], most integer)
RETURNS TABLE (id text, score real)
LANGUAGE plpgsql ROWS 60 STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT n.id, n.score FROM ('
        '  SELECT m.id, (-(m.words <@> to_bm25query($1, $4)))::real AS score FROM memories m'
        '  WHERE m.team = $2 AND m.scope = ANY ($3)'
        '  ORDER BY m.words <@> to_bm25query($1, $4) LIMIT $5'
        ') AS n WHERE n.score > 0'
    USING asked, require_team(), scopes, 'subcog.memories_by_bm25', most;
END $$;

-- The best of "scopes" by words, by meaning, or by both, fused by reciprocal rank (k = 60); with
-- the filters of a query. The order is 1 for what is first in all that was asked.
CREATE FUNCTION search(
    asked text, near halfvec, scopes text[], namespaces text[], labels text[],
    since timestamptz, until timestamptz, at timestamptz, most integer
) RETURNS TABLE (id text, body text, author text, text_score real, cosine real, rank real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    wide integer := CASE
        WHEN cardinality(namespaces) + cardinality(labels) > 0
            OR since IS NOT NULL OR until IS NOT NULL THEN 10 * most + 100
        ELSE 2 * most + 40 END;
    parts real := greatest((asked <> '')::integer + (near IS NOT NULL)::integer, 1);
BEGIN
    RETURN QUERY
    WITH by_word AS MATERIALIZED (
        SELECT h.id, h.score, rank() OVER (ORDER BY h.score DESC) AS place
        FROM having_words(asked, scopes, wide) AS h WHERE asked <> ''
    ), by_vector AS MATERIALIZED (
        SELECT n.id, n.cosine, rank() OVER (ORDER BY n.cosine DESC) AS place
        FROM nearest(near, scopes, wide) AS n WHERE near IS NOT NULL
    ), fused AS MATERIALIZED (
        SELECT id, w.score, v.cosine,
            (coalesce(61.0 / (60 + w.place), 0) + coalesce(61.0 / (60 + v.place), 0)) / parts
                AS rank
        FROM by_word w FULL JOIN by_vector v USING (id)
    ), best AS MATERIALIZED (
        -- OFFSET 0: one look-up a candidate, and never the whole table.
        SELECT f.*, m.version
        FROM fused f, LATERAL (
            SELECT h.* FROM memories h WHERE h.team = mine AND h.id = f.id OFFSET 0
        ) AS m
        WHERE m.forgotten_at IS NULL AND m.superseded_by IS NULL
            AND (m.valid_from IS NULL OR m.valid_from <= at)
            AND (m.valid_to IS NULL OR m.valid_to > at)
            AND (cardinality(namespaces) = 0 OR m.namespace = ANY (namespaces))
            AND m.tags @> labels
            AND (since IS NULL OR m.created_at >= since)
            AND (until IS NULL OR m.created_at <= until)
        ORDER BY f.rank DESC, f.id DESC LIMIT most
    )
    SELECT b.id, v.body, v.author, coalesce(b.score, 0)::real, coalesce(b.cosine, 0)::real,
        b.rank::real
    FROM best b, LATERAL (
        SELECT w.body, w.author FROM versions w
        WHERE w.team = mine AND w.id = b.id AND w.version = b.version OFFSET 0
    ) AS v
    ORDER BY b.rank DESC, b.id DESC;
END $$;
