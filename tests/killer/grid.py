"""The small grid of ATLAS: queues, sites, links, storages."""

from codec import Record
from writer import Writer

QUEUES = [f"QUEUE_{at:02}" for at in range(12)]
# The only queues with slots of eight cores; they open and close.
GATES = [f"GATE_{at}" for at in range(3)]
SITES = ["NORTH", "SOUTH", "EAST"]
USERS = ["prodsys", "ann", "bob", "carol"]
GROUPS = ["", "", "AP_MCGN", "AP_HIGG"]
SHARES = ["MC 16 simul", "MC 16 evgen", "User Analysis"]
RESOURCE_TYPES = ["SCORE", "MCORE"]
NUCLEI = ["", "NORTH", "SOUTH"]


def site_of(queue: str) -> str:
    """The site of a queue."""
    return SITES[sum(queue.encode()) % len(SITES)]


def queue_record(name: str, at: int, is_open: bool) -> Record:
    """A queue as configured."""
    site = site_of(name)
    endpoints = {"read": [f"{site}_DATADISK"], "write": [f"{site}_DATADISK"]}
    return {
        "name": name,
        "unified": name,
        "changed_at": at,
        "status": "online" if is_open else "offline",
        "production": True,
        "analysis": name in QUEUES[-4:],
        "cloud": "US",
        "site": site,
        "storage_site": site,
        "cores": 8 if name in GATES else 1,
        "core_power_mhs06": 10_000,
        "workflow": "pull_ups",
        "wn_connectivity": "full#IPv4",
        "direct_access_lan": True,
        "releases": ["ANY"],
        "jobseed": "std",
        "endpoints": endpoints,
        "analysis_endpoints": endpoints,
    }


def write_grid(writer: Writer, at: int) -> None:
    """Writes sites, links, storages, shares and queues; the gates are closed."""
    for site in SITES:
        endpoint = f"{site}_DATADISK"
        nucleus = site in NUCLEI
        record = {"name": site, "changed_at": at, "nucleus": nucleus, "output_endpoint": endpoint}
        writer.write("site", site, record)
        storage = {"name": endpoint, "changed_at": at, "site": site, "kind": "DATADISK"}
        storage |= {"total_bytes": 1 << 50, "free_bytes": 1 << 49}
        writer.write("storage", endpoint, storage)
        for other in SITES:
            link = {"source": site, "destination": other, "changed_at": at}
            link |= {"closeness": 0 if site == other else 4, "mbps_1h": 100.0}
            writer.write("link", f"{site}:{other}", link)
    for queue in QUEUES + GATES:
        writer.write("queue", queue, queue_record(queue, at, queue not in GATES))
