//! Users: each belongs to a community; some submit far more than others.

use super::words::COMMUNITIES;
use crate::dice::Dice;

/// A user.
#[derive(Clone, Debug)]
pub struct NordugridUser {
    /// Name.
    pub name: String,
    /// Community, by position.
    pub community: usize,
    /// How much is submitted, beside others.
    pub weight: f64,
}

/// Users of a seed: 300 at scale 1, 100 at least.
pub fn make(seed: u64, scale: f64) -> Vec<NordugridUser> {
    let mut dice = Dice::new(seed, "users");
    let count = (300.0 * scale).clamp(100.0, 1_000.0) as usize;
    let user = |at: usize| {
        let community = dice.below(COMMUNITIES.len());
        let name = format!("/O=Grid/O=NorduGrid/OU={}/CN=User {at:03}", COMMUNITIES[community].0);
        NordugridUser { name, community, weight: 1.0 / (at as f64 + 3.0) }
    };
    (0..count).map(user).collect()
}
