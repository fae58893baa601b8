//! Services of a storage endpoint: whether it can be read and written, from near and from afar.

/// Which services are open. One that is not stated is (spec atlas 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Services {
    pub(super) read_lan: bool,
    pub(super) write_lan: bool,
    pub(super) read_wan: bool,
    pub(super) write_wan: bool,
}

impl Default for Services {
    fn default() -> Services {
        Services { read_lan: true, write_lan: true, read_wan: true, write_wan: true }
    }
}

impl Services {
    /// Whether an activity is one of these.
    pub(super) fn has(activity: &str) -> bool {
        ["read_lan", "write_lan", "read_wan", "write_wan"].contains(&activity)
    }

    /// Takes the status of an activity: one that is `OFF` or in `TEST` is closed (spec atlas N5).
    /// Other activities (deletion) are no matter of brokerage.
    pub(super) fn take(&mut self, activity: &str, status: &str) {
        let is_open = !["OFF", "TEST"].iter().any(|closed| status.eq_ignore_ascii_case(closed));
        match activity {
            "read_lan" => self.read_lan = is_open,
            "write_lan" => self.write_lan = is_open,
            "read_wan" => self.read_wan = is_open,
            "write_wan" => self.write_wan = is_open,
            _ => {}
        }
    }
}
