-- A choice: lists of columns in the publication, those that publication.sql granted, so that no other column leaves the
-- server. PostgreSQL 15 and later; by the owner of PanDA's tables, after publication.sql.
--
-- With them PanDA's own patches cannot drop a listed column or change its type. So before each patch of PanDA's schema
-- run publication.sql, which takes the lists back, and after it publication.sql and this file once more. The connector
-- may go on all the time.
--
-- The replica identity stays the default: beside a list REPLICA IDENTITY FULL makes PanDA's own UPDATE fail.
DO $$
BEGIN
    EXECUTE (SELECT 'ALTER PUBLICATION yardmaster SET TABLE ' || string_agg(listed, ', ') FROM (
        SELECT format('%s (%s)', r.prrelid::regclass, string_agg(quote_ident(a.attname), ', ')) AS listed
            FROM pg_publication p
            JOIN pg_publication_rel r ON r.prpubid = p.oid
            JOIN pg_attribute a ON a.attrelid = r.prrelid
            WHERE p.pubname = 'yardmaster' AND a.attnum > 0 AND NOT a.attisdropped
                AND has_column_privilege('yardmaster_cdc', a.attrelid, a.attnum, 'SELECT')
            GROUP BY r.prrelid) AS tables);
END $$;
