//! A stub of A-REX: its answers as version 7 gives them, a list of one as the thing itself.

use super::authority::{Authority, Signed, now_s};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::ssl::{SslAcceptor, SslMethod, SslStream, SslVerifyMode};
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509NameBuilder, X509Req};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Between two looks at whether it still stalls.
const MOMENT: Duration = Duration::from_millis(20);

/// A job at the stub.
#[derive(Clone, Debug, Default)]
pub struct StubJob {
    pub adl: String,
    pub files: BTreeMap<String, Vec<u8>>,
    /// The states that it is still to reach; a look takes it one further.
    pub course: Vec<String>,
    pub state: String,
    /// A-REX's own name of the state in which it failed, and why.
    pub failed: (String, String),
    /// Whether somebody asked that it be cancelled.
    pub is_cancelled: bool,
    /// When it was handed over; seconds.
    pub made_s: i64,
}

#[derive(Default)]
pub struct StubState {
    pub jobs: BTreeMap<String, StubJob>,
    /// Why the next jobs are refused.
    pub refuses: Option<String>,
    /// Whether it knows no user.
    pub knows_nobody: bool,
    /// Whether it closes each connection without a word once it has answered.
    pub is_brusque: bool,
    /// What it does with questions that begin so: `METHOD PATH?QUERY`.
    pub odd: Vec<(&'static str, Odd)>,
    /// States that jobs go through, and how they fail.
    pub course: Vec<&'static str>,
    pub failed: (&'static str, &'static str),
    /// Files that a job makes.
    pub outputs: Vec<(&'static str, &'static str)>,
    /// What was signed for it.
    pub delegations: BTreeMap<String, Vec<u8>>,
    /// Questions, each with who asked.
    pub asked: Vec<String>,
}

/// What a stub does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// It does it, and closes the connection without an answer.
    Loses,
    /// It does nothing, and closes the connection without an answer.
    Drops,
    /// It does it, and answers as soon as it is not to stall any more.
    Stalls,
    /// It answers with a page of maintenance.
    Refuses,
    /// It does it, and answers with a fault.
    Faults,
}

impl StubState {
    /// What it does with a question.
    fn odd(&self, asked: &str) -> Option<Odd> {
        self.odd.iter().find(|(start, _)| asked.starts_with(start)).map(|(_, odd)| *odd)
    }
}

/// A stub that listens.
pub struct Stub {
    address: SocketAddr,
    state: Arc<Mutex<StubState>>,
}

impl Stub {
    /// Under a certificate of an authority, or another one.
    pub fn start(authority: &Authority, host: &Signed) -> Stub {
        let mut builder = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
        builder.set_certificate(&host.certificate).unwrap();
        builder.set_private_key(&host.key).unwrap();
        builder.set_ca_file(authority.path("ca.pem")).unwrap();
        builder.set_verify(SslVerifyMode::PEER);
        builder.verify_param_mut().set_flags(X509VerifyFlags::ALLOW_PROXY_CERTS).unwrap();
        let acceptor = Arc::new(builder.build());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(StubState::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (acceptor, shared) = (Arc::clone(&acceptor), Arc::clone(&shared));
                std::thread::spawn(move || serve(&acceptor, stream, &shared));
            }
        });
        Stub { address, state }
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/arex", self.address.port())
    }

    pub fn state(&self) -> MutexGuard<'_, StubState> {
        self.state.lock().unwrap()
    }

    /// The only job.
    pub fn job(&self) -> StubJob {
        let state = self.state();
        assert_eq!(state.jobs.len(), 1, "{:?}", state.asked);
        state.jobs.values().next().unwrap().clone()
    }
}

struct Asked {
    method: String,
    path: String,
    query: String,
    body: Vec<u8>,
}

fn serve(acceptor: &SslAcceptor, stream: TcpStream, shared: &Mutex<StubState>) {
    let Ok(stream) = acceptor.accept(stream) else { return };
    let shown = |stream: &SslStream<TcpStream>| {
        let certificate = stream.ssl().peer_certificate()?;
        let names = certificate.subject_name().entries();
        let names = names.filter_map(|it| it.data().to_string().ok());
        Some(names.collect::<Vec<_>>().join("/"))
    };
    let subject = shown(&stream);
    let mut stream = BufReader::new(stream);
    while let Some((asked, token)) = question(&mut stream) {
        let who = subject.clone().or(token).unwrap_or("nobody".to_owned());
        let Asked { method, path, query, .. } = &asked;
        let shown = format!("{method} {path}?{query}");
        let (answer, is_brusque, odd) = {
            let mut state = shared.lock().unwrap();
            state.asked.push(format!("{shown} by {who}"));
            let odd = state.odd(&shown);
            let answer = match odd {
                Some(Odd::Drops | Odd::Refuses) => plain("503 Maintenance", "<html>"),
                Some(Odd::Faults) => {
                    answer(&mut state, &asked, &who);
                    plain("500 Fault", "")
                }
                _ => answer(&mut state, &asked, &who),
            };
            (answer, state.is_brusque, odd)
        };
        if matches!(odd, Some(Odd::Drops | Odd::Loses)) {
            return;
        }
        while odd == Some(Odd::Stalls) && shared.lock().unwrap().odd(&shown).is_some() {
            std::thread::sleep(MOMENT);
        }
        let (status, location, body) = answer;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{location}\r\n", body.len());
        let stream = stream.get_mut();
        if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() || is_brusque {
            return;
        }
    }
}

fn question(stream: &mut impl BufRead) -> Option<(Asked, Option<String>)> {
    let mut line = || {
        let mut line = String::new();
        (stream.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let (mut length, mut token) = (0, None);
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ")?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => token = value.strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.replace("%20", " "), query.to_owned());
    Some((Asked { method, path, query, body }, token))
}

type Answer = (&'static str, String, Vec<u8>);

fn plain(status: &'static str, body: &str) -> Answer {
    (status, String::new(), body.as_bytes().to_vec())
}

/// A list as A-REX writes it.
fn list(name: &str, mut items: Vec<Value>) -> String {
    match items.len() {
        0 => String::new(),
        1 => json!({ name: items.remove(0) }).to_string(),
        _ => json!({ name: items }).to_string(),
    }
}

fn answer(state: &mut StubState, asked: &Asked, who: &str) -> Answer {
    let path = asked.path.strip_prefix("/arex/rest/1.0/").expect("a path of the interface");
    let parts: Vec<&str> = path.splitn(4, '/').collect();
    if state.knows_nobody || who == "nobody" {
        return plain("500 User can't be assigned configuration", "");
    }
    match (asked.method.as_str(), &parts[..], asked.query.as_str()) {
        ("POST", ["jobs"], "action=new") => new_job(state, &asked.body),
        ("GET", ["jobs"], query) if query.starts_with("state=ACCEPTING,ACCEPTED,") => {
            plain("200 OK", &states(state))
        }
        ("POST", ["jobs"], "action=kill" | "action=clean") => {
            let named: Value = serde_json::from_slice(&asked.body).unwrap();
            let id = named["job"][0]["id"].as_str().unwrap();
            if asked.query == "action=clean" {
                state.jobs.remove(id);
            } else if let Some(job) = state.jobs.get_mut(id) {
                let why = "Job is canceled by external request".to_owned();
                job.failed = ("PREPARING".to_owned(), why);
                (job.is_cancelled, job.state, job.course) = (true, "FAILED".to_owned(), Vec::new());
            }
            plain(
                "201 Created",
                &format!("{{\"job\":{{\"status-code\":\"202\",\"id\":\"{id}\"}}}}"),
            )
        }
        ("PUT", ["jobs", id, "session", name], _) => {
            let job = state.jobs.get_mut(*id).expect("a job");
            job.files.insert((*name).to_owned(), asked.body.clone());
            plain("200 OK", "")
        }
        ("GET", ["jobs", id, ..], _) if !state.jobs.contains_key(*id) => plain("404 Not Found", ""),
        ("GET", ["jobs", id, "session", name], _) => session(&state.jobs[*id], name),
        ("GET", ["jobs", id, "diagnose", "local"], _) => {
            let failed = &state.jobs[*id].failed.0;
            let made = state.jobs[*id].made_s;
            let text = format!("jobname=x\nstarttime={made}\nfailedstate={failed}\nqueue=q\n");
            plain("200 OK", &text)
        }
        ("GET", ["jobs", id, "diagnose", "description"], _) => {
            plain("200 OK", &state.jobs[*id].adl)
        }
        ("GET", ["jobs", id, "diagnose", "failed"], _) => {
            plain("200 OK", &state.jobs[*id].failed.1)
        }
        ("POST", ["delegations"], "action=new") => {
            let place = "Location: https://localhost/arex/rest/1.0/delegations/d1\r\n";
            ("201 Created", place.to_owned(), request())
        }
        ("PUT", ["delegations", id], _) => {
            state.delegations.insert((*id).to_owned(), asked.body.clone());
            plain("200 OK", "")
        }
        _ => plain("404 Not Found", ""),
    }
}

fn new_job(state: &mut StubState, body: &[u8]) -> Answer {
    let adl = String::from_utf8(body.to_vec()).unwrap();
    let made = match &state.refuses {
        Some(reason) => json!({"job": {"status-code": "500", "reason": reason}}),
        None => {
            let id = format!("{:012x}", 0x0069_1606_8098_u64 + state.jobs.len() as u64);
            let failed = (state.failed.0.to_owned(), state.failed.1.to_owned());
            let course = state.course.iter().map(|it| (*it).to_owned()).collect();
            let (state_word, made_s) = ("ACCEPTING".to_owned(), now_s());
            let job =
                StubJob { adl, course, state: state_word, failed, made_s, ..StubJob::default() };
            state.jobs.insert(id.clone(), job);
            json!({"job": {"status-code": "201", "reason": "Created", "id": id, "state": "ACCEPTING"}})
        }
    };
    plain("201 Created", &made.to_string())
}

fn states(state: &mut StubState) -> String {
    let outputs = state.outputs.clone();
    let one = |(id, job): (&String, &mut StubJob)| {
        if !job.course.is_empty() {
            job.state = job.course.remove(0);
        }
        if job.state == "FINISHED" {
            job.files = outputs
                .iter()
                .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
                .collect();
        }
        json!({"id": id, "state": job.state})
    };
    list("job", state.jobs.iter_mut().map(one).collect())
}

fn session(job: &StubJob, name: &str) -> Answer {
    if let Some(content) = job.files.get(name) {
        return ("200 OK", String::new(), content.clone());
    }
    let below = job.files.keys().filter_map(|file| file.strip_prefix(name));
    let (folders, files): (Vec<&str>, Vec<&str>) = below.partition(|it| it.contains('/'));
    let mut folders: Vec<&str> = folders.iter().map(|it| it.split('/').next().unwrap()).collect();
    folders.dedup();
    let mut listed = serde_json::Map::new();
    for (kind, names) in [("file", files), ("dir", folders)] {
        match &names[..] {
            [] => {}
            [one] => drop(listed.insert(kind.to_owned(), json!(one))),
            several => drop(listed.insert(kind.to_owned(), json!(several))),
        }
    }
    let text = if listed.is_empty() { String::new() } else { Value::Object(listed).to_string() };
    plain("200 OK", &text)
}

/// A request for a certificate, with the version that A-REX states, which PKCS #10 does not have.
fn request() -> Vec<u8> {
    let key = PKey::from_rsa(Rsa::generate(2_048).unwrap()).unwrap();
    let mut builder = X509Req::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&X509NameBuilder::new().unwrap().build()).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    builder.build().to_pem().unwrap()
}
