-- The tables that PanDA's server and JEDI write beside those of ../schema.sql, as far as the proof
-- calls them: columns and keys as in a PostgreSQL of PanDA (schema 0.1.6). Run by a superuser.
CREATE SCHEMA doma_deft AUTHORIZATION panda;
CREATE SCHEMA doma_pandaarch AUTHORIZATION panda;
SET ROLE panda;
SET search_path = doma_panda;
CREATE SEQUENCE filestable4_row_id_seq;
CREATE SEQUENCE group_jobid_seq;
CREATE SEQUENCE jedi_datasets_id_seq;
CREATE SEQUENCE jedi_dataset_cont_fileid_seq;
CREATE SEQUENCE jedi_output_template_id_seq;
CREATE SEQUENCE subcounter_subid_seq;
CREATE SEQUENCE doma_deft.prodsys2_task_id_seq;
CREATE SEQUENCE doma_pandameta.users_id_seq;
CREATE TABLE jobswaiting4 (LIKE jobsdefined4 INCLUDING DEFAULTS, PRIMARY KEY (pandaid));
CREATE TABLE filestable4 (
    row_id bigint, pandaid bigint DEFAULT 0, modificationtime timestamp DEFAULT '1970-01-01',
    guid varchar, lfn varchar, type varchar, dataset varchar, status varchar, proddblock varchar,
    proddblocktoken varchar, dispatchdblock varchar, dispatchdblocktoken varchar,
    destinationdblock varchar, destinationdblocktoken varchar, destinationse varchar,
    fsize bigint DEFAULT 0, md5sum varchar, checksum varchar, scope varchar, jeditaskid bigint,
    datasetid bigint, fileid bigint, attemptnr bigint, PRIMARY KEY (row_id, modificationtime)
);
CREATE TABLE datasets (
    vuid varchar, name varchar, version varchar, type varchar, status varchar, numberfiles bigint,
    currentfiles bigint, creationdate timestamp, modificationdate timestamp,
    moverid bigint DEFAULT 0, transferstatus bigint DEFAULT 0, subtype varchar,
    PRIMARY KEY (vuid, modificationdate)
);
CREATE TABLE jobparamstable (
    pandaid bigint, modificationtime timestamp DEFAULT '1970-01-01', jobparameters text,
    PRIMARY KEY (pandaid, modificationtime)
);
CREATE TABLE metatable (
    pandaid bigint, modificationtime timestamp DEFAULT '1970-01-01', metadata text,
    PRIMARY KEY (pandaid, modificationtime)
);
CREATE TABLE job_output_report (
    pandaid bigint, prodsourcelabel varchar, jobstatus varchar, attemptnr bigint, data text,
    timestamp timestamp, lockedby varchar, lockedtime timestamp, PRIMARY KEY (pandaid, attemptnr)
);
CREATE TABLE jobs_statuslog (
    pandaid bigint, modificationtime timestamp, jobstatus varchar, prodsourcelabel varchar,
    cloud varchar, computingsite varchar, modificationhost varchar, modiftime_extended timestamp
);
CREATE TABLE tasks_statuslog (
    jeditaskid bigint, modificationtime timestamp, status varchar, modificationhost varchar,
    attemptnr bigint, reason varchar
);
CREATE TABLE jedi_datasets (
    jeditaskid bigint, datasetid bigint, datasetname varchar, type varchar, creationtime timestamp,
    modificationtime timestamp, vo varchar, cloud varchar, site varchar, masterid bigint,
    provenanceid bigint, containername varchar, status varchar, state varchar,
    statechecktime timestamp, statecheckexpiration timestamp, frozentime timestamp, nfiles bigint,
    nfilestobeused bigint, nfilesused bigint, nfilesonhold bigint, nevents bigint,
    neventstobeused bigint, neventsused bigint, lockedby varchar, lockedtime timestamp,
    nfilesfinished bigint, nfilesfailed bigint, attributes varchar, streamname varchar,
    storagetoken varchar, destination varchar, templateid bigint, nfileswaiting bigint,
    nfilesmissing bigint, PRIMARY KEY (jeditaskid, datasetid)
);
CREATE TABLE jedi_dataset_contents (
    jeditaskid bigint, datasetid bigint, fileid bigint, creationdate timestamp,
    lastattempttime timestamp, lfn varchar, guid varchar, type varchar, status varchar,
    fsize bigint, checksum varchar, scope varchar, attemptnr bigint, maxattempt bigint,
    nevents bigint, keeptrack bigint, startevent bigint, endevent bigint, firstevent bigint,
    boundaryid bigint, pandaid bigint, failedattempt bigint, lumiblocknr bigint, outpandaid bigint,
    maxfailure bigint, ramcount bigint DEFAULT 0, is_waiting varchar, jobsetid bigint,
    proc_status varchar, constituent_id bigint, PRIMARY KEY (jeditaskid, datasetid, fileid)
);
CREATE TABLE jedi_dataset_locality (
    jeditaskid bigint, datasetid bigint, rse varchar, timestamp timestamp,
    PRIMARY KEY (jeditaskid, datasetid, rse)
);
CREATE TABLE jedi_job_retry_history (
    jeditaskid bigint, oldpandaid bigint, newpandaid bigint,
    ins_utc_tstamp timestamp DEFAULT (now() AT TIME ZONE 'UTC'), relationtype varchar,
    originpandaid bigint
);
CREATE TABLE jedi_jobparams_template (
    jeditaskid bigint, jobparamstemplate text, PRIMARY KEY (jeditaskid)
);
CREATE TABLE jedi_output_template (
    jeditaskid bigint, datasetid bigint, outtempid bigint, filenametemplate varchar,
    maxserialnr bigint, serialnr bigint, sourcename varchar, streamname varchar, outtype varchar,
    PRIMARY KEY (jeditaskid, datasetid, outtempid)
);
CREATE TABLE jedi_taskparams (
    jeditaskid bigint, taskparams text, PRIMARY KEY (jeditaskid)
);
CREATE TABLE jedi_process_lock (
    vo varchar, prodsourcelabel varchar, workqueue_id bigint, cloud varchar, lockedby varchar,
    lockedtime timestamp, resource_type varchar, component varchar,
    PRIMARY KEY (vo, prodsourcelabel, workqueue_id, cloud, resource_type, component)
);
CREATE TABLE jedi_work_queue (
    queue_id bigint, queue_name varchar, queue_type varchar, vo varchar, status varchar,
    partitionid bigint, stretchable bigint, queue_share bigint, queue_order bigint,
    criteria varchar, variables varchar, queue_function varchar, PRIMARY KEY (queue_id)
);
CREATE TABLE jedi_aux_status_mintaskid (
    status varchar, min_jeditaskid bigint, PRIMARY KEY (status)
);
CREATE TABLE jedi_events (
    jeditaskid bigint, pandaid bigint, fileid bigint, job_processid bigint, datasetid bigint,
    status bigint, def_min_eventid bigint, def_max_eventid bigint, processed_upto_eventid bigint,
    attemptnr bigint, objstore_id bigint, event_offset bigint, is_jumbo bigint, ziprow_id bigint,
    file_not_deleted varchar, error_code bigint, path_convention bigint, error_diag varchar,
    PRIMARY KEY (jeditaskid, pandaid, fileid, job_processid)
);
CREATE TABLE job_metrics (
    pandaid bigint, jeditaskid bigint, creationtime timestamp, modificationtime timestamp,
    data text, PRIMARY KEY (pandaid, modificationtime)
);
CREATE TABLE task_metrics (
    jeditaskid bigint, creationtime timestamp, modificationtime timestamp, data text,
    PRIMARY KEY (jeditaskid, modificationtime)
);
CREATE TABLE task_attempts (
    jeditaskid bigint, attemptnr bigint, starttime timestamp, endtime timestamp,
    startstatus varchar, endstatus varchar, PRIMARY KEY (jeditaskid, attemptnr, starttime)
);
CREATE TABLE sql_queue (
    topic varchar, pandaid bigint, execution_order bigint, jeditaskid bigint,
    creationtime timestamp, data varchar, PRIMARY KEY (topic, pandaid, execution_order)
);
CREATE TABLE jobs_share_stats (
    ts timestamp, gshare varchar, computingsite varchar, jobstatus varchar, maxpriority bigint,
    prorated_diskio_avg numeric, prorated_mem_avg numeric, njobs bigint, hs bigint, vo varchar,
    workqueue_id bigint, resource_type varchar, nucleus varchar
);
CREATE TABLE jobsdefined_share_stats (
    ts timestamp, gshare varchar, computingsite varchar, jobstatus varchar, maxpriority bigint,
    prorated_diskio_avg numeric, prorated_mem_avg numeric, njobs bigint, hs bigint, vo varchar,
    workqueue_id bigint, resource_type varchar, nucleus varchar
);
CREATE TABLE retryactions (
    retryaction_id bigint, retry_action varchar, active varchar DEFAULT 'Y',
    retry_description varchar, PRIMARY KEY (retryaction_id)
);
CREATE TABLE retryerrors (
    retryerror_id bigint, errorsource varchar, errorcode bigint, active varchar DEFAULT 'Y',
    retryaction bigint, errordiag varchar, parameters varchar, architecture varchar,
    release varchar, workqueue_id bigint, description varchar, expiration_date timestamp,
    PRIMARY KEY (retryerror_id)
);
CREATE TABLE error_classification (
    id bigint GENERATED ALWAYS AS IDENTITY, error_source varchar, error_code bigint,
    error_diag varchar, description varchar, error_class varchar, active varchar,
    reg_date timestamp DEFAULT (now() AT TIME ZONE 'UTC'), PRIMARY KEY (id)
);
CREATE TABLE pandadb_version (
    component varchar, major bigint, minor bigint, patch bigint, PRIMARY KEY (component)
);
CREATE TABLE harvester_instances (
    harvester_id varchar, description varchar, starttime timestamp, owner varchar, hostname varchar,
    lastupdate timestamp, sw_version varchar, commit_stamp varchar, PRIMARY KEY (harvester_id)
);
CREATE TABLE harvester_workers (
    harvesterid varchar, workerid bigint, lastupdate timestamp, status varchar, batchid varchar,
    nodeid varchar, queuename varchar, computingsite varchar, submittime timestamp,
    starttime timestamp, endtime timestamp, ncore bigint, errorcode bigint, stdout varchar,
    stderr varchar, batchlog varchar, resourcetype varchar, nativeexitcode bigint,
    nativestatus varchar, diagmessage varchar, computingelement varchar, njobs bigint,
    submissionhost varchar, harvesterhost varchar, jdl varchar, jobtype varchar,
    pilotstarttime timestamp, pilotendtime timestamp, pilotstatus varchar,
    pilotstatussynctime timestamp, minramcount bigint,
    PRIMARY KEY (harvesterid, workerid, lastupdate)
);
CREATE TABLE harvester_rel_jobs_workers (
    harvesterid varchar, workerid bigint, pandaid bigint, lastupdate timestamp,
    PRIMARY KEY (harvesterid, workerid, pandaid)
);
CREATE TABLE carbon_region_emissions (
    region varchar, timestamp timestamp, value bigint, PRIMARY KEY (region, "timestamp")
);
CREATE TABLE doma_pandameta.users (
    id bigint, name varchar, dn varchar, email varchar, url varchar, location varchar,
    classa varchar, classp varchar, classxp varchar, sitepref varchar, gridpref varchar,
    queuepref varchar, scriptcache varchar, types varchar, sites varchar, njobsa bigint,
    njobsp bigint, njobs1 bigint, njobs7 bigint, njobs30 bigint, cpua1 bigint, cpua7 bigint,
    cpua30 bigint, cpup1 bigint, cpup7 bigint, cpup30 bigint, cpuxp1 bigint, cpuxp7 bigint,
    cpuxp30 bigint, quotaa1 bigint, quotaa7 bigint, quotaa30 bigint, quotap1 bigint, quotap7 bigint,
    quotap30 bigint, quotaxp1 bigint, quotaxp7 bigint, quotaxp30 bigint, space1 bigint,
    space7 bigint, space30 bigint, lastmod timestamp DEFAULT LOCALTIMESTAMP,
    firstjob timestamp DEFAULT '1970-01-01',
    latestjob timestamp DEFAULT '1970-01-01',
    pagecache text, cachetime timestamp DEFAULT '1970-01-01', ncurrent bigint DEFAULT 0,
    jobid bigint DEFAULT 0, status varchar, vo varchar,
    PRIMARY KEY (id)
);
ALTER TABLE doma_pandameta.sitedata ADD nojob integer, ADD nstart integer, ADD laststart timestamp;
CREATE TABLE doma_deft.prodsys_comm (
    comm_task bigint PRIMARY KEY, comm_meta bigint, comm_owner varchar, comm_cmd varchar,
    comm_ts bigint, comm_comment varchar, comm_parameters text
);
CREATE TABLE doma_deft.t_task (
    taskid bigint, parent_tid bigint, status varchar, total_done_jobs bigint, submit_time timestamp,
    start_time timestamp, timestamp timestamp, vo varchar, prodsourcelabel varchar,
    taskname varchar, username varchar, priority bigint, current_priority bigint,
    total_req_jobs bigint, chain_tid bigint, total_events bigint, jedi_task_parameters text,
    total_input_events bigint
);
CREATE TABLE doma_pandaarch.jobsarchived (LIKE jobsdefined4 INCLUDING DEFAULTS);
CREATE TABLE doma_pandaarch.filestable_arch (LIKE filestable4 INCLUDING DEFAULTS);
CREATE TABLE doma_pandaarch.jobparamstable_arch (
    pandaid bigint, modificationtime timestamp DEFAULT LOCALTIMESTAMP, jobparameters text
);
CREATE TABLE doma_pandaarch.metatable_arch (
    pandaid bigint DEFAULT 0, modificationtime timestamp DEFAULT LOCALTIMESTAMP, metadata text
);
-- What the brokers of ATLAS ask beside.
CREATE TABLE sw_tags (panda_queue varchar PRIMARY KEY, data text, last_update timestamp);
CREATE TABLE mv_worker_node_summary (
    panda_queue varchar, cpu_architecture_level varchar, total_logical_cpus bigint,
    pct_within_pq numeric
);
CREATE TABLE mv_worker_node_gpu_summary (
    panda_queue varchar, vendor varchar, model varchar, vram bigint, architecture varchar,
    framework_version varchar, driver_version varchar, gpus_per_host bigint
);
CREATE TABLE metrics (
    computingsite varchar, gshare varchar, metric varchar, value_json json, timestamp timestamp
);
CREATE TABLE cache (
    main_key varchar, sub_key varchar, data text, last_update timestamp,
    PRIMARY KEY (main_key, sub_key)
);
CREATE TABLE task_evaluation (
    jeditaskid bigint, metric varchar, value_json json, timestamp timestamp
);
CREATE TABLE mv_jobsactive4_stats (
    cur_date timestamp, cloud varchar, computingsite varchar, countrygroup varchar,
    workinggroup varchar, relocationflag bigint, jobstatus varchar, processingtype varchar,
    prodsourcelabel varchar, currentpriority bigint, num_of_jobs bigint, vo varchar,
    workqueue_id bigint, num_of_cores bigint, resource_type varchar
);
CREATE TABLE site_stats (site_name varchar, key varchar, value bigint, ts timestamp);
CREATE TABLE total_walltime_cache (
    vo varchar, agg_type varchar, agg_key varchar, prodsourcelabel varchar, resource_type varchar,
    total_walltime bigint, n_has_value bigint, n_no_value bigint
);
INSERT INTO pandadb_version (component, major, minor, patch) VALUES ('PanDA', 0, 1, 6);
RESET ROLE;
