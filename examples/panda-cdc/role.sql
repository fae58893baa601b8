-- The role of the connector, made once for a PostgreSQL by a superuser:
--
--   { echo '\set password `cat password`'; cat role.sql; } | psql -v ON_ERROR_STOP=1
--
-- It may replicate and read what publication.sql grants, and write nothing. pg_hba.conf must let it connect to PanDA's
-- database (logical replication needs no line for `replication`).
CREATE ROLE yardmaster_cdc LOGIN REPLICATION PASSWORD :'password' CONNECTION LIMIT 6;
ALTER ROLE yardmaster_cdc SET default_transaction_read_only = on;
