-- What of PanDA's database its changes are published of, and what the connector's role may read. PostgreSQL 14 and
-- later. Run it as the owner of PanDA's tables (role.sql before it), in PanDA's database, and again after each patch of
-- PanDA's schema:
--
--   psql -v ON_ERROR_STOP=1 -d panda_db -f publication.sql
--
-- Tables are published whole: a list of columns in a publication would keep PanDA's own patches from changing one of
-- these columns (publication-columns.sql has the lists all the same). The connector's column.include.list keeps the
-- others out of Kafka. A connector's snapshot reads the tables, not the publication: the role is granted these columns,
-- none of which has a certificate's name or a job's parameters, and can select no other.
SET search_path = doma_panda;
BEGIN;
DO $$
DECLARE
    job CONSTANT text := 'pandaid, jeditaskid, jobstatus, jobsubstatus, statechangetime, modificationtime,
        creationtime, starttime, endtime, attemptnr, computingsite, produsername, workinggroup,
        gshare, resource_type, nucleus, prodsourcelabel, processingtype, corecount,
        actualcorecount, currentpriority, inputfilebytes, outputfilebytes, modificationhost,
        cpuconsumptiontime, maxpss, maxrss, diskio, nevents';
    -- Every table has a key. A published table without one makes PanDA's own UPDATE and DELETE fail.
    -- Never FOR ALL TABLES, never FOR TABLES IN SCHEMA.
    wanted CONSTANT text[][] := ARRAY[
        ['jobsdefined4', job],
        ['jobsactive4', job],
        ['jobsarchived4', job],
        ['jedi_tasks', 'jeditaskid, status, username, workinggroup, gshare, prodsourcelabel, processingtype,
            resource_type, nucleus, statechangetime, modificationtime, currentpriority, taskpriority'],
        ['harvester_worker_stats', 'harvester_id, computingsite, resourcetype, status, jobtype, n_workers,
            lastupdate'],
        ['schedconfig_json', 'panda_queue, data, last_update'],
        ['panda_site', 'panda_site_name, site_name, default_ddm_endpoint, storage_site_name'],
        ['panda_ddm_relation', 'panda_site_name, ddm_endpoint_name, scope, roles, default_write'],
        ['site', 'site_name, role, tier_level'],
        ['ddm_endpoint', 'ddm_endpoint_name, site_name, type, is_tape, space_total,
            space_free, space_expired, space_min_free, space_unavailable, space_timestamp,
            blacklisted, blacklisted_write, blacklisted_read, detailed_status'],
        ['global_shares', 'name, value, parent, prodsourcelabel, workinggroup, campaign, processingtype, vo,
            queue_id, throttled, transpath, rtype'],
        ['config', 'app, component, key, vo, value, type, descr, value_json'],
        ['network_matrix_kv', 'src, dst, key, value, ts'],
        ['resource_types', 'resource_name, mincore, maxcore, minrampercore, maxrampercore'],
        ['doma_pandameta.sitedata', 'site, flag, hours, getjob, updatejob, lastmod']
    ];
    of_table text[];
    at regclass;
    published text;
    there text;
    missing text;
BEGIN
    GRANT USAGE ON SCHEMA doma_panda, doma_pandameta TO yardmaster_cdc;
    FOREACH of_table SLICE 1 IN ARRAY wanted LOOP
        at := of_table[1];
        published := concat_ws(', ', published, at);
        IF NOT EXISTS (SELECT FROM pg_index WHERE indrelid = at AND indisprimary) THEN
            RAISE EXCEPTION 'no primary key: %. Published, PanDA could not update it', of_table[1]
                USING HINT = 'Take it out of this file, of table.include.list and of '
                    'snapshot.include.collection.list; an import brings the same facts.';
        END IF;
        -- Those that this version of PanDA's schema has.
        SELECT string_agg(quote_ident(name), ', ') FILTER (WHERE attnum IS NOT NULL),
                string_agg(name, ', ') FILTER (WHERE attnum IS NULL) INTO there, missing
            FROM regexp_split_to_table(of_table[2], ',\s*') AS name
            LEFT JOIN pg_attribute ON attrelid = at AND attname = name;
        IF missing IS NOT NULL THEN
            RAISE NOTICE '% has no %', of_table[1], missing;
        END IF;
        EXECUTE format('GRANT SELECT (%s) ON %s TO yardmaster_cdc', there, at);
    END LOOP;
    EXECUTE 'ALTER PUBLICATION yardmaster SET TABLE ' || published;
END $$;
-- A restored database shows in it: `yardmaster panda check --memory`.
GRANT SELECT ON SEQUENCE jobsdefined4_pandaid_seq TO yardmaster_cdc;
COMMIT;
