"""The clusters of clusters.sh, as a test sees them."""

import concurrent.futures
import http.client
import json
import os
import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

NOT_HERE = 77


class NoClustersError(Exception):
    """Clusters cannot be had here."""


@dataclass(frozen=True)
class Queue:
    """What a queue is configured as: minutes are not cut, since all limits are whole ones."""

    max_memory_mb: int
    max_time_s: int
    max_wall_time_s: int


@dataclass(frozen=True)
class Cluster:
    """A cluster, as NAME.conf has it."""

    name: str
    address: str
    disk_mb: int
    alias: str
    queues: dict[str, Queue]
    ldap_port: int = 0
    """0: none."""
    environments: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    """Storage that it lists as close by."""
    outbound: bool = False

    @property
    def host(self) -> str:
        """Its name in records."""
        return f"{self.name}.example.org"

    @property
    def url(self) -> str:
        """Where jobs are handed over."""
        return f"https://{self.host}:8443/arex"


CLUSTERS = (
    Cluster(
        "ce-a",
        "127.0.0.11",
        3000,
        "Cluster A",
        {"short": Queue(4000, 3600, 3600), "long": Queue(16000, 86400, 90000)},
        ldap_port=2135,
        near=["http://127.0.0.10:8080/near"],
        outbound=True,
    ),
    Cluster(
        "ce-b",
        "127.0.0.12",
        5000,
        "Cluster B",
        {"main": Queue(4000, 86400, 86400)},
        environments=["APPS/GREETING-1.2", "APPS/GREETING-1.4"],
    ),
    Cluster(
        "ce-c",
        "127.0.0.13",
        1000,
        "Cluster C",
        {"long": Queue(16000, 86400, 90000)},
        ldap_port=2137,
    ),
)
TOKEN_USER = "carol"
USERS = ("ann", "bob", TOKEN_USER)
WORDS = (
    *("ACCEPTING", "ACCEPTED", "PREPARING", "PREPARED", "SUBMITTING", "QUEUING", "RUNNING"),
    *("HELD", "EXITINGLRMS", "OTHER", "EXECUTED", "FINISHING", "FINISHED", "FAILED"),
    *("KILLING", "KILLED", "WIPED"),
)
TOTAL_SLOTS = 64
NODE_MEMORY_MB = 4000


def archery() -> dict[str, list[str]]:
    """A zone that has the clusters: two groups, one of which names the other, and a service that is
    there no longer."""
    zone = {
        "_archery.index.example.org": [
            "o=group id=index.example.org",
            "u=dns://north.index.example.org. t=archery.group",
            "u=dns://south.index.example.org. t=archery.group",
        ],
        "north.index.example.org": [
            "u=dns://ce-a.index.example.org. t=archery.service",
            "u=dns://ce-b.index.example.org. t=archery.service",
        ],
        "south.index.example.org": [
            "u=dns://ce-c.index.example.org. t=archery.service",
            "u=dns://north.index.example.org. t=archery.group",
            "u=dns://ce-gone.index.example.org. t=archery.service s=0",
        ],
        "ce-gone.index.example.org": [
            "o=service t=org.nordugrid.arex id=ce-gone.example.org",
            "u=https://ce-gone.example.org:8443/arex t=org.nordugrid.arcrest",
        ],
    }
    for it in CLUSTERS:
        ldap = f"u=ldap://{it.host}:{it.ldap_port}"
        zone[f"{it.name}.index.example.org"] = [
            f"o=service t=org.nordugrid.arex id={it.host}",
            f"u={it.url} t=org.nordugrid.arcrest",
        ] + [
            text
            for text in (
                f"{ldap}/Mds-Vo-Name=local,o=grid t=org.nordugrid.ldapng",
                f"{ldap}/o=glue t=org.nordugrid.ldapglue2",
            )
            if it.ldap_port
        ]
    return zone


class Clusters:
    """Running clusters."""

    def __init__(self, root: Path) -> None:
        self.root, self.ca = root, root / "srv" / "ca"
        self.versions = self.script("install")
        self.script("stop")
        self.script("credentials")

    def script(self, verb: str, *words: str) -> str:
        """Runs clusters.sh; what it printed."""
        done = subprocess.run(
            [str(HERE / "clusters.sh"), verb, str(self.root), *words],
            capture_output=True,
            text=True,
            timeout=1200,
        )
        if done.returncode == NOT_HERE:
            raise NoClustersError(done.stderr.strip())
        assert done.returncode == 0, f"clusters.sh {verb} {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Starts all, new ones."""
        words = [(it.name, it.address, str(it.disk_mb)) for it in CLUSTERS]
        self._each("start", words)

    def publish(self) -> None:
        """Each publishes what is there now."""
        self._each("info", [(it.name,) for it in CLUSTERS])

    def _each(self, verb: str, words: Sequence[tuple[str, ...]]) -> None:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda of: self.script(verb, *of), words))

    def stop(self) -> None:
        """Ends them."""
        self.script("stop")

    def pass_of(self, user: str) -> tuple[str, Path]:
        """What a user shows to clusters: the flag of `submit`, and the file."""
        kind = "token" if user == TOKEN_USER else "proxy"
        return f"--{kind}", self.ca / f"{user}.{kind}"

    def name_of(self, user: str) -> str:
        """A user's name, as certificates or tokens have it."""
        if user == TOKEN_USER:
            return f"{(self.ca / 'issuer' / 'issuer').read_text()}/{user}"
        return f"/DC=org/DC=example/O=People/CN={user.capitalize()}"

    def rest(self, cluster: Cluster, user: str, method: str, path: str, body: Any = None) -> str:
        """What a cluster's REST interface answers a user."""
        context = ssl.create_default_context(cafile=self.ca / "ca.pem")
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if user == TOKEN_USER:
            headers["Authorization"] = f"Bearer {self.pass_of(user)[1].read_text().strip()}"
        else:
            context.load_cert_chain(self.pass_of(user)[1])
        link = http.client.HTTPSConnection(cluster.host, 8443, timeout=20, context=context)
        text = None if body is None else json.dumps(body)
        try:
            link.request(method, f"/arex/rest/1.0{path}", text, headers)
            return link.getresponse().read().decode()
        finally:
            link.close()

    def states(self, cluster: Cluster) -> dict[str, str]:
        """A-REX's own words for the jobs of all users; KILLED for those that somebody cancelled,
        which REST calls FAILED."""
        found = {}
        for user in USERS:
            answer = json.loads(self.rest(cluster, user, "GET", f"/jobs?state={','.join(WORDS)}"))
            for job in answer["job"]:
                found[job["id"]] = job["state"]
                if job["state"] == "FAILED":
                    why = self.rest(cluster, user, "GET", f"/jobs/{job['id']}/diagnose/failed")
                    if "canceled by external request" in why:
                        found[job["id"]] = "KILLED"
        return found

    def cancel(self, cluster: Cluster, user: str, job: str) -> None:
        """Cancels a job, behind the back of whoever follows it."""
        wanted = {"job": [{"id": job}]}
        answer = json.loads(self.rest(cluster, user, "POST", "/jobs?action=kill", wanted))
        assert answer["job"][0]["status-code"] == "202", answer

    def home(self, user: str) -> Path:
        """Where ARC's own client keeps what it knows of a user's jobs, and puts what it fetches."""
        return self.root / "srv" / "client" / user

    def client(self, user: str, *words: str) -> str:
        """Runs a program of ARC's own client as a user; what it printed."""
        env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": f"/srv/client/{user}",
            "X509_USER_PROXY": f"/srv/ca/{user}.proxy",
            "X509_CERT_DIR": "/srv/ca/certificates",
        }
        # Paths in a job's description are relative.
        command = ["chroot", str(self.root), "sh", "-c", 'cd "$HOME" && exec "$@"', "client"]
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=60, env=env
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


def with_names(root: Path, command: list[str]) -> None:
    """Runs this program anew where the clusters' names are known, unless they are known already;
    NoClustersError if that cannot be."""
    if os.environ.get("YARDMASTER_ARC_NAMES") == str(root):
        return
    script = str(HERE / "clusters.sh")
    done = subprocess.run([script, "install", str(root)], capture_output=True, text=True)
    if done.returncode == NOT_HERE:
        raise NoClustersError(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    os.environ["YARDMASTER_ARC_NAMES"] = str(root)
    os.execv(script, [script, "names", str(root), *command])
