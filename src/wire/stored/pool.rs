//! Records of a pool of slots: jobs, workflows, offers, users, nodes.

use super::{count, text, word};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::event::{Class, OwnSlotOffer, Status, WorkflowFacts};
use yardmaster_core::state::pool::{
    PoolDrain, PoolEnded, PoolJob, PoolJobState, PoolMatch, PoolNode, PoolOffer, PoolUser,
    PoolWorkflow, PoolWorkflowRecord,
};

mod parts;

use parts::{
    long, option, read_list, read_matched, read_requirements, string, write_list, write_matched,
    write_requirements,
};

pub(super) fn write_job(sink: &mut Sink<'_>, job: &PoolJob) {
    sink.string(&job.job);
    sink.option(job.state.as_ref(), write_state);
    sink.option(job.requirements.as_ref(), |sink, (attempt, changed_at, revision, stated)| {
        sink.count(*attempt);
        sink.long(*changed_at);
        sink.long(*revision as i64);
        write_requirements(sink, stated);
    });
    sink.long(job.seen_at);
    sink.option(job.matched.as_ref(), write_match);
    sink.option(job.refused, |sink, attempt| sink.count(attempt));
    sink.option(job.last_match, |sink, (attempt, at)| {
        sink.count(attempt);
        sink.long(at);
    });
    sink.option(job.tallied, |sink, attempt| sink.count(attempt));
}

pub(super) fn read_job(at: &mut Cursor<'_>) -> Result<PoolJob, Fault> {
    let stated =
        |at: &mut Cursor<'_>| Ok((count(at)?, at.long()?, word(at)?, read_requirements(at)?));
    Ok(PoolJob {
        job: text(at)?,
        state: option(at, read_state)?,
        requirements: option(at, stated)?,
        seen_at: at.long()?,
        matched: option(at, read_match)?,
        refused: option(at, count)?,
        last_match: option(at, |at| Ok((count(at)?, at.long()?)))?,
        tallied: option(at, count)?,
    })
}

fn write_state(sink: &mut Sink<'_>, state: &PoolJobState) {
    sink.count(state.attempt);
    sink.index(state.status as usize);
    sink.long(state.changed_at);
    sink.long(state.revision as i64);
    [&state.workflow, &state.user, &state.site].into_iter().for_each(|name| sink.string(name));
    sink.count(state.cores);
    [state.created_at, state.started_at, state.ended_at].into_iter().for_each(|at| sink.long(at));
}

fn read_state(at: &mut Cursor<'_>) -> Result<PoolJobState, Fault> {
    Ok(PoolJobState {
        attempt: count(at)?,
        status: *Status::ALL.get(at.index()?).ok_or(Fault::Malformed)?,
        changed_at: at.long()?,
        revision: word(at)?,
        workflow: text(at)?,
        user: text(at)?,
        site: text(at)?,
        cores: count(at)?,
        created_at: at.long()?,
        started_at: at.long()?,
        ended_at: at.long()?,
    })
}

fn write_match(sink: &mut Sink<'_>, held: &PoolMatch) {
    sink.string(&held.offer);
    sink.long(held.at);
    sink.long(held.clock);
    [&held.site, &held.user, &held.workflow].into_iter().for_each(|name| sink.string(name));
    write_matched(sink, &held.matched);
}

fn read_match(at: &mut Cursor<'_>) -> Result<PoolMatch, Fault> {
    Ok(PoolMatch {
        offer: text(at)?,
        at: at.long()?,
        clock: at.long()?,
        site: text(at)?,
        user: text(at)?,
        workflow: text(at)?,
        matched: read_matched(at)?,
    })
}

pub(super) fn write_workflow(sink: &mut Sink<'_>, workflow: &PoolWorkflow) {
    sink.string(&workflow.workflow);
    sink.option(workflow.record.as_ref(), write_record);
    sink.option(workflow.priority, |sink, (revision, priority, ends_boost)| {
        sink.long(revision);
        sink.long(priority);
        sink.boolean(ends_boost);
    });
    [workflow.boosted, workflow.alerted, workflow.killed]
        .into_iter()
        .for_each(|it| sink.boolean(it));
    sink.option(workflow.profile, |sink, (wall_s, rss_mb)| {
        sink.long(wall_s);
        sink.long(rss_mb);
    });
    sink.long(workflow.done);
    sink.long(workflow.failed_final);
    write_list(sink, &workflow.overflow_sites, |sink, site| sink.string(site));
    sink.index(workflow.ended.len());
    for ((seq, attempt), ended) in &workflow.ended {
        sink.long(*seq);
        sink.long(*attempt);
        write_ended(sink, ended);
    }
    sink.long(workflow.used_at);
}

pub(super) fn read_workflow(at: &mut Cursor<'_>) -> Result<PoolWorkflow, Fault> {
    Ok(PoolWorkflow {
        workflow: text(at)?,
        record: option(at, read_record)?,
        priority: option(at, |at| Ok((at.long()?, at.long()?, at.boolean()?)))?,
        boosted: at.boolean()?,
        alerted: at.boolean()?,
        killed: at.boolean()?,
        profile: option(at, |at| Ok((at.long()?, at.long()?)))?,
        done: at.long()?,
        failed_final: at.long()?,
        overflow_sites: read_list(at, text)?,
        ended: read_list(at, |at| Ok(((at.long()?, at.long()?), read_ended(at)?)))?
            .into_iter()
            .collect(),
        used_at: at.long()?,
    })
}

fn write_record(sink: &mut Sink<'_>, record: &PoolWorkflowRecord) {
    sink.long(record.changed_at);
    sink.count(record.revision);
    sink.boolean(record.closed);
    sink.string(&record.user);
    sink.string(&record.working_group);
    sink.long(record.injected_at);
    let facts = &record.facts;
    sink.index(facts.class as usize);
    sink.long(facts.priority);
    sink.long(facts.priority_revision);
    sink.boolean(facts.override_tail);
    sink.option(facts.total_jobs, long);
    sink.boolean(facts.allow_overflow);
    sink.option(facts.overflow_sites.as_ref(), |sink, sites| {
        write_list(sink, sites, |sink, site| sink.string(site));
    });
    sink.option(facts.max_overflow_sites, long);
    sink.option(facts.test_jobs, long);
    sink.option(facts.tail_permille, long);
    sink.boolean(facts.site_test);
}

fn read_record(at: &mut Cursor<'_>) -> Result<PoolWorkflowRecord, Fault> {
    Ok(PoolWorkflowRecord {
        changed_at: at.long()?,
        revision: count(at)?,
        closed: at.boolean()?,
        user: text(at)?,
        working_group: text(at)?,
        injected_at: at.long()?,
        facts: WorkflowFacts {
            class: *Class::ALL.get(at.index()?).ok_or(Fault::Malformed)?,
            priority: at.long()?,
            priority_revision: at.long()?,
            override_tail: at.boolean()?,
            total_jobs: option(at, Cursor::long)?,
            allow_overflow: at.boolean()?,
            overflow_sites: option(at, |at| read_list(at, text))?,
            max_overflow_sites: option(at, Cursor::long)?,
            test_jobs: option(at, Cursor::long)?,
            tail_permille: option(at, Cursor::long)?,
            site_test: at.boolean()?,
        },
    })
}

fn write_ended(sink: &mut Sink<'_>, ended: &PoolEnded) {
    sink.string(&ended.job);
    sink.option(ended.failure, |sink, failure| sink.index(failure as usize));
    sink.string(&ended.site);
    sink.long(ended.wall_s);
    sink.long(ended.rss_mb);
    sink.long(ended.cores);
    sink.long(ended.base_cores);
    sink.option(ended.site_whitelist.as_ref(), string);
}

fn read_ended(at: &mut Cursor<'_>) -> Result<PoolEnded, Fault> {
    Ok(PoolEnded {
        job: text(at)?,
        failure: option(at, parts::read_failure)?,
        site: text(at)?,
        wall_s: at.long()?,
        rss_mb: at.long()?,
        cores: at.long()?,
        base_cores: at.long()?,
        site_whitelist: option(at, text)?,
    })
}

pub(super) fn write_offer(sink: &mut Sink<'_>, held: &PoolOffer) {
    let offer = &held.offer;
    sink.string(&offer.offer);
    sink.count(offer.attempt);
    for figure in [offer.cores_free, offer.cores_total, offer.wall_left_s, offer.mem_free_mb] {
        sink.long(figure);
    }
    sink.string(&offer.block);
    sink.string(&offer.node);
    sink.option(offer.corepower_mhs06, long);
    sink.long(offer.expires_at);
    sink.string(&held.site);
    sink.long(held.changed_at);
    sink.long(held.kept_until);
    sink.boolean(held.withdrawn);
    sink.long(held.cores_taken);
    sink.long(held.mem_taken_mb);
    sink.count(held.answers);
    sink.long(held.deferred_at);
}

pub(super) fn read_offer(at: &mut Cursor<'_>) -> Result<PoolOffer, Fault> {
    Ok(PoolOffer {
        offer: OwnSlotOffer {
            offer: text(at)?,
            attempt: count(at)?,
            cores_free: at.long()?,
            cores_total: at.long()?,
            wall_left_s: at.long()?,
            mem_free_mb: at.long()?,
            block: text(at)?,
            node: text(at)?,
            corepower_mhs06: option(at, Cursor::long)?,
            expires_at: at.long()?,
        },
        site: text(at)?,
        changed_at: at.long()?,
        kept_until: at.long()?,
        withdrawn: at.boolean()?,
        cores_taken: at.long()?,
        mem_taken_mb: at.long()?,
        answers: count(at)?,
        deferred_at: at.long()?,
    })
}

pub(super) fn write_user(sink: &mut Sink<'_>, user: &PoolUser) {
    sink.string(&user.user);
    sink.raw(&user.x.to_le_bytes());
    sink.long(user.half_life_s);
    sink.long(user.landmark);
}

pub(super) fn read_user(at: &mut Cursor<'_>) -> Result<PoolUser, Fault> {
    Ok(PoolUser {
        user: text(at)?,
        x: i128::from_le_bytes(at.fixed16()?),
        half_life_s: at.long()?,
        landmark: at.long()?,
    })
}

pub(super) fn write_node(sink: &mut Sink<'_>, node: &PoolNode) {
    sink.string(&node.node);
    sink.string(&node.site);
    sink.long(node.cores_total);
    sink.long(node.seen_at);
    sink.option(node.drain.as_ref(), |sink, drain| {
        sink.string(&drain.job);
        sink.long(drain.until_s);
        sink.long(drain.since);
    });
    write_list(sink, &node.drain_starts, |sink, start| sink.long(*start));
    sink.long(node.ended_drain);
}

pub(super) fn read_node(at: &mut Cursor<'_>) -> Result<PoolNode, Fault> {
    let drain = |at: &mut Cursor<'_>| {
        Ok(PoolDrain { job: text(at)?, until_s: at.long()?, since: at.long()? })
    };
    Ok(PoolNode {
        node: text(at)?,
        site: text(at)?,
        cores_total: at.long()?,
        seen_at: at.long()?,
        drain: option(at, drain)?,
        drain_starts: read_list(at, Cursor::long)?,
        ended_drain: at.long()?,
    })
}
