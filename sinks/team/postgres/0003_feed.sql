-- The feed: which epoch it is in, and what came after a cursor.

-- NULL where the tables were restored from another cluster: its transaction ids mean nothing here,
-- and the owner has to call "renew_feed". Any other restore starts a new epoch by itself.
CREATE FUNCTION current_epoch() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    known feed;
    whole boolean;
    line text;
BEGIN
    SELECT * INTO known FROM feed;
    IF known.system <> (SELECT system_identifier FROM pg_control_system()) THEN
        RETURN NULL;
    END IF;
    IF pg_is_in_recovery() THEN
        RETURN known.epoch;
    END IF;
    line := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    SELECT feed.xmin = feed.stamp INTO whole FROM feed;
    IF whole AND known.timeline = line THEN
        RETURN known.epoch;
    END IF;
    UPDATE feed SET epoch = epoch + 1, timeline = line, stamp = pg_current_xact_id()::xid
    WHERE epoch = known.epoch;
    RETURN (SELECT epoch FROM feed);
END $$;

-- For the owner: makes the feed of a restored database one of this cluster.
CREATE FUNCTION renew_feed() RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO feed (epoch, system, timeline, stamp)
    SELECT 1, system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
        pg_current_xact_id()::xid
    FROM pg_control_system()
    ON CONFLICT (single) DO NOTHING;
    IF current_epoch() IS NULL THEN
        LOCK TABLE changes IN EXCLUSIVE MODE;
        UPDATE changes SET xid = '0';
        UPDATE feed SET epoch = epoch + 1, stamp = pg_current_xact_id()::xid,
            timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8),
            system = (SELECT system_identifier FROM pg_control_system());
    END IF;
    RETURN current_epoch();
END $$;

-- What a connection asks first. No row for a role that is in no team.
CREATE FUNCTION hello() RETURNS TABLE (
    version integer, team text, member text, epoch bigint, channel text, bm25 boolean,
    halfvec oid, halfvecs oid
)
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT (SELECT max(m.version) FROM migrations m), me.team, me.member, current_epoch(),
        channel_of(me.team), to_regclass('memories_by_bm25') IS NOT NULL,
        'halfvec'::regtype::oid, 'halfvec[]'::regtype::oid
    FROM members me WHERE me.role = session_user
$$;

-- The next changes of "scopes" after (after_xid, after_seq), at most "most" of them and about
-- "most_bytes", in the feed's order. The last row has no id: it tells the epoch, where to go on,
-- and whether more is there or will be visible in a moment.
CREATE FUNCTION changes_after(
    after_epoch bigint, after_xid xid8, after_seq bigint, scopes text[], most integer,
    most_bytes bigint
) RETURNS TABLE (
    xid xid8, seq bigint, scope text, id text, version bigint, author text, digest bytea,
    body text, model text, vectors bytea, words bytea, lengths bytea, terms bytea,
    epoch bigint, behind boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
#variable_conflict use_column
DECLARE
    mine text := require_team();
    row record;
    bytes bigint := 0;
    many integer := 0;
    full boolean := false;
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
        SELECT c.xid, c.seq, c.scope, c.id, c.version, c.gated, v.author, v.digest, v.body,
            v.model, v.vectors, v.words, v.lengths, v.terms
        FROM (
            SELECT found.*, found.xid >= pg_snapshot_xmin(pg_current_snapshot()) AS gated
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
        ORDER BY c.xid, c.seq
    LOOP
        behind := row.gated OR many >= most OR bytes > most_bytes;
        EXIT WHEN behind;
        xid := row.xid; seq := row.seq; scope := row.scope; id := row.id;
        version := row.version; author := row.author; digest := row.digest; body := row.body;
        model := row.model; vectors := row.vectors; words := row.words;
        lengths := row.lengths; terms := row.terms;
        many := many + 1;
        bytes := bytes + coalesce(octet_length(body) + octet_length(vectors)
            + octet_length(words) + octet_length(lengths) + octet_length(terms), 0);
        RETURN NEXT;
    END LOOP;
    scope := NULL; id := NULL; version := NULL; author := NULL; digest := NULL; body := NULL;
    model := NULL; vectors := NULL; words := NULL; lengths := NULL; terms := NULL;
    RETURN NEXT;
END $$;
