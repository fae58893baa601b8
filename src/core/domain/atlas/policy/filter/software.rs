//! Keeps queues that have the software and hardware a task needs (spec atlas 3).

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::software::{Cpu, GpuLimit, GpuWish, WantedRelease};
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Wanted};
use crate::event::{Gpu, Hardware, HardwareKind, Release, Task};
use crate::math::pattern::Pattern;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

words! {
    /// When a release may be found by its tag alone.
    Tags {
        WhenPlatformFails = "when_platform_fails",
        WhenCvmfsFails = "when_cvmfs_fails",
    }
}

params! {
    /// Parameters of `software`.
    Software {
        any_needs_nothing: bool = Param::flag("any_requires_no_hw_spec", false, true).help(
            "whether a queue with releases ANY takes only work that asks for no hardware; else \
             nothing is asked of a queue whose releases name ANY (DIFF-24)",
        ),
        empty_is_any: bool = Param::flag("empty_is_any", true, false)
            .help("whether an empty word in a hardware list stands for any (DIFF-25)"),
        tags: Tags = Tags::param("tags", Tags::WhenPlatformFails, Tags::WhenCvmfsFails)
            .help("when a release may be found by its tag alone (DIFF-26)"),
        implied_needs: bool = Param::flag("implied_needs_hardware", false, true).help(
            "whether a processor read off the platform needs a queue that publishes hardware (DIFF-43)",
        ),
        gpu_by_node: bool = Param::flag("gpu_by_node", false, true).help(
            "whether accelerators are looked for on worker nodes, or in what the queue states of itself",
        ),
    }
}

pub(super) const CACHE: Reason =
    Reason::new("cache", "the queue does not publish the software or hardware that the task needs");
pub(super) const REGEXPCMTCONFIG: Reason =
    Reason::new("regexpcmtconfig", "none of the queue's platforms matches the task's");

pub(super) const FILTER: QueueFilter = queue_filter!(Software {
    name: "software",
    spec: "atlas F10, 3, DIFF-24, DIFF-25, DIFF-26, DIFF-43",
    help: "the queue publishes the release, container, platform and hardware that the task needs; \
           not asked of tasks without a release",
    reasons: &[&CACHE, &REGEXPCMTCONFIG],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, _: &Software) -> bool {
    !case.task.options.trans_home.is_empty()
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Software) -> Verdict {
    let asked = TaskSoftware { task: case.task, wanted: &case.wanted, params };
    if asked.is_skipped(candidate) {
        return Verdict::Pass;
    }
    if !asked.has(candidate) {
        return object(&CACHE, 0.0, 1.0);
    }
    if asked.is_unresolved(candidate) {
        return object(&REGEXPCMTCONFIG, 0.0, 1.0);
    }
    Verdict::Pass
}

fn name(release: &str) -> WantedRelease {
    match release.split_once('-') {
        _ if release.is_empty() => WantedRelease::None,
        _ if is_nightly(release) => WantedRelease::Nightly,
        Some((project, version)) => WantedRelease::Release(project.to_owned(), version.to_owned()),
        None => WantedRelease::Release(release.to_owned(), String::new()),
    }
}

/// A task's wishes and how they are read.
pub(super) struct TaskSoftware<'a> {
    /// The task.
    pub(super) task: &'a Task,
    /// Its wishes.
    pub(super) wanted: &'a Wanted,
    /// How they are read.
    pub(super) params: &'a Software,
}

fn holds(list: &[String], word: &str) -> bool {
    list.iter().any(|it| it == word)
}

impl TaskSoftware<'_> {
    /// Whether nothing is asked of a queue, since its releases name ANY (DIFF-24).
    pub(super) fn is_skipped(&self, candidate: &Candidate<'_>) -> bool {
        !self.params.any_needs_nothing && holds(&candidate.queue.releases, "ANY")
    }

    /// Whether a queue has all of it (spec atlas 3.1).
    pub(super) fn has(&self, candidate: &Candidate<'_>) -> bool {
        let releases = &candidate.queue.releases;
        match releases.as_slice() {
            [word] if word == "ANY" => {
                let is_bound =
                    !self.task.options.container_name.is_empty() && self.task.options.only_tags;
                !self.asks_for_hardware() && !is_bound
            }
            [word] if word == "AUTO" => candidate.software.is_some_and(|release| {
                let names = self.wanted.names(|| vec![name(&self.task.options.trans_home)]);
                let has =
                    |name: &WantedRelease| self.release(release, candidate.all_software, name);
                self.hardware(release) && names.iter().any(has)
            }),
            _ => false,
        }
    }

    /// Whether the task asks for a processor or an accelerator.
    pub(super) fn asks_for_hardware(&self) -> bool {
        !self.wanted.cpus.is_empty() || self.wanted.gpu.is_some()
    }

    /// Whether the platform is an expression that none of the queue's platforms matches.
    pub(super) fn is_unresolved(&self, candidate: &Candidate<'_>) -> bool {
        let Some(release) = candidate.software else { return false };
        self.wanted.is_expression() && self.wanted.resolve(release).is_none()
    }

    /// Processors and accelerators (spec atlas 3.4, 3.5).
    pub(super) fn hardware(&self, release: &Release) -> bool {
        let of = |kind: HardwareKind| release.hardware.iter().find(|it| it.kind == kind);
        let (cpu, gpu) = (of(HardwareKind::Cpu), of(HardwareKind::Gpu));
        let keeps_out = |hardware: Option<&Hardware>| {
            hardware.is_some_and(|it| {
                [&it.arch, &it.vendor, &it.instr, &it.model].into_iter().any(|it| holds(it, "excl"))
            })
        };
        let is_lenient = self.wanted.cpu_is_implied && !self.params.implied_needs;
        if keeps_out(cpu) && self.wanted.cpus.is_empty()
            || keeps_out(gpu) && self.wanted.gpu.is_none()
        {
            return false;
        }
        let is_processor_there = match cpu {
            _ if self.wanted.cpus.is_empty() => true,
            None if is_lenient => true,
            None => false,
            Some(cpu) => self.wanted.cpus.iter().any(|it| self.is_processor(it, cpu)),
        };
        let Some(wish) = &self.wanted.gpu else { return is_processor_there };
        is_processor_there && gpu.is_some_and(|it| self.is_accelerator(wish, it, &release.gpus))
    }

    fn is_processor(&self, wanted: &Cpu, has: &Hardware) -> bool {
        let arch = match wanted.arch.as_str() {
            "*" => !holds(&has.arch, "excl"),
            arch => {
                self.takes_all(&has.arch)
                    || holds(&has.arch, arch)
                    || wanted
                        .expression()
                        .is_some_and(|it| has.arch.iter().any(|has| it.is_full_match(has)))
            }
        };
        arch && self.is_part(&wanted.vendor, &has.vendor) && self.is_part(&wanted.instr, &has.instr)
    }

    /// Vendor, instruction set or model.
    fn is_part(&self, wanted: &str, has: &[String]) -> bool {
        match wanted {
            "*" => !holds(has, "excl"),
            word => self.takes_all(has) || holds(has, word),
        }
    }

    fn takes_all(&self, list: &[String]) -> bool {
        holds(list, "any") || self.params.empty_is_any && holds(list, "")
    }

    fn is_accelerator(&self, wanted: &GpuWish, has: &Hardware, nodes: &[Gpu]) -> bool {
        if !self.params.gpu_by_node {
            let plain = self.is_part(&wanted.vendor, &has.vendor)
                && self.is_part(&wanted.model, &has.model);
            return plain && wanted.limits.iter().all(|limit| is_within(limit, nodes));
        }
        let begins = |pattern: &str, text: &str| {
            Pattern::new(&pattern.to_lowercase())
                .is_some_and(|it| it.is_match_start(&text.to_lowercase()))
        };
        let any = |wish: &str, of: fn(&Gpu) -> &str| {
            wish == "*" || nodes.iter().any(|node| begins(wish, of(node)))
        };
        let asks_for_more =
            wanted.vendor != "*" || wanted.model != "*" || !wanted.limits.is_empty();
        if nodes.is_empty() {
            return !asks_for_more;
        }
        any(&wanted.vendor, |node| &node.vendor)
            && any(&wanted.model, |node| &node.model)
            && wanted.limits.iter().all(|limit| is_within(limit, nodes))
    }

    /// Containers, releases, nightlies (spec atlas 3.6 to 3.8).
    pub(super) fn release(
        &self,
        release: &Release,
        all: Option<&Release>,
        name: &WantedRelease,
    ) -> bool {
        if !self.task.options.container_name.is_empty() {
            return self.container(release, all);
        }
        let platform = self.wanted.platform.as_str();
        if matches!(name, WantedRelease::None) {
            return true;
        }
        let is_nightly = matches!(name, WantedRelease::Nightly);
        let repository = if is_nightly { "nightlies" } else { "atlas" };
        let is_mounted = holds(&release.cvmfs, "any") || holds(&release.cvmfs, repository);
        let takes_any = holds(&release.containers, "any") || holds(&release.containers, "/cvmfs");
        let by_cvmfs_alone = self.params.tags == Tags::WhenCvmfsFails;
        let has_platform = match by_cvmfs_alone {
            true => holds(&release.cmtconfigs, platform) && self.wanted.base.is_empty(),
            false => self.wanted.resolve(release).is_some(),
        };
        if is_mounted && (takes_any || has_platform) {
            return true;
        }
        if is_mounted && by_cvmfs_alone {
            return false;
        }
        let WantedRelease::Release(project, version) = name else { return false };
        let may = holds(&release.containers, "any") || self.wanted.base.is_empty();
        let resolved = self.wanted.resolve(release).filter(|_| !by_cvmfs_alone);
        let platform = resolved.unwrap_or(platform);
        may && release.tags.iter().any(|tag| {
            tag.cmtconfig == platform && tag.project == *project && tag.release == *version
        })
    }

    /// A fat container (spec atlas 3.7).
    fn container(&self, release: &Release, all: Option<&Release>) -> bool {
        let name = self.task.options.container_name.as_str();
        let is_tag = || {
            release.tags.iter().any(|tag| tag.container_name == name || holds(&tag.sources, name))
        };
        if self.task.options.only_tags {
            return is_tag();
        }
        let starts = |path: &str| release.containers.iter().any(|it| path.starts_with(it.as_str()));
        if holds(&release.containers, "any") || holds(&release.containers, "/cvmfs") || starts(name)
        {
            return true;
        }
        let tags = all.map_or(&[][..], |all| all.tags.as_slice());
        let mut sources =
            tags.iter().filter(|tag| tag.container_name == name).flat_map(|tag| &tag.sources);
        sources.any(|source| starts(source)) || self.params.tags == Tags::WhenCvmfsFails && is_tag()
    }
}

/// Whether a release is a nightly: it ends in `rel_<digits>` or in a moment, and not in `-d.d.d`.
fn is_nightly(name: &str) -> bool {
    let ends = |pattern: &str| Pattern::new(pattern).is_some_and(|it| it.is_found_in(name));
    let dated = ends(r"\d\d\d\d-\d\d-\d\dT\d\d\d\d$");
    (ends(r"rel_\d+$") || dated) && !ends(r"-\d+\.\d+\.\d+$")
}

/// Whether a condition on an accelerator holds on the worker nodes: of a name on some node, of a
/// number on every one.
fn is_within(limit: &GpuLimit, nodes: &[Gpu]) -> bool {
    let GpuLimit { attribute, operator, value } = limit;
    let number = |of: fn(&Gpu) -> String| {
        !nodes.is_empty() && nodes.iter().all(|node| compares(&of(node), operator, value))
    };
    match attribute.as_str() {
        "vram" => number(|node| node.vram_mb.to_string()),
        "cuda" | "version" => number(|node| node.framework_version.clone()),
        "driver" => number(|node| node.driver_version.clone()),
        "uarch" => nodes.iter().any(|node| {
            value.split('|').any(|name| node.microarchitecture.eq_ignore_ascii_case(name))
        }),
        "model" => {
            let begins = |node: &Gpu| {
                Pattern::new(&value.to_lowercase())
                    .is_some_and(|it| it.is_match_start(&node.model.to_lowercase()))
            };
            let is_there = nodes.iter().any(begins);
            if operator == "!=" { !nodes.is_empty() && !is_there } else { is_there }
        }
        _ => false,
    }
}

/// Compares versions part by part; `!=` is not read, as PanDA does not (Q-23).
fn compares(has: &str, operator: &str, wanted: &str) -> bool {
    let parts = |text: &str| -> Option<Vec<u64>> {
        text.split('.').map(|part| part.trim().parse().ok()).collect()
    };
    let (Some(mut has), Some(mut wanted)) = (parts(has), parts(wanted)) else { return false };
    let longest = has.len().max(wanted.len());
    has.resize(longest, 0);
    wanted.resize(longest, 0);
    match operator {
        ">=" => has >= wanted,
        "<=" => has <= wanted,
        ">" => has > wanted,
        "<" => has < wanted,
        "=" | "==" => has == wanted,
        _ => false,
    }
}
