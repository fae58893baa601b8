//! A recorded case of the CMS policy, read into the policy's facts.

use super::json::{entries, flag, items, show, text, texts, whole};
use serde_json::Value;
use yardmaster_core::policy::cms::facts::{
    Band, Class, CoresMax, Drain, DrainStart, EndedJob, ExtraBlock, FailureClass, Grant,
    GrantScope, GroupRecord, HeldJob, NodeRecord, PendingJob, PerClass, Principal, PriorityChange,
    Profile, Seconds, SiteConfig, SiteStatus, SlotOffer, Tier, UserRecord, Workflow,
    WorkflowStatus,
};
use yardmaster_core::policy::cms::pool::Pool;
use yardmaster_core::policy::cms::settings::Settings;

/// A field that may be absent or null.
fn known(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}

fn number(value: &Value) -> Option<i64> {
    known(value).map(whole)
}

fn named(value: &Value) -> Option<String> {
    known(value).map(text)
}

fn list(value: &Value) -> Option<Vec<String>> {
    known(value).map(texts)
}

/// What a text stands for, or what is wrong with it.
fn one_of<T>(
    value: &Value,
    field: &str,
    wants: &str,
    read: fn(&str) -> Option<T>,
) -> Result<T, String> {
    let found = || format!("field `{field}`: found {}, wants {wants}", show(value));
    value.as_str().and_then(read).ok_or_else(found)
}

/// Whether a text is the second of two words.
fn is_second(value: &Value, field: &str, [first, second]: [&str; 2]) -> Result<bool, String> {
    match value.as_str() {
        Some(word) if word == first => Ok(false),
        Some(word) if word == second => Ok(true),
        _ => Err(format!("field `{field}`: found {}, wants {first} or {second}", show(value))),
    }
}

fn per_class<T: Copy>(value: &Value, default: PerClass<T>, read: fn(&Value) -> T) -> PerClass<T> {
    let of = |class: Class| match value.get(class.name()) {
        Some(value) => read(value),
        None => default.of(class),
    };
    PerClass { central: of(Class::Central), analysis: of(Class::Analysis) }
}

/// The parameters of a case: the defaults, but for what it states.
pub(super) fn settings(params: &Value) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for (key, value) in entries(params) {
        set(&mut settings, key, value)?;
    }
    Ok(settings)
}

fn set(settings: &mut Settings, key: &str, value: &Value) -> Result<(), String> {
    let number = whole(value);
    match key {
        "accounting_mode" => settings.counts_cores = is_second(value, key, ["hs06", "cores"])?,
        "reference_mhs06" => settings.reference_mhs06 = number.max(1),
        "half_life_s" => settings.half_life_s = number.max(1),
        "fifo_bucket_s" => settings.fifo_bucket_s = number,
        "tail_fraction_permille" => settings.tail_permille = number,
        "tail_priority" => settings.tail_priority = number,
        "max_tail_workflows" => settings.max_tail_workflows = number,
        "regional_level" => settings.regional_level = number,
        "system_roles" => settings.system_roles = texts(value),
        "system_overflow" => settings.system_overflow = flag(value),
        "highio_without_whitelist" => {
            settings.ignores_bare_high_io = is_second(value, key, ["reject", "ignore_flag"])?;
        }
        "highio_overflow" => settings.high_io_overflow = flag(value),
        "overflow_idle_s" => settings.overflow_idle_s = number,
        "overflow_unit" => settings.overflow_in_cores = is_second(value, key, ["jobs", "cores"])?,
        "max_overflow_sites" => {
            let own = settings.max_overflow_sites;
            settings.max_overflow_sites = per_class(value, own, self::number);
        }
        "test_jobs" => settings.test_jobs = per_class(value, settings.test_jobs, whole),
        "auto_kill" => settings.auto_kill = per_class(value, settings.auto_kill, flag),
        "test_band_user_cap" => settings.test_band_user_cap = number,
        "profile_shrink" => settings.profile_shrink = flag(value),
        "restricted_charge_permille" => settings.restricted_charge_permille = number,
        "reservation_ttl_s" => settings.reservation_ttl_s = number,
        "workflow_hold_s" => settings.workflow_hold_s = number,
        "drain_wait_s" => settings.drain_wait_s = number,
        "max_draining" => settings.max_draining = number,
        "drain_rate_per_hour" => settings.drain_rate_per_hour = number,
        "backfill_margin_s" => settings.backfill_margin_s = number,
        "default_wall_time_s" => settings.default_wall_time_s = number,
        "default_rss_mb_per_core" => settings.default_rss_mb_per_core = number,
        "extra_mb_per_core" => settings.extra_mb_per_core = number,
        "resize_overhead_s" => settings.resize_overhead_s = number,
        _ => return Err(format!("params: no parameter `{key}`")),
    }
    Ok(())
}

/// A pool of the records of a case, at its moment.
pub(super) fn pool(scenario: &Value, settings: Settings, now_s: Seconds) -> Result<Pool, String> {
    let mut pool = Pool::new(settings, now_s);
    for value in items(&scenario["sites"]) {
        pool.put_site(site(value)?);
    }
    for value in items(&scenario["workflows"]) {
        pool.put_workflow(workflow(value)?);
    }
    for value in items(&scenario["users"]) {
        pool.put_user(UserRecord {
            user: text(&value["user"]),
            groups: texts(&value["groups"]),
            roles: texts(&value["roles"]),
            decayed_usage: number(&value["decayed_usage_milli"]).map(|milli| (milli, now_s)),
        });
    }
    for value in items(&scenario["groups"]) {
        let (group, members) = (text(&value["group"]), texts(&value["members"]));
        pool.put_group(GroupRecord { group, members });
    }
    let grants: Result<Vec<Grant>, String> = items(&scenario["grants"]).map(grant).collect();
    pool.set_grants(grants?);
    for value in items(&scenario["pending_jobs"]) {
        pool.put_pending(job(value)?);
    }
    for value in items(&scenario["running_jobs"]) {
        let held = held(value, &pool, now_s)?;
        pool.put_held(held);
    }
    for value in items(&scenario["ended_jobs"]) {
        pool.put_ended(ended(value)?);
    }
    for value in items(&scenario["nodes"]) {
        let (node, site) = (text(&value["node"]), text(&value["site"]));
        pool.put_node(NodeRecord { node, site, cores_total: whole(&value["cores_total"]) });
    }
    for value in items(&scenario["draining"]) {
        pool.put_drain(Drain {
            node: text(&value["node"]),
            site: text(&value["site"]),
            job: text(&value["job"]).into(),
            until_s: whole(&value["until_s"]),
        });
    }
    for value in items(&scenario["drain_starts"]) {
        let (site, started_at_s) = (text(&value["site"]), whole(&value["started_at_s"]));
        pool.put_drain_start(DrainStart { site, started_at_s });
    }
    Ok(pool)
}

/// The configuration of a site.
pub(super) fn site(value: &Value) -> Result<SiteConfig, String> {
    let surplus = &value["accept_surplus"];
    let status = known(&value["status"]).map(|status| {
        let wants = "online, drain, offline or test";
        one_of(status, "status", wants, SiteStatus::from_name)
    });
    let defaults = SiteConfig::new(&text(&value["site"]), Tier::T2);
    Ok(SiteConfig {
        revision: whole(&value["revision"]),
        tier: value["tier"].as_str().and_then(Tier::from_name),
        status: status.transpose()?.unwrap_or(defaults.status),
        region: named(&value["region"]),
        pledged_slots: whole(&value["pledged_slots"]),
        central_permille: number(&value["pledged_central_fraction_permille"])
            .unwrap_or(defaults.central_permille),
        central_slots: number(&value["central_slots"]),
        extra_blocks: items(&value["extra_blocks"]).map(block).collect::<Result<_, _>>()?,
        overflow_slots: whole(&value["overflow_slots"]),
        high_io_slots: number(&value["high_io_slots"]).unwrap_or(defaults.high_io_slots),
        corepower_mhs06: number(&value["corepower_mhs06"]).unwrap_or(defaults.corepower_mhs06),
        accept_surplus: PerClass {
            central: known(&surplus["central"]).map(flag),
            analysis: known(&surplus["analysis"]).map(flag),
        },
        ..defaults
    })
}

fn block(value: &Value) -> Result<ExtraBlock, String> {
    let class_only = known(&value["class_only"]);
    let class_only =
        class_only.map(|it| one_of(it, "class_only", "central or analysis", Class::from_name));
    Ok(ExtraBlock {
        label: named(&value["block"]),
        slots: whole(&value["slots"]),
        central_slots: number(&value["central_slots"]),
        restricted_group: named(&value["restricted_group"]),
        priority_group: named(&value["priority_group"]),
        class_only: class_only.transpose()?,
    })
}

/// A workflow.
pub(super) fn workflow(value: &Value) -> Result<Workflow, String> {
    let class = one_of(&value["class"], "class", "central or analysis", Class::from_name)?;
    let submitted = PriorityChange {
        revision: whole(&value["priority_rev"]),
        priority: whole(&value["priority"]),
        override_tail: false,
    };
    let changes = items(&value["priority_changes"]).map(|change| PriorityChange {
        revision: whole(&change["rev"]),
        priority: whole(&change["priority"]),
        override_tail: flag(&change["override_tail"]),
    });
    let status = known(&value["status"]).map(|status| {
        let wants = "open, test_passed, killed or done";
        one_of(status, "status", wants, WorkflowStatus::from_name)
    });
    let profile = known(&value["profile"]).map(|profile| Profile {
        wall_s: whole(&profile["wall_s"]),
        rss_mb: whole(&profile["rss_mb"]),
    });
    let defaults = Workflow::new(&text(&value["workflow"]), class, &text(&value["user"]));
    Ok(Workflow {
        working_group: named(&value["working_group"]),
        priority: submitted,
        priority_changes: changes.collect(),
        injected_at_s: whole(&value["injected_at_s"]),
        total_jobs: number(&value["total_jobs"]),
        done_jobs: whole(&value["done_jobs"]),
        failed_final_jobs: whole(&value["failed_final_jobs"]),
        boosted: flag(&value["boosted"]),
        tail_permille: number(&value["tail_fraction_permille"]),
        test_jobs: number(&value["test_jobs"]),
        max_overflow_sites: value.get("max_overflow_sites").map(number),
        allow_overflow: flag(&value["allow_overflow"]),
        overflow_sites_list: list(&value["overflow_sites_list"]),
        overflow_sites_used: texts(&value["overflow_sites_used"]),
        profile,
        status: status.transpose()?.unwrap_or(defaults.status),
        site_test: flag(&value["site_test"]),
        ..defaults
    })
}

fn failure(value: &Value) -> Result<Option<FailureClass>, String> {
    let wants = "payload, site, infrastructure or remote_open";
    let read = |value| one_of(value, "failure class", wants, FailureClass::from_name);
    let stated = known(value).filter(|value| value.as_str() != Some("none"));
    stated.map(read).transpose()
}

/// A job as it waits.
pub(super) fn job(value: &Value) -> Result<PendingJob, String> {
    let cores_max = known(&value["cores_max"]).map(|most| match most.as_str() {
        Some("node") => CoresMax::Node,
        Some(_) | None => CoresMax::Cores(whole(most)),
    });
    let class = known(&value["class"]);
    let class = class.map(|it| one_of(it, "class", "central or analysis", Class::from_name));
    let (name, workflow) = (text(&value["job"]), text(&value["workflow"]));
    let defaults =
        PendingJob::new(&name, &workflow, whole(&value["seq"]), whole(&value["queued_at_s"]));
    Ok(PendingJob {
        class: class.transpose()?,
        site_whitelist: list(&value["site_whitelist"]),
        allow_overflow: known(&value["allow_overflow"]).map(flag),
        high_io: flag(&value["high_io"]),
        system_job: flag(&value["system_job"]),
        whole_node: flag(&value["whole_node"]),
        cores_min: number(&value["cores_min"]).unwrap_or(1),
        cores_max,
        base_cores: number(&value["base_cores"]),
        max_wall_time_s: number(&value["max_wall_time_s"]),
        max_rss_mb: number(&value["max_rss_mb"]),
        user_priority: whole(&value["user_priority"]),
        attempt: whole(&value["attempt"]),
        last_failure: failure(&value["last_failure_class"])?,
        not_fitted_since_s: number(&value["not_fitted_since_s"]),
        ..defaults
    })
}

/// A job that holds a slot. What it used before is in its user's decayed usage as stated.
fn held(value: &Value, pool: &Pool, now_s: Seconds) -> Result<HeldJob, String> {
    let job = job(value)?;
    let entry = pool.name(&job.workflow).and_then(|name| pool.workflow(name));
    let record = entry.and_then(|entry| entry.record.as_ref());
    let (class, user) = record
        .map_or((Class::Central, String::new()), |record| (record.class, record.user.clone()));
    let run_site = text(&value["run_site"]);
    let terms = pool.name(&run_site).and_then(|site| pool.site(site));
    let of_site = terms.map_or(1000, |terms| terms.kappa_milli);
    let power = number(&value["corepower_mhs06"]);
    let kappa = power.map_or(of_site, |power| pool.settings().kappa_milli(power));
    let cores = whole(&value["alloc_cores"]);
    let band = match number(&value["band"]) {
        Some(0) => Band::System,
        Some(1) => Band::Test,
        Some(_) | None => Band::Normal,
    };
    let is_reserved = value["state"] == "reserved";
    Ok(HeldJob {
        job,
        class,
        user,
        run_site,
        cores,
        weight_milli: cores.saturating_mul(kappa),
        band,
        overflow_source: named(&value["overflow_source"]),
        charged_group: named(&value["charged_group"]),
        node: named(&value["node"]),
        reserved_at_s: number(&value["reserved_at_s"]).filter(|_| is_reserved),
        counts_from_s: now_s,
        started_at_s: number(&value["started_at_s"]),
        expected_end_s: number(&value["expected_end_s"]),
    })
}

fn ended(value: &Value) -> Result<EndedJob, String> {
    let failure = match value["state"] == "done" {
        true => None,
        false => Some(failure(&value["failure_class"])?.unwrap_or(FailureClass::Payload)),
    };
    Ok(EndedJob {
        job: text(&value["job"]).into(),
        workflow: text(&value["workflow"]),
        seq: whole(&value["seq"]),
        attempt: whole(&value["attempt"]),
        failure,
        run_site: text(&value["run_site"]),
        wall_s: whole(&value["wall_s"]),
        rss_mb: whole(&value["rss_mb"]),
        site_whitelist: list(&value["site_whitelist"]),
    })
}

fn grant(value: &Value) -> Result<Grant, String> {
    let (principal, scope) = (text(&value["principal"]), text(&value["scope"]));
    let of_group = known(&value["principal_kind"]);
    let of_group = of_group.map(|kind| is_second(kind, "principal_kind", ["user", "group"]));
    let kind = &value["scope_kind"];
    Ok(Grant {
        principal: match of_group.transpose()?.unwrap_or(false) {
            true => Principal::Group(principal),
            false => Principal::User(principal),
        },
        only_with_group: named(&value["only_with_group"]),
        scope: match kind.as_str() {
            Some("region") => GrantScope::Region(scope),
            Some("site") => GrantScope::Site(scope),
            Some("global") => GrantScope::Global,
            None if kind.is_null() => GrantScope::Global,
            Some(_) | None => {
                let found = show(kind);
                return Err(format!(
                    "field `scope_kind`: found {found}, wants global, region or site"
                ));
            }
        },
        level: whole(&value["level"]),
        cap_weight_milli: number(&value["cap_weight_milli"]),
        valid_from_s: number(&value["valid_from_s"]),
        valid_to_s: number(&value["valid_to_s"]),
    })
}

/// An offer.
pub(super) fn offer(value: &Value) -> SlotOffer {
    SlotOffer {
        offer: text(&value["offer"]),
        site: text(&value["site"]),
        cores_free: whole(&value["cores_free"]),
        cores_total: whole(&value["cores_total"]),
        wall_left_s: whole(&value["wall_left_s"]),
        mem_free_mb: whole(&value["mem_free_mb"]),
        block: named(&value["block"]),
        node: named(&value["node"]),
        corepower_mhs06: number(&value["corepower_mhs06"]),
        expires_at_s: number(&value["expires_at_s"]),
    }
}
