"""The little grid of the proof: queues, shares, resource types and rules of retrying, as rows of
PanDA's tables."""

import itertools
import json
from typing import Any

# Name, site, cores of a job; all take any task of the VO.
QUEUES = {"PROOF_A": 8, "PROOF_B": 8, "PROOF_C": 8}
SHARES = {"MC": "managed", "Analysis": "user"}
# Least and most cores, least and most MB of memory for each core.
TYPES = {
    "SCORE": (1, 1, None, 2000),
    "MCORE": (2, None, None, 2000),
    "SCORE_HIMEM": (1, 1, 2001, None),
    "MCORE_HIMEM": (2, None, 2001, None),
}
# Software of each queue, in CRIC's form.
SOFTWARE = {
    "architectures": [
        {"type": "cpu", "arch": ["x86_64"], "vendor": ["any"], "instr": ["any"]},
    ],
    "cmtconfigs": ["x86_64-el9-gcc13-opt"],
    "containers": ["any"],
    "cvmfs": ["atlas"],
    "tags": [],
}
# Where the outputs of production are gathered.
NUCLEUS = "PROOF_A"
ACTIVITIES = ("write_wan", "read_wan", "read_lan", "write_lan")
OUT_OF_MEMORY = 1212
# States of tasks of which PanDA's database keeps the lowest number, from which its queries begin.
STATES = (
    "registered",
    "defined",
    "assigning",
    "ready",
    "pending",
    "scouting",
    "scouted",
    "running",
    "prepared",
    "merging",
    "finishing",
    "done",
    "finished",
    "failed",
    "aborting",
    "toabort",
    "aborted",
    "broken",
    "tobroken",
    "passed",
    "exhausted",
    "paused",
    "throttled",
    "topreprocess",
    "preprocessing",
    "toretry",
    "toincexec",
    "rerefine",
    "staging",
    "staged",
    "submitting",
)


def queue(name: str, cores: int) -> dict[str, Any]:
    """Of a queue what CRIC states, as far as PanDA's code asks."""
    return {
        "nickname": name,
        "siteid": name,
        "name": name,
        "atlas_site": name,
        "site": name,
        "type": "unified",
        "vo_name": "atlas",
        "cloud": "PROOF",
        "status": "online",
        "state": "ACTIVE",
        "corecount": cores,
        "capability": "ucore",
        "maxrss": 64000,
        "minrss": 0,
        "maxtime": 10_000_000,
        "mintime": 0,
        "maxwdir": 100000,
        "maxinputsize": 50000,
        "catchall": "allow_no_pilot",
        "releases": ["AUTO"],
        "workflow": "pull_ups",
        "fairsharepolicy": "NULL",
        "corepower": 10.0,
        "meanrss": 2000,
        "timefloor": 0,
        "tier": "T2",
        "ddm": f"{name}_DATADISK",
        "astorages": {way: [f"{name}_DATADISK"] for way in ("read_lan", "write_lan")},
    }


def store(put: Any, site: str) -> None:
    """A site's disk, where all is well."""
    name = f"{site}_DATADISK"
    put(
        "INSERT INTO ddm_endpoint (ddm_endpoint_name, site_name, ddm_spacetoken_name, type, "
        "is_tape, space_total, space_free, space_used, space_expired, space_timestamp, "
        "detailed_status) "
        "VALUES (%s, %s, 'ATLASDATADISK', 'DATADISK', 'N', 900000, 500000, 400000, 0, now(), %s)",
        (name, site, json.dumps(dict.fromkeys(ACTIVITIES, "ON"))),
    )
    put(
        "INSERT INTO panda_ddm_relation (panda_site_name, ddm_endpoint_name, is_local, roles, "
        "order_read, order_write, default_read, default_write, scope) "
        "VALUES (%s, %s, 'Y', 'read_lan,write_lan', 1, 1, 'Y', 'Y', 'default')",
        (site, name),
    )


def fill(db: Any) -> None:
    """Writes the rows, through a cursor of PanDA's database."""
    put = db.execute
    for number, (name, label) in enumerate(SHARES.items(), 10):
        put(
            "INSERT INTO jedi_work_queue "
            "(queue_id, queue_name, queue_type, vo, status, queue_function) "
            "VALUES (%s, %s, %s, 'atlas', 'active', 'Resource')",
            (number, label, label),
        )
        put(
            "INSERT INTO global_shares (name, value, prodsourcelabel, vo, queue_id) "
            "VALUES (%s, 50, %s, 'atlas', %s)",
            (name, label, number + 100),
        )
    for name, limits in TYPES.items():
        put(
            "INSERT INTO resource_types "
            "(resource_name, mincore, maxcore, minrampercore, maxrampercore) "
            "VALUES (%s, %s, %s, %s, %s)",
            (name, *limits),
        )
    for state in STATES:
        put(
            "INSERT INTO jedi_aux_status_mintaskid (status, min_jeditaskid) VALUES (%s, 0)",
            (state,),
        )
    for name, cores in QUEUES.items():
        put(
            "INSERT INTO schedconfig_json (panda_queue, data, last_update) VALUES (%s, %s, now())",
            (name, json.dumps(queue(name, cores))),
        )
        role = "nucleus" if name == NUCLEUS else "satellite"
        put("INSERT INTO site (site_name, role, tier_level) VALUES (%s, %s, 2)", (name, role))
        store(put, name)
        for flag, hours in itertools.product(("production", "analysis"), (1, 3, 6, 12)):
            put(
                "INSERT INTO doma_pandameta.sitedata "
                "(site, flag, hours, getjob, updatejob, lastmod) "
                "VALUES (%s, %s, %s, 50, 50, now() AT TIME ZONE 'UTC')",
                (name, flag, hours),
            )
        put(
            "INSERT INTO sw_tags (panda_queue, data, last_update) VALUES (%s, %s, now())",
            (name, json.dumps(SOFTWARE)),
        )
        put(
            "INSERT INTO panda_site (panda_site_name, site_name, default_ddm_endpoint) "
            "VALUES (%s, %s, %s)",
            (name, name, f"{name}_DATADISK"),
        )
    put(
        "INSERT INTO retryactions (retryaction_id, retry_action, active) "
        "VALUES (1, 'increase_memory', 'Y')"
    )
    put(
        "INSERT INTO retryerrors (retryerror_id, errorsource, errorcode, active, retryaction) "
        "VALUES (1, 'pilotErrorCode', %s, 'Y', 1)",
        (OUT_OF_MEMORY,),
    )
