//! The client of clusters: what it sends, how it reads answers, and which credentials it takes.

use super::authority::{Authority, HOUR, now_s};
use super::stub::Stub;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openssl::asn1::Asn1Time;
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509, X509StoreContext};
use std::fs::File;
use std::path::{Path, PathBuf};
use yardmaster::shell::arex::{
    ArexCluster, ArexError, Credentials, JobFailure, NamedCredentials, SessionEntry,
};

/// An authority, a stub with its certificate, and a user's proxy.
fn place() -> (Authority, Stub, PathBuf) {
    let authority = Authority::new();
    let stub = Stub::start(&authority, &authority.sign("localhost", true));
    let proxy = authority.proxy("proxy", "Ann", now_s() + 10 * HOUR);
    (authority, stub, proxy)
}

fn named(authority: &Authority, proxy: &Path) -> NamedCredentials {
    let ca = Some(authority.path("ca.pem"));
    NamedCredentials { proxy: Some(proxy.to_owned()), token: None, ca }
}

fn cluster(stub: &Stub, named: &NamedCredentials) -> ArexCluster {
    let credentials = Credentials::read(named, now_s() * 1_000).unwrap();
    ArexCluster::new(&stub.url(), &credentials).unwrap()
}

#[test]
fn a_job_is_handed_over_with_its_files_and_its_outputs_are_fetched() {
    let (authority, stub, proxy) = place();
    let mut cluster = cluster(&stub, &named(&authority, &proxy));
    stub.state().course = vec!["PREPARING", "FINISHED"];
    stub.state().outputs = vec![("out.txt", "yes"), ("log/a b", "1"), ("log/c/d", "2")];
    assert_eq!(cluster.states().unwrap().len(), 0);
    let id = cluster.submit("<ActivityDescription/>").unwrap();
    assert_eq!(stub.job().adl, "<ActivityDescription/>");
    let file = authority.write("words", &[vec![b'x'; 3_000_000]]);
    cluster.upload(&id, "in/the words", &file).unwrap();
    assert_eq!(stub.job().files["in/the words"].len(), 3_000_000);
    let state = |cluster: &mut ArexCluster| cluster.states().unwrap()[&id].clone();
    assert_eq!([state(&mut cluster), state(&mut cluster)], ["PREPARING", "FINISHED"]);
    let file = |name: &str| SessionEntry::File(name.to_owned());
    let folder = |name: &str| SessionEntry::Folder(name.to_owned());
    assert_eq!(cluster.listing(&id, "").unwrap(), [file("out.txt"), folder("log")]);
    assert_eq!(cluster.listing(&id, "log/").unwrap(), [file("a b"), folder("c")]);
    let path = authority.path("fetched");
    cluster.fetch(&id, "log/a b", &mut File::create(&path).unwrap()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"1");
    let gone = cluster.fetch(&id, "gone/", &mut File::create(&path).unwrap());
    assert!(gone.is_ok(), "an empty folder");
    cluster.act("clean", &id).unwrap();
    assert_eq!(cluster.states().unwrap().len(), 0);
    assert!(stub.state().asked.iter().all(|it| it.ends_with("by Grid/Ann/17")), "by the proxy");
}

/// A connection that was closed in silence is made again; what hands a job over is sent once.
#[test]
fn a_connection_that_was_closed_is_made_again() {
    let (authority, stub, proxy) = place();
    let mut cluster = cluster(&stub, &named(&authority, &proxy));
    stub.state().is_brusque = true;
    for _ in 0..3 {
        cluster.states().unwrap();
    }
    assert!(matches!(cluster.submit("<a/>"), Err(ArexError::Failed(_))), "just asked, and closed");
    let id = cluster.submit("<a/>").unwrap();
    assert_eq!(stub.state().jobs.keys().cloned().collect::<Vec<_>>(), [id]);
}

#[test]
fn a_refusal_is_no_fault_and_neither_is_a_certificate_that_is_not_trusted() {
    let (authority, stub, proxy) = place();
    let named = named(&authority, &proxy);
    let mut one = cluster(&stub, &named);
    stub.state().refuses = Some("Requested queue long\n does not match".to_owned());
    let refused = ArexError::Refused("Requested queue long does not match".to_owned());
    assert_eq!(one.submit("<a/>"), Err(refused));
    stub.state().knows_nobody = true;
    let Err(ArexError::Refused(why)) = one.submit("<a/>") else { panic!("it knows nobody") };
    assert!(why.contains("500 User can't be assigned configuration"), "{why}");
    assert!(matches!(one.states(), Err(ArexError::Failed(_))));

    let other = Authority::new();
    let untrusted = Stub::start(&authority, &other.sign("localhost", true));
    let Err(ArexError::NotTrusted(why)) = cluster(&untrusted, &named).states() else { panic!() };
    assert!(
        why.contains("unable to get local issuer certificate") && why.contains("--ca"),
        "{why}"
    );
    let elsewhere = Stub::start(&authority, &authority.sign("elsewhere", true));
    let Err(ArexError::NotTrusted(why)) = cluster(&elsewhere, &named).states() else { panic!() };
    assert!(why.to_lowercase().contains("hostname mismatch"), "{why}");

    let credentials = Credentials::read(&named, now_s() * 1_000).unwrap();
    let refused = |url: &str| match ArexCluster::new(url, &credentials) {
        Err(ArexError::Failed(why)) => why,
        _ => panic!("{url} is taken"),
    };
    assert!(refused("http://localhost/arex").contains("it is not of https"));
    assert!(refused("https://localhost:x/arex").contains("its port is no number"));
    assert!(refused("https:///arex").contains("it names no host"));
    let mut nowhere = ArexCluster::new("https://127.0.0.1:1/arex", &credentials).unwrap();
    let Err(ArexError::Failed(why)) = nowhere.states() else { panic!("nothing listens there") };
    assert!(why.contains("127.0.0.1:1: Connection refused"), "{why}");
}

#[test]
fn a_cluster_gets_credentials_that_the_users_signed() {
    let (authority, stub, proxy) = place();
    let plain = authority.plain("plain", "Bob");
    for (file, user, ends_s) in [(proxy, "Ann/17", 10 * HOUR), (plain, "Bob", 50 * HOUR)] {
        let mut cluster = cluster(&stub, &named(&authority, &file));
        assert_eq!(cluster.delegate().unwrap().as_deref(), Some("d1"));
        assert_eq!(cluster.delegate().unwrap().as_deref(), Some("d1"));
        let asked = stub.state().asked.iter().filter(|it| it.starts_with("POST")).count();
        assert_eq!(asked, 1, "once for all jobs");
        stub.state().asked.clear();
        let chain = X509::stack_from_pem(&stub.state().delegations["d1"]).unwrap();
        let name = |it: &X509| {
            let parts = it.subject_name().entries().map(|it| it.data().to_string().unwrap());
            parts.collect::<Vec<_>>().join("/")
        };
        let (own, issuer) = (name(&chain[0]), name(&chain[1]));
        assert_eq!(issuer, format!("Grid/{user}"));
        assert!(own.starts_with(&format!("{issuer}/")), "{own}");
        let end = Asn1Time::from_unix(now_s() + ends_s + 60).unwrap();
        assert!(chain[0].not_after() < end, "no longer than the user's");
        assert!(!String::from_utf8_lossy(&stub.state().delegations["d1"]).contains("PRIVATE"));

        let mut store = X509StoreBuilder::new().unwrap();
        store.add_cert(authority.own.certificate.clone()).unwrap();
        store.set_flags(X509VerifyFlags::ALLOW_PROXY_CERTS).unwrap();
        let mut rest = Stack::new().unwrap();
        chain[1..].iter().for_each(|it| rest.push(it.clone()).unwrap());
        let store = store.build();
        let mut context = X509StoreContext::new().unwrap();
        let verified = context
            .init(&store, &chain[0], &rest, |it| Ok((it.verify_cert()?, it.error().to_string())));
        assert_eq!(verified.unwrap(), (true, "ok".to_owned()), "{own}");
    }
    let token = authority.write("token", &[b"abc\n".to_vec()]);
    let ca = Some(authority.path("ca.pem"));
    let mut cluster = cluster(&stub, &NamedCredentials { proxy: None, token: Some(token), ca });
    assert_eq!(cluster.delegate().unwrap(), None, "none of a token");
    cluster.states().unwrap();
    assert!(stub.state().asked.last().unwrap().ends_with("by abc"));
}

#[test]
fn how_a_job_failed_is_read() {
    let (authority, stub, proxy) = place();
    let mut cluster = cluster(&stub, &named(&authority, &proxy));
    stub.state().failed = ("PREPARING", "Failed in data staging:\n Not Found\n");
    let id = cluster.submit("<a/>").unwrap();
    let reason = "Failed in data staging: Not Found".to_owned();
    let failure = JobFailure { state: "PREPARING".to_owned(), reason };
    assert_eq!(cluster.failure(&id), failure);
    assert!(!failure.is_cancelled());
    let reason = "Job is canceled by external request".to_owned();
    assert!(JobFailure { reason, ..failure }.is_cancelled());
}

#[test]
fn credentials_that_are_of_no_use_are_named_with_a_remedy_and_without_a_secret() {
    let (authority, _, proxy) = place();
    let ca = Some(authority.path("ca.pem"));
    let refused = |proxy: Option<PathBuf>, token: Option<PathBuf>, ca: Option<PathBuf>| {
        let read = Credentials::read(&NamedCredentials { proxy, token, ca }, now_s() * 1_000);
        let why = read.expect_err("they are of no use").to_string();
        assert!(!why.contains("PRIVATE") && !why.contains("hush"), "{why}");
        why
    };
    let says = |why: String, parts: &[&str]| {
        parts.iter().for_each(|part| assert!(why.contains(part), "{part} is not in {why}"));
    };
    let expired = authority.proxy("expired", "Ann", now_s() - 10);
    says(refused(Some(expired), None, ca.clone()), &["it expired on", "arcproxy"]);
    let gone = authority.path("gone");
    says(refused(Some(gone.clone()), None, ca.clone()), &["gone", "No such file", "arcproxy"]);
    let empty = authority.write("empty", &[b"hush".to_vec()]);
    says(refused(Some(empty), None, ca.clone()), &["no certificate"]);
    let bare = authority.path("ca.pem");
    says(refused(Some(bare), None, ca.clone()), &["no key"]);
    let (one, other) = (authority.sign("Ann", false), authority.sign("Bob", false));
    let pair = [one.certificate.to_pem().unwrap(), other.key.private_key_to_pem_pkcs8().unwrap()];
    let mixed = authority.write("mixed", &pair);
    says(refused(Some(mixed), None, ca.clone()), &["none of its certificates"]);
    let locked =
        one.key.private_key_to_pem_pkcs8_passphrase(openssl::symm::Cipher::aes_128_cbc(), b"hush");
    let locked = authority.write("locked", &[one.certificate.to_pem().unwrap(), locked.unwrap()]);
    says(refused(Some(locked), None, ca.clone()), &["without a password"]);
    says(refused(Some(proxy.clone()), None, Some(gone.clone())), &["--ca", "gone", "PEM file"]);

    let token = |claims: &str| {
        let payload = BASE64_URL_SAFE_NO_PAD.encode(claims);
        let token = format!("e30.{payload}.hush");
        authority.write("token", &[token.into_bytes()])
    };
    let old = token(&format!("{{\"exp\":{}}}", now_s() - 5));
    says(refused(None, Some(old), ca.clone()), &["it expired at", "get a new one"]);
    let two = authority.write("two", &[b"hush hush".to_vec()]);
    says(refused(None, Some(two), ca.clone()), &["it is no token"]);
    says(refused(None, Some(gone), ca.clone()), &["gone", "name a readable file"]);
    let good = token(&format!("{{\"exp\":{}}}", now_s() + 60));
    for named in [
        NamedCredentials { proxy: None, token: Some(good), ca: ca.clone() },
        NamedCredentials { proxy: Some(proxy), token: None, ca },
    ] {
        let read = Credentials::read(&named, now_s() * 1_000).unwrap();
        assert!(!format!("{read:?}").contains("hush"));
    }
}
