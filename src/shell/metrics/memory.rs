//! Memory of this process.

/// Memory of this process that is resident; bytes. `None` where the system does not state it.
pub(super) fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    // SAFETY: the call reads a constant of the system and touches no memory of ours.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages(&statm)?.checked_mul(u64::try_from(page).ok()?)
}

/// The pages that are resident, the second figure of `statm`.
fn pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_pages_are_the_second_figure() {
        assert_eq!(pages("1000 250 30 5 0 80 0\n"), Some(250));
        assert_eq!(pages("1000"), None);
        assert_eq!(pages("a b"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory() {
        let bytes = resident_bytes().unwrap();
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
