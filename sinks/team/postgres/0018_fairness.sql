-- What one member lists, writes or holds open costs no colleague more than that alone.

-- How many projects one member may have on the team's list.
ALTER TABLE teams ADD projects_each integer NOT NULL DEFAULT 200 CHECK (projects_each > 0);

-- As before, and raises SC005 where the caller has too many there. "spent", which the insertion
-- counts in, is locked by then: two calls at once do not pass the bound together.
CREATE OR REPLACE FUNCTION share(project text, title text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    mine text := require_team();
    me text := (SELECT member FROM members WHERE role = session_user);
BEGIN
    INSERT INTO projects (team, scope, name, shared_by) VALUES (mine, project, title, me)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF (SELECT count(*) FROM projects p WHERE p.team = mine AND p.shared_by = me)
        > (SELECT t.projects_each FROM teams t WHERE t.team = mine)
    THEN
        RAISE EXCEPTION 'too many projects of one member' USING ERRCODE = 'SC005';
    END IF;
    PERFORM pg_notify(channel_of(mine), '');
    RETURN true;
END $$;

-- Those of "ids" that could not be written now, for somebody's transaction has them.
CREATE FUNCTION locked(ids text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_variable
DECLARE
    mine text := require_team();
BEGIN
    RETURN ARRAY(
        (SELECT m.id FROM memories m WHERE m.team = mine AND m.id = ANY (ids)
        EXCEPT SELECT free.id FROM (
            SELECT m.id FROM memories m
            WHERE m.team = mine AND m.id = ANY (ids) FOR UPDATE SKIP LOCKED
        ) AS free)
        UNION (SELECT v.id FROM vectors v WHERE v.team = mine AND v.id = ANY (ids)
        EXCEPT SELECT free.id FROM (
            SELECT v.id FROM vectors v
            WHERE v.team = mine AND v.id = ANY (ids) FOR UPDATE SKIP LOCKED
        ) AS free)
    );
END $$;

-- Deleted words that are too old, but for those that somebody else is about to delete.
CREATE FUNCTION drop_old_words(mine text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM deleted_words WHERE ctid = ANY (ARRAY(
        SELECT w.ctid FROM deleted_words w
        WHERE w.team = mine AND w.at < now() - interval '30 days' FOR UPDATE SKIP LOCKED
    ));
END $$;

-- "put" and "forget" as before, but they wait for nobody's old words. And a version may be of any
-- number that is one step above what is there: with a last number, a member could go there step by
-- step, and a colleague could change that memory no longer.
DO $migration$
DECLARE
    edit record;
    was text;
BEGIN
    FOR edit IN SELECT * FROM (VALUES
        ('forget', $$DELETE FROM deleted_words WHERE team = mine AND at < now() - interval '30 days'$$,
            'PERFORM drop_old_words(mine)'),
        ('put', $$DELETE FROM deleted_words w WHERE w.team = mine AND w.at < now() - interval '30 days'$$,
            'PERFORM drop_old_words(mine)'),
        ('put', 'number > 1000000 OR number > 1000', 'number > 1000'),
        ('is_known_note', '\d{1,7}', '\d{1,16}')
    ) AS edits (name, old, new) LOOP
        was := pg_get_functiondef(edit.name::regproc);
        ASSERT strpos(was, edit.old) > 0;
        EXECUTE replace(was, edit.old, edit.new);
    END LOOP;
END $migration$;

-- Who waits longer is told, and goes on with what nobody has.
ALTER FUNCTION put SET lock_timeout = '3s';
ALTER FUNCTION forget SET lock_timeout = '3s';
ALTER FUNCTION share SET lock_timeout = '3s';

REVOKE ALL ON FUNCTION locked, drop_old_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION locked TO subcog_member;
