//! The parts of a policy that answers slot offers.

use super::judge::MatchRules;
use super::settings::Settings;
use crate::policy::compile::Policy;
use crate::policy::resolved::Resolved;

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
