//! A running `demo` of ATLAS, and the browser that looks at it.

use super::PATIENCE;
use super::browser::{Browser, ENTER};
use crate::demo::Demo;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use ureq::Agent;

/// A queue whose name would be markup were it not shown as text.
pub const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// The header shows a cycle.
const SHOWN: &str = "document.querySelector('#cycle').textContent";

/// Token that the demo wants before it answers.
const TOKEN: &str = "a-token-that-is-long-enough";

/// Between two questions of the same.
const AGAIN: Duration = Duration::from_secs(1);

/// A running demo, and the browser that looks at it.
pub struct Stage {
    pub browser: Browser,
    agent: Agent,
    pub base: String,
    demo: Demo,
    _dir: TempDir,
}

/// A grid of the recorded queues, and one more of a hostile name.
fn cric(path: &Path) {
    let text = std::fs::read_to_string("tests/fixtures/cric.json").unwrap();
    let mut queues: Value = serde_json::from_str(&text).unwrap();
    let mut queue = queues["AGLT2"].clone();
    for field in ["name", "nickname", "panda_resource", "siteid"] {
        queue[field] = HOSTILE.into();
    }
    queues[HOSTILE] = queue;
    std::fs::write(path, queues.to_string()).unwrap();
}

/// ATLAS's topology with as much time for an answer as the browser has: a build for tests on a
/// machine that has much to do judges slowly.
fn patient() -> String {
    let text = std::fs::read_to_string("topology/atlas.toml").unwrap();
    let own = "http_timeout_s = 10";
    assert!(text.contains(own));
    text.replace(own, &format!("http_timeout_s = {}", PATIENCE.as_secs()))
}

impl Stage {
    /// A demo that runs for much longer than the test.
    pub fn set() -> Stage {
        let dir = TempDir::new().unwrap();
        let queues = dir.path().join("cric.json");
        cric(&queues);
        let tokens = dir.path().join("tokens");
        std::fs::write(&tokens, TOKEN).unwrap();
        let topology = dir.path().join("topology.toml");
        std::fs::write(&topology, patient()).unwrap();
        let [queues, tokens, topology] =
            [&queues, &tokens, &topology].map(|path| path.to_str().unwrap());
        let facts = ["--cric", queues, "--netmetrics", "tests/fixtures/netmetrics.json"];
        let storage = ["--storage", "tests/fixtures/site_info.json"];
        let of_test = ["--http-token-file", tokens, "--topology", topology];
        let more = [&facts[..], &storage, &of_test].concat();
        let demo = Demo::start(&dir.path().join("demo"), &more);
        let agent = Agent::config_builder().timeout_global(Some(PATIENCE)).proxy(None);
        let stage = Stage {
            browser: Browser::start(),
            agent: agent.http_status_as_error(false).build().new_agent(),
            base: format!("http://{}", demo.address),
            demo,
            _dir: dir,
        };
        stage.show_token();
        stage
    }

    /// The page asks for a token once, and keeps it for its tab.
    fn show_token(&self) {
        self.browser.load(&self.base);
        self.browser.wait("document.querySelector('#ask-token').open");
        self.browser.press(TOKEN);
        self.browser.press(ENTER);
        self.browser.wait(SHOWN);
        let errors = self.browser.errors();
        assert!(errors.iter().all(|it| it.contains("401")), "{errors:?}");
    }

    /// Answer of the API, which may want to be asked again while the demo has much to do.
    pub fn ask(&self, path: &str) -> Value {
        let url = format!("{}/api/v1/{path}", self.base);
        let started = Instant::now();
        loop {
            let request = self.agent.get(&url).header("Authorization", format!("Bearer {TOKEN}"));
            let mut answer = request.call().unwrap_or_else(|error| {
                panic!("{url}: {error}; {}", self.demo.fate());
            });
            let (status, text) = (answer.status(), answer.body_mut().read_to_string().unwrap());
            let is_later = answer.headers().contains_key("retry-after");
            if status == 200 {
                return serde_json::from_str(&text).unwrap();
            }
            assert!(is_later && started.elapsed() < PATIENCE, "{url}: {status}: {text}");
            std::thread::sleep(AGAIN);
        }
    }

    pub fn open(&self, fragment: &str) {
        self.browser.load(&format!("{}/{fragment}", self.base));
        self.browser.wait(SHOWN);
    }

    /// Opens a view and waits until it shows something.
    pub fn show(&self, fragment: &str, something: &str) {
        self.open(fragment);
        self.browser.wait(&format!("document.querySelector({something:?})"));
    }

    /// The newest decision, throttle or command.
    pub fn last_sequence(&self) -> u64 {
        self.ask("decisions?limit=1")["last"].as_u64().unwrap()
    }

    pub fn cycle(&self) -> String {
        self.browser.text("#cycle")
    }

    /// Nothing that the browser complains about since this was asked last.
    #[track_caller]
    pub fn no_errors(&self) {
        let errors = self.browser.errors();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// A name as it stands in an address.
pub fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The elements of a list.
pub fn each(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Sum of a figure over the queues of an answer.
pub fn sum(queues: &Value, key: &str) -> u64 {
    each(&queues["queues"]).iter().map(|it| it[key].as_u64().unwrap()).sum()
}

/// A number with commas.
pub fn digits(number: u64) -> String {
    let text = number.to_string();
    let parts: Vec<&str> =
        text.as_bytes().rchunks(3).rev().map(|it| str::from_utf8(it).unwrap()).collect();
    parts.join(",")
}
