//! Servers on loopback: as much of DNS, LDAP and REST as an importer asks for, read and written here
//! without the code that is tested.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

fn each(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) {
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
}

/// A REST interface, at `http://ADDRESS/arex`.
pub(super) struct Rest {
    pub(super) address: SocketAddr,
    page: Arc<Mutex<(u16, String)>>,
}

impl Rest {
    pub(super) fn start(ip: &str) -> Rest {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let page = Arc::new(Mutex::new((404, String::new())));
        let shown = page.clone();
        each(listener, move |mut stream| {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            loop {
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
                if head.is_empty() {
                    return;
                }
                let asked = head.starts_with("GET /arex/rest/1.0/info?schema=glue2 HTTP/1.1\r\n")
                    && head.to_lowercase().contains("\r\naccept: application/xml\r\n");
                let (status, body) =
                    if asked { shown.lock().unwrap().clone() } else { (400, head.clone()) };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        });
        Rest { address, page }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/arex", self.address)
    }

    pub(super) fn show(&self, status: u16, body: &str) {
        *self.page.lock().unwrap() = (status, body.to_owned());
    }
}

/// An entry: its name, and attributes with their values.
type Entry = (String, Vec<(String, String)>);

/// Entries of LDAP.
pub(super) struct Ldap {
    pub(super) port: u16,
    entries: Arc<Mutex<Vec<Entry>>>,
    /// Sent instead of all answers.
    garbage: Arc<Mutex<Option<Vec<u8>>>>,
    /// Lengths of searches.
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Ldap {
    pub(super) fn start(ip: &str, ldif: &str) -> Ldap {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let entries = Arc::new(Mutex::new(entries(ldif)));
        let garbage: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (shown, wrong, noted) = (entries.clone(), garbage.clone(), asked.clone());
        each(listener, move |mut stream| {
            while let Some(request) = message(&mut stream) {
                noted.lock().unwrap().push(request.len());
                let answer = match wrong.lock().unwrap().clone() {
                    Some(garbage) => garbage,
                    None => search(&request, &shown.lock().unwrap()),
                };
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        });
        Ldap { port, entries, garbage, asked }
    }

    pub(super) fn show(&self, ldif: &str) {
        *self.entries.lock().unwrap() = entries(ldif);
        *self.garbage.lock().unwrap() = None;
    }

    pub(super) fn break_off(&self, bytes: &[u8]) {
        *self.garbage.lock().unwrap() = Some(bytes.to_vec());
    }

    pub(super) fn searches(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn entries(ldif: &str) -> Vec<Entry> {
    let entry = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        let (_, dn) = pairs.next().filter(|(name, _)| *name == "dn")?;
        Some((dn.to_owned(), pairs.map(|(name, value)| (name.into(), value.into())).collect()))
    };
    ldif.split("\n\n").filter_map(entry).collect()
}

/// The body of a message of BER; `None`: the client is gone.
fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let mut length = usize::from(head[1]);
    if length > 127 {
        let mut bytes = vec![0; length & 0x7f];
        stream.read_exact(&mut bytes).ok()?;
        length = bytes.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Elements of BER: each with its tag and its body.
fn elements(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [tag, first, rest @ ..] = bytes {
        let more = if *first > 127 { usize::from(first & 0x7f) } else { 0 };
        let long = rest[..more].iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
        let length = if more > 0 { long } else { usize::from(*first) };
        found.push((*tag, &rest[more..more + length]));
        bytes = &rest[more + length..];
    }
    found
}

fn element(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[tag, 0x84][..], &length, body].concat()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().to_lowercase()
}

fn search(request: &[u8], entries: &[Entry]) -> Vec<u8> {
    let parts = elements(request);
    let (0x63, asked) = parts[1] else { panic!("a search") };
    let asked = elements(asked);
    let (base, scope) = (text(asked[0].1).replace(' ', ""), asked[1].1[0]);
    let wanted: Vec<String> = elements(asked[7].1).iter().map(|(_, name)| text(name)).collect();
    let is_in = |dn: &str| {
        let dn = dn.to_lowercase();
        let parent = dn.split_once(',').map_or("", |(_, parent)| parent);
        match scope {
            // A GIIS answers so, other servers with the base itself.
            0 => {
                parent == base && base.starts_with("mds-vo-name") && dn.starts_with("nordugrid-")
                    || parent == base && dn.starts_with("mds-vo-name")
            }
            _ => dn.ends_with(&base),
        }
    };
    let mut bytes = Vec::new();
    let send = |body: Vec<u8>| element(0x30, &[element(2, &[1]), body].concat());
    for (dn, attributes) in entries.iter().filter(|(dn, _)| is_in(dn)) {
        if !matches(asked[6], attributes) {
            continue;
        }
        let mut values: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (name, value) in attributes {
            if wanted.is_empty() || wanted.contains(&name.to_lowercase()) {
                values.entry(name).or_default().extend(element(4, value.as_bytes()));
            }
        }
        let list = values.into_iter().flat_map(|(name, values)| {
            element(0x30, &[element(4, name.as_bytes()), element(0x31, &values)].concat())
        });
        let list: Vec<u8> = list.collect();
        let body = [element(4, dn.as_bytes()), element(0x30, &list)].concat();
        bytes.extend(send(element(0x64, &body)));
    }
    // A referral, which is passed over, and the end.
    bytes.extend(send(element(0x73, &element(4, b"ldap://nowhere.example.org"))));
    bytes.extend(send(element(
        0x65,
        &[element(10, &[0]), element(4, b""), element(4, b"")].concat(),
    )));
    bytes
}

fn matches((tag, body): (u8, &[u8]), attributes: &[(String, String)]) -> bool {
    let has = |name: &[u8], is: &dyn Fn(&str) -> bool| {
        let name = text(name);
        attributes
            .iter()
            .any(|(other, value)| other.to_lowercase() == name && is(&value.to_lowercase()))
    };
    match tag {
        0xa0 => elements(body).into_iter().all(|it| matches(it, attributes)),
        0xa1 => elements(body).into_iter().any(|it| matches(it, attributes)),
        // Of an attribute that is not there neither is true, as in a directory.
        0xa2 => !matches(elements(body)[0], attributes),
        0xa3 => {
            let parts = elements(body);
            has(parts[0].1, &|value| value == text(parts[1].1))
        }
        0xa4 => {
            let parts = elements(body);
            let (tag, part) = elements(parts[1].1)[0];
            has(parts[0].1, &|value| match tag {
                0x80 => value.starts_with(&text(part)),
                _ => value.ends_with(&text(part)),
            })
        }
        0x87 => has(body, &|_| true),
        _ => panic!("filter {tag:x}"),
    }
}

/// A name server: TXT records by name. Answers of more than one record are cut over UDP.
pub(super) struct Dns {
    pub(super) address: SocketAddr,
}

impl Dns {
    pub(super) fn start(records: &[(&str, String)]) -> Dns {
        let mut zone: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, text) in records {
            zone.entry((*name).to_owned()).or_default().push(text.clone());
        }
        let (udp, listener) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            match UdpSocket::bind(listener.local_addr().unwrap()) {
                Ok(udp) => break (udp, listener),
                Err(_) => continue,
            }
        };
        let address = listener.local_addr().unwrap();
        let other = zone.clone();
        each(listener, move |mut stream| {
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
            stream.read_exact(&mut query).unwrap();
            let answer = txt(&query, &other, usize::MAX);
            let length = (answer.len() as u16).to_be_bytes();
            stream.write_all(&[&length[..], &answer].concat()).unwrap();
        });
        std::thread::spawn(move || {
            let mut query = [0; 4096];
            while let Ok((length, client)) = udp.recv_from(&mut query) {
                // One of another number first, as somebody may send who guesses.
                let answer = txt(&query[..length], &zone, 1);
                let mut forged = answer.clone();
                forged[0] ^= 0xff;
                let _ = udp.send_to(&forged, client);
                let _ = udp.send_to(&answer, client);
            }
        });
        Dns { address }
    }
}

fn txt(query: &[u8], zone: &BTreeMap<String, Vec<String>>, most: usize) -> Vec<u8> {
    let (mut at, mut labels) = (12, Vec::new());
    while query[at] > 0 {
        let length = usize::from(query[at]);
        labels.push(text(&query[at + 1..=at + length]));
        at += length + 1;
    }
    let found = zone.get(&labels.join(".")).cloned().unwrap_or_default();
    let is_cut = found.len() > most;
    let shown = if is_cut { &found[..0] } else { &found[..] };
    let flags = [0x81 | u8::from(is_cut) << 1, 0x80 | if found.is_empty() { 3 } else { 0 }];
    let count = (shown.len() as u16).to_be_bytes();
    let mut bytes = [&query[..2], &flags, &[0, 1], &count, &[0; 4], &query[12..at + 5]].concat();
    for record in shown {
        // In two parts, as a long one has to be.
        let (one, other) = record.split_at(record.len() / 2);
        let body: Vec<u8> = [one, other]
            .iter()
            .flat_map(|it| [&[it.len() as u8], it.as_bytes()].concat())
            .collect();
        bytes.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 14, 16]);
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
    }
    bytes
}
