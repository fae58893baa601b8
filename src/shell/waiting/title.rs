//! Reasons in words of a shift: the name of a filter is the specification's.

use super::{AS_WHOLE, NOT_JUDGED, THROTTLED};

/// Names of filters and of other reasons, with what a shifter calls them.
const TITLES: [(&str, &str); 55] = [
    (NOT_JUDGED, "Not judged yet"),
    (THROTTLED, "Throttled"),
    (AS_WHOLE, "Waits as a whole"),
    ("avoid_vp", "Virtual placement not wanted"),
    ("backlog", "Too many files on their way"),
    ("blacklist", "Output storage out of service"),
    ("cache_space", "Cache too full"),
    ("cap", "Enough ready jobs"),
    ("cap_rt", "Enough queued jobs"),
    ("chosen", "Task names other queues"),
    ("closed", "Jobs were taken back there"),
    ("connectivity", "Nodes do not reach far enough"),
    ("cpucore", "Cores do not fit"),
    ("diskIO", "Disk I/O too high"),
    ("disk_space", "Disk too full"),
    ("event_service", "Event service not taken"),
    ("excluded", "Refused the job before"),
    ("failures", "Task fails there"),
    ("full_chain", "Full chains only"),
    ("gpu_architecture", "GPU does not fit"),
    ("inactive", "Nothing starts there"),
    ("io", "Reads too much from afar"),
    ("job", "No queue there could run it"),
    ("jumbo", "Jumbo jobs only"),
    ("link", "Link too full"),
    ("link_blocked", "Link blocked"),
    ("locality", "No input near"),
    ("match_count", "Too few CPUs"),
    ("match_cputime", "CPU time too short"),
    ("match_memory", "Memory does not fit"),
    ("match_runtimeenvironment", "Runtime environment missing"),
    ("match_walltime", "Wall time too short"),
    ("max_io_intensity", "Reads too fast"),
    ("memory", "Memory does not fit"),
    ("min_weight", "Weight too small"),
    ("network_weight", "Network too slow"),
    ("no_cpus", "No CPUs"),
    ("no_information", "Cluster silent"),
    ("no_location", "Input cannot be read"),
    ("nopilot", "No pilots"),
    ("not_authorised", "User not authorised"),
    ("nucleus_queue", "Too many files to the nucleus"),
    ("opportunistic", "Not a pledged queue"),
    ("overload", "Overloaded"),
    ("pledge", "Beyond the pledge"),
    ("preassigned", "Task names another queue"),
    ("queue_full", "Queue full"),
    ("queue_status", "Queue not active"),
    ("room", "Backlog too long"),
    ("scratch", "Scratch too small"),
    ("software", "Software missing"),
    ("status", "Queue not online"),
    ("storage", "No space for output"),
    ("transferring", "Too many jobs in transfer"),
    ("zeroshare", "Queue gives the share nothing"),
];

/// A reason in a shifter's words; one without such words as it is, with blanks.
pub fn title(reason: &str) -> String {
    let known = TITLES.iter().find(|(name, _)| *name == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, title)| (*title).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::policy::kinds;

    #[test]
    fn words_are_of_reasons_that_there_are() {
        let is_known = |name: &str| {
            let own = [NOT_JUDGED, THROTTLED, AS_WHOLE];
            own.contains(&name) || kinds().iter().any(|kind| kind.filter(name).is_some())
        };
        for (name, _) in TITLES {
            assert!(is_known(name), "{name}");
        }
        assert_eq!(title("room"), "Backlog too long");
        assert_eq!(title("match_opsys"), "match opsys");
    }
}
