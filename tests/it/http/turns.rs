//! Answers that grow with the grid: few are made and sent at a time, and a client beyond that is asked to
//! come again. Clients that read nothing show it.

use super::{ask, counters_of, door, problem, start_with};
use crate::drive::yard::{Yard, config, lead, queue};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::core::event::Queue;
use yardmaster::core::explain::NameStanding;
use yardmaster::core::unit::SECOND;
use yardmaster::drive::Drive;
use yardmaster::drive::report::Report;
use yardmaster::shell::api::{Past, Views};
use yardmaster::shell::history::{HistoryIdentity, Keeper, Keeps, LoopPosition};
use yardmaster::shell::http::Door;
use yardmaster::shell::question::Answer;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

/// More than the system's buffers on both sides hold.
const LONG: usize = 12 << 20;
/// As many queues, with names as long as may be, are as long.
const QUEUES: usize = LONG / 2_000;

/// Room for all clients of a test: none makes room for another.
fn wide() -> Door {
    Door { connections_max: 32, ..door(Duration::from_secs(10)) }
}

/// A client that asks, and reads nothing unless it is made to.
fn slow(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream
}

/// The status with which an answer begins.
fn status(mut stream: &TcpStream) -> String {
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head[9..]).into_owned()
}

fn is_asked_to_come_again(address: SocketAddr, path: &str) {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert!(head.to_lowercase().contains("\r\nretry-after: "), "{head}");
    problem(&body);
    assert!(ask(address, "/livez").0.starts_with("HTTP/1.1 200"));
}

fn is_whole(address: SocketAddr, path: &str) {
    let (head, body) = ask(address, path);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.len() > LONG && body.ends_with("}\n"), "{}", body.len());
}

#[test]
fn counters_are_given_to_two_at_a_time() {
    let (server, asks, _) = start_with(wide(), Views::default(), Past::default());
    let address = server.address();
    let answering = std::thread::spawn(move || {
        asks.iter().for_each(|question| question.answer(counters_of("x".repeat(LONG))));
    });
    let path = "/api/v1/counters";
    let two = [slow(address, path), slow(address, path)];
    assert!(two.iter().all(|stream| status(stream) == "200"));
    is_asked_to_come_again(address, path);
    drop(two);
    is_whole(address, path);
    drop(server);
    answering.join().unwrap();
}

/// A loop that knows many queues.
fn with_queues() -> Drive<PaperLog, PaperStore> {
    let mut yard = Yard::new();
    for at in 0..QUEUES {
        let name = format!("{at:0>1000}");
        let queue = queue(&name, yard.now);
        yard.configure(&Queue { unified: name.clone(), site: name, ..queue });
    }
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("one")).unwrap();
    lead(&mut yard, &mut drive, 40).unwrap();
    drive
}

#[test]
fn queues_of_the_past_are_given_to_two_at_a_time() {
    let dir = TempDir::new().unwrap();
    let mut drive = with_queues();
    let keeps = Keeps { interval: SECOND, span: i64::MAX / 2, bytes: 1 << 30 };
    let mut keeper =
        Keeper::open(dir.path(), keeps, HistoryIdentity::default(), drive.state()).unwrap();
    let past = Past::default();
    past.set(Some(keeper.history()));
    let confirmed = Some(drive.state().number);
    let start = Instant::now();
    let at = loop {
        let mut report = Report { confirmed, ..Report::default() };
        let turn = LoopPosition { is_cycle_end: true, is_restoring: false };
        keeper.turn(&mut report, drive.engine_to_copy(), turn);
        if let Some((_, at)) = keeper.history().reach().counters {
            break at;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(10));
    };
    let (server, _asks, _) = start_with(wide(), Views::default(), past);
    let (address, path) = (server.address(), format!("/api/v1/queues?at={at}"));
    let two = [slow(address, &path), slow(address, &path)];
    assert!(two.iter().all(|stream| status(stream) == "200"));
    is_asked_to_come_again(address, &path);
    drop(two);
    is_whole(address, &path);
}

/// Those who ask within a second are sent the same text. Slow ones keep a few such texts, however many they
/// are.
#[test]
fn of_the_queues_of_now_few_texts_are_held() {
    let (drive, views) = (with_queues(), Views::default());
    let (server, _asks, _) = start_with(wide(), views.clone(), Past::default());
    let (address, path) = (server.address(), "/api/v1/queues");
    let asking = std::thread::spawn(move || {
        let mut held = Vec::new();
        loop {
            let stream = slow(address, path);
            if status(&stream) != "200" {
                break;
            }
            held.push(stream);
            assert!(held.len() < 20, "each is given a text of its own");
            std::thread::sleep(Duration::from_secs(1));
        }
        assert!(held.len() >= 4, "{}", held.len());
        is_asked_to_come_again(address, path);
        drop(held);
        is_whole(address, path);
    });
    while !asking.is_finished() {
        views.turn(drive.engine());
        std::thread::sleep(Duration::from_millis(20));
    }
    asking.join().unwrap();
    drop(server);
}

/// Of a workflow of a pool that waits only the reasons are missing then.
#[test]
fn a_workflow_is_explained_though_no_look_at_what_waits_comes_in_time() {
    let dir = TempDir::new().unwrap();
    let drive = Drive::start(Yard::new().log(), PaperStore::default(), config("one")).unwrap();
    let keeps = Keeps { interval: SECOND, span: i64::MAX / 2, bytes: 1 << 30 };
    let keeper =
        Keeper::open(dir.path(), keeps, HistoryIdentity::default(), drive.state()).unwrap();
    let past = Past::default();
    past.set(Some(keeper.history()));
    let (server, asks, _) = start_with(door(Duration::from_secs(1)), Views::default(), past);
    let answering = std::thread::spawn(move || {
        asks.iter().for_each(|question| {
            let pool = Some("mc: a workflow\n".to_owned());
            let standing = NameStanding { pool, is_workflow: true, ..NameStanding::default() };
            question.answer(Answer::Standing(Box::new(standing)));
        });
    });
    let (head, body) = ask(server.address(), "/api/v1/explain?name=mc");
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("mc: a workflow"), "{head} {body}");
    drop(server);
    answering.join().unwrap();
}
