//! Nothing lost, nothing twice: kill it anywhere, any number of times.

mod check;
mod play;

use check::*;
use play::*;
use yardmaster::sim::paper::faulty::{Fault, Objection, Schedule};
use yardmaster::sim::paper::store::PaperStore;

#[test]
fn the_play_without_faults() {
    for late in [false, true] {
        let schedule = Schedule::default();
        let mut play = Play::new(vec![schedule.clone()], Left::All, late);
        let began = std::time::Instant::now();
        let reached = play.run();
        eprintln!("calls {} checkpoints {} cycles {} decisions {} in {:?}", schedule.count(), play.store.count(), reached.number, play.yard.decisions().len(), began.elapsed());
        for d in play.yard.decisions() { eprintln!("{} {} {} {} {}", d.subject, d.ordinal, d.outcome.name(), d.cycle, d.number); }
        assert_eq!(play.started, 1);
        check_words(&play.yard);
        check_answered(&play.yard);
        check_replay(&play.yard, &reached);
        let began = std::time::Instant::now();
        for count in 0..=play.store.count() {
            rebuild(play.yard.log(), play.store.older(count), &reached);
        }
        eprintln!("{:?}", began.elapsed());
    }
}
#[test]
fn timing() {
    let t = std::time::Instant::now();
    for _ in 0..10 { config(""); }
    eprintln!("terms {:?}", t.elapsed() / 10);
    let mut play = Play::new(vec![], Left::All, false);
    let t = std::time::Instant::now();
    play.run();
    eprintln!("run {:?}", t.elapsed());
    let t = std::time::Instant::now();
    check_words(&play.yard);
    eprintln!("check {:?}", t.elapsed());
    let t = std::time::Instant::now();
    play.yard.decisions();
    eprintln!("decisions {:?}", t.elapsed());
    let t = std::time::Instant::now();
    play.yard.progress();
    eprintln!("progress {:?}", t.elapsed());
}
