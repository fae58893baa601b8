//! Index servers and clusters of ARC are asked: DNS for ARCHERY, LDAP for GIIS and clusters, REST
//! for clusters. What they answer is read in `wire`.

mod ask;
mod ldap;
mod txt;

pub use ask::{ArcAnswer, ArcClient};
pub use ldap::search;
pub use txt::NameServers;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls a function with each item, with up to `most` of them at the same time; its answers in the
/// order of the items.
pub fn at_once<T: Sync, R: Send>(items: &[T], most: usize, ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return answers };
            answers.push((at, ask(item)));
        }
    };
    let mut answers = std::thread::scope(|scope| {
        let threads = (0..most.min(items.len())).map(|_| scope.spawn(work));
        let threads: Vec<_> = threads.collect();
        let answers =
            threads.into_iter().map(|it| it.join().unwrap_or_else(|why| resume_unwind(why)));
        answers.flatten().collect::<Vec<_>>()
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn answers_come_in_the_order_of_the_items_and_no_more_are_asked_at_once() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..40).collect();
        let answers = at_once(&items, 4, |item| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            item * 2
        });
        assert_eq!(answers, items.iter().map(|it| it * 2).collect::<Vec<_>>());
        assert!((2..=4).contains(&most.into_inner()));
        assert_eq!(at_once(&[0_u8; 0], 4, |it| *it), [0_u8; 0]);
    }
}
