-- Who may read what. Members read the tables through row security and write through functions
-- alone, which run as the owner: nobody can name another team, or another author, than his own.

CREATE FUNCTION my_team() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT team FROM members WHERE role = session_user
$$;

CREATE FUNCTION require_team() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    mine text := my_team();
BEGIN
    IF mine IS NULL THEN
        RAISE EXCEPTION 'the role % is in no team', session_user USING ERRCODE = 'SC002';
    END IF;
    RETURN mine;
END $$;

CREATE FUNCTION channel_of(name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT 'subcog_' || left(encode(sha256(convert_to(name, 'UTF8')), 'hex'), 16)
$$;

DO $$
DECLARE
    name text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'subcog_member') THEN
        CREATE ROLE subcog_member NOLOGIN;
    END IF;
    FOREACH name IN ARRAY ARRAY[
        'teams', 'members', 'projects', 'memories', 'versions', 'vectors', 'uses', 'changes'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_team ON %I FOR SELECT TO subcog_member'
            ' USING (team = (SELECT my_team()))', name);
        EXECUTE format('GRANT SELECT ON %I TO subcog_member', name);
    END LOOP;
END $$;
