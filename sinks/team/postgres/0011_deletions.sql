-- Deletions have a bound of their own, the number of a day: what a member forgets does not wait for
-- the next day because the member wrote too much on this one.

ALTER TABLE spent ADD deletions bigint NOT NULL DEFAULT 0;

-- As before, but of the heads a tombstone of what was never there counts as a deletion.
CREATE OR REPLACE FUNCTION spend() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    many bigint := 0;
    large bigint := 0;
    gone bigint := 0;
    passed boolean;
BEGIN
    IF TG_TABLE_NAME = 'versions' THEN
        SELECT count(*), coalesce(sum(octet_length(a.body) + octet_length(a.model)
            + octet_length(a.vectors) + octet_length(a.words) + octet_length(a.lengths)
            + octet_length(a.terms)), 0)
        INTO many, large FROM added a;
    ELSIF TG_TABLE_NAME = 'projects' THEN
        SELECT count(*), coalesce(sum(pg_column_size(a)), 0) INTO many, large FROM added a;
    ELSE
        SELECT coalesce(sum(pg_column_size(a)) FILTER (WHERE a.forgotten_at IS NULL), 0),
            count(*) FILTER (WHERE a.forgotten_at IS NOT NULL AND TG_OP = 'INSERT')
        INTO large, gone FROM added a;
    END IF;
    IF many = 0 AND large = 0 AND gone = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO spent AS s (team, member, day, versions, bytes, deletions)
    SELECT me.team, me.member, today, many, large, gone FROM members me WHERE me.role = session_user
    ON CONFLICT (team, member) DO UPDATE SET
        day = excluded.day,
        versions = excluded.versions + CASE WHEN s.day = excluded.day THEN s.versions ELSE 0 END,
        bytes = excluded.bytes + CASE WHEN s.day = excluded.day THEN s.bytes ELSE 0 END,
        deletions = excluded.deletions
            + CASE WHEN s.day = excluded.day THEN s.deletions ELSE 0 END;
    SELECT many + large > 0 AND (s.versions > t.daily_versions OR s.bytes > t.daily_bytes)
        OR gone > 0 AND s.deletions > t.daily_versions
    INTO passed
    FROM members me JOIN spent s USING (team, member) JOIN teams t USING (team)
    WHERE me.role = session_user;
    IF passed THEN
        RAISE EXCEPTION 'the quota of the day is used up' USING ERRCODE = 'SC003';
    END IF;
    RETURN NULL;
END $$;
