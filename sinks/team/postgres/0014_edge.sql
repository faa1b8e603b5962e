-- The feed waits for the transactions that may still add to it before its edge, and for no others:
-- neither for those in another database of the server, nor for logins that cannot write to it.

-- The oldest transaction that was under way in "seen" and may yet add to the feed of "mine"; where
-- there is none, the first that had not begun. A transaction's database and login never change, and
-- a login's team only by the owner's hand. One of which that cannot be told counts.
CREATE FUNCTION feed_edge(seen pg_snapshot, mine text) RETURNS xid8
LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
    SELECT coalesce(min(running.xid), pg_snapshot_xmax(seen))
    FROM pg_snapshot_xip(seen) AS running (xid)
    WHERE NOT EXISTS (
        SELECT FROM pg_locks l
        JOIN pg_stat_activity a USING (pid)
        JOIN pg_class c ON c.oid = 'changes'::regclass
        LEFT JOIN members m ON m.role = a.usename
        WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
            AND l.transactionid = running.xid::xid
            AND (
                a.datname <> current_database()
                OR m.team IS DISTINCT FROM mine
                AND NOT pg_has_role(a.usesysid, c.relowner, 'MEMBER')
            )
    )
$$;
REVOKE ALL ON FUNCTION feed_edge FROM PUBLIC;

-- As before, but for the edge.
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
        bytes := bytes + coalesce(octet_length(body) + octet_length(vectors)
            + octet_length(words) + octet_length(lengths) + octet_length(terms), 0);
        RETURN NEXT;
    END LOOP;
    scope := NULL; id := NULL; version := NULL; author := NULL; digest := NULL; body := NULL;
    model := NULL; vectors := NULL; words := NULL; lengths := NULL; terms := NULL; at := NULL;
    since := NULL;
    RETURN NEXT;
END $$;
