//! Each view is asked for a known thing: against a running demo, where the API says what it is.

use super::stage::{Stage, digits, each, encoded, sum, text};
use serde_json::Value;

/// A request that waits for a configuration stays the oldest while others come and go.
pub fn waiting_names_what_waits_longest_and_why(stage: &Stage) {
    let browser = &stage.browser;
    let lasts = |it: &&Value| it["helps"] == "configuration";
    browser.wait_for("a request waits for another configuration", || {
        each(&stage.ask("waiting")["requests"]).iter().any(|it| lasts(&it))
    });
    let waiting = stage.ask("waiting");
    let oldest = each(&waiting["requests"]).iter().find(lasts).unwrap();
    let (reason, subject) = (text(&oldest["reason"]), text(&oldest["subject"]));
    // Of its reason alone, every row is shown.
    stage.show(&format!("#waiting?reason={reason}"), "table.waiting tbody tr th a");
    browser.wait_for(&format!("{subject} is listed"), || {
        let rows = browser.texts("table.waiting tbody tr:not(.head)");
        let task = subject.split('/').next().unwrap();
        rows.iter().any(|it| it.contains(subject) || it.contains(task))
    });
    let title = browser.text("table.waiting tr.head b");
    assert_eq!(title, text(&oldest["title"]));
    assert!(browser.text("tr.head .sub").contains("Waiting does not help"), "{title}");
    // The filter is shown, and can be taken away.
    assert_eq!(browser.texts(".chip[aria-pressed=true]").len(), 1);
    browser.click(".chip[aria-pressed=true]");
    browser.wait("location.hash === '#waiting'");
}

pub fn sites_are_all_there(stage: &Stage) {
    let browser = &stage.browser;
    let queues = stage.ask("queues");
    let sites: std::collections::BTreeSet<&str> =
        each(&queues["queues"]).iter().map(|it| text(&it["site"])).collect();
    stage.show("#sites", "table tbody tr");
    let shown = browser.texts("table.cards tbody th b");
    let shown: std::collections::BTreeSet<&str> = shown.iter().map(String::as_str).collect();
    // Quiet ones are behind a fold, made when they are first shown.
    assert_eq!(shown, sites);
}

pub fn pages_of_a_queue_a_site_a_share_and_a_user_say_where_they_stand(stage: &Stage) {
    let browser = &stage.browser;
    // The queue that most decisions list a rejection of, with every filter that refused it.
    stage.show("#queue/MWT2", "[aria-label='What refuses it'] tbody tr");
    browser.shot("queue");
    let answer = stage.ask("explain?kind=queue&name=MWT2");
    for it in each(&answer["queue"]["rejecting"]) {
        let filter = text(&it["filter"]);
        let rows = browser.texts("[aria-label='What refuses it'] tbody th .sub");
        assert!(rows.iter().any(|row| row.starts_with(filter)), "{filter} is not in {rows:?}");
    }
    let site = text(&answer["queue"]["site"]).to_owned();
    stage.show(&format!("#site/{}", encoded(&site)), ".steps");
    assert_eq!(browser.text("h1"), site);
    // A share, against its target, which does not move.
    let shares = stage.ask("shares");
    let share = &each(&shares["shares"])[0];
    stage.show(&format!("#share/{}", encoded(text(&share["gshare"]))), ".steps");
    let target = format!("{:.1}\u{a0}%", 100.0 * share["target"].as_f64().unwrap());
    assert!(browser.text(".steps").contains(&target), "{target}: {}", browser.text(".steps"));
    // A user of an assignment that is kept.
    let assigned = stage.ask("decisions?kind=decision&what=assign&limit=1");
    let user = text(&assigned["items"][0]["user"]).to_owned();
    stage.show(&format!("#user/{}", encoded(&user)), ".steps");
    assert_eq!(browser.text("h1"), user);
    // A name that is none is answered with those that are near.
    stage.open("#queue/MWT");
    browser.wait("document.querySelector('[data-key=unknown]')");
    assert!(browser.text("[data-key=unknown]").contains("MWT2"));
    let errors = browser.errors();
    assert!(errors.iter().all(|it| it.contains("name=MWT") && it.contains("404")), "{errors:?}");
}

/// Jobs of a task as the counters have them: a task whose first jobs ended.
pub fn a_task_shows_its_jobs(stage: &Stage) {
    let browser = &stage.browser;
    let assigned = stage.ask("decisions?kind=decision&what=assign&limit=300");
    let oldest = each(&assigned["items"]).last().unwrap();
    let subject = text(&oldest["subject"]);
    let task = subject.split('/').next().unwrap();
    stage.show(&format!("#task/{task}"), ".steps");
    browser.shot("task");
    assert_eq!(browser.text("h1"), format!("Task {task}"));
    browser.wait_for("the jobs are those that the API counts", || {
        let answer = stage.ask(&format!("task?name={task}"));
        let total = digits(answer["jobs"]["total"].as_u64().unwrap());
        browser.text(".steps dd").starts_with(&total)
    });
    // What is queued and runs is drawn since its first job was there.
    let curve = stage.ask(&format!("task?name={task}"));
    let sum = |name: &str| -> u64 {
        each(&curve["queues"]).iter().map(|it| it[name].as_u64().unwrap()).sum()
    };
    let last = each(&curve["curve"]).last().expect("its jobs are known");
    assert_eq!((&last["at"], &last["running"]), (&curve["now"], &sum("running").into()), "{curve}");
    assert_eq!(last["queued"], sum("queued"), "{curve}");
    browser.wait("document.querySelector(\"[aria-label='Its jobs over time'] svg\")");
    // Its request has a lane, and the decision that assigned it its way from the candidates.
    browser.wait("document.querySelector('.gantt .lane .seg')");
    browser.wait("document.querySelector('article.decision .cutflow')");
    // A task without a job that ended has no curve yet.
    let errors = browser.errors();
    assert!(errors.iter().all(|it| it.contains("series?of=task")), "{errors:?}");
}

pub fn throttles_and_usage_are_those_of_the_state(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("#throttles", ".empty, tbody tr");
    let is_empty = each(&stage.ask("throttles")["throttles"]).is_empty();
    assert_eq!(browser.text(".empty b") == "Nobody is throttled", is_empty);
    stage.show("#usage", "table tbody tr");
    let mut names = browser.texts("[aria-label='Shares against targets'] tbody th");
    names.sort();
    let shares = stage.ask("shares");
    let known: Vec<&str> = each(&shares["shares"]).iter().map(|it| text(&it["gshare"])).collect();
    assert_eq!(names, known);
    assert!(sum(&stage.ask("queues"), "running") > 0, "nothing runs, so there is no use");
}

/// With a queue offline nothing is sent there, as the API says of the same cycle.
pub fn a_queue_that_were_offline_would_get_nothing(stage: &Stage) {
    let browser = &stage.browser;
    stage.show("#whatif?set=queue.MWT2.status%3Doffline&window=24h", "h2.outcome");
    browser.shot("whatif");
    let outcome = browser.text("h2.outcome");
    assert!(outcome.ends_with(" would be answered otherwise"), "{outcome}");
    assert_eq!(browser.count("[aria-label='Before and then'] dd"), 4);
    let lines = browser.texts("[aria-label='Jobs by place'] li .line");
    let own: Vec<&String> = lines.iter().filter(|it| it.starts_with("MWT2")).collect();
    assert!(own.iter().all(|it| it.contains("0 instead of")), "{own:?}");
    let answer = stage.ask("what-if?set=queue.MWT2.status%3Doffline&window=24h");
    let sent = each(&answer["queues"]).iter().filter(|it| text(&it["queue"]).starts_with("MWT2"));
    assert!(sent.clone().all(|it| it["jobs_after"] == 0), "{answer}");
    assert_eq!(own.is_empty(), sent.count() == 0, "{lines:?}");
    stage.no_errors();
}
