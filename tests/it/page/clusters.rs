//! The page of a grid of clusters, and of a task without an estimate, from answers that a test
//! gives.

use super::browser::{Browser, is_installed};
use super::served::{Manner, server};

const HOUR: u64 = 3_600_000;
const NOW: u64 = 1_760_000_000_000;

/// Answers of a grid: a cluster of two queues that does not answer.
fn grid(manner: &Manner) {
    let queue = |name: &str| {
        format!(
            r#"{{"queue":"{name}","site":"grid54.ee","group":"Estonia","status":"silent",
            "running":5,"queued":3,"assigned":2,"transferring":1,"running_cores":37,
            "queued_cores":4,"pledged_cores":76,"free_cores":2,"disk_free_bytes":2999000000000,
            "cache_free_bytes":5200000000,"answered":false,"as_of":{NOW},"last_start_at":null,"last_pilot_at":null}}"#
        )
    };
    let queues = ["grid54.ee/long", "grid54.ee/short"].map(queue).join(",");
    let trouble = |queue: &str| {
        format!(
            r#"{{"severity":"watch","rule":"silent","title":"{queue} does not answer",
            "text":"3 queued.","since":1759996400000,"queue":"{queue}"}}"#
        )
    };
    let troubles = ["grid54.ee/long", "grid54.ee/short"].map(trouble).join(",");
    // Nothing is kept of the third hour, and of a minute between two values.
    let at: Vec<u64> = (0..6).map(|hour| NOW - (6 - hour) * HOUR).collect();
    let gaps = format!(
        r#"[{{"from":{},"to":{}}},{{"from":{},"to":{}}}]"#,
        at[1] + 60_000,
        at[3] - 60_000,
        at[4] + 60_000,
        at[4] + 120_000
    );
    let series = format!(
        r#"{{"from":0,"to":1,"step_s":3600,"at":{at:?},"gaps":{gaps},
        "series":[{{"what":"running","name":"","values":[1,2,null,3,4,5]}}]}}"#
    );
    let owner = r#"/O=Grid/O=NorduGrid/OU=physics/CN=User 000"#;
    let usage = format!(
        r#"{{"shares":[],"groups":[],"users_in_all":1,"users":[{{"owner":"{owner}","part":0.0824,
        "throttled":[],"jobs":{{"running":258,"queued":61,"running_cores":346,
        "queued_cores":290}}}}]}}"#
    );
    let attention = r#"{"items":[{"severity":"watch","rule":"silent","kind":"queue",
        "name":"grid54.ee","names":["grid54.ee/long","grid54.ee/short"],
        "title":"2 queues do not answer","text":"","since":null,"count":6}]}"#;
    let status = format!(
        r#"{{"domain":"nordugrid","ready":true,"leading":true,"epoch":1,"cycle":7,"now":{NOW},
        "requests_open":0,"state":{{}},"history":null}}"#
    );
    let mut answers = manner.answers.lock().unwrap();
    for (path, answer) in [
        ("queues", format!(r#"{{"now":{NOW},"of":"cluster queues","queues":[{queues}]}}"#)),
        (
            "sites",
            format!(
                r#"{{"sites":[{{"site":"grid54.ee","group":"Estonia","severity":"watch","running":10,
            "queued":6,"troubles":[{troubles}]}}]}}"#
            ),
        ),
        ("status", status),
        ("series", series),
        ("usage", usage),
        ("attention", attention.to_owned()),
        ("what-if", r#"{"now":1,"looked_at":9,"left_out":0,"changed":0}"#.to_owned()),
        ("waiting", r#"{"open":0,"by_reason":[],"requests":[]}"#.to_owned()),
    ] {
        answers.insert(path, answer);
    }
}

#[test]
fn users_of_a_grid_are_on_its_first_view_and_a_queue_has_its_own_trouble() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    grid(&manner);
    let browser = Browser::start();
    browser.load(&format!("http://{address}/"));
    let users = "[data-key='Users with most CPUs'] li";
    browser.wait(&format!("document.querySelector({users:?})"));
    let line = browser.text(&format!("{users} .line"));
    assert_eq!(line, "User 000 8.2\u{a0}%346 run · 290 wait");
    assert_eq!(browser.text(".attention li b"), "2 queues do not answer");

    browser.load(&format!("http://{address}/#queue/grid54.ee%2Fshort"));
    browser.wait("document.querySelector('.lead p b')");
    assert_eq!(browser.texts(".lead p b"), ["grid54.ee/short does not answer. "]);
    assert!(browser.text(".lead").contains("3 queued. Since 07:53."));
    // Its status stands in its batch system, and is tried there.
    browser.click(".lead p a[href^='#whatif']");
    browser.wait("document.querySelector('h2.outcome')");
    let asked = manner.last.lock().unwrap()["what-if"].clone();
    assert!(asked.contains("set=queue.grid54.ee%2Fshort.batch.status%3Dinactive&"), "{asked}");
    let status = "document.querySelector('[aria-label=\"Value of setting 1\"]').value";
    assert_eq!(browser.get(status), "inactive");
    browser.run("history.back()");
    // A gap is hatched where there is no value, and only there.
    browser.wait("document.querySelector('[data-key=\"Jobs running\"] .plot')");
    assert_eq!(browser.count("[data-key='Jobs running'] .band.gap"), 1);
}

#[test]
fn a_cluster_shows_its_free_cpus_its_storage_and_its_jobs_by_state() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    grid(&manner);
    let browser = Browser::start();
    let free = "disk 3.0\u{a0}TB, cache 5.2\u{a0}GB";
    browser.load(&format!("http://{address}/#sites"));
    browser.wait("document.querySelector('[aria-label=Sites] tbody tr')?.innerText.includes('TB')");
    let row = browser.text("[aria-label=Sites] tbody tr");
    for part in ["grid54.ee", "10 run · 6 wait", &format!("2{free}"), "2 silent"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    // Its two queues share its nodes: 76 CPUs, not twice as many.
    browser.load(&format!("http://{address}/#site/grid54.ee"));
    browser.wait("document.querySelector(\"[aria-label='Key figures']\")");
    let figures = browser.text("[aria-label='Key figures']");
    for part in [
        "Running1074 of 76 CPUs",
        "Queued64 before the batch system",
        &format!("Free2CPUs; {free}"),
        "Finishing2outputs on their way",
        "it does not answer",
    ] {
        assert!(figures.contains(part), "{part}: {figures}");
    }
}

#[test]
fn a_task_without_an_estimate_says_why_there_is_none() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    let task = |why: &str| {
        let text = format!(
            r#"{{"now":{NOW},"task":"7","say":"Task 7","requests":[],"queues":[],"commands":[],
            "jobs":{{"total":0}},"stages":{{}},"estimate":null{why}}}"#
        );
        manner.answers.lock().unwrap().insert("task", text);
    };
    let browser = Browser::start();
    let shows = || {
        browser.load(&format!("http://{address}/#task/7"));
        browser.wait("document.querySelector('main .steps')");
        browser.text("[data-key=estimate] .empty")
    };
    task(r#","no_estimate":"all of its jobs have started""#);
    assert_eq!(shows(), "No estimateAll of its jobs have started.");
    // A process that does not say why has no such card.
    task("");
    assert_eq!(shows(), "");
}
