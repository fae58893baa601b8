//! Whatever the interleaving of partitions, whatever is sent again, wherever intake is killed: the
//! records that win are the same, and they are what the tables have.

use super::Run;
use super::source::{Message, PARTITIONS, Panda};
use proptest::prelude::*;
use yardmaster::drive::intake::Noted;

/// A history of the tables, by numbers that were drawn.
fn history(draws: &[(u8, u8)]) -> Panda {
    let mut panda = Panda::new();
    for (kind, job) in draws {
        // Of a number that was deleted by hand, or that a restored database gives again, too.
        let number = u64::from(job % 8) + 1;
        let Some(row) = panda.rows.get(&number).cloned() else {
            panda.pending(number);
            continue;
        };
        let first = kind % 2 == 0;
        match (row.status, kind / 2 % 8) {
            ("finished", _) => {}
            (_, 0) => panda.begin().delete(number, row.table),
            ("pending", _) => panda.set(number, "defined"),
            ("defined", _) => panda.shift(number, "jobsactive4", "activated", first),
            // Back, within one attempt.
            ("activated", 1) => panda.shift(number, "jobsdefined4", "defined", first),
            ("activated", _) => panda.set(number, "sent"),
            ("sent", _) => panda.set(number, "running"),
            ("running", 1) => panda.shift(number, "jobsarchived4", "finished", first),
            ("running", 2) => panda.set(number, "holding"),
            ("running", _) => panda.beat(number),
            (_, 3) => panda.beat(number),
            (_, _) => panda.shift(number, "jobsarchived4", "finished", first),
        }
    }
    panda
}

/// The connector dies after `died` messages and sends again from `from` on.
fn sent_again(all: &[Message], died: usize, from: usize) -> Vec<Message> {
    let died = died % (all.len() + 1);
    let from = from % (died + 1);
    [&all[..died], &all[from..]].concat()
}

/// State of every job that was published, without how its revision came about.
fn states(run: &Run) -> Vec<(String, String)> {
    run.finals().into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_redelivery_and_restart_ends_with_the_same_records(
        draws in proptest::collection::vec(any::<(u8, u8)>(), 1..60),
        order in proptest::collection::vec(0..PARTITIONS, 1..40),
        restarts in proptest::collection::vec(0usize..200, 0..4),
        quiet in proptest::collection::vec(0usize..200, 0..3),
        (died, from) in any::<(usize, usize)>(),
    ) {
        let mut panda = history(&draws);
        let all = panda.take();
        let mut plain = Run::new(&all);
        plain.read_all().settle();
        let wanted = states(&plain);
        let mut run = Run::new(&sent_again(&all, died, from));
        let mut step = 0;
        while run.next.iter().zip(&run.log).any(|(next, log)| *next < log.len()) {
            if restarts.contains(&step) {
                run.restart();
            }
            if quiet.contains(&step) {
                run.pass(500);
            }
            let turn = order[step % order.len()];
            (0..PARTITIONS).any(|by| run.step((turn + by) % PARTITIONS));
            step += 1;
        }
        run.settle();
        prop_assert_eq!(states(&run), wanted);
        prop_assert_eq!(run.noted(Noted::Restored), 0);
        // All is whole: nothing is read again, and nothing is published by another life.
        prop_assert_eq!(run.committed(), run.next);
        let published = run.published.len();
        run.restart();
        run.read_all().settle();
        prop_assert_eq!(run.published.len(), published);
        // What is published is what the tables have; a job that left them is over.
        for number in 1..=panda.newest {
            let text = run.job(number);
            match panda.rows.get(&number) {
                Some(row) => {
                    let status = format!("status: {}", row.status);
                    prop_assert!(text.to_lowercase().contains(&status), "{} is not in {}", status, text);
                }
                _ => prop_assert!(
                    text.is_empty() || text.contains("Closed") || text.contains("Finished"),
                    "{}", text
                ),
            }
        }
    }
}
