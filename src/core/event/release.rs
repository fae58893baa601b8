//! `release`: software and hardware that a queue publishes (spec atlas 3.1).

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::record::{record, symbols};
use crate::unit::Millis;

/// The software and hardware of a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Release {
    /// Queue, by its unified name; `ALL` for the union of tags.
    pub queue: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Platforms.
    pub cmtconfigs: Vec<String>,
    /// Container path prefixes; `any` for all.
    pub containers: Vec<String>,
    /// CVMFS repositories; `any` for all.
    pub cvmfs: Vec<String>,
    /// Hardware it publishes.
    pub hardware: Vec<Hardware>,
    /// Installed releases.
    pub tags: Vec<SoftwareTag>,
    /// Accelerators seen on its worker nodes.
    pub gpus: Vec<Gpu>,
}

/// Processor or accelerator. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum HardwareKind {
    /// Processor.
    #[default]
    Cpu = 0,
    /// Accelerator.
    Gpu = 1,
}

/// One kind of hardware. In each list `any` takes all, and `excl` takes only what asks for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hardware {
    /// Which hardware it is.
    pub kind: HardwareKind,
    /// Processor architectures.
    pub arch: Vec<String>,
    /// Vendors.
    pub vendor: Vec<String>,
    /// Instruction sets of a processor.
    pub instr: Vec<String>,
    /// Models of an accelerator.
    pub model: Vec<String>,
}

/// One installed release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoftwareTag {
    /// Name of the tag.
    pub tag: String,
    /// Platform.
    pub cmtconfig: String,
    /// Project.
    pub project: String,
    /// Version.
    pub release: String,
    /// Container it is in.
    pub container_name: String,
    /// Where that container lies.
    pub sources: Vec<String>,
}

/// An accelerator seen on a worker node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpu {
    /// Vendor.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Memory; MB.
    pub vram_mb: u64,
    /// Micro-architecture.
    pub microarchitecture: String,
    /// Version of its framework.
    pub framework_version: String,
    /// Version of its driver.
    pub driver_version: String,
}

symbols!(HardwareKind: [Cpu, Gpu]);
record!(Release { queue, changed_at, cmtconfigs, containers, cvmfs, hardware, tags, gpus });
record!(Hardware { kind, arch, vendor, instr, model });
record!(SoftwareTag { tag, cmtconfig, project, release, container_name, sources });
record!(Gpu { vendor, model, vram_mb, microarchitecture, framework_version, driver_version });

impl Configured for Release {
    fn name(&self) -> String {
        self.queue.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Release {
        Release { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: queue)
    }

    fn touches(&self) -> Touches {
        Touches::Settings
    }

    fn removed(_: &str) -> Touches {
        Touches::Settings
    }
}
