//! The page of a server that answers as a test wants it to: one that asks for a token, one that
//! goes silent, one that knows nothing yet.

use super::browser::{Browser, ENTER, is_installed};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use yardmaster::shell::page::ASSETS;

/// A token that the server wants.
const TOKEN: &str = "a-token-of-some-length";

/// Between two looks at whether answers are still kept back.
const MOMENT: Duration = Duration::from_millis(20);

/// Behaviour of a server.
#[derive(Default)]
pub(super) struct Manner {
    wants_token: AtomicBool,
    /// Connections are closed without an answer.
    is_silent: AtomicBool,
    /// Questions to the API that it got.
    asked: AtomicUsize,
    /// Its answer when it is asked for queues.
    queues: Mutex<String>,
    /// Its answers by path below `/api/v1/`, before those that it always has.
    pub(super) answers: Mutex<BTreeMap<&'static str, String>>,
    /// What it was asked last, by path.
    pub(super) last: Mutex<BTreeMap<String, String>>,
    /// Whether it keeps answers about queues back, and how many it does.
    pub(super) keeps_back: AtomicBool,
    pub(super) kept_back: AtomicUsize,
}

/// A server of the page and of a few answers.
pub(super) fn server() -> (SocketAddr, Arc<Manner>) {
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
    let api = path.strip_prefix("/api/v1/");
    let own = api.and_then(|path| manner.answers.lock().unwrap().get(path).cloned());
    if let Some(path) = api {
        manner.last.lock().unwrap().insert(path.to_owned(), target.clone());
    }
    if api == Some("queues") && manner.keeps_back.load(Ordering::SeqCst) {
        manner.kept_back.fetch_add(1, Ordering::SeqCst);
        while manner.keeps_back.load(Ordering::SeqCst) {
            std::thread::sleep(MOMENT);
        }
        manner.kept_back.fetch_sub(1, Ordering::SeqCst);
    }
    let json = "application/json";
    let (status, content_type, body) = match (asset, path) {
        (Some(asset), _) => ("200 OK", asset.content_type, asset.text),
        (None, _) if manner.wants_token.load(Ordering::SeqCst) && !has_token => {
            ("401 Unauthorized", json, r#"{"error":"no token","remedy":"send one"}"#)
        }
        (None, _) if own.is_some() => ("200 OK", json, own.as_deref().unwrap_or_default()),
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
    browser.wait(
        "document.querySelector('main .note')?.textContent.startsWith('Nothing was decided')",
    );
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

/// Answers of a pool of slots, whose process has troubles.
fn pool(manner: &Manner) {
    let status = r#"{"domain":"cms","version":"0","ready":true,"reason":null,"leading":true,
        "epoch":1,"cycle":7,"now":1760000000000,"requests_open":1234,"state":{},"history":null,
        "troubles":[{"severity":"act","rule":"stuck","text":"lane offer 0 cannot be read on",
        "keeps_from_ready":false,"since":null}]}"#;
    let queues = r#"{"now":1760000000000,"cycle":7,"of":"sites","queues":[{"queue":"T2_XX_A",
        "site":"T2_XX_A","group":"Tier 2","status":"drain","running":12,"queued":0,"transferring":0,
        "running_cores":96,"queued_cores":0,"pilots_running":0,"pilots_submitted":0,"slots":null,
        "reserved":0,"last_pilot_at":null,"last_start_at":null,"pledged_cores":200,"free_cores":8,
        "offers":3,"last_offer_at":1759999990000}]}"#;
    let pool = r#"{"now":1760000000000,"cycle":7,"idle":1234,"idle_cores":2468,"held":0,
        "running":12,"on_hold":7,"workflows_open":2,"idle_by_reason":[{"filter":"memory",
        "title":"Too little memory left","help":"the offers have less","jobs":1200},
        {"filter":"turn","title":"Others go first","help":"their turn comes","jobs":34}],
        "workflows":[{"workflow":"wf-1","class":"analysis","user":"ann","priority":5,"total":50,
        "given":10,"idle":40,"on_hold":0,"running":3,"finished":5,"failed":2,"last_match_at":null,
        "injected_at":1759990000000},{"workflow":"wf-2","class":"analysis","user":"kim",
        "priority":5,"total":null,"given":0,"idle":0,"on_hold":7,"running":0,"finished":0,
        "failed":0,"last_match_at":null,"injected_at":1759990000000}],
        "users":[{"user":"ann","group":"higgs","share":65.159,"running":48,"running_cores":50,
        "idle":240,"on_hold":0},{"user":"kim","group":"","share":0,"running":0,"running_cores":0,
        "idle":0,"on_hold":7}],
        "classes":[{"class":"analysis","use":0.4,"quota":0.5}],"drains":[{"node":"wn5.T2_XX_A",
        "site":"T2_XX_A","job":"wf-1.7","since":1759997600000,"until":1760018000000,"cores":8}],
        "drains_open":1,"offers":{"live":3,"cores_free":8,"oldest_at":1759999580000,
        "newest_at":1759999998000}}"#;
    let attention = r#"{"now":1760000000000,"cycle":7,"more":0,"items":[{"severity":"act",
        "rule":"closed","kind":"site","name":"T2_XX_A","names":[],"title":"T2_XX_A takes no jobs",
        "text":"Its 200 cores are drained.","since":1759996400000,"count":1}]}"#;
    let sites = r#"{"now":1760000000000,"sites":[{"site":"T2_XX_A","group":"Tier 2",
        "severity":"act","troubles":[{"severity":"act","rule":"closed",
        "title":"T2_XX_A takes no jobs","text":"Its 200 cores are drained.","since":1759996400000,
        "queue":"T2_XX_A"}],"queues":1,"running":12,"queued":0,"failed_3h":1,"ended_3h":4,
        "last_start_at":null,"last_pilot_at":null,"held_back":0}]}"#;
    let explain = r#"{"headline":"site T2_XX_A is drain and gets no new jobs","text":"","queue":{
        "queue":"T2_XX_A","rejecting":[],"rejecting_of":500,"nearest":null,"passed_over":0,
        "accepted":[],"accepted_24h":{"jobs":0,"requests":0},"sent_since":1759999000000,
        "filled_by":{"shares":[{"name":"central","running":73,"queued":0}],"queues":[],
        "users":[]}}}"#;
    let mut answers = manner.answers.lock().unwrap();
    for (path, answer) in [
        ("status", status),
        ("queues", queues),
        ("pool", pool),
        ("attention", attention),
        ("sites", sites),
        ("explain", explain),
        ("waiting", r#"{"now":1,"open":2,"looked_at":2,"by_reason":[],"requests":[]}"#),
        ("shares", r#"{"now":1,"shares":[]}"#),
        ("series", r#"{"from":0,"to":1,"step_s":60,"at":[],"series":[],"gaps":[]}"#),
    ] {
        answers.insert(path, answer.to_owned());
    }
}

#[test]
fn a_pool_is_shown_in_its_own_words_and_a_trouble_of_the_process_is_loud() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    pool(&manner);
    let browser = Browser::start();
    browser.load(&format!("http://{address}/"));
    browser.wait("document.querySelector('.troubled a')");
    browser.wait("document.querySelector('[data-key=idle] li')");
    assert_eq!(browser.text("#standing"), "leads, a trouble");
    assert_eq!(browser.text(".banner[role=alert] .text"), "lane offer 0 cannot be read on");
    assert_eq!(browser.text(".attention li.act b"), "T2_XX_A takes no jobs");
    assert_eq!(browser.text(".attention .since"), "1 h since 07:53");
    assert_eq!(browser.text("[data-key=idle] h2"), "Why 1,234 jobs are idle");
    assert_eq!(browser.texts("[data-key=idle] .line b"), ["1,200", "34"]);
    assert_eq!(browser.text(".group .load"), "96 of 200 cores");
    let workflows = browser.texts("[aria-label=Workflows] tbody td");
    assert_eq!(workflows[..6], ["10 of 50", "40", "0", "3", "5", "2"]);
    assert_eq!(workflows[7..13], ["0", "0", "7", "0", "0", "0"]);
    assert_eq!(
        browser.texts("[aria-label=Workflows] th")[3..7],
        ["On hold", "Running", "Finished", "Failed or removed"]
    );
    let drains = browser.text("[aria-label='Drained nodes']");
    for part in ["wn5.T2_XX_A", "free in 5 h", "for wf-1.7, 8 cores, T2_XX_A, since 40 min"] {
        assert!(drains.contains(part), "{part}: {drains}");
    }
    let users = browser.text("[aria-label='Users by share']");
    for part in ["ann", "higgs, share 65.16", "48 run · 240 idle", "share 0, 7 on hold"] {
        assert!(users.contains(part), "{part}: {users}");
    }
    let figures = browser.text("[aria-label='Key figures']");
    assert!(figures.contains("3 8 cores free2 s to 7 min old"), "{figures}");
    assert_eq!(browser.text("nav [href='#waiting'] .n"), "1,234 idle jobs");
    // A word of another domain is no word of this one.
    let words = browser.text("main").to_lowercase();
    for other in ["queue", "cloud ", "pledged queue", "pilot"] {
        assert!(!words.contains(other), "{other}: {words}");
    }
    let views = browser.texts("nav a span:first-of-type");
    assert!(!views.iter().any(|it| it == "Queues"), "{views:?}");
    // Sites with what is used and what is free.
    browser.load(&format!("http://{address}/#sites"));
    // What they use and what is free comes later, and does not stand as nothing before.
    browser.wait(
        "document.querySelector('[aria-label=Sites] tbody tr')?.innerText.includes('of 200')",
    );
    let row = browser.text("[aria-label=Sites] tbody tr");
    for part in ["12 run on 96 of 200 cores", "8in 3 offers, last 10 s ago"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    a_site_of_a_pool(&browser, &format!("http://{address}/#site/T2_XX_A"));
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// Nothing waits at a site, so nothing says that none does; what was sent there is counted since the
/// oldest decision that was read.
fn a_site_of_a_pool(browser: &Browser, address: &str) {
    browser.load(address);
    browser.wait("document.querySelector(\"[aria-label='Shares here'] li\")");
    assert_eq!(browser.text("[aria-label='Shares here'] li .line"), "central73 run");
    let sent = browser.text("[aria-label='What was sent there'] header p");
    assert_eq!(sent, "0 jobs of 0 offers since 08:36");
    let figures = browser.text("[aria-label='Key figures']");
    assert!(figures.contains("0 times0 jobs since 08:36"), "{figures}");
}

#[test]
fn throttles_changes_and_what_if_show_what_they_are_answered() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    pool(&manner);
    let give = |path, answer: &str| manner.answers.lock().unwrap().insert(path, answer.to_owned());
    give(
        "throttles",
        r#"{"now":1,"throttles":[{"rule":"running_cap","spec":"A1","help":"jobs that run",
        "kind":"user","subject":"ann","measured":1204,"limit":1000,"unit":"jobs","counter":"user",
        "since":1759999000000,"until":1760003600000,"lift_limit":900,"lift_from":null,
        "dry_run":true,"lifted_when":"at most 900 jobs run","policy":"p 1"}]}"#,
    );
    give(
        "changes",
        r#"{"from":1,"to":2,"complete":false,"since":1759990000000,"more":false,"changes":[
        {"at":1759999800000,"kind":"status","of":"queue","subject":"T2_XX_A","field":"status","before":"online",
        "after":"drain","text":""}]}"#,
    );
    let browser = Browser::start();
    browser.load(&format!("http://{address}/#throttles"));
    browser.wait("document.querySelector('tbody tr')");
    let row = browser.text("tbody tr");
    for part in
        ["ann", "dry run", "1,204", "of at most 1,000 jobs", "at most 900 jobs run", "09:53"]
    {
        assert!(row.contains(part), "{part}: {row}");
    }
    browser.load(&format!("http://{address}/#changes"));
    browser.wait("document.querySelector('.acts li')");
    assert_eq!(browser.text(".acts .body"), "queue T2_XX_A status online → drain");
    assert!(browser.text(".lead").contains("does not have all of it: it begins at 2025-10-09"));

    // A queue goes offline: asked as it is written, and each that would go elsewhere is shown.
    give(
        "what-if",
        r#"{"now":1,"cycle":7,"looked_at":9,"left_out":917,"changed":1,"before":{"assigned":5,"deferred":4,
        "rejected":0,"jobs":50},"after":{"assigned":4,"deferred":5,"rejected":0,"jobs":40},
        "queues":[{"queue":"A/x","jobs_before":10,"jobs_after":0}],"changes":[{"subject":"7/1",
        "task":"7","gshare":"s","user":"ann","jobs":10,"before":{"outcome":"assign",
        "headline":"","queues":[{"queue":"A/x","jobs":10}]},"after":{"outcome":"defer",
        "headline":"no place","queues":[]}}]}"#,
    );
    give("queues", r#"{"now":1,"cycle":7,"of":"queues","queues":[]}"#);
    browser.load(&format!("http://{address}/#whatif"));
    browser.wait("document.querySelector('.sets input')");
    browser.click(".sets input");
    browser.press("A & B=C");
    browser.press(ENTER);
    browser.wait("document.querySelector('h2.outcome')");
    let asked = manner.last.lock().unwrap()["what-if"].clone();
    assert!(asked.contains("set=queue.A+%26+B%3DC.status%3Doffline"), "{asked}");
    assert!(asked.contains("window=1h"), "{asked}");
    assert_eq!(browser.text("h2.outcome"), "1 request of 9 would be answered otherwise");
    assert!(browser.text("tbody tr").contains("no place"), "{}", browser.text("tbody tr"));
    let left_out = "Only the newest 9 were judged, 917 older ones are left out. ";
    let about = browser.text("h2.outcome + p");
    assert!(about.starts_with(left_out), "{about}");
    // The address brings the same question again.
    let hash = browser.get("location.hash");
    browser.load(&format!("http://{address}/{}", hash.as_str().unwrap()));
    browser.wait("document.querySelector('h2.outcome')");
    assert_eq!(browser.get("document.querySelector('.sets input').value"), "A & B=C");
}

#[test]
fn a_part_that_is_not_answered_says_so_and_the_others_go_on() {
    if !is_installed() {
        return;
    }
    let (address, manner) = server();
    pool(&manner);
    for path in ["pool", "attention", "series", "waiting"] {
        manner.answers.lock().unwrap().remove(path);
    }
    let browser = Browser::start();
    browser.load(&format!("http://{address}/"));
    browser.wait("document.querySelector('[data-key=idle] .empty')");
    assert!(browser.text("[data-key=idle] .empty").starts_with("Not shown: why jobs are idle"));
    assert_eq!(browser.text(".group .load"), "96 of 200 cores");
    browser.wait("document.querySelector('#trouble').hidden");
    browser.load(&format!("http://{address}/#waiting"));
    browser.wait("document.querySelector('main .empty')");
    assert!(browser.text("main .empty").starts_with("Not shown: what waits"));
}
