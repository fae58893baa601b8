use super::*;
use crate::avro::{Arena, Codec};
use crate::record;
use std::sync::Arc;
use yardmaster_core::event::{
    Configuration, Event, Garbled, Grant, JobState, PrincipalKind, Quota, QuotaKind, Requirements,
    Status, Task, User, UserKind, UserShare, WorkflowFacts,
};

/// RFC 4231, cases 1 to 4, 6 and 7: key, message, code.
#[test]
fn the_code_is_that_of_the_standard() {
    let cases: [(Vec<u8>, &[u8], &str); 6] = [
        (
            vec![0x0b; 20],
            b"Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe".to_vec(),
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            vec![0xaa; 20],
            &[0xdd; 50],
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        ),
        (
            (1..=25).collect(),
            &[0xcd; 50],
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        ),
        (
            vec![0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        (
            vec![0xaa; 131],
            b"This is a test using a larger than block-size key and a larger than block-size data. \
              The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        ),
    ];
    for (key, message, code) in cases {
        assert_eq!(hex::encode(Pseudonyms::of_key(&key).mac(message)), code);
    }
}

fn pseudonyms() -> Pseudonyms {
    Pseudonyms::new(&[7; 32]).unwrap()
}

#[test]
fn a_pseudonym_depends_on_name_and_key_and_shows_neither() {
    let (one, other) = (pseudonyms(), Pseudonyms::new(&[8; 32]).unwrap());
    let jane = one.of("Jane Physicist");
    assert!(jane.starts_with("user-") && jane.len() == 21, "{jane}");
    assert!(jane[5..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{jane}");
    assert_eq!(one.of("Jane Physicist"), jane);
    assert_ne!(one.of("Jane Physicist "), jane);
    assert_ne!(other.of("Jane Physicist"), jane);
    assert_eq!(one.of(""), "");
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert_eq!(
        format!("{one:?}"),
        format!("Pseudonyms {{ fingerprint: {:?} }}", one.fingerprint())
    );
    assert_eq!(Pseudonyms::new(&[7; 31]), Err(KeyTooShort(31)));
}

/// Records of each topic that names persons, written by us.
fn records() -> Vec<(Topic, &'static str, Vec<u8>)> {
    let name = "Jane Physicist";
    let mut records = Vec::new();
    let mut add = |topic, write: &dyn Fn(&mut Vec<u8>)| {
        let mut value = Vec::new();
        write(&mut value);
        records.push((topic, name, value));
    };
    let job = JobState {
        job: "1",
        status: Status::Running,
        task: "task with a long name that takes two bytes for its length, as some tasks have",
        user: name,
        group: "phys-higgs",
        queue: "AGLT2",
        ..JobState::default()
    };
    add(Topic::JobState, &|out| record::write(out, &job));
    let task = Task {
        subject: "40000001/1".into(),
        task: "40000001".into(),
        domain: "atlas".into(),
        policy: "production-job".into(),
        jobs: 100,
        working_group: "AP_MCGN".into(),
        user: name.to_owned(),
        gshare: "MC Default".into(),
        nucleus: "CERN-PROD".into(),
        core_count: Some(8),
        cpu_hs06s_per_event: Some(200.0),
        ..Task::default()
    };
    add(Topic::Task, &|out| record::write(out, &task));
    let user = User { name: name.to_owned(), groups: vec!["phys".into()], ..User::default() };
    add(Topic::User, &|out| record::write(out, &user));
    let quota = Quota { subject: name.to_owned(), expression: "tier=1".into(), ..Quota::default() };
    add(Topic::Quota, &|out| record::write(out, &quota));
    let share =
        UserShare { queue: "ce/long".into(), user: name.to_owned(), ..UserShare::default() };
    add(Topic::UserShare, &|out| record::write(out, &share));
    // Records of a pool of slots.
    let requirements = Requirements { site_whitelist: Some("AGLT2"), ..Requirements::default() };
    let job = JobState { requirements: Some(Box::new(requirements)), ..job };
    add(Topic::JobState, &|out| record::write(out, &job));
    let workflow = Task { workflow: Some(WorkflowFacts::default()), ..task };
    add(Topic::Task, &|out| record::write(out, &workflow));
    let grant = Grant { name: "urgent".into(), principal: name.to_owned(), ..Grant::default() };
    add(Topic::Grant, &|out| record::write(out, &grant));
    records
}

/// The event, with its name in place of the person's.
fn renamed(event: Event<'_>, name: &str) -> String {
    match event {
        Event::JobState(it) => format!("{:?}", JobState { user: name, ..it }),
        Event::Task(it) => format!("{:?}", Task { user: name.to_owned(), ..*it }),
        Event::Configuration(it) => match *it {
            Configuration::User(it) => format!("{:?}", User { name: name.to_owned(), ..it }),
            Configuration::Quota(it) => format!("{:?}", Quota { subject: name.to_owned(), ..it }),
            Configuration::UserShare(it) => format!("{:?}", UserShare { user: name.into(), ..it }),
            Configuration::Grant(it) => format!("{:?}", Grant { principal: name.to_owned(), ..it }),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn plain(event: Event<'_>) -> String {
    match event {
        Event::JobState(it) => format!("{it:?}"),
        Event::Task(it) => format!("{it:?}"),
        Event::Configuration(it) => match *it {
            Configuration::User(it) => format!("{it:?}"),
            Configuration::Quota(it) => format!("{it:?}"),
            Configuration::UserShare(it) => format!("{it:?}"),
            Configuration::Grant(it) => format!("{it:?}"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_of_a_record_is_read_and_the_name_alone_is_another() {
    let (off, mut arena, mut other) = (Codec::default(), Arena::default(), Arena::default());
    let pseudonyms = Arc::new(pseudonyms());
    let on = Codec::default().with_pseudonyms(Some(Arc::clone(&pseudonyms)));
    for (topic, name, value) in records() {
        let shown = pseudonyms.of(name);
        for _ in 0..2 {
            let read = plain(on.read(topic, None, Some(&value), &mut arena));
            assert!(read.contains(&shown) && !read.contains(name), "{read}");
            let wanted = renamed(off.read(topic, None, Some(&value), &mut other), &shown);
            assert_eq!(read, wanted);
        }
        // What breaks off is as unreadable as before.
        for cut in 0..value.len() {
            let read = |codec: &Codec, arena: &mut Arena| match codec.read(
                topic,
                None,
                Some(&value[..cut]),
                arena,
            ) {
                Event::Garbled(why) => why,
                event => panic!("{cut} bytes are {event:?}"),
            };
            let (one, two): (Garbled, Garbled) = (read(&on, &mut arena), read(&off, &mut other));
            assert_eq!(one, two);
        }
    }
}

#[test]
fn groups_and_those_without_a_name_keep_theirs() {
    let on = Codec::default().with_pseudonyms(Some(Arc::new(pseudonyms())));
    let mut arena = Arena::default();
    let mut same = |topic, write: &dyn Fn(&mut Vec<u8>)| {
        let mut value = Vec::new();
        write(&mut value);
        let read = plain(on.read(topic, None, Some(&value), &mut arena));
        let wanted = plain(Codec::default().read(topic, None, Some(&value), &mut Arena::default()));
        assert_eq!(read, wanted);
    };
    let user = User { kind: UserKind::Group, name: "phys-higgs".into(), ..User::default() };
    same(Topic::User, &|out| record::write(out, &user));
    let quota = Quota { kind: QuotaKind::Group, subject: "phys".into(), ..Quota::default() };
    same(Topic::Quota, &|out| record::write(out, &quota));
    let principal_kind = PrincipalKind::Group;
    let grant = Grant { principal_kind, principal: "phys-higgs".into(), ..Grant::default() };
    same(Topic::Grant, &|out| record::write(out, &grant));
    same(Topic::JobState, &|out| record::write(out, &JobState::default()));
}

#[test]
fn a_removal_removes_what_the_record_was_kept_under() {
    let pseudonyms = Arc::new(pseudonyms());
    let on = Codec::default().with_pseudonyms(Some(Arc::clone(&pseudonyms)));
    let mut arena = Arena::default();
    let jane = pseudonyms.of("Jane Physicist");
    for (topic, key, wanted) in [
        (Topic::User, "user/Jane Physicist", format!("user/{jane}")),
        (Topic::User, "group/phys", "group/phys".to_owned()),
        (Topic::Quota, "user/Jane Physicist tier=1&type=X", format!("user/{jane} tier=1&type=X")),
        (Topic::Quota, "group/phys tier=1", "group/phys tier=1".to_owned()),
        (Topic::UserShare, "ce/long Jane Physicist", format!("ce/long {jane}")),
        (Topic::UserShare, "ce/long ", "ce/long ".to_owned()),
        (Topic::Grant, "urgent", "urgent".to_owned()),
        (Topic::Queue, "user/Jane Physicist", "user/Jane Physicist".to_owned()),
    ] {
        match on.read(topic, Some(key.as_bytes()), None, &mut arena) {
            Event::Removed { name, .. } => assert_eq!(name, wanted),
            event => panic!("{event:?}"),
        }
    }
    let bytes: &[u8] = b"user/\xff";
    let read = on.read(Topic::User, Some(bytes), None, &mut arena);
    assert_eq!(format!("{read:?}"), "Garbled(Malformed)");
}

#[test]
fn a_pseudonym_is_known_by_its_form() {
    let made = Pseudonyms::new(&[7; 32]).unwrap().of("Jane Physicist");
    assert!(Pseudonyms::is_pseudonym(&made), "{made}");
    for other in ["", "Jane Physicist", "user-", "user-1234", &made[1..], &format!("{made}0")] {
        assert!(!Pseudonyms::is_pseudonym(other), "{other}");
    }
    assert!(!Pseudonyms::is_pseudonym(&made.to_uppercase()));
}
