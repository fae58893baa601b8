-- Tables of PanDA for the tests, as far as Yardmaster reads them: columns, keys and partitions as in a
-- PostgreSQL of PanDA (schema 0.1.6), with the columns that must not leave the database (produserid,
-- jobparameters ...). Run by a superuser in an empty database; as in PanDA's, the owner of the schema and
-- the tables may not make anything else in the database.
CREATE ROLE panda;
CREATE SCHEMA doma_panda AUTHORIZATION panda;
CREATE SCHEMA doma_pandameta AUTHORIZATION panda;
SET ROLE panda;
SET search_path = doma_panda;
CREATE SEQUENCE jobsdefined4_pandaid_seq;

CREATE TABLE jobsdefined4 (
    pandaid bigint NOT NULL, jobdefinitionid bigint NOT NULL DEFAULT 0, schedulerid varchar,
    pilotid varchar, creationtime timestamp NOT NULL DEFAULT '1970-01-01', creationhost varchar,
    modificationtime timestamp NOT NULL DEFAULT '1970-01-01', modificationhost varchar,
    atlasrelease varchar, transformation varchar, homepackage varchar,
    prodserieslabel varchar DEFAULT 'Rome',
    prodsourcelabel varchar DEFAULT 'managed', produserid varchar,
    assignedpriority bigint NOT NULL DEFAULT 0, currentpriority bigint NOT NULL DEFAULT 0,
    attemptnr smallint NOT NULL DEFAULT 0, maxattempt bigint NOT NULL DEFAULT 0,
    jobstatus varchar NOT NULL DEFAULT 'defined', jobname varchar,
    maxcpucount bigint NOT NULL DEFAULT 0, maxcpuunit varchar,
    maxdiskcount bigint NOT NULL DEFAULT 0, maxdiskunit varchar, ipconnectivity varchar,
    minramcount bigint NOT NULL DEFAULT 0, minramunit varchar,
    starttime timestamp DEFAULT '1970-01-01',
    endtime timestamp DEFAULT '1970-01-01',
    cpuconsumptiontime numeric(20) NOT NULL DEFAULT 0, cpuconsumptionunit varchar,
    commandtopilot varchar, transexitcode varchar, piloterrorcode bigint NOT NULL DEFAULT 0,
    piloterrordiag varchar, exeerrorcode bigint NOT NULL DEFAULT 0, exeerrordiag varchar,
    superrorcode bigint NOT NULL DEFAULT 0, superrordiag varchar,
    ddmerrorcode bigint NOT NULL DEFAULT 0, ddmerrordiag varchar,
    brokerageerrorcode bigint NOT NULL DEFAULT 0, brokerageerrordiag varchar,
    jobdispatchererrorcode bigint NOT NULL DEFAULT 0, jobdispatchererrordiag varchar,
    taskbuffererrorcode bigint NOT NULL DEFAULT 0, taskbuffererrordiag varchar,
    computingsite varchar, computingelement varchar, jobparameters varchar, metadata varchar,
    proddblock varchar, dispatchdblock varchar, destinationdblock varchar, destinationse varchar,
    nevents bigint NOT NULL DEFAULT 0, grid varchar, cloud varchar, cpuconversion bigint,
    sourcesite varchar, destinationsite varchar, transfertype varchar, taskid bigint,
    cmtconfig varchar, statechangetime timestamp DEFAULT '1970-01-01',
    proddbupdatetime timestamp DEFAULT '1970-01-01', lockedby varchar,
    relocationflag bigint DEFAULT 0, jobexecutionid bigint DEFAULT 0, vo varchar,
    pilottiming varchar, workinggroup varchar, processingtype varchar, produsername varchar,
    ninputfiles bigint, countrygroup varchar, batchid bigint, parentid bigint,
    specialhandling varchar, jobsetid bigint, corecount bigint, ninputdatafiles bigint,
    inputfiletype varchar, inputfileproject varchar, inputfilebytes bigint,
    noutputdatafiles bigint, outputfilebytes bigint, jobmetrics varchar, workqueue_id bigint,
    jeditaskid bigint, jobsubstatus varchar, actualcorecount bigint, reqid bigint, maxrss bigint,
    maxvmem bigint, maxswap bigint, maxpss bigint, avgrss bigint, avgvmem bigint, avgswap bigint,
    avgpss bigint, maxwalltime bigint, nucleus varchar, eventservice bigint, failedattempt bigint,
    hs06sec numeric(20,2), gshare varchar, hs06 bigint, totrchar bigint, totwchar bigint,
    totrbytes bigint, totwbytes bigint, raterchar bigint, ratewchar bigint, raterbytes bigint,
    ratewbytes bigint, resource_type varchar, diskio bigint, memory_leak bigint,
    memory_leak_x2 bigint, container_name varchar, job_label varchar, meancorecount numeric(20,2),
    gco2_regional numeric(20,2), gco2_global numeric(20,2), cpu_architecture_level bigint,
    outputfiletype varchar,
    PRIMARY KEY (pandaid)
);
CREATE TABLE jobsactive4 (LIKE jobsdefined4 INCLUDING DEFAULTS, PRIMARY KEY (pandaid));
ALTER TABLE jobsactive4 ALTER jobstatus SET DEFAULT 'activated';
CREATE INDEX jobsactive4_modtime_idx ON jobsactive4 (modificationtime);
CREATE TABLE jobsarchived4 (
    LIKE jobsdefined4 INCLUDING DEFAULTS,
    PRIMARY KEY (pandaid, modificationtime)
) PARTITION BY RANGE (modificationtime);
CREATE TABLE jobsarchived4_old PARTITION OF jobsarchived4 FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE jobsarchived4_new PARTITION OF jobsarchived4 FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);

CREATE TABLE jedi_tasks (
    jeditaskid bigint NOT NULL, taskname varchar, status varchar NOT NULL,
    username varchar NOT NULL, creationdate timestamp NOT NULL,
    modificationtime timestamp NOT NULL, reqid bigint, oldstatus varchar, cloud varchar,
    site varchar, starttime timestamp, endtime timestamp, frozentime timestamp,
    prodsourcelabel varchar, workinggroup varchar, vo varchar, corecount bigint, tasktype varchar,
    processingtype varchar, taskpriority bigint, currentpriority bigint, architecture varchar,
    transuses varchar, transhome varchar, transpath varchar, lockedby varchar,
    lockedtime timestamp, termcondition varchar, splitrule varchar, walltime bigint,
    walltimeunit varchar, outdiskcount bigint, outdiskunit varchar, workdiskcount bigint,
    workdiskunit varchar, ramcount bigint, ramunit varchar, iointensity bigint,
    iointensityunit varchar, workqueue_id bigint, progress bigint, failurerate bigint,
    errordialog varchar, countrygroup varchar, parent_tid bigint, eventservice bigint,
    ticketid varchar, ticketsystemtype varchar, statechangetime timestamp, superstatus varchar,
    campaign varchar, mergeramcount bigint, mergeramunit varchar, mergewalltime bigint,
    mergewalltimeunit varchar, throttledtime timestamp, numthrottled bigint, mergecorecount bigint,
    goal bigint, assessmenttime timestamp, cputime bigint, cputimeunit varchar,
    cpuefficiency numeric(20,2), basewalltime bigint, amiflag_old bigint,
    amiflag bigint NOT NULL DEFAULT 0, nucleus varchar, baseramcount bigint,
    ttcrequested timestamp, ttcpredicted timestamp, ttcpredictiondate timestamp,
    rescuetime timestamp, requesttype varchar, gshare varchar, usejumbo varchar,
    resource_type varchar, diskio bigint, diskiounit varchar, memory_leak_core bigint,
    memory_leak_x2 bigint, attemptnr bigint, container_name varchar, job_label varchar,
    realmodificationtime timestamp, framework varchar, activatedtime timestamp,
    queuedtime timestamp, actiontime timestamp,
    PRIMARY KEY (jeditaskid)
) PARTITION BY RANGE (jeditaskid);
CREATE TABLE jedi_tasks_1 PARTITION OF jedi_tasks FOR VALUES FROM (0) TO (45000000);
CREATE TABLE jedi_tasks_2 PARTITION OF jedi_tasks FOR VALUES FROM (45000000) TO (MAXVALUE);

CREATE TABLE harvester_worker_stats (
    harvester_id varchar NOT NULL, computingsite varchar NOT NULL, resourcetype varchar NOT NULL,
    status varchar NOT NULL, n_workers bigint, lastupdate timestamp NOT NULL DEFAULT '1970-01-01',
    jobtype varchar NOT NULL DEFAULT '*',
    PRIMARY KEY (harvester_id, computingsite, resourcetype, status, jobtype)
);
-- Published, it would break PanDA: it has no key.
CREATE TABLE harvester_slots (
    pandaqueuename varchar, gshare varchar, resourcetype varchar, numslots bigint,
    modificationtime timestamp, expirationtime timestamp
);

CREATE TABLE schedconfig_json (panda_queue varchar PRIMARY KEY, data jsonb, last_update timestamp);
CREATE TABLE panda_site (
    panda_site_name varchar PRIMARY KEY, site_name varchar, default_ddm_endpoint varchar, storage_site_name varchar,
    is_local varchar
);
CREATE TABLE panda_ddm_relation (
    panda_site_name varchar NOT NULL, ddm_endpoint_name varchar NOT NULL, is_local char(1), roles varchar,
    order_read integer, order_write integer, default_read char(1), default_write char(1),
    scope varchar NOT NULL,
    PRIMARY KEY (panda_site_name, ddm_endpoint_name, scope)
);
CREATE TABLE site (site_name varchar PRIMARY KEY, role varchar, tier_level bigint);
CREATE TABLE ddm_endpoint (
    ddm_endpoint_name varchar PRIMARY KEY, site_name varchar, ddm_spacetoken_name varchar,
    type varchar, is_tape varchar, space_total bigint, space_free bigint, space_used bigint,
    space_expired bigint, space_min_free bigint, space_unavailable bigint, space_timestamp timestamp, blacklisted varchar, blacklisted_write varchar,
    blacklisted_read varchar, detailed_status jsonb
);
CREATE TABLE global_shares (
    name varchar PRIMARY KEY, value bigint, parent varchar, prodsourcelabel varchar, workinggroup varchar,
    campaign varchar, processingtype varchar, vo varchar, queue_id bigint, throttled char(1),
    transpath varchar, rtype varchar
);
CREATE TABLE config (
    app varchar NOT NULL, component varchar NOT NULL, key varchar NOT NULL, vo varchar NOT NULL,
    value varchar, type varchar, descr varchar, value_json jsonb,
    PRIMARY KEY (app, component, key, vo)
);
CREATE TABLE network_matrix_kv (
    src varchar NOT NULL, dst varchar NOT NULL, key varchar NOT NULL, value bigint, ts timestamp,
    PRIMARY KEY (src, dst, key)
);
CREATE TABLE resource_types (
    resource_name varchar PRIMARY KEY, mincore bigint, maxcore bigint, minrampercore bigint,
    maxrampercore bigint
);
CREATE TABLE doma_pandameta.sitedata (
    site varchar NOT NULL, flag varchar NOT NULL, hours integer NOT NULL DEFAULT 0, nwn integer,
    running integer NOT NULL DEFAULT 0, getjob integer NOT NULL DEFAULT 0,
    updatejob integer NOT NULL DEFAULT 0, lastmod timestamp NOT NULL DEFAULT LOCALTIMESTAMP,
    PRIMARY KEY (site, flag, hours)
);
RESET ROLE;
