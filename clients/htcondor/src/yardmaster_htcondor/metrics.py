"""Metrics, as Prometheus reads them: yardmaster_htcondor_<what>_<unit>[_total]."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

PREFIX = "yardmaster_htcondor_"
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)


class Metrics:
    """Of one agent."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.jobs = self._gauge("jobs_count", "Jobs of the pool, by their status.", ("status",))
        self.led_jobs = self._gauge("led_jobs_count", "Idle jobs that wait for Yardmaster.")
        self.slots = self._gauge("slots_count", "Partitionable slots that the collector knows.")
        self.under_way = self._gauge("matches_under_way_count", "Matches whose job did not start.")
        self.progress = self._gauge(
            "progress_age_seconds", "Age of the newest progress record of Yardmaster."
        )
        self.records = self._counter("records", "Records that were published.", ("topic",))
        self.matches = self._counter(
            "matches", "Matches that were read, by what was done with them.", ("step",)
        )
        self.outcomes = self._counter("outcomes", "Outcomes that were published.", ("kind",))
        self.left = self._counter(
            "left_jobs", "Jobs left to HTCondor: after matches in vain, or without a record."
        )
        self.compared = self._counter(
            "compared_jobs", "Jobs in shadow, by whether both chose the same site.", ("same_site",)
        )
        self.errors = self._counter("errors", "Calls that failed, by what was called.", ("of",))
        self.round = self._histogram("round_seconds", "How long a round takes.")
        self.delay = self._histogram(
            "match_delay_seconds", "From a decision to the edit of its job, or its outcome."
        )
        self.start = self._histogram("start_delay_seconds", "From the edit of a job to its start.")

    def serve(self, host: str, port: int) -> None:
        """Serves them over HTTP, by a thread of its own."""
        start_http_server(port, host, self.registry)

    def _gauge(self, name: str, help_: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(PREFIX + name, help_, labels, registry=self.registry)

    def _counter(self, name: str, help_: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(PREFIX + name, help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str) -> Histogram:
        return Histogram(PREFIX + name, help_, buckets=SECONDS, registry=self.registry)
