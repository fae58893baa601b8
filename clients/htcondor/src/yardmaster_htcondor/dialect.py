"""Differences between the pools of one experiment: which accounting groups are which."""

from dataclasses import dataclass

from yardmaster_htcondor.values import Ad, text

LABELS = ("Arch", "Microarch", "CUDACapability")
"""Labels of slots that a job's ad can ask for."""


@dataclass(frozen=True)
class Dialect:
    """How a pool names its shares."""

    central_groups: tuple[str, ...] = ("production", "tier0")
    """Accounting groups whose jobs are central; those of all others are analysis."""
    first_groups: tuple[str, ...] = ("tier0", "highprio")
    """Accounting groups that count as working groups, so that `group_order` can name them."""
    labels: tuple[str, ...] = ("Arch", "Microarch")
    """Those of `LABELS` that a job needs where it states them; the expressions of both ads hold in
    any case."""

    def share(self, ad: Ad) -> str:
        """The accounting group of a job, without the user."""
        return (text(ad, "AcctGroup") or text(ad, "AccountingGroup")).split(".")[0]

    def job_class(self, ad: Ad) -> str:
        """The class of a job: central or analysis."""
        return "central" if self.share(ad) in self.central_groups else "analysis"
