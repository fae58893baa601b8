//! The parts of a policy that answers slot offers.

use super::cms::judge::MatchRules;
use super::cms::settings::Settings;
use super::compile::Policy;
use super::resolved::Resolved;

impl Policy {
    /// Its filters and rank keys.
    pub fn job_judges(&self) -> MatchRules {
        MatchRules::of(self.job_rules())
    }

    /// Its parameters for the jobs of a pool.
    pub fn pool_settings(&self, resolved: &Resolved) -> Settings {
        Settings::of(&resolved.own, &resolved.lists)
    }
}
