-- What one member puts or forgets bounds no colleague's: neither what is received, nor what may be
-- forgotten or changed later.

-- A tombstone costs no bytes of the quota, and comes to everybody. Of rows from before, no matter.
ALTER TABLE memories ADD CONSTRAINT bounded CHECK (octet_length(id) <= 64 AND length(scope) <= 1000)
    NOT VALID;

-- As before, but ids and scopes count as well towards the bytes of a page.
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
        bytes := bytes + octet_length(id) + octet_length(scope)
            + coalesce(octet_length(body) + octet_length(model) + octet_length(vectors)
                + octet_length(words) + octet_length(lengths) + octet_length(terms), 0);
        RETURN NEXT;
    END LOOP;
    scope := NULL; id := NULL; version := NULL; author := NULL; digest := NULL; body := NULL;
    model := NULL; vectors := NULL; words := NULL; lengths := NULL; terms := NULL; at := NULL;
    since := NULL;
    RETURN NEXT;
END $$;
