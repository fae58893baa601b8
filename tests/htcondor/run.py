#!/usr/bin/env python3
"""Proves clients/htcondor on a real pool, with a real Kafka and the program.

  run.py --jars DIR --binary PATH --root DIR [--short] [--port 29618] [PART...]

A part is the name of a function below without its `part_`. Exit code 77: a pool cannot be had here.
Conditions are waited for, never times.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from kinds import Job, crab, mixed, wmagent
from pool import NOT_HERE, NoPoolError, Pool
from real import Broker, wait_for
from yard import Agent, Topic, Yard

GRACE_S = 20
AFTER_GRACE_S = GRACE_S + 60 + 15 + 30
"""The grace, its grid, the negotiator's interval, and some time to start; s."""


class Place:
    """Everything that runs."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.number = int(time.time()) % 10_000_000
        self.figures: dict[str, Any] = {}
        self.pool = Pool(Path(options.root), folder, options.port)
        try:
            self.broker = Broker(Path(options.jars), folder / "kafka", options.port + 100)
        except BaseException:
            self.pool.stop()
            raise
        self.yard: Yard | None = None
        self.agent: Agent | None = None
        self.is_led: bool | None = None

    def leads(self, lead: bool = True) -> Agent:
        """Yardmaster and an agent run, in that mode."""
        if self.yard is None:
            self.yard = Yard(self.folder, self.options.binary, self.broker.address)
        if self.is_led != lead:
            if self.agent is not None:
                self.agent.stop()
            self.pool.lead(GRACE_S) if lead else self.pool.shadow()
            mode = "lead" if lead else "shadow"
            self.agent = Agent(
                self.folder,
                self.broker.address,
                self.pool.client,
                mode,
                grace_s=GRACE_S,
                group=f"agent-{mode}",
            )
            self.is_led = lead
        assert self.agent is not None
        checked = self.agent.verb("check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        self.agent.wait_until_it_works()
        return self.agent

    def names(self, count: int) -> int:
        """The first of so many numbers that no job has."""
        self.number += count
        return self.number - count

    def figure(self, name: str, value: Any) -> None:
        """Notes a figure."""
        self.figures[name] = value
        print(f"  {name}: {value}", flush=True)

    def close(self) -> None:
        """Ends all that was started."""
        if self.agent is not None:
            self.agent.stop()
        if self.yard is not None:
            self.yard.stop()
        self.broker.stop()
        self.pool.stop()


def spread(values: list[float]) -> str:
    """Least, median, mean and most."""
    of = (min(values), statistics.median(values), statistics.mean(values), max(values))
    return f"{', '.join(f'{it:.1f}' for it in of)} s of {len(values)} jobs"


def waits(pool: Pool, submitted: dict[int, float]) -> list[float]:
    """From submit to start. Starts are in whole seconds: half a second is added."""
    found = pool.jobs(list(submitted))
    return [found[it]["JobCurrentStartDate"] + 0.5 - at for it, at in submitted.items()]


def one_by_one(place: Place, jobs: list[Job], gap_s: float) -> dict[int, float]:
    """Submits jobs in turn; when each was."""
    submitted = {}
    for job in jobs:
        at = time.time()
        submitted[place.pool.submit([job])[0]] = at
        time.sleep(gap_s)
    return submitted


def decisions_of(place: Place, names: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Matches of jobs, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in Topic(place.broker.address, "decision").records():
        matched = record["matched"]
        if matched and matched["job"] in names:
            found.setdefault(matched["job"], []).append(record)
    return found


def outcomes(place: Place) -> dict[str, list[str]]:
    """Kinds of outcomes by the decision's id."""
    found: dict[str, list[str]] = {}
    for record in Topic(place.broker.address, "outcome").records():
        found.setdefault(record["decision"].hex(), []).append(record["kind"])
    return found


def name_of(ad: Any) -> str:
    """A job's name in Yardmaster."""
    from yardmaster_htcondor.identity import job_name

    return job_name(ad)


def run_once(place: Place, clusters: list[int]) -> None:
    """No job was started twice."""
    twice = {it: count for it, count in place.pool.starts(clusters).items() if count != 1}
    assert not twice, f"not started once: {twice}"


def where_decided(place: Place, clusters: list[int]) -> None:
    """Each job ran on the slot that a match of Yardmaster names, and that match is accepted."""
    from yardmaster_htcondor.slots import offer_of

    ads = place.pool.jobs(clusters)
    known = decisions_of(place, {name_of(ad) for ad in ads.values()})
    marks = {str(ad["YM_Match"]).partition("/")[0] for ad in ads.values()}
    wait_for("outcomes", lambda: marks <= accepted(place), 30)
    for ad in ads.values():
        decision = str(ad["YM_Match"]).partition("/")[0]
        matches = {it["id"].hex(): it["subject"] for it in known[name_of(ad)]}
        host = str(ad.get("RemoteHost") or ad["LastRemoteHost"])
        assert matches[decision] == offer_of(host), ad


def accepted(place: Place) -> set[str]:
    """Decisions whose match was carried out."""
    return {decision for decision, kinds in outcomes(place).items() if "accepted" in kinds}


# --- Parts --------------------------------------------------------------------------------------


def part_alone(place: Place) -> None:
    """The negotiator alone, as HTCondor comes: the baseline."""
    place.pool.shadow()
    count = 6 if place.options.short else 12
    first = place.names(count)
    jobs = [crab(f"alone{first}", str(first + at), lead=False, seconds=10) for at in range(count)]
    submitted = one_by_one(place, jobs, 5)
    wait_for("all started", lambda: place.pool.have_started(list(submitted)))
    place.figure("negotiator alone, as it comes, waits", spread(waits(place.pool, submitted)))


def part_beside(place: Place) -> None:
    """Led jobs and others in turn, in one pool: how long each waits."""
    place.leads()
    count = 8 if place.options.short else 20
    first = place.names(2 * count)
    jobs = []
    for at in range(2 * count):
        # No kept claim helps either side: a user for each, and longer than the gap.
        user = "user1" if at % 2 else "user2"
        name = f"beside{first}{user}"
        jobs.append(crab(name, str(first + at), user, lead=at % 2 == 1, seconds=10))
    submitted = one_by_one(place, jobs, 2)
    wait_for("all started", lambda: place.pool.have_started(list(submitted)))
    led = {it: at for number, (it, at) in enumerate(submitted.items()) if number % 2}
    others = {it: at for it, at in submitted.items() if it not in led}
    place.figure("led, NEGOTIATOR_CYCLE_DELAY 1, waits", spread(waits(place.pool, led)))
    place.figure("the negotiator's own beside them, waits", spread(waits(place.pool, others)))
    ads = place.pool.jobs(list(led))
    known = decisions_of(place, {name_of(ad) for ad in ads.values()})
    decided = [known[name_of(ads[it])][0]["now"].timestamp() - at for it, at in led.items()]
    place.figure("of that, from submit to decision", spread(decided))
    where_decided(place, list(led))
    run_once(place, list(submitted))


def part_bulk(place: Place) -> None:
    """Many jobs of all kinds at once: all end, each where Yardmaster decided, each once."""
    place.leads()
    count = 40 if place.options.short else 200
    jobs = mixed(count, f"bulk{place.number}", place.names(count))
    clusters = at_once(place, "led", jobs)
    where_decided(place, clusters)
    run_once(place, clusters)
    newest = wait_for_states(place, clusters)
    failed = sum(it["status"] == "failed" for it in newest.values())
    place.figure("their records", f"{len(newest)} ended, {failed} of them failed")


def part_bulk_alone(place: Place) -> None:
    """As many jobs of the same kinds, by the negotiator alone: with the settings that the lead
    takes, and as it comes."""
    count = 40 if place.options.short else 200
    place.leads()
    jobs = mixed(count, f"others{place.number}", place.names(count), lead=False)
    run_once(place, at_once(place, "the negotiator alone, with the lead's settings", jobs))
    place.leads(lead=False)
    jobs = mixed(count, f"comes{place.number}", place.names(count), lead=False)
    run_once(place, at_once(place, "the negotiator alone, as it comes", jobs))


def part_schedds(place: Place) -> None:
    """Two schedds, with jobs of the same users and workflows at once."""
    place.leads()
    count = 20 if place.options.short else 60
    name, first = f"schedds{place.number}", place.names(2 * count)
    clusters = place.pool.submit(mixed(count, name, first))
    clusters += place.pool.submit(mixed(count, name, first + count), schedd="b")
    wait_for("all ended", lambda: place.pool.have_ended(clusters), 300)
    where_decided(place, clusters)
    run_once(place, clusters)
    place.figure("two schedds", f"{count} jobs each, all where decided, each once")


def part_queue(place: Place) -> None:
    """5,000 jobs that no slot takes wait: how long a round of the agent takes, and a job that can
    start."""
    agent = place.leads()
    count = 500 if place.options.short else 5000
    first = place.names(count + 1)
    job = crab(f"queue{first}", "$(Process)", sites="T1_IT_CNAF")
    waiting = place.pool.submit([{**job, "count": count}])
    wait_for("all are read", lambda: agent.metric("led_jobs_count") >= count, 240)
    agent.wait_until_it_works()
    rounds, seconds = (agent.metric(f"round_seconds_{it}") for it in ("count", "sum"))
    submitted = one_by_one(place, [crab(f"next{first}", str(first + count))], 0)
    wait_for("started", lambda: place.pool.have_started(list(submitted)))
    wait_for("rounds", lambda: agent.metric("round_seconds_count") > rounds + 5, 240)
    took_s = agent.metric("round_seconds_sum") - seconds
    mean_s = took_s / (agent.metric("round_seconds_count") - rounds)
    place.figure(f"{count} jobs wait: a round", f"{mean_s:.2f} s")
    place.figure("a job that can start, waits", spread(waits(place.pool, submitted)))
    where_decided(place, list(submitted))
    place.pool.run("condor_rm", *map(str, waiting))


def at_once(place: Place, of: str, jobs: list[Job]) -> list[int]:
    """Submits jobs at once, and waits until all have ended; their clusters."""
    at = time.time()
    clusters = place.pool.submit(jobs)
    wait_for("all ended", lambda: place.pool.have_ended(clusters), 400)
    place.figure(f"{len(jobs)} jobs of ten kinds, {of}, ended after", f"{time.time() - at:.0f} s")
    submitted = {it: float(ad["QDate"]) for it, ad in place.pool.jobs(clusters).items()}
    place.figure("their waits", spread(waits(place.pool, submitted)))
    return clusters


def wait_for_states(place: Place, clusters: list[int]) -> dict[str, dict[str, Any]]:
    """The newest records of jobs, once all of them have ended."""
    names = {name_of(ad) for ad in place.pool.jobs(clusters).values()}
    topic = Topic(place.broker.address, "job-state")

    def ended() -> dict[str, dict[str, Any]]:
        newest = {name: record for name, record in topic.newest().items() if name in names}
        over = ("finished", "failed", "cancelled")
        is_over = len(newest) == len(names) and all(it["status"] in over for it in newest.values())
        return newest if is_over else {}

    return dict(wait_for("their records have ended", ended, 60))


def part_agent_killed(place: Place) -> None:
    """The agent is killed while matches are under way, and begins again."""
    agent = place.leads()
    count = 12 if place.options.short else 24
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit(mixed(count, f"kill{place.number}", place.names(count)))
        wait_for("some are matched", lambda: matched(place, clusters))
        agent.kill()
        before = {
            it: ad["YM_Match"]
            for it, ad in place.pool.jobs(clusters).items()
            if it in matched(place, clusters)
        }
        agent.start()
        agent.wait_until_it_works()
        after = place.pool.jobs(list(before))
        changed = [it for it, mark in before.items() if after[it].get("YM_Match") != mark]
        assert not changed, f"matched twice: {changed}"
    wait_for("all ended", lambda: place.pool.have_ended(clusters), 240)
    where_decided(place, clusters)
    run_once(place, clusters)
    place.figure("agent killed with matches under way", f"{len(before)}, all kept, all ran once")


def part_agent_dead(place: Place) -> None:
    """The agent is dead: HTCondor takes the jobs after the grace."""
    agent = place.leads()
    agent.kill()
    place.figure("agent dead: waits", after_grace(place))
    agent.start()
    led_again(place)


def part_kafka_killed(place: Place) -> None:
    """Kafka is dead: HTCondor takes the jobs after the grace; all goes on when it is back."""
    place.leads()
    place.broker.kill()
    place.figure("Kafka dead: waits", after_grace(place))
    place.broker.restart()
    led_again(place)


def part_yardmaster_killed(place: Place) -> None:
    """Yardmaster is dead: the same."""
    place.leads()
    assert place.yard is not None
    place.yard.kill()
    place.figure("Yardmaster dead: waits", after_grace(place))
    place.yard.start()
    led_again(place)


def after_grace(place: Place) -> str:
    """Submits jobs that nobody matches; how long they waited."""
    first = place.names(2)
    jobs = [crab(f"grace{first}", str(first + at)) for at in range(2)]
    submitted = one_by_one(place, jobs, 0.5)
    started = lambda: place.pool.have_started(list(submitted))  # noqa: E731
    wait_for("started after the grace", started, AFTER_GRACE_S)
    run_once(place, list(submitted))
    return spread(waits(place.pool, submitted))


def led_again(place: Place) -> None:
    """A job that is submitted now is placed by Yardmaster."""
    first = place.names(1)
    begun = time.monotonic()
    clusters = place.pool.submit([crab(f"again{first}", str(first))])
    wait_for("ended", lambda: place.pool.have_ended(clusters), AFTER_GRACE_S)
    ad = place.pool.jobs(clusters)[clusters[0]]
    assert "YM_Match" in ad, f"not led, after {time.monotonic() - begun:.0f} s"
    where_decided(place, clusters)


def part_slot_gone(place: Place) -> None:
    """The slot is gone between match and start: the job waits on, and runs when it is back."""
    place.leads()
    first = place.names(1)
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit([crab(f"gone{first}", str(first), sites="T2_US_Nebraska")])
        wait_for("matched", lambda: matched(place, clusters))
        decision = str(place.pool.jobs(clusters)[clusters[0]]["YM_Match"]).partition("/")[0]
        place.pool.run("condor_off", "-fast", "-daemon", "startd_neb")
        wait_for("slot gone", lambda: outcomes(place).get(decision) == ["failed"], 60)
        assert not matched(place, clusters)
        place.pool.run("condor_on", "-daemon", "startd_neb")
    wait_for("ended", lambda: place.pool.have_ended(clusters), 120)
    where_decided(place, clusters)
    run_once(place, clusters)
    place.figure("slot gone between match and start", "outcome failed, run once when it was back")


def part_schedd_restarted(place: Place) -> None:
    """The schedd is restarted between match and start: the match holds."""
    place.leads()
    first = place.names(1)
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit([crab(f"restart{first}", str(first))])
        wait_for("matched", lambda: matched(place, clusters))
        before = str(place.pool.jobs(clusters)[clusters[0]]["YM_Match"])
        place.pool.run("condor_restart", "-fast", "-schedd", "-name", "a@pool.test")
        wait_for("the schedd is back", lambda: answers(place, clusters), 60)
    wait_for("ended", lambda: answers(place, clusters) and place.pool.have_ended(clusters), 180)
    after = str(place.pool.jobs(clusters)[clusters[0]]["YM_Match"])
    place.figure("schedd restarted during a match", "held" if before == after else "matched again")
    where_decided(place, clusters)
    run_once(place, clusters)


def answers(place: Place, clusters: list[int]) -> bool:
    """Whether the schedd answers."""
    try:
        return len(place.pool.jobs(clusters)) == len(clusters)
    except Exception:
        return False


def part_job_removed(place: Place) -> None:
    """A job is removed between match and start: the place is given to others."""
    place.leads()
    first = place.names(1)
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit([crab(f"removed{first}", str(first))])
        wait_for("matched", lambda: matched(place, clusters))
        decision = str(place.pool.jobs(clusters)[clusters[0]]["YM_Match"]).partition("/")[0]
        place.pool.run("condor_rm", str(clusters[0]))
        wait_for("outcome", lambda: outcomes(place).get(decision) == ["failed"], 60)
    record = next(iter(wait_for_states(place, clusters).values()))
    assert record["status"] == "cancelled", record
    place.figure("job removed between match and start", "outcome failed, record cancelled")


def part_misfit(place: Place) -> None:
    """A job with an expression that no record has: refused, and left to HTCondor after some
    times."""
    place.leads()
    first = place.names(1)
    job = crab(f"odd{first}", str(first))
    job["ad"]["requirements"] += " && (TARGET.HasTapeRobot =?= true)"
    clusters = place.pool.submit([job])
    left = lambda: place.pool.jobs(clusters)[clusters[0]].get("YM_Lead") is False  # noqa: E731
    wait_for("left to HTCondor", left, 180)
    refused = [
        it
        for it in Topic(place.broker.address, "outcome").records()
        if "HasTapeRobot" in it["reason"]
    ]
    assert refused and all(it["kind"] == "refused" for it in refused)
    place.pool.run("condor_rm", str(clusters[0]))
    place.figure(
        "misfit", f"{len(refused)} times refused ({refused[0]['reason']}), left to HTCondor"
    )


def part_odd(place: Place) -> None:
    """Jobs whose ads nobody foresaw, led and not: the others go on, and all that can start do."""
    agent = place.leads()
    first, process = place.names(20), agent.process
    name = f"odd{first}"

    def job(number: int, lead: bool = True, **changes: str) -> Job:
        made = crab(name, str(first + number), lead=lead)
        made["ad"] |= {key.replace("My_", "My."): value for key, value in changes.items()}
        return made

    endless = " || ".join(f'TARGET.Machine == "host{at}"' for at in range(500))
    sites = ",".join(f"T2_XX_Site{at}" for at in range(70_000))
    mark = {
        "My_YM_Match": '"zz/0"',
        "My_YM_Offer": '"^slot1(_[0-9]+)?@glidein_11_1@desy-wn1[.]test$"',
    }
    jobs = [
        job(0, My_MaxWallTimeMins='real("INF")'),
        job(1, lead=False, My_MaxWallTimeMins="1e30", hold="true"),
        job(9, lead=False, My_DESIRED_SITES=json.dumps(sites), hold="true"),
        job(2, My_CRAB_Id='"1-²"'),
        job(3, My_CRAB_JobCount="1e20"),
        job(4, requirements=f"{endless} || true"),
        job(5, lead=False, **mark),
        job(6, My_TaskType='"ROOT"'),
        job(7, My_CRAB_ReqName="12345"),
        job(8),
        {**job(8), "count": 3},
    ]
    # Yardmaster reads no such record, and only the negotiator counts the last one's limits.
    beyond = [
        job(11, My_CRAB_Retry="50000000"),
        job(12, My_CRAB_Retry="9000000000000"),
        job(13, My_CRAB_UserHN=json.dumps("u" * 5000)),
        job(14, My_CRAB_ReqName=json.dumps("r" * 5000)),
        job(15, My_CRAB_Id=json.dumps("1" * 3000)),
        job(16, My_CMS_Type=json.dumps("t" * 5000)),
        job(17, concurrency_limits="nosuch:99999999"),
    ]
    before = agent.metric("left_jobs_total")
    clusters = place.pool.submit(jobs)
    others = place.pool.submit(beyond)
    wait_for("led jobs are left", lambda: agent.metric("left_jobs_total") >= before + 12)
    ads = place.pool.jobs(others).values()
    assert all(ad["YM_Lead"] is False and "YM_Misses" not in ad for ad in ads), "not at once"
    # Its attempt is 0.
    submitted = one_by_one(place, [job(10), job(18, My_CRAB_Retry="-5")], 0)
    # No pilot takes the first, which would run for ever; two are on hold.
    can_start = clusters[3:] + others[:-1] + list(submitted)
    wait_for("all started", lambda: place.pool.have_started(can_start), AFTER_GRACE_S)
    assert agent.process is process and process is not None and process.poll() is None
    where_decided(place, list(submitted))
    run_once(place, [it for it in can_start if it != clusters[-1]])
    place.figure(
        "odd jobs: two that are led beside them wait", spread(waits(place.pool, submitted))
    )
    place.pool.run("condor_rm", *map(str, [*clusters[:3], others[-1]]))


STATED = {
    "My.YM_Offer": '".*"',
    "My.YM_Match": '"0123456789abcdef0123456789abcdef/0"',
    "My.YM_Misses": "-100",
    "My.YM_Cores": "99",
    "My.YM_Until": "5",
}
"""What a user might state, to pass by the lead."""


def part_users(place: Place) -> None:
    """Users who state or edit what is the lead's: it means nothing, of jobs that are led and of
    others."""
    place.leads()
    first = place.names(4)
    name = f"users{first}"
    made = [crab(name, str(first + number), lead=number % 2 == 0) for number in range(2)]
    many = crab(name, f"{first}$(Process)")
    for job in (*made, many):
        job["ad"] |= STATED | {"My.YM_Lead": str(job is made[1]).lower()}
    many["ad"] |= {"max_materialize": "2"}
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit([*made, {**many, "count": 2}])
        wait_for("matched", lambda: clusters[0] in matched(place, clusters))
        for cluster in (clusters[0], clusters[1]):
            assert not edits_as(place, "user1", cluster, "YM_Misses", "99")
            assert not edits_as(place, "user1", cluster, "YM_Offer", '".*"')
        ads = place.pool.jobs(clusters)
    for cluster, ad in ads.items():
        is_led = cluster != clusters[1]
        assert (ad.get("YM_Lead") is True) == is_led, ad
        assert all(str(ad.lookup(it)) == "undefined" for it in ("YM_Misses", "YM_Cores")), ad
        if not is_led:
            assert not any(isinstance(ad.get(it), str) for it in ("YM_Offer", "YM_Match")), ad
        wanted = str(ad.lookup("Requirements"))
        assert "T3_XX_Nowhere" in wanted, f"the pool's own is gone: {wanted}"
        assert ("YM_Until" in wanted) == is_led, wanted
    wait_for("all ended", lambda: place.pool.have_ended(clusters), 120)
    where_decided(place, [clusters[0], clusters[2]])
    run_once(place, clusters)
    place.figure("users", "what they state of the lead is deleted, and no edit of it is taken")


def edits_as(place: Place, user: str, cluster: int, name: str, value: str) -> bool:
    """Whether the schedd takes an edit of a user."""
    words = ("condor_qedit", "-name", "a@pool.test", str(cluster), name, value)
    try:
        place.pool.run("runuser", "-u", user, "--", *words)
    except AssertionError:
        return False
    return True


def part_two_agents(place: Place) -> None:
    """A second agent of one group waits, says so, and takes over when the first is killed."""
    agent, folder = place.leads(), place.folder / "second"
    folder.mkdir(exist_ok=True)
    kafka, client = place.broker.address, place.pool.client
    second = Agent(folder, kafka, client, "lead", grace_s=GRACE_S, group="agent-lead")
    try:
        wait_for("the second one waits", lambda: "waits for its end" in second.log.read_text(), 30)
        led_again(place)
        assert second.metric("round_seconds_count") == 0
        begun = time.monotonic()
        agent.kill()
        second.wait_until_it_works()
        place.figure("two agents: the second one takes over", f"{time.monotonic() - begun:.0f} s")
        led_again(place)
    finally:
        agent.kill()
        second.stop()
        agent.start()
        agent.wait_until_it_works()


def part_frozen(place: Place) -> None:
    """A schedd is frozen for longer than a match waits: matches of the other one are carried out,
    its own expire, and it goes on afterwards."""
    one_schedd_away(place, "frozen", Frozen(place, "schedd -f -local-name b"))


def part_down(place: Place) -> None:
    """A schedd is down for as long: the same."""
    one_schedd_away(place, "down", Off(place, "schedd_b"))


def one_schedd_away(place: Place, how: str, away: "Frozen | Off") -> None:
    """One schedd does not answer for longer than a match waits."""
    agent, first = place.leads(), place.names(8)
    settings = agent.file.read_text()
    before = agent.log.read_text().count("schedd b@pool.test does not answer:")
    with_match_s(agent, settings + f"match_s = {FROZEN_MATCH_S}\n")
    name = f"{how}{first}"
    (cluster,) = submit_undecided(place, [crab(name, str(first))])
    with away:
        assert place.yard is not None and place.yard.process is not None
        place.yard.process.send_signal(signal.SIGCONT)
        took_s = [matched_after(place, crab(name, str(first + at))) for at in range(1, 8)]
        job = f"{name}/{first}"
        decided = wait_for("its match", lambda: decisions_of(place, {job}).get(job))
        decision = decided[0]["id"].hex()
        wait_for("it expires", lambda: outcomes(place).get(decision), FROZEN_MATCH_S + 20)
        assert outcomes(place)[decision] == ["expired"]
        lines = agent.log.read_text().count("schedd b@pool.test does not answer:") - before
    ended = lambda: answers(place, [cluster]) and place.pool.have_ended([cluster])  # noqa: E731
    wait_for("it goes on", ended, AFTER_GRACE_S)
    run_once(place, [cluster])
    place.figure(
        f"one schedd {how}: matches of the other are carried out after",
        f"{min(took_s):.1f} to {max(took_s):.1f} s; {lines} lines in the log",
    )
    with_match_s(agent, settings)
    assert max(took_s) < 10 and lines <= 2


FROZEN_MATCH_S = 30


def with_match_s(agent: Agent, settings: str) -> None:
    """The agent begins again with other settings."""
    agent.stop()
    agent.file.write_text(settings)
    agent.start()
    agent.wait_until_it_works()


def submit_undecided(place: Place, jobs: list[Job]) -> list[int]:
    """Submits jobs at the second schedd while Yardmaster is frozen, which it is afterwards, and
    waits for their records."""
    assert place.yard is not None and place.yard.process is not None
    place.yard.process.send_signal(signal.SIGSTOP)
    clusters = place.pool.submit(jobs, schedd="b")
    names = {name_of(ad) for ad in place.pool.jobs(clusters).values()}
    topic = Topic(place.broker.address, "job-state")
    wait_for("their records", lambda: names <= set(topic.newest()), 30)
    return clusters


def matched_after(place: Place, job: Job) -> float:
    """Submits a job; how long it takes until the agent has carried a match of it out. Starts say
    nothing: a negotiator waits for a schedd that is frozen."""
    begun = time.monotonic()
    (cluster,) = place.pool.submit([job])
    kind = place.pool.htcondor.AdType.Schedd
    (ad,) = place.pool.collector().query(kind, 'Name == "a@pool.test"')
    schedd = place.pool.htcondor.Schedd(ad)
    while not schedd.query(f"ClusterId == {cluster} && YM_Match isnt undefined", ["ClusterId"]):
        assert time.monotonic() - begun < 60, "no match is carried out"
        time.sleep(0.1)
    return time.monotonic() - begun


def part_anew(place: Place) -> None:
    """A topic is deleted and made again: the agent names it, and ends, to begin again."""
    agent, name = place.leads(), "yardmaster.cms.comparison"
    assert place.yard is not None
    admin = AdminClient({"bootstrap.servers": place.broker.address})
    admin.delete_topics([name])[name].result(30)
    wait_for("its end is noticed", lambda: f"topic {name} is not there" in agent.log.read_text())
    place.yard.verb("topology", "apply")
    process = agent.process
    assert process is not None
    wait_for("the agent ends", lambda: process.poll() is not None, 40)
    assert process.poll() == 1 and f"topic {name} was made anew" in agent.log.read_text()
    agent.start()
    agent.wait_until_it_works()
    led_again(place)
    place.figure("a topic that was made anew", "named when it was gone, then exit code 1")


def part_back(place: Place) -> None:
    """The way back, as docs/htcondor.md has it: jobs that wait are HTCondor's."""
    place.leads()
    first = place.names(1)
    job = crab(f"back{first}", str(first))
    # Yardmaster knows no such slot, so it waits; HTCondor asks nothing of the kind.
    job["ad"]["My.REQUIRED_MINIMUM_MICROARCH"] = "9"
    (cluster,) = place.pool.submit([job])

    def until() -> int:
        return int(place.pool.jobs([cluster])[cluster]["YM_Until"])

    def qedit() -> None:
        waiting = "YM_Lead =?= true && JobStatus == 1"
        words = ("-constraint", waiting, "YM_Until", "0", "YM_Lead", "false")
        as_agent = ("runuser", "-u", "yardmaster", "--", "condor_qedit", "-name", "a@pool.test")
        place.pool.run(*as_agent, *words)

    begun = until()
    wait_for("the agent lets it wait on", lambda: until() > begun, 120)
    place.leads(lead=False)
    assert place.pool.statuses([cluster]) == [1], "the grace was over before"
    qedit()
    assert until() == 0
    wait_for("started", lambda: place.pool.have_started([cluster]))
    assert until() == 0, "the agent let it wait on"
    place.figure("back", "a job that waited was HTCondor's at its next negotiation")


def part_obey(place: Place) -> None:
    """Commands, each twice."""
    agent = place.leads()
    first = place.names(4)
    name = f"obey{first}"
    away = "T1_IT_CNAF"
    jobs = [
        wmagent(name, first, sites=away, lead=False),
        wmagent(name, first + 1, kind="Merge", level=5, sites=away, lead=False),
    ]
    clusters = place.pool.submit(jobs)

    def obey(kind: str, subject: str, **more: Any) -> str:
        command = {"kind": kind, "subject": subject, "expires_at": 0, **more}
        done = [agent.verb("obey", json.dumps(command) + "\n") for _ in range(2)]
        assert [it.returncode for it in done] == [0, 0], [it.stderr for it in done]
        return done[1].stderr

    def ads() -> list[Any]:
        found = place.pool.jobs(clusters)
        return [found[it] for it in clusters]

    assert "(0 edits)" in obey("boost", name, measured=900_000.0)
    assert [int(ad["JobPrio"]) for ad in ads()] == [900_000, 50_900_000]
    assert "(0 edits)" in obey("profile", name, measured=1800.0, limit=1500.0)
    assert [int(ad.eval("RequestMemory")) for ad in ads()] == [1500, 1500]
    assert [int(ad.eval("MaxWallTimeMins")) for ad in ads()] == [30, 30]
    node = "glidein_14_1@gpu-wn1.test"
    # An empty node is drained at once, and open again.
    number = place.names(1)
    busy = place.pool.submit(
        [crab(f"busy{number}", str(number), sites="T2_CH_CERN", lead=False, seconds=30)]
    )
    wait_for("runs", lambda: place.pool.statuses(busy) == [2])
    obey("drain", node, jobs=["a-job"])
    reason = wait_for("drains", lambda: drain_reason(place, f"slot1@{node}"), 30)
    assert reason == "Yardmaster for a-job", reason
    obey("undrain", node)
    wait_for("drains no more", lambda: not drain_reason(place, f"slot1@{node}"), 30)
    place.pool.run("condor_rm", str(busy[0]))
    note = 'all of "C:\\test" failed\\'
    obey("kill_workflow", name, notes=[note])
    record = list(wait_for_states(place, clusters).values())
    assert [it["status"] for it in record] == ["cancelled", "cancelled"], record
    assert str(ads()[0]["RemoveReason"]) == f"Yardmaster: {note}", ads()[0]["RemoveReason"]
    place.figure("commands", "boost, profile, drain, undrain, kill_workflow, each twice")


def drain_reason(place: Place, slot: str) -> str:
    """Why a slot drains; empty if it does not."""
    kind = place.pool.htcondor.AdType.Startd
    (ad,) = place.pool.collector().query(kind, f'Name == "{slot}"')
    return str(ad.get("DrainReason", "") or "")


def part_shadow(place: Place) -> None:
    """Shadow: nothing is edited, and each job's site is compared."""
    place.leads(lead=False)
    count = 6 if place.options.short else 12
    first = place.names(count)
    jobs = [crab(f"shadow{first}", str(first + at), lead=True) for at in range(count)]
    # HTCondor may start all others before Yardmaster decides; then nothing could be compared.
    with Frozen(place, "negotiator"):
        clusters = place.pool.submit(jobs[:1])
        names = {name_of(ad) for ad in place.pool.jobs(clusters).values()}
        wait_for("decided", lambda: decisions_of(place, names))
    clusters += one_by_one(place, jobs[1:], 3)
    wait_for("all ended", lambda: place.pool.have_ended(clusters), 120)
    edited = [
        it
        for it, ad in place.pool.jobs(clusters).items()
        if any(key.startswith("YM_") for key in ad)
    ]
    assert not edited, f"edited in shadow: {edited}"
    wait_for_states(place, clusters)
    topic = Topic(place.broker.address, "comparison")
    found = [it for it in topic.records() if it["task"] == f"shadow{first}"]
    same = sum(it["yardmaster"]["queues"] == it["other"]["queues"] for it in found)
    place.figure("shadow", f"{count} jobs, {len(found)} compared, {same} at the same site")
    assert found, "nothing was compared"


def matched(place: Place, clusters: list[int]) -> list[int]:
    """Jobs that have a match under way."""
    found = place.pool.jobs(clusters)
    has = {it: isinstance(ad.get("YM_Offer"), str) for it, ad in found.items()}
    return [it for it, ad in found.items() if has[it] and ad["JobStatus"] == 1]


class Frozen:
    """A daemon of the pool is stopped meanwhile, so that nothing starts between two steps of a
    test."""

    def __init__(self, place: Place, daemon: str) -> None:
        file = Path(place.options.root) / "run/condor/yardmaster-pool.pid"
        master = file.read_text().strip()
        listed = subprocess.run(
            ["ps", "-ww", "--ppid", master, "-o", "pid=,args="],
            capture_output=True,
            text=True,
            check=True,
        )
        name = f"condor_{daemon}"
        pids = [line.split()[0] for line in listed.stdout.splitlines() if name in line]
        assert len(pids) == 1, listed.stdout
        self._pid = int(pids[0])

    def __enter__(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGCONT)


class Off:
    """A daemon of the pool is off meanwhile."""

    def __init__(self, place: Place, daemon: str) -> None:
        self._place, self._daemon = place, daemon

    def __enter__(self) -> None:
        self._place.pool.run("condor_off", "-fast", "-daemon", self._daemon)

    def __exit__(self, *_: object) -> None:
        self._place.pool.run("condor_on", "-daemon", self._daemon)


PARTS: dict[str, Callable[[Place], None]] = {
    name.removeprefix("part_"): of for name, of in globals().items() if name.startswith("part_")
}
SHORT = (
    "alone",
    "beside",
    "bulk",
    "bulk_alone",
    "schedds",
    "agent_killed",
    "misfit",
    "obey",
    "shadow",
)


def main() -> int:
    """Runs parts; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--port", type=int, default=29618)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keeps logs of a run that succeeds")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    folder, failed = Path(tempfile.mkdtemp(prefix="pool-run-")), []
    try:
        place = Place(options, folder)
    except NoPoolError as error:
        print(error)
        return NOT_HERE
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    try:
        for name in options.parts or (SHORT if options.short else PARTS):
            print(f"{name}: {(PARTS[name].__doc__ or '').splitlines()[0]}", flush=True)
            try:
                PARTS[name](place)
            except Exception as error:
                failed.append(name)
                print(f"  FAILED: {type(error).__name__}: {error}", flush=True)
    finally:
        place.close()
    count = len(options.parts or (SHORT if options.short else PARTS))
    passed = count - len(failed)
    print(f"{passed} parts passed, {len(failed)} failed, in {time.monotonic() - begun:.0f} s")
    if failed or options.keep:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
