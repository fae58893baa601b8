//! Tables and columns of PanDA that change data capture reads. examples/panda-cdc/publication.sql
//! grants exactly these; a test compares.

/// A table that is read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its name, with its schema where that is another than the jobs'.
    pub table: &'static str,
    /// Without it jobs are not followed. Others replace file imports, or count more exactly.
    pub is_needed: bool,
    pub columns: &'static [&'static str],
}

/// Columns that came with schema 0.0.23, 0.0.29 and 0.1.6 of PanDA: older ones lack them.
const LATER: [&str; 4] = ["value_json", "detailed_status", "space_min_free", "space_unavailable"];

impl Wanted {
    /// Those that every schema has from which PanDA's changes are read.
    pub fn lasting(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().copied().filter(|column| !LATER.contains(column))
    }
}

#[rustfmt::skip]
const JOB: &[&str] = &[
    "pandaid", "jeditaskid", "jobstatus", "jobsubstatus", "statechangetime", "modificationtime",
    "creationtime", "starttime", "endtime", "attemptnr", "computingsite", "produsername",
    "workinggroup", "gshare", "resource_type", "nucleus", "prodsourcelabel", "processingtype",
    "corecount", "actualcorecount", "currentpriority", "inputfilebytes", "outputfilebytes",
    "modificationhost", "cpuconsumptiontime", "maxpss", "maxrss", "diskio", "nevents",
];

/// All tables that are read.
pub const WANTED: [Wanted; 15] = [
    Wanted { table: "jobsdefined4", is_needed: true, columns: JOB },
    Wanted { table: "jobsactive4", is_needed: true, columns: JOB },
    Wanted { table: "jobsarchived4", is_needed: true, columns: JOB },
    Wanted {
        table: "jedi_tasks",
        is_needed: true,
        columns: &[
            "jeditaskid",
            "status",
            "username",
            "workinggroup",
            "gshare",
            "prodsourcelabel",
            "processingtype",
            "resource_type",
            "nucleus",
            "statechangetime",
            "modificationtime",
            "currentpriority",
            "taskpriority",
        ],
    },
    Wanted {
        table: "harvester_worker_stats",
        is_needed: true,
        columns: &[
            "harvester_id",
            "computingsite",
            "resourcetype",
            "status",
            "jobtype",
            "n_workers",
            "lastupdate",
        ],
    },
    Wanted {
        table: "schedconfig_json",
        is_needed: false,
        columns: &["panda_queue", "data", "last_update"],
    },
    Wanted {
        table: "panda_site",
        is_needed: false,
        columns: &["panda_site_name", "site_name", "default_ddm_endpoint", "storage_site_name"],
    },
    Wanted {
        table: "panda_ddm_relation",
        is_needed: false,
        columns: &["panda_site_name", "ddm_endpoint_name", "scope", "roles", "default_write"],
    },
    Wanted { table: "site", is_needed: false, columns: &["site_name", "role", "tier_level"] },
    Wanted {
        table: "ddm_endpoint",
        is_needed: false,
        columns: &[
            "ddm_endpoint_name",
            "site_name",
            "type",
            "is_tape",
            "space_total",
            "space_free",
            "space_expired",
            "space_min_free",
            "space_unavailable",
            "space_timestamp",
            "blacklisted",
            "blacklisted_write",
            "blacklisted_read",
            "detailed_status",
        ],
    },
    Wanted {
        table: "global_shares",
        is_needed: false,
        columns: &[
            "name",
            "value",
            "parent",
            "prodsourcelabel",
            "workinggroup",
            "campaign",
            "processingtype",
            "vo",
            "queue_id",
            "throttled",
            "transpath",
            "rtype",
        ],
    },
    Wanted {
        table: "config",
        is_needed: false,
        columns: &["app", "component", "key", "vo", "value", "type", "descr", "value_json"],
    },
    Wanted {
        table: "network_matrix_kv",
        is_needed: false,
        columns: &["src", "dst", "key", "value", "ts"],
    },
    Wanted {
        table: "resource_types",
        is_needed: false,
        columns: &["resource_name", "mincore", "maxcore", "minrampercore", "maxrampercore"],
    },
    Wanted {
        table: "doma_pandameta.sitedata",
        is_needed: false,
        columns: &["site", "flag", "hours", "getjob", "updatejob", "lastmod"],
    },
];

/// The one of a table; `None` if nothing of it is read.
pub fn of(table: &str) -> Option<&'static Wanted> {
    WANTED.iter().find(|wanted| wanted.table == table)
}
