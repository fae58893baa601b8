//! A real Chromium, driven through chromedriver over plain WebDriver requests.

use super::PATIENCE;
use crate::kill::process::Ending;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use ureq::Agent;

/// Where Debian's packages put them.
const CHROMIUM: &str = "/usr/bin/chromium";
const CHROMEDRIVER: &str = "/usr/bin/chromedriver";

/// Keys as WebDriver names them.
pub const TAB: &str = "\u{E004}";
pub const ENTER: &str = "\u{E007}";
pub const ESCAPE: &str = "\u{E00C}";
pub const DOWN: &str = "\u{E015}";
pub const SHIFT: &str = "\u{E008}";

/// Whether the programs are there; says so if not.
pub fn is_installed() -> bool {
    let missing = [CHROMIUM, CHROMEDRIVER].into_iter().find(|it| !Path::new(it).exists());
    if let Some(missing) = missing {
        println!("left out: there is no {missing}");
    }
    missing.is_none()
}

/// A running chromedriver and its port. It takes a free port of 127.0.0.1, and ends if some other
/// process has that port of ::1: it is started again then.
fn started_driver() -> (Ending, u16) {
    let mut printed = Vec::new();
    for _ in 0..5 {
        let mut driver = Command::new(CHROMEDRIVER)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let started = Ending(driver);
        for line in &mut lines {
            let port = line.strip_prefix("ChromeDriver was started successfully on port ");
            if let Some(port) = port.and_then(|it| it.trim_end_matches('.').parse().ok()) {
                std::thread::spawn(move || lines.for_each(drop));
                return (started, port);
            }
            printed.push(line);
        }
    }
    panic!("chromedriver names no port: {printed:#?}");
}

/// A browser with one window. It is ended, with its driver, when it is dropped.
pub struct Browser {
    agent: Agent,
    /// The session's address.
    session: String,
    _driver: Ending,
    _profile: TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let (started, port) = started_driver();
        let profile = TempDir::new().unwrap();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .proxy(None)
            .build()
            .new_agent();
        let driver = format!("http://127.0.0.1:{port}");
        let mut browser = Browser {
            agent,
            session: format!("{driver}/session"),
            _driver: started,
            _profile: profile,
        };
        let session = browser.post("", &capabilities(browser._profile.path()));
        let id = session["sessionId"].as_str().expect("a session");
        browser.session = format!("{driver}/session/{id}");
        browser
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let request = self.agent.post(&url).content_type("application/json");
        let mut response = request.send(body.to_string()).unwrap_or_else(|e| panic!("{url}: {e}"));
        let text = response.body_mut().with_config().limit(1 << 26).read_to_string().unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let value = &answer["value"];
        assert!(response.status().is_success(), "{path} {body}: {value}");
        value.clone()
    }

    /// Loads a page, from the start even if only the fragment is another one.
    pub fn load(&self, url: &str) {
        self.post("/url", &json!({ "url": "about:blank" }));
        self.post("/url", &json!({ "url": url }));
    }

    /// Value that the body of a function returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Value of an expression.
    pub fn get(&self, expression: &str) -> Value {
        self.run(&format!("return {expression}"))
    }

    /// The text of the first element that a selector finds.
    pub fn text(&self, selector: &str) -> String {
        let found = format!("document.querySelector({selector:?})?.textContent ?? ''");
        self.get(&found).as_str().unwrap_or_default().to_owned()
    }

    /// How many elements a selector finds.
    pub fn count(&self, selector: &str) -> usize {
        let found = self.get(&format!("document.querySelectorAll({selector:?}).length"));
        usize::try_from(found.as_u64().expect("a number")).unwrap()
    }

    /// The texts of all elements that a selector finds.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let all = format!("[...document.querySelectorAll({selector:?})].map(it => it.textContent)");
        let all = self.get(&all);
        all.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    /// Waits until an expression is true.
    pub fn wait(&self, expression: &str) {
        self.wait_for(expression, || self.get(&format!("Boolean({expression})")) == true);
    }

    /// Waits until something is so.
    pub fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            if Instant::now() > deadline {
                let shot = self.shot("failed");
                let page = self.get("document.body.innerText.slice(0, 3000)");
                let log = self.errors();
                panic!(
                    "it never came true: {what}\nseen: {}\nconsole: {log:?}\n{}",
                    shot.display(),
                    page.as_str().unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses keys one after another.
    pub fn press(&self, keys: &str) {
        let down_and_up = |key: char| {
            ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() }))
        };
        let actions: Vec<Value> = keys.chars().flat_map(down_and_up).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Presses a key while another one is held.
    pub fn press_with(&self, held: &str, key: &str) {
        let step = |what: &str, key: &str| json!({ "type": what, "value": key });
        let actions =
            [step("keyDown", held), step("keyDown", key), step("keyUp", key), step("keyUp", held)];
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Clicks the first element that a selector finds, as a mouse would.
    pub fn click(&self, selector: &str) {
        let using = json!({ "using": "css selector", "value": selector });
        let element = self.post("/element", &using);
        let id = element.as_object().unwrap().values().next().unwrap().as_str().unwrap();
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// A command of Chromium's own protocol.
    pub fn cdp(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// From now on the window has this size.
    pub fn size(&self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// From now on the system prefers this colour scheme.
    pub fn prefer(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.cdp("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Errors that the console got since this was asked last.
    pub fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().into_iter().flatten();
        let errors = entries.filter(|it| it["level"] == "SEVERE" || it["level"] == "WARNING");
        errors.map(|it| it["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// A picture of the window, in the directory for what tests leave; the path of it.
    pub fn shot(&self, name: &str) -> PathBuf {
        let shot = self.cdp("Page.captureScreenshot", &json!({}));
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{name}.png"));
        let base64 = shot["data"].as_str().unwrap();
        std::fs::write(&path, decoded(base64)).unwrap();
        path
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its processes end with the session; a driver that is killed would leave them.
        let _ = self.agent.delete(&self.session).call();
    }
}

fn capabilities(profile: &Path) -> Value {
    let args = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-proxy-server",
        "--disable-background-networking",
        "--disable-component-update",
        "--window-size=1400,900",
        &format!("--user-data-dir={}", profile.display()),
    ];
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:loggingPrefs": { "browser": "ALL" },
        "goog:chromeOptions": { "binary": CHROMIUM, "args": args },
    } } })
}

/// The bytes that base 64 stands for.
fn decoded(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}
