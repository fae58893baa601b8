//! Records of a pool of slots and its answers, drawn by [`Dice`].

use super::dice::Dice;
use yardmaster::core::domain::cms::output::{Matched, SecondJob};
use yardmaster::core::event::{
    Band, Class, ExtraBlock, FailureClass, Grant, GrantScopeKind, Label, NeededLabel, Pilot,
    PrincipalKind, Requirements, Resource, SiteStatus, SlotOffer, SlotQuota, WorkflowFacts,
};

pub fn quota(dice: &mut Dice<'_>) -> SlotQuota {
    SlotQuota {
        revision: dice.long(),
        tier: dice.text(),
        status: dice.pick(&SiteStatus::ALL),
        region: dice.option(Dice::text),
        pledged_slots: dice.long(),
        central_permille: dice.long(),
        central_slots: dice.option(Dice::long),
        extra_blocks: dice.list(|dice| ExtraBlock {
            label: dice.option(Dice::text),
            slots: dice.long(),
            central_slots: dice.option(Dice::long),
            restricted_group: dice.option(Dice::text),
            priority_group: dice.option(Dice::text),
            class_only: dice.option(|dice| dice.pick(&Class::ALL)),
        }),
        overflow_slots: dice.long(),
        high_io_slots: dice.long(),
        corepower_mhs06: dice.long(),
        surplus_central: dice.option(Dice::flag),
        surplus_analysis: dice.option(Dice::flag),
    }
}

pub fn workflow(dice: &mut Dice<'_>) -> WorkflowFacts {
    WorkflowFacts {
        class: dice.pick(&Class::ALL),
        priority: dice.long(),
        priority_revision: dice.long(),
        override_tail: dice.flag(),
        total_jobs: dice.option(Dice::long),
        allow_overflow: dice.flag(),
        overflow_sites: dice.option(|dice| dice.list(Dice::text)),
        max_overflow_sites: dice.option(Dice::long),
        test_jobs: dice.option(Dice::long),
        tail_permille: dice.option(Dice::long),
        site_test: dice.flag(),
    }
}

/// Requirements of a job; its whitelist is `sites`, if it has one.
pub fn requirements<'a>(dice: &mut Dice<'_>, sites: &'a str) -> Requirements<&'a str> {
    Requirements {
        seq: dice.option(Dice::long),
        class: dice.option(|dice| dice.pick(&Class::ALL)),
        site_whitelist: dice.option(|_| sites),
        allow_overflow: dice.option(Dice::flag),
        high_io: dice.flag(),
        system_job: dice.flag(),
        whole_node: dice.flag(),
        cores_min: dice.long(),
        cores_max: dice.option(Dice::long),
        all_cores: dice.flag(),
        base_cores: dice.option(Dice::long),
        max_wall_time_s: dice.option(Dice::long),
        max_rss_mb: dice.option(Dice::long),
        user_priority: dice.long(),
        last_failure: dice.option(|dice| dice.pick(&FailureClass::ALL)),
        failure: dice.option(|dice| dice.pick(&FailureClass::ALL)),
        last_attempt: dice.flag(),
        used_rss_mb: dice.long(),
        resources: vec![Resource { name: sites, amount: dice.long() }],
        labels: vec![NeededLabel {
            name: sites,
            any_of: vec![sites; 2],
            at_least: dice.option(|_| sites),
        }],
        exit_code: dice.option(Dice::long),
    }
}

/// A slot offer; three texts are its name, its block and its node.
pub fn offer<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> SlotOffer<&'a str> {
    SlotOffer {
        offer: &text[0],
        attempt: dice.count(),
        cores_free: dice.long(),
        cores_total: dice.long(),
        wall_left_s: dice.long(),
        mem_free_mb: dice.long(),
        block: &text[1],
        node: &text[2],
        corepower_mhs06: dice.option(Dice::long),
        expires_at: dice.long(),
        resources: vec![Resource { name: &text[1], amount: dice.long() }],
        labels: vec![Label { name: &text[2], values: vec![&text[0], &text[1]] }],
    }
}

/// A report of a pilot of the pool.
pub fn pilot<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> Pilot<'a> {
    let (queue, at) = (&text[0], dice.long());
    match dice.flag() {
        true => Pilot::SlotOffer { queue, offer: Box::new(offer(dice, &text[1..])), at },
        false => Pilot::SlotWithdrawn { queue, offer: &text[1], attempt: dice.count(), at },
    }
}

pub fn grant(dice: &mut Dice<'_>) -> Grant {
    Grant {
        name: dice.text(),
        changed_at: dice.long(),
        principal_kind: dice.pick(&PrincipalKind::ALL),
        principal: dice.text(),
        only_with_group: dice.text(),
        scope_kind: dice.pick(&GrantScopeKind::ALL),
        scope: dice.text(),
        level: dice.long(),
        factor_milli: dice.option(Dice::long),
        cap_weight_milli: dice.option(Dice::long),
        valid_from: dice.long(),
        valid_to: dice.long(),
    }
}

pub fn matched(dice: &mut Dice<'_>) -> Matched {
    Matched {
        job: dice.text(),
        job_attempt: dice.count(),
        class: dice.pick(&Class::ALL),
        band: dice.pick(&Band::ALL),
        node: dice.text(),
        cores: dice.long(),
        weight_milli: dice.long(),
        usage_milli: dice.long(),
        wall_time_s: dice.long(),
        rss_mb: dice.long(),
        overflow_source: dice.text(),
        overflow_cost: dice.long(),
        charged_group: dice.text(),
        io_source: dice.text(),
        resources: vec![Resource { name: dice.text(), amount: dice.long() }],
        relaxed: dice.list(Dice::text),
        second: dice.option(second),
    }
}

fn second(dice: &mut Dice<'_>) -> SecondJob {
    SecondJob {
        job: dice.text(),
        workflow: dice.text(),
        key: dice.text(),
        of_match: dice.text(),
        of_second: dice.text(),
    }
}
