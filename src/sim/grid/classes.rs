//! The kinds of work there are, production and analysis, and how much of each.

use crate::dice::Quantiles;
use yardmaster_core::event::ChunkKind;

/// Walltimes of long jobs: IN2P3-CC, 10,737 jobs; s.
const LONG_S: Quantiles = [672.0, 1_964.0, 7_428.0, 14_614.0, 18_701.0, 20_829.0, 27_562.0];
/// Walltimes of short jobs: ATLAS task 15350577, 10,886 jobs in 40 queues; s.
const SHORT_S: Quantiles = [458.0, 627.0, 824.0, 1_443.0, 1_696.0, 1_824.0, 2_235.0];
/// CPU times of all kinds of jobs: 96 queues in 2024, 8,916 jobs; s.
const MIXED_S: Quantiles = [36.0, 833.0, 3_847.0, 17_290.0, 42_359.0, 61_978.0, 111_344.0];
/// Walltimes of users' jobs: BNL in January 2025, 100 jobs, the last percent cut; s.
const USER_S: Quantiles = [113.0, 1_002.0, 3_961.0, 20_859.0, 45_958.0, 92_886.0, 160_000.0];

/// Part of all production tasks that are urgent.
pub const URGENT: f64 = 0.015;

/// A kind of work.
pub struct Class {
    /// Share among all tasks.
    pub weight: f64,
    /// Who answers its requests.
    pub policy: &'static str,
    /// Production source label of all its requests.
    pub label: &'static str,
    /// See `label`.
    pub processing_type: &'static str,
    /// See `label`.
    pub gshare: &'static str,
    /// See `label`; none for users.
    pub group: &'static str,
    /// See `label`.
    pub resource_type: &'static str,
    /// Cores a job wants: 1, or a whole slot.
    pub cores: u32,
    /// Memory per core, from..=to; MB.
    pub ram_mb: (i64, i64),
    /// Walltimes, a task at a time; s.
    pub wall_s: &'static Quantiles,
    /// Files a job reads, about.
    pub input_files: i64,
    /// Files a job writes.
    pub output_files: i64,
    /// Disk I/O, from..=to; kB/s per core.
    pub disk_io: (i64, i64),
    /// Kind of its chunks.
    pub chunk: ChunkKind,
}

/// Simulation on whole slots: what the others differ from.
const COMMON: Class = Class {
    weight: 0.0,
    policy: "production-job",
    label: "managed",
    processing_type: "simul",
    gshare: "MC Default",
    group: "AP_MCGN",
    resource_type: "MCORE",
    cores: 8,
    ram_mb: (800, 1_900),
    wall_s: &LONG_S,
    input_files: 1,
    output_files: 2,
    disk_io: (20, 200),
    chunk: ChunkKind::Normal,
};

/// All of them. The weights make about 7 core hours a job.
pub const CLASSES: &[Class] = &[
    Class { weight: 22.0, ..COMMON },
    Class {
        weight: 24.0,
        processing_type: "evgen",
        resource_type: "SCORE",
        cores: 1,
        input_files: 0,
        disk_io: (10, 100),
        ..COMMON
    },
    Class {
        weight: 12.0,
        processing_type: "pile",
        input_files: 7,
        disk_io: (200, 1_500),
        ..COMMON
    },
    Class {
        weight: 4.0,
        processing_type: "reprocessing",
        gshare: "Reprocessing",
        group: "AP_REPR",
        input_files: 5,
        disk_io: (200, 2_000),
        ..COMMON
    },
    Class {
        weight: 20.0,
        processing_type: "deriv",
        gshare: "Data Derivations",
        group: "AP_PHYS",
        resource_type: "SCORE",
        cores: 1,
        wall_s: &SHORT_S,
        input_files: 7,
        output_files: 3,
        disk_io: (500, 4_000),
        ..COMMON
    },
    Class {
        weight: 9.0,
        processing_type: "merge",
        gshare: "Group Production",
        group: "GP_MERGE",
        resource_type: "SCORE",
        cores: 1,
        wall_s: &SHORT_S,
        input_files: 10,
        output_files: 1,
        disk_io: (1_000, 6_000),
        chunk: ChunkKind::Merge,
        ..COMMON
    },
    Class {
        weight: 4.0,
        processing_type: "simul",
        gshare: "Group Production",
        group: "GP_HIMEM",
        resource_type: "SCORE_HIMEM",
        cores: 1,
        ram_mb: (2_600, 3_900),
        wall_s: &MIXED_S,
        ..COMMON
    },
    Class {
        weight: 3.0,
        processing_type: "reprocessing",
        gshare: "Reprocessing",
        group: "AP_REPR",
        resource_type: "MCORE_HIMEM",
        ram_mb: (2_400, 3_900),
        input_files: 5,
        disk_io: (200, 2_000),
        ..COMMON
    },
    Class {
        weight: 2.0,
        processing_type: "validation",
        gshare: "Validation",
        group: "AP_VALI",
        resource_type: "SCORE",
        cores: 1,
        wall_s: &MIXED_S,
        ..COMMON
    },
    Class {
        weight: 45.0,
        policy: "analysis-job",
        label: "user",
        processing_type: "panda-client-1.5-jedi-run",
        gshare: "User Analysis",
        group: "",
        resource_type: "SCORE",
        cores: 1,
        wall_s: &USER_S,
        input_files: 5,
        output_files: 1,
        disk_io: (100, 3_000),
        ..COMMON
    },
];
