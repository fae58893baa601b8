//! The page while it is paused.

use super::browser::{Browser, is_installed};
use super::served::{Manner, server};
use std::sync::atomic::Ordering;

/// One queue with so many jobs that run.
fn running(manner: &Manner, count: u32) {
    let queue = format!(
        r#"{{"queue":"q","site":"s","status":"online","running":{count},"queued":5,"transferring":0,
        "running_cores":1,"queued_cores":1,"pilots_running":1,"pilots_submitted":2,"slots":null,
        "reserved":0,"last_pilot_at":null,"last_start_at":null}}"#
    );
    let answer = format!(r#"{{"now":1000,"cycle":8,"of":"queues","queues":[{queue}]}}"#);
    manner.answers.lock().unwrap().insert("queues", answer);
}

/// A question that was asked before somebody paused is answered after: what is shown stays.
#[test]
fn an_answer_that_comes_after_pause_is_not_shown() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    running(&manner, 1_234);
    let browser = Browser::start();
    browser.load(&format!("http://{address}/#queues"));
    let shows = |figure: &str| {
        format!("document.querySelector('li.tile .figures')?.innerText.startsWith('{figure}')")
    };
    browser.wait(&shows("1,234"));
    running(&manner, 99);
    manner.keeps_back.store(true, Ordering::SeqCst);
    browser.wait_for("it asks", || manner.kept_back.load(Ordering::SeqCst) > 0);
    browser.click("#pause");
    manner.keeps_back.store(false, Ordering::SeqCst);
    browser.wait_for("it is answered", || manner.kept_back.load(Ordering::SeqCst) == 0);
    // Turns of the page after the answer, long enough for it to be drawn.
    browser.run("window.turns = 0; setInterval(() => window.turns += 1, 100)");
    browser.wait("window.turns >= 10");
    assert_eq!(browser.get(&shows("1,234")), true, "{}", browser.text("li.tile .figures"));
    browser.click("#pause");
    browser.wait(&shows("99"));
}
