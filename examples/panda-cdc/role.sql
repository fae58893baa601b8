-- The role of the connector, and the publication that it reads, still without tables. By a superuser, once,
-- in PanDA's database:
--
--   { echo '\set password `cat password`'; cat role.sql; } | psql -v ON_ERROR_STOP=1 -d panda_db
--
-- The role may replicate and read what publication.sql grants, and write nothing. pg_hba.conf must let it connect to
-- PanDA's database (logical replication needs no line for `replication`).
BEGIN;
CREATE ROLE yardmaster_cdc LOGIN REPLICATION PASSWORD :'password' CONNECTION LIMIT 6;
ALTER ROLE yardmaster_cdc SET default_transaction_read_only = on;

-- Partitions are published under the name of their table. Making a publication takes CREATE on the database, which
-- the owner of PanDA's tables does not have; filling one of its own takes nothing more.
CREATE PUBLICATION yardmaster WITH (publish_via_partition_root = true);
DO $$
BEGIN
    EXECUTE format('ALTER PUBLICATION yardmaster OWNER TO %s',
        (SELECT relowner::regrole FROM pg_class WHERE oid = 'doma_panda.jobsactive4'::regclass));
END $$;
COMMIT;
