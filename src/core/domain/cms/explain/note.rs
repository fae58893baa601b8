//! Notes of a pool of slots in words.

/// A note, by its code and figures; `None`: it is none of these.
pub(crate) fn words(code: &str, figures: &str) -> Option<String> {
    Some(match code {
        "quota_missing" => format!("no quota is stated for {figures}"),
        "corepower_missing" => {
            format!("no power of a core is stated for {figures}; the policy's own counts")
        }
        "total_unknown" => {
            format!("how many jobs {figures} has in all is not stated, so it has no tail")
        }
        "idle_core_s" => format!("{figures} core seconds are left unused for it"),
        "test_failed_100pct" => "all of its test jobs failed".to_owned(),
        "no_site_can_host" => {
            "no node of any site that it may run at could hold its jobs".to_owned()
        }
        _ => return None,
    })
}
