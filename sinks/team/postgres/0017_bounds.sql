-- What one member puts or forgets bounds no colleague's: neither what is received, nor what may be
-- forgotten or changed later.

-- A tombstone costs no bytes of the quota, and comes to everybody. Of rows from before, no matter.
ALTER TABLE memories ADD CONSTRAINT bounded CHECK (octet_length(id) <= 64 AND length(scope) <= 1000)
    NOT VALID;

-- As before, but ids and scopes count as well towards the bytes of a page.
CREATE OR REPLACE FUNCTION changes_after(
    after_epoch bigint, after_xid xid8, after_seq bigint, scopes text[], most integer,
    most_bytes bigint
) RETURNS TABLE (
    xid xid8, seq bigint, scope text, id text, version bigint, author text, digest bytea,
    body text, model text, vectors bytea, words bytea, lengths bytea, terms bytea,
    epoch bigint, behind boolean, at timestamptz, since timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    row record;
    bytes bigint := 0;
    many integer := 0;
    edge xid8;
BEGIN
    epoch := current_epoch();
    IF epoch IS DISTINCT FROM after_epoch THEN
        behind := true;
        RETURN NEXT;
        RETURN;
    END IF;
    -- The disk of this server was set back, and it never gave that number out: all over again.
    IF after_xid >= pg_snapshot_xmax(pg_current_snapshot()) THEN
        xid := '0';
        seq := 0;
        behind := true;
        RETURN NEXT;
        RETURN;
    END IF;
    xid := after_xid;
    seq := after_seq;
    behind := false;
    -- One statement, so one snapshot: its edge belongs to the rows it shows.
    FOR row IN
        SELECT c.xid, c.seq, c.scope, c.id, c.version, c.seen, c.at, v.author, v.digest, v.body,
            v.model, v.vectors, v.words, v.lengths, v.terms, m.taken_at
        FROM (
            SELECT found.*, pg_current_snapshot() AS seen
            FROM unnest(scopes) AS wanted (scope), LATERAL (
                SELECT c.* FROM changes c
                WHERE c.team = mine AND c.scope = wanted.scope
                    AND (c.xid, c.seq) > (after_xid, after_seq)
                ORDER BY c.xid, c.seq LIMIT most + 1
            ) AS found
            ORDER BY found.xid, found.seq LIMIT most + 1
        ) AS c
        LEFT JOIN LATERAL ( -- OFFSET 0: one look-up a change, and never the whole table
            SELECT w.* FROM versions w
            WHERE w.team = mine AND w.id = c.id AND w.version = c.version OFFSET 0
        ) AS v ON true
        LEFT JOIN LATERAL (
            SELECT h.taken_at FROM memories h WHERE h.team = mine AND h.id = c.id OFFSET 0
        ) AS m ON true
        ORDER BY c.xid, c.seq
    LOOP
        IF edge IS NULL AND row.xid >= pg_snapshot_xmin(row.seen) THEN
            edge := feed_edge(row.seen, mine);
        END IF;
        behind := coalesce(row.xid >= edge, false) OR many >= most OR bytes > most_bytes;
        EXIT WHEN behind;
        xid := row.xid; seq := row.seq; scope := row.scope; id := row.id;
        version := row.version; author := row.author; digest := row.digest; body := row.body;
        model := row.model; vectors := row.vectors; words := row.words;
        lengths := row.lengths; terms := row.terms; at := row.at;
        since := row.taken_at;
        many := many + 1;
        bytes := bytes + octet_length(id) + octet_length(scope)
            + coalesce(octet_length(body) + octet_length(model) + octet_length(vectors)
                + octet_length(words) + octet_length(lengths) + octet_length(terms), 0);
        RETURN NEXT;
    END LOOP;
    scope := NULL; id := NULL; version := NULL; author := NULL; digest := NULL; body := NULL;
    model := NULL; vectors := NULL; words := NULL; lengths := NULL; terms := NULL; at := NULL;
    since := NULL;
    RETURN NEXT;
END $$;

-- As before, but of the words it reads the latest alone: whoever takes that back has one of those.
-- To read all would take longer than a call may, once a colleague has added versions enough. And what
-- the server never had is told again when one more has forgotten it.
CREATE OR REPLACE FUNCTION forget(forgotten text, scopes text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    me text := (SELECT member FROM members WHERE role = session_user);
    salted bytea := decode(replace(gen_random_uuid()::text || gen_random_uuid(), '-', ''), 'hex');
    place text;
    taken timestamptz;
    writer text;
BEGIN
    UPDATE memories SET version = 0, namespace = '', fingerprint = NULL, valid_from = NULL,
        valid_to = NULL, superseded_by = NULL, tags = '{}', found_by = NULL, words = NULL,
        forgotten_at = now()
    WHERE team = mine AND id = forgotten AND scope = ANY (scopes) AND forgotten_at IS NULL
    RETURNING scope, taken_at INTO place, taken;
    IF NOT FOUND THEN
        IF cardinality(scopes) = 1 AND scopes[1] NOT LIKE 'user:%' THEN
            INSERT INTO memories (team, id, version, scope, namespace, created_at, forgotten_at)
            VALUES (mine, forgotten, 0, scopes[1], '', now(), now()) ON CONFLICT DO NOTHING;
            IF FOUND THEN
                INSERT INTO deletions (team, id, scope, author, member)
                VALUES (mine, forgotten, scopes[1], '', me) ON CONFLICT DO NOTHING;
                INSERT INTO changes (team, scope, id, version) VALUES (mine, scopes[1], forgotten, 0);
                PERFORM pg_notify(channel_of(mine), '');
                RETURN false;
            END IF;
        END IF;
        PERFORM FROM memories WHERE team = mine AND id = forgotten FOR UPDATE;
        INSERT INTO deletions AS known (team, id, scope, author, member)
        SELECT mine, forgotten, d.scope, d.author, me FROM deletions d JOIN teams t USING (team)
        WHERE d.team = mine AND d.id = forgotten AND d.scope = ANY (scopes) AND d.returned IS NULL
            AND (t.forgetting = 'anyone' OR d.author IN ('', me))
        LIMIT 1 ON CONFLICT DO NOTHING
        RETURNING known.scope, known.author INTO place, writer;
        IF writer = '' THEN -- some may have heard of it as a deletion by who did not write it
            INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
            PERFORM pg_notify(channel_of(mine), '');
        END IF;
        RETURN false;
    END IF;
    SELECT v.author INTO writer FROM versions v
    WHERE v.team = mine AND v.id = forgotten ORDER BY v.version LIMIT 1;
    IF writer <> me AND (SELECT t.forgetting FROM teams t WHERE t.team = mine) = 'authors' THEN
        RAISE EXCEPTION 'only who wrote a memory may forget it' USING ERRCODE = 'SC004';
    END IF;
    DELETE FROM deleted_words WHERE team = mine AND at < now() - interval '30 days';
    INSERT INTO deleted_words (team, id, author, made, salt, digest)
    SELECT DISTINCT mine, forgotten, v.author, least(made_at(v.body), taken), salted,
        sha256(salted || undated_digest(v.body))
    FROM (
        SELECT w.author, w.body, sum(octet_length(w.body)) OVER (ORDER BY w.version DESC) AS bytes
        FROM versions w WHERE w.team = mine AND w.id = forgotten
        ORDER BY w.version DESC LIMIT 10
    ) AS v
    WHERE v.bytes <= 1000000; -- what the largest version has
    DELETE FROM versions WHERE team = mine AND id = forgotten;
    DELETE FROM vectors WHERE team = mine AND id = forgotten;
    DELETE FROM uses WHERE team = mine AND id = forgotten;
    INSERT INTO deletions (team, id, scope, author, member)
    VALUES (mine, forgotten, place, coalesce(writer, ''), me) ON CONFLICT DO NOTHING;
    INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;

CREATE INDEX deleted_words_by_age ON deleted_words (team, at);

-- As before, but what others deleted is there again only for who wrote it: who brings its first
-- version, and did not delete it as well. And no version takes its memory to where machines take no
-- more, which is beyond a million: others could change it no longer. A restore, or a memory of many
-- versions that was brought from elsewhere, may leave a gap.
-- Deleted words that are too old go with the next memory, be there another deletion or not.
CREATE OR REPLACE FUNCTION put(
    ids text[], numbers bigint[], scopes text[], namespaces text[], fingerprints bigint[],
    made timestamptz[], froms timestamptz[], tos timestamptz[], successors text[], labels text[],
    bodies text[], models text[], vector_blobs bytea[], word_blobs bytea[], length_blobs bytea[],
    term_blobs bytea[], digests bytea[], texts text[], embeddings halfvec[]
) RETURNS boolean[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    mine text := require_team();
    me text := (SELECT member FROM members WHERE role = session_user);
    begun text[] := ARRAY(SELECT i.id FROM unnest(ids, numbers) AS i (id, number) WHERE number = 1);
    taken boolean[];
BEGIN
    IF EXISTS (
        SELECT FROM unnest(ids, numbers) AS i (id, number)
        WHERE number > 1000000 OR number > 1000 AND number > coalesce((
            SELECT CASE WHEN h.forgotten_at IS NULL THEN h.version + 1000 ELSE number END
            FROM memories h WHERE h.team = mine AND h.id = i.id OFFSET 0
        ), 10000)
    ) THEN
        RAISE EXCEPTION 'no memory has so many versions' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (SELECT FROM teams t WHERE t.team = mine AND t.forgetting = 'authors') THEN
        WITH planted AS (
            DELETE FROM deletions d
            WHERE d.team = mine AND d.id = ANY (begun) AND NOT EXISTS (
                SELECT FROM deletions o
                WHERE o.team = mine AND o.id = d.id AND (o.author <> '' OR o.member = me)
            )
            RETURNING d.id, d.scope
        ), freed AS (
            DELETE FROM memories h USING planted p
            WHERE h.team = mine AND h.id = p.id AND h.forgotten_at IS NOT NULL
        )
        DELETE FROM changes c USING planted p
        WHERE c.team = mine AND c.scope = p.scope AND c.id = p.id AND c.version = 0;
    END IF;
    taken := put_versions(
        ids, numbers, scopes, namespaces, fingerprints, made, froms, tos, successors, labels,
        bodies, models, vector_blobs, word_blobs, length_blobs, term_blobs, digests, texts,
        embeddings
    );
    -- Last, as in "forget": the heads are locked first.
    DELETE FROM deleted_words w WHERE w.team = mine AND w.at < now() - interval '30 days';
    RETURN taken;
END $$;
