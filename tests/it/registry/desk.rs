//! A schema registry in a thread: as much of Confluent's interface as we use, and faults.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// Content of the registry, and its behaviour. Schemas are numbered from 1.
#[derive(Default)]
pub struct Books {
    pub schemas: Vec<Value>,
    pub subjects: BTreeMap<String, Vec<u32>>,
    /// Ends every connection without an answer.
    pub is_down: bool,
    /// Required value of the header `Authorization`.
    pub authorization: Option<String>,
    /// Answers 404 with code 0 for a schema that is absent.
    pub has_no_codes: bool,
    /// Answers for schemas once so many requests for them are open at once.
    pub side_by_side: usize,
    /// Requests for schemas that are open now.
    open: usize,
    /// Whether a second schema under a subject is refused.
    pub refuses: bool,
    /// Method and path of every request that was answered.
    pub asked: Vec<String>,
}

/// A registry below `/base`; lives as long as the test's process.
#[derive(Clone)]
pub struct Registry {
    pub url: String,
    books: Arc<Mutex<Books>>,
}

impl Registry {
    pub fn start() -> Registry {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/base", listener.local_addr().unwrap());
        let registry = Registry { url, books: Arc::default() };
        let theirs = registry.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let theirs = theirs.clone();
                std::thread::spawn(move || theirs.serve(stream));
            }
        });
        registry
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }

    /// Puts a schema in, under no subject; gives its number.
    pub fn put(&self, schema: &str) -> u32 {
        self.books().add(json!({ "schema": schema }))
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let (mut line, mut length, mut authorization) = (String::new(), 0, None);
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            loop {
                let mut header = String::new();
                reader.read_line(&mut header).ok()?;
                let Some((name, value)) = header.trim().split_once(':') else { break };
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().ok()?,
                    "authorization" => authorization = Some(value.trim().to_owned()),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            if line.contains("/schemas/ids/") {
                self.wait_for_others();
            }
            let mut books = self.books();
            if books.is_down {
                return None;
            }
            let mut words = line.split_whitespace();
            let (method, path) = (words.next()?, words.next()?);
            books.asked.push(format!("{method} {path}"));
            let (status, answer) = match books.authorization.clone() {
                Some(wanted) if authorization.as_ref() != Some(&wanted) => {
                    (401, json!({ "error_code": 401, "message": "who are you" }))
                }
                _ => books.answer(method, path, &serde_json::from_slice(&body).unwrap_or_default()),
            };
            drop(books);
            let answer = answer.to_string();
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", answer.len());
            stream.write_all((head + &answer).as_bytes()).ok()?;
        }
    }
}

impl Registry {
    fn wait_for_others(&self) {
        self.books().open += 1;
        let began = std::time::Instant::now();
        loop {
            let mut books = self.books();
            // Connections that came together go on together.
            if books.open >= books.side_by_side {
                books.side_by_side = 0;
            }
            if books.side_by_side == 0 || began.elapsed().as_secs() > 60 {
                books.open -= 1;
                return;
            }
            drop(books);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Books {
    pub fn add(&mut self, schema: Value) -> u32 {
        self.schemas.push(schema);
        self.schemas.len() as u32
    }

    fn answer(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let absent = |code: u32| (404, json!({ "error_code": code, "message": "absent" }));
        let Some(path) = path.strip_prefix("/base/") else {
            return (404, json!({ "error_code": 0, "message": "no such path" }));
        };
        let path = path.split('?').next().unwrap();
        match (method, path.split('/').collect::<Vec<_>>()[..].as_ref()) {
            ("GET", ["schemas", "types"]) => (200, json!(["AVRO"])),
            ("GET", ["schemas", "ids", id]) => match id.parse::<i32>() {
                // As the real ones do: it is no number at all to them.
                Err(_) => absent(0),
                Ok(id) => match self.schema(id as u32) {
                    Some(schema) => (200, schema),
                    None => absent(if self.has_no_codes { 0 } else { 40_403 }),
                },
            },
            ("GET", ["subjects", subject, "versions"]) => match self.subjects.get(*subject) {
                Some(ids) => (200, json!((1..=ids.len()).collect::<Vec<_>>())),
                None => absent(40_401),
            },
            ("GET", ["subjects", subject, "versions", version]) => {
                let Some(ids) = self.subjects.get(*subject) else { return absent(40_401) };
                let version = version.parse().unwrap_or(ids.len());
                let Some(id) = ids.get(version - 1) else { return absent(40_402) };
                let mut schema = self.schema(*id).unwrap();
                schema["id"] = json!(id);
                schema["version"] = json!(version);
                (200, schema)
            }
            ("POST", ["subjects", subject]) => {
                let Some(ids) = self.subjects.get(*subject) else { return absent(40_401) };
                let is_it = |id: &&u32| self.schema(**id).unwrap()["schema"] == body["schema"];
                match ids.iter().find(is_it) {
                    Some(id) => (200, json!({ "id": id })),
                    None => absent(40_403),
                }
            }
            ("POST", ["subjects", subject, "versions"]) => {
                if self.refuses && self.subjects.contains_key(*subject) {
                    return (409, json!({ "error_code": 409, "message": "not compatible" }));
                }
                let id = self.add(body.clone());
                self.subjects.entry((*subject).to_owned()).or_default().push(id);
                (200, json!({ "id": id }))
            }
            ("POST", ["compatibility", "subjects", ..]) => {
                (200, json!({ "is_compatible": !self.refuses, "messages": ["too different"] }))
            }
            _ => (404, json!({ "error_code": 0, "message": "no such path" })),
        }
    }

    fn schema(&self, id: u32) -> Option<Value> {
        self.schemas.get((id as usize).checked_sub(1)?).cloned()
    }
}
