-- A server that takes over from another, or is restored, may lack what members know of: its epoch
-- is another than any before, also than one that was lost with the other server. Counting on would
-- give the same number to two restores of one backup, and to two standbys.

CREATE FUNCTION next_epoch(known bigint) RETURNS bigint
LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
    SELECT greatest(known + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- As before, but a standby has none: it may be behind its primary, which would look as if
-- transactions were lost.
CREATE OR REPLACE FUNCTION current_epoch() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    known feed;
    whole boolean;
    line text;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this server is a standby' USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    SELECT * INTO known FROM feed;
    IF known.system <> (SELECT system_identifier FROM pg_control_system()) THEN
        RETURN NULL;
    END IF;
    line := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    SELECT feed.xmin = feed.stamp INTO whole FROM feed;
    IF whole AND known.timeline = line THEN
        RETURN known.epoch;
    END IF;
    UPDATE feed SET epoch = next_epoch(epoch), timeline = line, stamp = pg_current_xact_id()::xid
    WHERE epoch = known.epoch;
    RETURN (SELECT epoch FROM feed);
END $$;

CREATE OR REPLACE FUNCTION renew_feed() RETURNS bigint
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
        UPDATE feed SET epoch = next_epoch(epoch), stamp = pg_current_xact_id()::xid,
            timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8),
            system = (SELECT system_identifier FROM pg_control_system());
    END IF;
    RETURN current_epoch();
END $$;

REVOKE ALL ON FUNCTION next_epoch FROM PUBLIC;
