//! The same of `commands --exec`: with the rights that docs/security.md lists for it, and with one less.

use super::acl::published;
use super::{Fort, hushed};
use crate::exec::Follower;
use crate::exec::leader::{Leader, command};
use crate::kill::bus::text;
use crate::kill::process::wait_until;

#[test]
fn an_executor_needs_the_rights_that_are_published_for_it_and_names_the_one_it_lacks() {
    let Some(fort) = Fort::build() else { return };
    let (bus, granting, user) = (fort.bus(), fort.rights(), fort.user());
    let rights = published("exec", &bus.domain);
    assert!(rights.len() == 5, "docs/security.md lists {rights:?}");
    rights.iter().for_each(|right| granting.grant(right));
    let mut leader = Leader::new(&bus);
    let start = |name: &str| {
        let flags = ["--topology", text(&bus.topology), "--command-config", text(&user)];
        let place = [&["--bootstrap-server", &bus.bootstrap], &flags[..]].concat();
        Follower::start_at(&bus, &place, name, &["--exec", "true"])
    };
    leader.publish(&[command(&bus, "1")]);
    let follower = start("whole");
    let is_done = || follower.logged().contains("accepted") && follower.printed().len() == 1;
    wait_until(super::SECOND * 60, || follower.logged(), is_done);
    drop(follower);
    for (at, right) in rights.iter().enumerate() {
        leader.publish(&[command(&bus, &format!("{}", at + 2))]);
        granting.revoke(right);
        let mut follower = start("less");
        let code = follower.end().code();
        let reported = follower.logged();
        hushed(&reported);
        let last = reported.lines().last().unwrap_or_default();
        println!("without {} of {}: {last}", right.operation, right.name);
        assert_eq!(code, Some(1), "without {right:?}: {reported}");
        for part in [&right.name, &right.operation, "kafka-acls.sh", "docs/security.md"] {
            assert!(last.contains(part), "without {right:?}, {part:?} is not in {last:?}");
        }
        granting.grant(right);
    }
}
