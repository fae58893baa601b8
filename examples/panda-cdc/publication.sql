-- What of PanDA's database may leave it, and for whom: the publication, and the role that reads it.
-- PostgreSQL 15 to 17; docs/panda-cdc.md says what differs on 14. Run it by the owner of PanDA's tables
-- (role.sql before it, by a superuser), in PanDA's database:
--
--   psql -v ON_ERROR_STOP=1 -d panda_db -f publication.sql
--
-- No column has a certificate's name or a job's parameters. The role can read no other column: a
-- connector's snapshot reads the tables, not the publication.
SET search_path = doma_panda;
BEGIN;

-- Every table has a key. A published table without one makes PanDA's own UPDATE and DELETE fail.
-- Never FOR ALL TABLES, never FOR TABLES IN SCHEMA, never REPLICA IDENTITY FULL beside a list of columns.
CREATE PUBLICATION yardmaster FOR TABLE
    jobsdefined4 (
        pandaid, jeditaskid, jobstatus, jobsubstatus, statechangetime, modificationtime,
        creationtime, starttime, endtime, attemptnr, computingsite, produsername, workinggroup,
        gshare, resource_type, nucleus, prodsourcelabel, processingtype, corecount,
        actualcorecount, currentpriority, inputfilebytes, outputfilebytes, modificationhost,
        cpuconsumptiontime, maxpss, maxrss, diskio, nevents
    ),
    jobsactive4 (
        pandaid, jeditaskid, jobstatus, jobsubstatus, statechangetime, modificationtime,
        creationtime, starttime, endtime, attemptnr, computingsite, produsername, workinggroup,
        gshare, resource_type, nucleus, prodsourcelabel, processingtype, corecount,
        actualcorecount, currentpriority, inputfilebytes, outputfilebytes, modificationhost,
        cpuconsumptiontime, maxpss, maxrss, diskio, nevents
    ),
    jobsarchived4 (
        pandaid, jeditaskid, jobstatus, jobsubstatus, statechangetime, modificationtime,
        creationtime, starttime, endtime, attemptnr, computingsite, produsername, workinggroup,
        gshare, resource_type, nucleus, prodsourcelabel, processingtype, corecount,
        actualcorecount, currentpriority, inputfilebytes, outputfilebytes, modificationhost,
        cpuconsumptiontime, maxpss, maxrss, diskio, nevents
    ),
    jedi_tasks (
        jeditaskid, status, username, workinggroup, gshare, prodsourcelabel, processingtype,
        resource_type, nucleus, statechangetime, modificationtime, currentpriority, taskpriority
    ),
    harvester_worker_stats (
        harvester_id, computingsite, resourcetype, status, jobtype, n_workers, lastupdate
    ),
    schedconfig_json (
        panda_queue, data, last_update
    ),
    panda_site (
        panda_site_name, site_name, default_ddm_endpoint, storage_site_name, is_local
    ),
    site (
        site_name, role, tier_level
    ),
    ddm_endpoint (
        ddm_endpoint_name, site_name, ddm_spacetoken_name, type, is_tape, space_total, space_free,
        space_used, space_expired, space_min_free, space_unavailable, space_timestamp, blacklisted,
        blacklisted_write, blacklisted_read, detailed_status
    ),
    global_shares (
        name, value, parent, prodsourcelabel, workinggroup, campaign, processingtype, vo, queue_id,
        throttled, transpath, rtype
    ),
    config (
        app, component, key, vo, value, type, descr
    ),
    network_matrix_kv (
        src, dst, key, value, ts
    ),
    resource_types (
        resource_name, mincore, maxcore, minrampercore, maxrampercore
    )
    -- Partitions are published under the name of their table.
    WITH (publish_via_partition_root = true);

-- Undoes all of this if a table has no key after all: not every version of PanDA gives global_shares one.
DO $$
DECLARE
    keyless text;
BEGIN
    SELECT string_agg(t.tablename, ', ') INTO keyless
        FROM pg_publication_tables t
        WHERE t.pubname = 'yardmaster' AND NOT EXISTS (SELECT FROM pg_index i
            WHERE i.indrelid = format('%I.%I', t.schemaname, t.tablename)::regclass AND i.indisprimary);
    IF keyless IS NOT NULL THEN
        RAISE EXCEPTION 'no primary key: %. Published, PanDA could not update them', keyless
            USING HINT = 'Take them out of this file, of table.include.list and of '
                'snapshot.include.collection.list; an import brings the same facts.';
    END IF;
END $$;

-- The same columns, one by one.
GRANT USAGE ON SCHEMA doma_panda TO yardmaster_cdc;
GRANT SELECT (
        pandaid, jeditaskid, jobstatus, jobsubstatus, statechangetime, modificationtime,
        creationtime, starttime, endtime, attemptnr, computingsite, produsername, workinggroup,
        gshare, resource_type, nucleus, prodsourcelabel, processingtype, corecount,
        actualcorecount, currentpriority, inputfilebytes, outputfilebytes, modificationhost,
        cpuconsumptiontime, maxpss, maxrss, diskio, nevents
    ) ON jobsdefined4, jobsactive4, jobsarchived4 TO yardmaster_cdc;
GRANT SELECT (
        jeditaskid, status, username, workinggroup, gshare, prodsourcelabel, processingtype,
        resource_type, nucleus, statechangetime, modificationtime, currentpriority, taskpriority
    ) ON jedi_tasks TO yardmaster_cdc;
GRANT SELECT (
        harvester_id, computingsite, resourcetype, status, jobtype, n_workers, lastupdate
    ) ON harvester_worker_stats TO yardmaster_cdc;
GRANT SELECT (
        panda_queue, data, last_update
    ) ON schedconfig_json TO yardmaster_cdc;
GRANT SELECT (
        panda_site_name, site_name, default_ddm_endpoint, storage_site_name, is_local
    ) ON panda_site TO yardmaster_cdc;
GRANT SELECT (
        site_name, role, tier_level
    ) ON site TO yardmaster_cdc;
GRANT SELECT (
        ddm_endpoint_name, site_name, ddm_spacetoken_name, type, is_tape, space_total, space_free,
        space_used, space_expired, space_min_free, space_unavailable, space_timestamp, blacklisted,
        blacklisted_write, blacklisted_read, detailed_status
    ) ON ddm_endpoint TO yardmaster_cdc;
GRANT SELECT (
        name, value, parent, prodsourcelabel, workinggroup, campaign, processingtype, vo, queue_id,
        throttled, transpath, rtype
    ) ON global_shares TO yardmaster_cdc;
GRANT SELECT (
        app, component, key, vo, value, type, descr
    ) ON config TO yardmaster_cdc;
GRANT SELECT (
        src, dst, key, value, ts
    ) ON network_matrix_kv TO yardmaster_cdc;
GRANT SELECT (
        resource_name, mincore, maxcore, minrampercore, maxrampercore
    ) ON resource_types TO yardmaster_cdc;

COMMIT;
