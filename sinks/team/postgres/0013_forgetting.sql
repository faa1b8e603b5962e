-- Who may forget a memory of the team, and who did.

ALTER TABLE teams ADD forgetting text NOT NULL DEFAULT 'anyone'
    CHECK (forgetting IN ('anyone', 'authors'));

-- Every deletion; "author" wrote the first version, and is empty where the memory was never there.
CREATE TABLE deletions (
    team text NOT NULL,
    id text NOT NULL,
    scope text NOT NULL,
    author text NOT NULL,
    member text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team, id)
);
ALTER TABLE deletions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_team ON deletions FOR SELECT TO subcog_member
    USING (team = (SELECT my_team()));
GRANT SELECT ON deletions TO subcog_member;

-- As before, but it notes who did it, and raises SC004 where the team lets only who wrote a memory
-- forget it. Whose it is says its first version: a colleague may have added others.
CREATE OR REPLACE FUNCTION forget(forgotten text, scopes text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    me text := (SELECT member FROM members WHERE role = session_user);
    place text;
    writer text;
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
    DELETE FROM versions WHERE team = mine AND id = forgotten;
    DELETE FROM vectors WHERE team = mine AND id = forgotten;
    DELETE FROM uses WHERE team = mine AND id = forgotten;
    INSERT INTO deletions (team, id, scope, author, member)
    VALUES (mine, forgotten, place, coalesce(writer, ''), me) ON CONFLICT DO NOTHING;
    INSERT INTO changes (team, scope, id, version) VALUES (mine, place, forgotten, 0);
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;
