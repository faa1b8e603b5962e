-- Several members may forget the same memory, each before they heard of the other. Each takes back
-- what they forgot themselves, and it is back for the team when nobody's forgetting stands.

ALTER TABLE deletions DROP CONSTRAINT deletions_pkey;
ALTER TABLE deletions ADD PRIMARY KEY (team, id, member);

-- As before, but whose the words were is known until the last of them has taken it back. The lock
-- is that of "forget": who forgets it meanwhile is seen, or sees that it is back.
CREATE OR REPLACE FUNCTION bring_back() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    note text := replace(NEW.body, '\u0000', '\u0001')::jsonb #>> '{provenance,gate}';
    old text := substring(note FROM '^brings back (mem_[0-9a-z]{26})$');
    writer text;
BEGIN
    PERFORM FROM memories h WHERE h.team = NEW.team AND h.id = old FOR UPDATE;
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
        IF NOT EXISTS (
            SELECT FROM deletions d
            WHERE d.team = NEW.team AND d.id = old AND d.returned IS NULL
        ) THEN
            DELETE FROM deleted_words w WHERE w.team = NEW.team AND w.id = old;
        END IF;
    END IF;
    RETURN NEW;
END $$;

-- As before, but it notes who else forgot what somebody forgot and did not take back yet, where that
-- member may; and whose the words were also where their author forgot them first.
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
        INSERT INTO deletions (team, id, scope, author, member)
        SELECT mine, forgotten, d.scope, d.author, me FROM deletions d JOIN teams t USING (team)
        WHERE d.team = mine AND d.id = forgotten AND d.scope = ANY (scopes) AND d.returned IS NULL
            AND (t.forgetting = 'anyone' OR d.author IN ('', me))
        LIMIT 1 ON CONFLICT DO NOTHING;
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
    FROM versions v WHERE v.team = mine AND v.id = forgotten;
    DELETE FROM versions WHERE team = mine AND id = forgotten;
    DELETE FROM vectors WHERE team = mine AND id = forgotten;
    DELETE FROM uses WHERE team = mine AND id = forgotten;
    INSERT INTO deletions (team, id, scope, author, member)
    VALUES (mine, forgotten, place, coalesce(writer, ''), me) ON CONFLICT DO NOTHING;
    INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;

REVOKE ALL ON FUNCTION bring_back FROM PUBLIC;
