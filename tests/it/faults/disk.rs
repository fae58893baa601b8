//! A disk without room for the store. The system lets no file of the process grow beyond a limit,
//! which needs no rights and meets the same writes as a full disk does.

use super::{bus, must_stop, wait_for_just};
use crate::kill::process::{PROGRAM, Process};
use crate::kill::{SECOND, settle_accounts, wait_for_lead};
use std::collections::BTreeSet;
use std::process::Command;

/// By a shell that lets no file grow beyond so many KiB; a write beyond is an error, not a signal.
fn limited(kib: u32) -> Command {
    let mut shell = Command::new("bash");
    let line = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    shell.args(["-c", &line, PROGRAM]);
    shell
}

#[test]
fn a_full_disk_stops_it_with_the_remedy_and_with_room_it_goes_on() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 40);
    bus.flush();
    let store = bus.path("store");
    let start =
        |kib: u32| Process::start_by(limited(kib), &bus.bootstrap, &bus.topology, &store, &[]);
    let mut subjects = BTreeSet::new();
    let mut ask = || {
        let subject = format!("1/{}", subjects.len());
        bus.ask(&subject, 1, 500);
        bus.flush();
        subjects.insert(subject);
        subjects.clone()
    };
    let mut process = start(4_096);
    wait_for_lead(&process, 60 * SECOND);
    wait_for_just(&bus, &ask(), &mut process);

    // It fills while it works, with questions on the way.
    bus.queue("QUEUE_01", 1, 20_000);
    (0..20).for_each(|_| drop(ask()));
    let remedy = ["store: ", "give it space", "start again", "deleting the store loses nothing"];
    must_stop(process, &remedy);
    // And it is full when it starts.
    ask();
    must_stop(start(4_096), &remedy);

    let mut process = Process::start(&bus.bootstrap, &bus.topology, &store);
    wait_for_lead(&process, 60 * SECOND);
    let subjects = ask();
    wait_for_just(&bus, &subjects, &mut process);
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&store]));
}
