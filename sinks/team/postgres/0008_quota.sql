-- What one member may add a day, which begins at 00:00 UTC by the server's clock. It is counted by
-- triggers, so that no function that writes can pass it by. Deleting what is there is always free.

ALTER TABLE teams
    ADD daily_versions bigint NOT NULL DEFAULT 100000 CHECK (daily_versions > 0),
    ADD daily_bytes bigint NOT NULL DEFAULT 1000000000
        CHECK (daily_bytes >= 10000000); -- the largest version has to fit

CREATE TABLE spent (
    team text NOT NULL,
    member text NOT NULL,
    day date NOT NULL,
    versions bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (team, member)
);

-- Counts the rows "added". Raises SC003 where that is more than the team takes of a member a day.
-- Who is no member, as the owner who restores a backup, is not counted.
CREATE FUNCTION spend() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    many bigint := 0;
    large bigint := 0;
    passed boolean;
BEGIN
    IF TG_TABLE_NAME = 'versions' THEN
        SELECT count(*), coalesce(sum(octet_length(a.body) + octet_length(a.model)
            + octet_length(a.vectors) + octet_length(a.words) + octet_length(a.lengths)
            + octet_length(a.terms)), 0)
        INTO many, large FROM added a;
    ELSIF TG_TABLE_NAME = 'projects' THEN
        SELECT count(*), coalesce(sum(pg_column_size(a)), 0) INTO many, large FROM added a;
    ELSIF TG_OP = 'INSERT' THEN -- of the heads only a tombstone of what was never there is one more
        SELECT count(*) FILTER (WHERE a.forgotten_at IS NOT NULL),
            coalesce(sum(pg_column_size(a)), 0)
        INTO many, large FROM added a;
    ELSE
        SELECT coalesce(sum(pg_column_size(a)), 0)
        INTO large FROM added a WHERE a.forgotten_at IS NULL;
    END IF;
    IF many = 0 AND large = 0 THEN
        RETURN NULL;
    END IF;
    INSERT INTO spent AS s (team, member, day, versions, bytes)
    SELECT me.team, me.member, today, many, large FROM members me WHERE me.role = session_user
    ON CONFLICT (team, member) DO UPDATE SET
        day = excluded.day,
        versions = excluded.versions + CASE WHEN s.day = excluded.day THEN s.versions ELSE 0 END,
        bytes = excluded.bytes + CASE WHEN s.day = excluded.day THEN s.bytes ELSE 0 END;
    SELECT s.versions > t.daily_versions OR s.bytes > t.daily_bytes INTO passed
    FROM members me JOIN spent s USING (team, member) JOIN teams t USING (team)
    WHERE me.role = session_user;
    IF passed THEN
        RAISE EXCEPTION 'the quota of the day is used up' USING ERRCODE = 'SC003';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER spend AFTER INSERT ON versions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION spend();
CREATE TRIGGER spend AFTER INSERT ON projects
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION spend();
CREATE TRIGGER spend_inserted AFTER INSERT ON memories
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION spend();
CREATE TRIGGER spend_updated AFTER UPDATE ON memories
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION spend();

REVOKE ALL ON FUNCTION spend FROM PUBLIC;
