-- Whose words a version is made of: all that a reader is shown beside the author's name counts, not
-- the text alone, or a colleague could put a summary, a tag or an origin into the author's mouth.

-- What the writer's own program notes of why a version was kept is nobody's words, as long as it is
-- one of these. Another note is, and so its author is who wrote it.
CREATE FUNCTION is_known_note(note text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT regexp_replace(note, '\mmem_[0-9a-z]{26}\M', 'ID', 'g') ~ (
        '^(|explicit|updated|expired|restored( version \d{1,7})?|superseded by ID'
        '|(no longer )?supersedes ID|kept beside ID, changed elsewhere first'
        '|new: (nothing is like it|\d\.\d\d alike to ID)'
        '|merged: (the same text|\d\.\d\d alike|it was changed here and elsewhere)'
        '|both this and another memory supersede one: decide which of them holds'
        '|changed in an imported file)$'
    )
$$;

-- Equal for versions of the same words. They are read from the body itself, for a hash beside it
-- could claim a colleague's. Empty fields count as missing: an older subcog leaves out newer ones.
-- PostgreSQL reads no zero character, so that is taken for another.
CREATE OR REPLACE FUNCTION content_digest(body text) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    WITH parsed AS (SELECT replace(body, '\u0000', '\u0001')::jsonb AS memory),
    words AS (
        SELECT key, value FROM parsed, jsonb_each(memory)
        WHERE key IN ('content', 'summary', 'tags', 'namespace', 'anchors', 'created_at')
        UNION ALL
        SELECT 'from ' || key, value
        FROM parsed, jsonb_each(
            CASE WHEN jsonb_typeof(memory -> 'provenance') = 'object'
                THEN memory -> 'provenance' ELSE '{}' END
        )
        WHERE key <> 'author' AND NOT (key = 'gate' AND is_known_note(value #>> '{}'))
    )
    SELECT sha256(convert_to(coalesce(jsonb_object_agg(key, value)::text, ''), 'UTF8'))
    FROM words WHERE value NOT IN ('""', '[]', 'null')
$$;

REVOKE ALL ON FUNCTION is_known_note FROM PUBLIC;
UPDATE versions SET content = content_digest(body);
