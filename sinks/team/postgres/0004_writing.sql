-- Writing. Each function does its work in the caller's team, in one transaction, and wakes who
-- listens. Rows are always touched in the order of their ids, so that no two writers wait for
-- each other.

-- The text of a memory, as the writer's JSON spells it: what decides whose words they are. It is
-- read from the body itself, for a hash beside it could claim a colleague's text. PostgreSQL reads
-- no zero character, so that is taken for another.
CREATE FUNCTION content_digest(body text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT sha256(convert_to((replace(body, '\u0000', '\u0001')::json -> 'content')::text, 'UTF8'))
$$;

-- Appends versions, all or none; for each whether it was new. Raises SC001 where a memory would
-- change its scope. "labels" are tags, apart by the unit separator.
CREATE FUNCTION put(
    ids text[], numbers bigint[], scopes text[], namespaces text[], fingerprints bigint[],
    made timestamptz[], froms timestamptz[], tos timestamptz[], successors text[], labels text[],
    bodies text[], models text[], vector_blobs bytea[], word_blobs bytea[], length_blobs bytea[],
    term_blobs bytea[], digests bytea[], texts text[], embeddings halfvec[]
) RETURNS boolean[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    me text := (SELECT member FROM members WHERE role = session_user);
    for_bm25 boolean := to_regclass('memories_by_bm25') IS NOT NULL;
    taken boolean[];
    foreign_scope boolean;
BEGIN
    -- First the heads, which locks them: what this finds out stays true until the commit.
    INSERT INTO memories AS m (
        team, id, version, scope, namespace, fingerprint, created_at, valid_from, valid_to,
        superseded_by, tags, found_by, words
    )
    SELECT DISTINCT ON (i.id) mine, i.id, i.version, i.scope, i.namespace, i.fingerprint, i.made,
        i.valid_from, i.valid_to, i.successor, coalesce(string_to_array(i.label, E'\x1f'), '{}'),
        strip(to_tsvector('english', i.text)), CASE WHEN for_bm25 THEN i.text END
    FROM unnest(
        ids, numbers, scopes, namespaces, fingerprints, made, froms, tos, successors, labels, texts
    ) AS i (
        id, version, scope, namespace, fingerprint, made, valid_from, valid_to, successor, label,
        text
    )
    ORDER BY i.id, i.version DESC
    ON CONFLICT (team, id) DO UPDATE SET
        version = excluded.version, namespace = excluded.namespace,
        fingerprint = excluded.fingerprint, created_at = excluded.created_at,
        valid_from = excluded.valid_from, valid_to = excluded.valid_to,
        superseded_by = excluded.superseded_by, tags = excluded.tags,
        found_by = excluded.found_by, words = excluded.words
    WHERE m.version < excluded.version AND m.scope = excluded.scope AND m.forgotten_at IS NULL;

    -- OFFSET 0 keeps the planner from anything but one look-up a row, whatever it knows of the
    -- tables; a plan made while they were small would be kept and cost minutes later.
    SELECT array_agg(
            NOT m.gone AND NOT i.known AND m.scope = i.scope AND i.time = 1 ORDER BY i.place
        ),
        bool_or(NOT m.gone AND NOT i.known AND m.scope <> i.scope)
    INTO taken, foreign_scope
    FROM (
        SELECT n.*, row_number() OVER (PARTITION BY n.id, n.version ORDER BY n.place) AS time,
            EXISTS (
                SELECT FROM versions v
                WHERE v.team = mine AND v.id = n.id AND v.version = n.version OFFSET 0
            ) AS known
        FROM unnest(ids, numbers, scopes) WITH ORDINALITY AS n (id, version, scope, place)
    ) AS i, LATERAL (
        SELECT h.scope, h.forgotten_at IS NOT NULL AS gone FROM memories h
        WHERE h.team = mine AND h.id = i.id OFFSET 0
    ) AS m;
    IF foreign_scope THEN
        RAISE EXCEPTION 'a memory stays in its scope' USING ERRCODE = 'SC001';
    END IF;

    INSERT INTO versions (
        team, id, version, author, digest, content, body, model, vectors, words, lengths, terms
    )
    SELECT mine, i.id, i.version,
        coalesce(
            (SELECT v.author FROM versions v
            WHERE v.team = mine AND v.id = i.id AND v.content = i.content
            ORDER BY v.version LIMIT 1),
            me
        ),
        i.digest, i.content, i.body, i.model, i.vectors, i.words, i.lengths, i.terms
    FROM (
        SELECT n.*, content_digest(n.body) AS content
        FROM unnest(
            ids, numbers, bodies, models, vector_blobs, word_blobs, length_blobs, term_blobs,
            digests, taken
        ) AS n (id, version, body, model, vectors, words, lengths, terms, digest, taken)
        WHERE n.taken OFFSET 0
    ) AS i;

    INSERT INTO changes (team, scope, id, version)
    SELECT mine, i.scope, i.id, i.version
    FROM unnest(ids, numbers, scopes, taken) AS i (id, version, scope, taken) WHERE i.taken;

    INSERT INTO vectors AS known (team, id, version, scope, embedding)
    SELECT DISTINCT ON (i.id) mine, i.id, i.version, i.scope, i.embedding
    FROM unnest(ids, numbers, scopes, embeddings, taken) AS i (id, version, scope, embedding, taken)
    WHERE i.taken
    ORDER BY i.id, i.version DESC
    ON CONFLICT (team, id) DO UPDATE SET
        version = excluded.version, embedding = excluded.embedding, graphed = false
    WHERE known.version < excluded.version;

    IF true = ANY (taken) THEN
        PERFORM pg_notify(channel_of(mine), '');
    END IF;
    RETURN taken;
END $$;

-- Deletes every version of a memory in one of "scopes", and leaves its tombstone. In a single scope
-- it leaves one of a memory that is not there as well: after a restore somebody may yet bring it.
CREATE FUNCTION forget(forgotten text, scopes text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    place text;
BEGIN
    UPDATE memories SET version = 0, namespace = '', fingerprint = NULL, valid_from = NULL,
        valid_to = NULL, superseded_by = NULL, tags = '{}', found_by = NULL, words = NULL,
        forgotten_at = now()
    WHERE team = mine AND id = forgotten AND scope = ANY (scopes) AND forgotten_at IS NULL
    RETURNING scope INTO place;
    IF NOT FOUND THEN
        IF cardinality(scopes) = 1 AND scopes[1] NOT LIKE 'user:%' THEN
            INSERT INTO memories (team, id, version, scope, namespace, created_at, forgotten_at)
            VALUES (mine, forgotten, 0, scopes[1], '', now(), now()) ON CONFLICT DO NOTHING;
            IF FOUND THEN
                INSERT INTO changes (team, scope, id, version) VALUES (mine, scopes[1], forgotten, 0);
                PERFORM pg_notify(channel_of(mine), '');
            END IF;
        END IF;
        RETURN false;
    END IF;
    DELETE FROM versions WHERE team = mine AND id = forgotten;
    DELETE FROM vectors WHERE team = mine AND id = forgotten;
    DELETE FROM uses WHERE team = mine AND id = forgotten;
    INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;

-- Counts a use of each of "ids" that is there.
CREATE FUNCTION mark_used(ids text[], at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
BEGIN
    INSERT INTO uses AS known (team, id, times, last)
    SELECT mine, m.id, count(*), at
    FROM unnest(ids) AS used (id) JOIN memories m ON m.team = mine AND m.id = used.id
    WHERE m.forgotten_at IS NULL
    GROUP BY m.id ORDER BY m.id
    ON CONFLICT (team, id) DO UPDATE SET
        times = known.times + excluded.times, last = greatest(known.last, excluded.last);
END $$;

-- Puts a project on the team's list; false where it is there.
CREATE FUNCTION share(project text, title text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    mine text := require_team();
BEGIN
    INSERT INTO projects (team, scope, name, shared_by)
    VALUES (mine, project, title, (SELECT member FROM members WHERE role = session_user))
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM pg_notify(channel_of(mine), '');
    END IF;
    RETURN FOUND;
END $$;

-- Takes a project off the team's list, if it was the caller who put it there.
CREATE FUNCTION unshare(project text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    mine text := require_team();
BEGIN
    DELETE FROM projects WHERE team = mine AND scope = project
        AND shared_by = (SELECT member FROM members WHERE role = session_user);
    IF FOUND THEN
        PERFORM pg_notify(channel_of(mine), '');
    END IF;
    RETURN FOUND;
END $$;
