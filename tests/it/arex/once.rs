//! A job is handed over once, whatever happens on the way.

use super::authority::{now_s, text};
use super::stub::{Odd, Stub, StubJob};
use super::verb::{Place, has};

const NEW: &str = "POST /arex/rest/1.0/jobs?action=new";
const LIST: &str = "GET /arex/rest/1.0/jobs?state=";
const KILL: &str = "POST /arex/rest/1.0/jobs?action=kill";
/// The first job that a stub makes.
const FIRST: &str = "006916068098";
const NO_DESCRIPTION: &str = "GET /arex/rest/1.0/jobs/006916068098/diagnose/description";
const BOTH: [&str; 4] = ["-c", "ce-a", "-c", "ce-b"];
const JOB: &str = "&(executable=/bin/true)";

/// Two clusters, of which the first is chosen first.
fn two() -> Option<(Place, Stub, Stub)> {
    let place = Place::make()?;
    let (first, second) = (place.stub(), place.stub());
    place.cluster("ce-a", &first.url(), "50");
    place.cluster("ce-b", &second.url(), "0");
    for stub in [&first, &second] {
        stub.state().course = vec!["RUNNING", "FINISHED"];
    }
    Some((place.lead(), first, second))
}

/// Jobs that nobody cancelled.
fn wanted(stub: &Stub) -> usize {
    stub.state().jobs.values().filter(|job| !job.is_cancelled).count()
}

#[test]
fn a_job_whose_answer_is_lost_is_found_and_one_that_never_came_goes_elsewhere() {
    let Some((place, first, second)) = two() else { return };
    first.state().odd = vec![(NEW, Odd::Loses)];
    let ended = place.submit("lost", JOB, &BOTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((wanted(&first), wanted(&second)), (1, 0));
    has(place.states("lost").last().unwrap(), &["ce-a/q finished FINISHED lost:0 id"]);

    first.state().odd = vec![(NEW, Odd::Faults)];
    let ended = place.submit("fault", JOB, &BOTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((wanted(&first), wanted(&second)), (2, 0));

    first.state().odd = vec![(NEW, Odd::Drops)];
    let ended = place.submit("dropped", JOB, &BOTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    has(&ended.err, &["ce-a/q does not take it", "the connection breaks off"]);
    assert!(!ended.err.contains("did not tell"), "it answered that it is not there: {ended:?}");
    assert_eq!((wanted(&first), wanted(&second)), (2, 1));
    place.check();
}

/// A cluster that takes a job, and tells so too late: the job is elsewhere, and is cancelled there.
#[test]
fn a_job_that_is_not_wanted_at_a_cluster_is_cancelled_once_the_cluster_answers() {
    let Some((place, first, second)) = two() else { return };
    second.state().course = vec!["RUNNING"];
    first.state().odd = vec![(NEW, Odd::Loses), (LIST, Odd::Refuses)];
    let waiter = place.begin("late", JOB, &BOTH);
    waiter.wait_for("late: RUNNING at ce-b/q");
    assert_eq!(wanted(&first), 1);
    first.state().odd.clear();
    waiter.wait_for("late: ce-a had taken it all the same; it is cancelled there");
    assert_eq!(wanted(&first), 0);

    let put = "PUT /arex/rest/1.0/jobs/";
    first.state().course = vec!["PREPARING"];
    first.state().odd = vec![(put, Odd::Refuses), (KILL, Odd::Refuses)];
    place.write("run.sh", "");
    let uploads = place.begin("files", "&(executable=run.sh)", &BOTH);
    uploads.wait_for("ce-a/q does not take it: the upload of run.sh");
    uploads.wait_for("files: RUNNING at ce-b/q");
    assert_eq!(wanted(&first), 1);
    first.state().odd.clear();
    uploads.wait_for("files: ce-a had taken it all the same; it is cancelled there");
    assert_eq!(wanted(&first), 0);
    second.state().jobs.values_mut().for_each(|job| job.state = "FINISHED".to_owned());
    for waiter in [waiter, uploads] {
        assert_eq!(waiter.end().code, Some(0));
    }
    place.check();
}

/// A verb that is killed while it hands a job over, and several that take it up at once.
#[test]
fn a_job_that_is_taken_up_again_runs_once() {
    let Some((place, first, second)) = two() else { return };
    first.state().odd = vec![(NEW, Odd::Stalls)];
    let killed = place.begin("killed", JOB, &BOTH);
    killed.wait_until(|| wanted(&first) == 1);
    killed.signal("KILL");
    drop(killed);
    first.state().odd.clear();
    first.state().jobs.values_mut().for_each(|job| job.course = vec!["RUNNING".to_owned()]);
    let resumed = place.start("resumed", &["--resume", "killed"]);
    resumed.wait_for("killed: RUNNING at ce-a/q");
    assert_eq!((wanted(&first), wanted(&second)), (1, 0));
    // What was handed over before comes late.
    let late = StubJob { made_s: now_s() + 9, ..first.job() };
    first.state().jobs.insert("0069160680ff".to_owned(), late);
    resumed.wait_for("killed: ce-a had taken it all the same; it is cancelled there");
    first.state().jobs.get_mut(FIRST).unwrap().state = "FINISHED".to_owned();
    let ended = resumed.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!first.state().jobs[FIRST].is_cancelled);

    let file = place.write("several.xrsl", JOB);
    let args = ["--xrsl", text(&file), "--user", "ann", "--job-id", "several"];
    place.bus.verb("submit", 0, &[&args[..], &BOTH[..]].concat());
    // None of them sees what another hands over before it does so itself; of one job there is no
    // description.
    first.state().odd = vec![(LIST, Odd::Stalls), (NO_DESCRIPTION, Odd::Faults)];
    first.state().asked.clear();
    let waiters = ["a", "b", "c"].map(|name| place.start(name, &["--resume", "several"]));
    waiters[0].wait_until(|| first.state().asked.len() == waiters.len());
    first.state().odd.clear();
    for waiter in waiters {
        let ended = waiter.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(first.state().jobs.len(), 5, "each handed it over");
    assert_eq!((wanted(&first), wanted(&second)), (2, 0), "{:#?}", first.state().jobs);
    place.check();
}

/// What a verb that was killed knew of clusters that did not answer is known to the next.
#[test]
fn a_job_that_a_silent_cluster_may_have_is_cancelled_there_when_it_is_taken_up_again() {
    let Some((place, first, second)) = two() else { return };
    second.state().course = vec!["RUNNING"];
    first.state().odd = vec![(NEW, Odd::Stalls)];
    let killed = place.begin("job", JOB, &BOTH);
    killed.wait_until(|| wanted(&first) == 1);
    killed.signal("KILL");
    drop(killed);
    first.state().odd = vec![(NEW, Odd::Refuses), (LIST, Odd::Refuses)];
    let resumed = place.start("resumed", &["--resume", "job"]);
    resumed.wait_for("job: RUNNING at ce-b/q");
    resumed.signal("KILL");
    drop(resumed);
    assert_eq!(wanted(&first), 1);

    first.state().odd.clear();
    second.state().jobs.values_mut().for_each(|job| job.state = "FINISHED".to_owned());
    let ended = place.start("again", &["--resume", "job"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    has(&ended.err, &["job: ce-a had taken it all the same; it is cancelled there"]);
    assert_eq!((wanted(&first), wanted(&second)), (0, 1));
    place.check();
}

/// Of two processes one finds no target, and the other hands the job over: it is followed from then
/// on.
#[test]
fn a_job_that_is_taken_counts_before_a_rejection() {
    let Some((place, first, _second)) = two() else { return };
    let file = place.write("job.xrsl", JOB);
    let only = ["--xrsl", text(&file), "--user", "ann", "--job-id", "job", "-c", "ce-a"];
    place.bus.verb("submit", 0, &only);
    first.state().odd = vec![(LIST, Odd::Refuses)];
    let early = place.start("early", &["--resume", "job"]);
    early.wait_until(|| first.state().asked.len() > 3);
    let late = place.start("late", &["--resume", "job"]);
    let ended = early.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    first.state().odd.clear();
    let ended = late.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.start("last", &["--resume", "job"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(wanted(&first), 1);
    place.check();
}

/// A job that waits for its files may get them from another process; one that this verb cancelled is
/// none.
#[test]
fn a_job_with_uploads_that_is_taken_up_again_is_neither_cancelled_nor_believed_to_be_cancelled() {
    let Some((place, first, second)) = two() else { return };
    let put = "PUT /arex/rest/1.0/jobs/";
    place.write("run.sh", "");
    let files = place.bus.path("");
    let xrsl = "&(executable=run.sh)";
    first.state().course = vec!["PREPARING"];
    first.state().odd = vec![(put, Odd::Stalls)];
    let killed = place.begin("adopted", xrsl, &BOTH);
    killed.wait_until(|| first.state().asked.iter().any(|it| it.starts_with(put)));
    killed.signal("KILL");
    drop(killed);
    first.state().odd = vec![(put, Odd::Refuses)];
    let resumed = place.start("resumed", &["--resume", "adopted", "--files", text(&files)]);
    resumed.wait_for("adopted: ce-a/q took it");
    assert_eq!(wanted(&first), 1);
    first.state().jobs.values_mut().for_each(|job| job.state = "FINISHED".to_owned());
    assert_eq!(resumed.end().code, Some(0));

    first.state().course = vec!["RUNNING", "FINISHED"];
    first.state().odd = vec![(put, Odd::Refuses), (KILL, Odd::Stalls)];
    let killed = place.begin("cancelled", xrsl, &BOTH);
    killed.wait_until(|| wanted(&first) == 1 && first.state().jobs.len() == 2);
    killed.signal("KILL");
    drop(killed);
    first.state().odd.clear();
    let ended = place.start("last", &["--resume", "cancelled", "--files", text(&files)]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((wanted(&first), wanted(&second)), (2, 0));
    place.check();
}

#[test]
fn a_cluster_that_does_not_answer_holds_up_no_other_and_no_signal() {
    let Some((place, first, second)) = two() else { return };
    first.state().odd = vec![(LIST, Odd::Stalls)];
    let both = "+(&(executable=/bin/a)(cluster=ce-a))(&(executable=/bin/b)(cluster=ce-b))";
    let waiter = place.begin("both", both, &BOTH);
    waiter.wait_for("both/0: ce-a/q took it");
    waiter.wait_for("both/1: FINISHED");
    waiter.signal("INT");
    let ended = waiter.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(!ended.err.contains("looked at again later"), "{ended:?}");
    assert_eq!((wanted(&first), wanted(&second)), (1, 1));
    first.state().odd.clear();
    place.check();
}
