-- Who forgot a memory may take that back: by another memory of the same words, which keeps the name
-- of who wrote them, and is known as what brings the other one back. And where authors alone
-- forget, a deletion of what the server never had holds only for what that member wrote.

-- By which memory its member took a deletion back.
ALTER TABLE deletions ADD returned text;

-- Whose the words of a deleted memory were, for as long as one who was away may take that back. Each
-- digest has a salt, and no member reads it.
CREATE TABLE deleted_words (
    team text NOT NULL,
    id text NOT NULL,
    author text NOT NULL,
    made timestamptz,
    salt bytea NOT NULL,
    digest bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deleted_words_by_id ON deleted_words (team, id);
ALTER TABLE deleted_words ENABLE ROW LEVEL SECURITY;

-- As before, and why a memory that was taken back is kept.
CREATE OR REPLACE FUNCTION is_known_note(note text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT regexp_replace(note, '\mmem_[0-9a-z]{26}\M', 'ID', 'g') ~ (
        '^(|explicit|updated|expired|restored( version \d{1,7})?|superseded by ID'
        '|(no longer )?supersedes ID|kept beside ID, changed elsewhere first|brings back ID'
        '|new: (nothing is like it|\d\.\d\d alike to ID)'
        '|merged: (the same text|\d\.\d\d alike|it was changed here and elsewhere)'
        '|both this and another memory supersede one: decide which of them holds'
        '|changed in an imported file)$'
    )
$$;

-- When a version says that its memory was made; NULL for what is no time.
CREATE FUNCTION made_at(body text) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (replace(body, '\u0000', '\u0001')::jsonb ->> 'created_at')::timestamptz;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- All words but the date, which is another for who was told it by this server.
CREATE FUNCTION undated_digest(body text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT content_digest((replace(body, '\u0000', '\u0001')::jsonb - 'created_at')::text)
$$;

-- A first version that takes a deletion of the same member back, once. Its author is who wrote the
-- deleted words, if these are they.
CREATE FUNCTION bring_back() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    note text := replace(NEW.body, '\u0000', '\u0001')::jsonb #>> '{provenance,gate}';
    old text := substring(note FROM '^brings back (mem_[0-9a-z]{26})$');
    writer text;
BEGIN
    UPDATE deletions d SET returned = NEW.id
    WHERE d.team = NEW.team AND d.id = old AND d.returned IS NULL
        AND d.member = (SELECT m.member FROM members m WHERE m.role = session_user)
        AND d.scope = (SELECT h.scope FROM memories h WHERE h.team = NEW.team AND h.id = NEW.id);
    IF FOUND THEN
        SELECT w.author INTO writer FROM deleted_words w
        WHERE w.team = NEW.team AND w.id = old AND w.made = made_at(NEW.body)
            AND w.digest = sha256(w.salt || undated_digest(NEW.body))
        LIMIT 1;
        NEW.author := coalesce(writer, NEW.author);
        DELETE FROM deleted_words w WHERE w.team = NEW.team AND w.id = old;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER bring_back BEFORE INSERT ON versions
    FOR EACH ROW WHEN (NEW.version = 1 AND NEW.body LIKE '%"brings back mem\_%')
    EXECUTE FUNCTION bring_back();

-- As before, and it notes whose the words were.
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
            END IF;
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
    FROM versions v WHERE v.team = mine AND v.id = forgotten AND v.author <> me;
    DELETE FROM versions WHERE team = mine AND id = forgotten;
    DELETE FROM vectors WHERE team = mine AND id = forgotten;
    DELETE FROM uses WHERE team = mine AND id = forgotten;
    INSERT INTO deletions (team, id, scope, author, member)
    VALUES (mine, forgotten, place, coalesce(writer, ''), me) ON CONFLICT DO NOTHING;
    INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;

-- As before, but where authors alone forget, what others deleted before the server had it is there
-- again: they did not write it.
ALTER FUNCTION put RENAME TO put_versions;
REVOKE ALL ON FUNCTION put_versions FROM PUBLIC, subcog_member;
CREATE FUNCTION put(
    ids text[], numbers bigint[], scopes text[], namespaces text[], fingerprints bigint[],
    made timestamptz[], froms timestamptz[], tos timestamptz[], successors text[], labels text[],
    bodies text[], models text[], vector_blobs bytea[], word_blobs bytea[], length_blobs bytea[],
    term_blobs bytea[], digests bytea[], texts text[], embeddings halfvec[]
) RETURNS boolean[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_variable
DECLARE
    mine text := require_team();
BEGIN
    IF EXISTS (SELECT FROM teams t WHERE t.team = mine AND t.forgetting = 'authors') THEN
        WITH planted AS (
            DELETE FROM deletions d
            WHERE d.team = mine AND d.id = ANY (ids) AND d.author = ''
                AND d.member <> (SELECT m.member FROM members m WHERE m.role = session_user)
            RETURNING d.id, d.scope
        ), freed AS (
            DELETE FROM memories h USING planted p
            WHERE h.team = mine AND h.id = p.id AND h.forgotten_at IS NOT NULL
        )
        DELETE FROM changes c USING planted p
        WHERE c.team = mine AND c.scope = p.scope AND c.id = p.id AND c.version = 0;
    END IF;
    RETURN put_versions(
        ids, numbers, scopes, namespaces, fingerprints, made, froms, tos, successors, labels,
        bodies, models, vector_blobs, word_blobs, length_blobs, term_blobs, digests, texts,
        embeddings
    );
END $$;

REVOKE ALL ON FUNCTION made_at, undated_digest, bring_back, put FROM PUBLIC;
GRANT EXECUTE ON FUNCTION put TO subcog_member;
