//! The page of a server that answers as a test wants it to: one that asks for a token, one that
//! goes silent, one that knows nothing yet.

use super::browser::{Browser, ENTER, is_installed};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use yardmaster::shell::page::ASSETS;

/// A token that the server wants.
const TOKEN: &str = "a-token-of-some-length";

/// Behaviour of a server.
#[derive(Default)]
struct Manner {
    wants_token: AtomicBool,
    /// Connections are closed without an answer.
    is_silent: AtomicBool,
    /// Questions to the API that it got.
    asked: AtomicUsize,
    /// Its answer when it is asked for queues.
    queues: Mutex<String>,
}

/// A server of the page and of a few answers.
fn server() -> (SocketAddr, Arc<Manner>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let manner = Arc::new(Manner::default());
    *manner.queues.lock().unwrap() = r#"{"now":1000,"cycle":7,"queues":[]}"#.to_owned();
    let shared = Arc::clone(&manner);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let manner = Arc::clone(&shared);
            std::thread::spawn(move || answer(&stream, &manner));
        }
    });
    (address, manner)
}

fn answer(mut stream: &TcpStream, manner: &Manner) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next()?.ok()?;
    let target = request.split(' ').nth(1)?.to_owned();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|it| !it.is_empty()).collect();
    let path = target.split('?').next()?;
    let asset = ASSETS.iter().find(|asset| asset.path == path);
    if manner.is_silent.load(Ordering::SeqCst) {
        return None;
    }
    let has_token = head.iter().any(|line| {
        line.split_once(": ").is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("authorization") && value == format!("Bearer {TOKEN}")
        })
    });
    let queues = manner.queues.lock().unwrap().clone();
    let json = "application/json";
    let (status, content_type, body) = match (asset, path) {
        (Some(asset), _) => ("200 OK", asset.content_type, asset.text),
        (None, _) if manner.wants_token.load(Ordering::SeqCst) && !has_token => {
            ("401 Unauthorized", json, r#"{"error":"no token","remedy":"send one"}"#)
        }
        (None, "/api/v1/status") => ("200 OK", json, STATUS),
        (None, "/api/v1/queues") => ("200 OK", json, queues.as_str()),
        (None, "/api/v1/decisions") => ("200 OK", json, r#"{"items":[],"last":0,"more":false}"#),
        (None, _) => ("404 Not Found", json, r#"{"error":"nothing","remedy":"none"}"#),
    };
    if path.starts_with("/api") {
        manner.asked.fetch_add(1, Ordering::SeqCst);
    }
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: {POLICY}\r\nConnection: close\r\n\r\n{body}"
    )
    .ok()
}

const STATUS: &str = r#"{"domain":"atlas","version":"0","ready":false,"reason":"it restores",
    "leading":false,"epoch":1,"cycle":7,"now":1000,"requests_open":3,"state":{},"history":null}"#;

/// As the real server has it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

#[test]
fn a_process_that_wants_a_token_is_given_one_and_one_that_goes_silent_is_named_so() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    let browser = Browser::start();
    manner.wants_token.store(true, Ordering::SeqCst);
    browser.load(&format!("http://{address}/"));
    browser.wait("document.querySelector('#ask-token').open");
    browser.press("wrong");
    browser.press(ENTER);
    browser.wait(
        "document.querySelector('#token-why').textContent.startsWith('The token was refused')",
    );
    browser.wait("document.querySelector('#ask-token').open");
    browser.press(TOKEN);
    browser.press(ENTER);
    browser.wait("document.querySelector('.empty')");
    browser.wait("document.querySelector('[data-key=none] .empty')");
    assert!(browser.text("[data-key=none] .empty").starts_with("No queue is known yet"));
    assert_eq!(browser.text("#standing"), "stands by, not ready");
    assert!(browser.text("#banners").contains("not ready: it restores"));
    assert_eq!(browser.get("sessionStorage.length + localStorage.length"), 1);
    // It is still known after a reload of the tab.
    browser.run("location.reload()");
    browser.wait("document.querySelector('[data-key=none] .empty')");
    assert_eq!(browser.get("document.querySelector('#ask-token').open"), false);
    let refused = |it: &String| it.contains("401") || it.contains("404");
    assert!(browser.errors().iter().all(refused));

    // It goes silent: what is shown stays, and it is named since when.
    manner.is_silent.store(true, Ordering::SeqCst);
    browser.wait("!document.querySelector('#trouble').hidden");
    let trouble = browser.text("#trouble");
    assert!(trouble.contains("does not answer") && trouble.contains("UTC"), "{trouble}");
    assert!(browser.text("[data-key=none] .empty").starts_with("No queue is known yet"));
    browser.shot("silent");
    // A view that was not loaded yet cannot be shown, and can be tried again.
    browser.click("nav a[href='#why']");
    browser.wait("document.querySelector('main button')");
    manner.is_silent.store(false, Ordering::SeqCst);
    browser.click("main button");
    browser.wait("document.querySelector('main h1')?.textContent === 'Why is it so?'");
    browser.wait("document.querySelector('#trouble').hidden");
    browser.errors();

    // Names of all kinds are text.
    let queue = r#"{"queue":"<b onmouseover=alert(1)>&amp;","site":"</script>","status":"<i>",
        "running":1234,"queued":5,"transferring":0,"running_cores":1,"queued_cores":1,
        "pilots_running":1,"pilots_submitted":2,"slots":null,"reserved":0,"last_pilot_at":null,
        "last_start_at":null}"#;
    let answer = format!(r#"{{"now":1000,"cycle":8,"queues":[{queue}]}}"#);
    *manner.queues.lock().unwrap() = answer;
    browser.click("nav a[href='#queues']");
    browser.wait("document.querySelector('li.tile')");
    assert_eq!(browser.text("li.tile .name"), "<b onmouseover=alert(1)>&amp;");
    assert_eq!(browser.text("li.tile .status"), "<i>");
    assert_eq!(browser.text("li.tile .figures"), "1,234\t5\t1+2");
    browser.click("nav a[href='#decisions']");
    browser
        .wait("document.querySelector('main .note').textContent.startsWith('Nothing was decided')");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn a_hidden_page_asks_for_nothing() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    let browser = Browser::start();
    browser.load(&format!("http://{address}/"));
    browser.wait("document.querySelector('.empty')");
    let asked = || manner.asked.load(Ordering::SeqCst);
    let first = asked();
    browser.wait_for("it asks again", || asked() > first + 2);
    // Chromium shows a headless page always, so the page is made to believe otherwise; what was
    // under way ends within the two questions of one round.
    browser.run("Object.defineProperty(document, 'hidden', { get: () => window.isHidden, configurable: true })");
    browser
        .run("window.isHidden = true; window.turns = 0; setInterval(() => window.turns += 1, 500)");
    let hidden = asked();
    browser.wait("window.turns >= 8");
    assert!(asked() <= hidden + 2, "{} questions while it was hidden", asked() - hidden);
    browser.run("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))");
    let seen = asked();
    browser.wait_for("it goes on", || asked() > seen);
}
