//! Words of the simulated grid: countries, software, communities of users.

/// Countries, as they stand in names of index servers, storage elements and clusters.
pub const COUNTRIES: [&str; 10] = ["no", "se", "dk", "fi", "ee", "ch", "de", "si", "sk", "uk"];

/// Communities, each with the part of the clusters that takes its jobs.
pub const COMMUNITIES: [(&str, f64); 4] =
    [("atlas", 0.5), ("bio", 0.35), ("nordugrid", 0.6), ("physics", 0.3)];

/// A runtime environment that some clusters have.
pub struct Environment {
    /// Name without version.
    pub name: &'static str,
    /// Versions, oldest first.
    pub versions: &'static [&'static str],
    /// Part of the clusters that has it.
    pub part: f64,
}

const fn environment(
    name: &'static str,
    versions: &'static [&'static str],
    part: f64,
) -> Environment {
    Environment { name, versions, part }
}

/// Position of each in [`ENVIRONMENTS`].
pub const ATLAS: usize = 0;
/// See [`ATLAS`].
pub const ROOT: usize = 1;
/// See [`ATLAS`].
pub const MPI: usize = 2;
/// See [`ATLAS`].
pub const BLAST: usize = 3;
/// See [`ATLAS`].
pub const PYTHON: usize = 4;

/// Runtime environments.
pub const ENVIRONMENTS: [Environment; 5] = [
    environment("APPS/HEP/ATLAS-SITE", &["1.0"], 0.6),
    environment("APPS/HEP/ROOT", &["6.18", "6.20", "6.24"], 0.6),
    environment("ENV/MPI/OPENMPI", &["3.1", "4.0"], 0.5),
    environment("APPS/BIO/BLAST", &["2.10", "2.12"], 0.5),
    environment("ENV/PYTHON", &["3.9", "3.11"], 0.8),
];
