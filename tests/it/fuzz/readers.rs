//! The readers that need no world: records of every topic, the topology, importers, store records.

use super::feed;
use crate::laws::random::{Story, feed_story};
use crate::wire::dice::Dice;
use crate::wire::{CODEC, framed, kinds, records, roundtrip::encoded};
use crate::world::{Chance, state};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::State;
use yardmaster::wire::avro::{Arena, Cursor, HEADER_BYTES, Prepared, peek, schema_text};
use yardmaster::wire::stored::{self, Head, Restore};
use yardmaster::wire::topology::{ATLAS, Topology};
use yardmaster::wire::{import, record};

const NOW: i64 = 1_760_000_000_000;

/// Records of a topic as we write them.
fn corpus(topic: Topic) -> Vec<Vec<u8>> {
    let mut chance = Chance(topic as u64);
    (0..40)
        .filter_map(|at| {
            let bytes: Vec<u8> = (0..at * 30).map(|_| chance.word() as u8).collect();
            let mut dice = Dice::new(&bytes);
            let dice = &mut dice;
            let text = records::texts(dice);
            kinds::event(topic, dice, &text).as_ref().map(encoded)
        })
        .collect()
}

#[test]
fn a_record_of_any_topic_is_read_or_garbled() {
    let mut inputs = 0;
    let mut arena = Arena::default();
    for topic in Topic::ALL {
        let mut corpus = corpus(*topic);
        if corpus.is_empty() {
            // Nothing is read there: whatever comes is garbled.
            for at in 0..50u8 {
                let value = framed(*topic, &vec![at; usize::from(at)]);
                let event = CODEC.read(*topic, None, Some(&value), &mut arena);
                assert!(matches!(event, Event::Garbled(_)), "{event:?}");
            }
            continue;
        }
        // A writer whose schema is not ours: the same datum in another order is another plan.
        let others: Vec<Vec<u8>> =
            corpus.iter().map(|it| framed(Topic::Site, &it[HEADER_BYTES..])).take(2).collect();
        corpus.extend(others);
        inputs += feed(&format!("record {}", topic.name()), 1, &corpus, |bytes| {
            let prepared = CODEC.prepare(*topic, None, Some(bytes), &mut arena);
            let event = CODEC.read(*topic, Some(b"key"), Some(bytes), &mut arena);
            let garbled = matches!(event, Event::Garbled(_));
            assert!(garbled || !matches!(prepared, Prepared::Garbled(_)), "both at once");
            !garbled
        });
    }
    println!("fuzz records: {inputs} inputs in all");
}

/// A record that can be read after it was damaged may say anything: folding it must stand it, and
/// so must a store that keeps what came of it.
#[test]
fn what_could_be_read_can_be_folded_and_kept() {
    for topic in Topic::ALL.iter().copied().filter(|topic| !corpus(*topic).is_empty()) {
        let mut state = state();
        let mut arena = Arena::default();
        let lane = yardmaster::core::cut::Lane::new(topic, 0);
        feed(&format!("fold {}", topic.name()), 2, &corpus(topic), |bytes| {
            let event = CODEC.read(topic, Some(b"key"), Some(bytes), &mut arena);
            let could = !matches!(event, Event::Garbled(_));
            let offset = state.next(lane);
            state.fold(lane, offset, NOW, &event);
            could
        });
        let kept = restored(&head_of(&state), &chunks_of(&state)).expect("what we kept");
        assert_eq!(kept.jobs.slab.len(), state.jobs.slab.len());
    }
}

#[test]
fn a_cycle_or_an_answer_is_read_or_garbled() {
    let mut chance = Chance(5);
    let cycles: Vec<Vec<u8>> = (0..40)
        .map(|at| {
            let bytes: Vec<u8> = (0..at * 30).map(|_| chance.word() as u8).collect();
            let mut out = Vec::new();
            record::write(&mut out, &records::progress(&mut Dice::new(&bytes)));
            out
        })
        .collect();
    feed("progress", 1, &cycles, |bytes| CODEC.read_record::<Progress>(bytes).is_ok());
    let answers = corpus(Topic::Decision);
    feed("answer", 1, &answers, |bytes| CODEC.read_output(Topic::Decision, bytes).is_ok());
    feed("peek", 1, &answers, |bytes| peek(bytes).stopped.is_none());
    feed("numbers", 1, &answers, |bytes| {
        let mut at = Cursor::new(bytes);
        while at.long().is_ok() && at.strings::<3>().is_ok() && at.block().is_ok() {}
        at.end().is_ok() || at.rest().len() < bytes.len()
    });
}

/// Whatever stands in the head of a file, a registry or a program: it is taken up or refused.
#[test]
fn a_writers_schema_is_learnt_or_refused() {
    for (topic, share) in [(Topic::Task, 8), (Topic::Heartbeat, 2)] {
        let corpus = [schema_text(topic).as_bytes().to_vec()];
        feed(&format!("schema of {}", topic.name()), share, &corpus, |bytes| {
            let mut codec = CODEC.clone();
            std::str::from_utf8(bytes).is_ok_and(|text| codec.learn(topic, text).is_ok())
        });
    }
}

#[test]
fn a_topology_is_read_or_its_mistakes_are_reported() {
    let corpus = [ATLAS.as_bytes().to_vec()];
    feed("topology", 4, &corpus, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let read = Topology::parse("fuzz.toml", text);
        assert!(read.as_ref().err().is_none_or(|mistakes| !mistakes.is_empty()));
        read.is_ok()
    });
}

#[test]
fn others_json_is_imported_or_complained_of() {
    const CRIC: &str = include_str!("../../fixtures/cric.json");
    const NETMETRICS: &str = include_str!("../../fixtures/netmetrics.json");
    const SITE_INFO: &str = include_str!("../../fixtures/site_info.json");
    const ENDPOINTS: &str = include_str!("../../fixtures/ddmendpoints.json");
    const NUCLEI: &str = r#"["CERN", {"name": "BNL", "state": "ACTIVE"}]"#;
    let sites = import::Sites::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let corpus = |text: &str| [pieces(text), vec![text.as_bytes().to_vec()]].concat();
    feed("cric", 4, &corpus(CRIC), |bytes| import::cric(&text(bytes), NOW, &sites).is_ok());
    feed("netmetrics", 4, &corpus(NETMETRICS), |bytes| {
        import::netmetrics(&text(bytes), NOW).is_ok()
    });
    feed("site_info", 4, &corpus(SITE_INFO), |bytes| {
        import::storage(&[&text(bytes)], NOW, &sites).is_ok()
    });
    feed("ddmendpoints", 4, &corpus(ENDPOINTS), |bytes| {
        import::storage(&[&text(bytes)], NOW, &sites).is_ok()
    });
    const SHARES: &str = r#"[
        {"name": "A", "value": 1, "workinggroup": "(?!a)b.*|c{2}", "throttled": "Y"},
        {"name": "B", "value": 2.5, "parent": "A", "rtype": "[a-c]+", "queue_id": 3}]"#;
    const PARAMETERS: &str = r#"[
        {"app": "a", "component": "b", "key": "c", "value": "1", "type": "integer"}]"#;
    const QUOTAS: &str =
        r#"[{"account": "a", "endpoint": "E", "bytes_limit": 1, "used_bytes": 2}]"#;
    const RELEASES: &str = r#"{"Q": {"cmtconfigs": ["c"], "containers": [], "cvmfs": ["any"],
        "architectures": [{"type": "cpu", "arch": ["x"]}],
        "tags": [{"tag": "t", "container_name": "c", "sources": ["s"]}]}}"#;
    let whole = |text: &str| vec![text.as_bytes().to_vec()];
    feed("shares", 1, &whole(SHARES), |bytes| import::shares(&text(bytes), NOW).is_ok());
    feed("gdpconfig", 1, &whole(PARAMETERS), |bytes| import::gdpconfig(&text(bytes), NOW).is_ok());
    feed("quotas", 1, &whole(QUOTAS), |bytes| import::quotas(&text(bytes), NOW).is_ok());
    const SITES: &str =
        r#"{"T2_A": {"tier_level": 2, "rcsites": ["A"], "computeunits": {"u": 1}}}"#;
    const CAPACITIES: &str = r#"[{"name": "T2_A", "hs06_pledge": 9, "hs06_per_core": 1.5,
        "status": "drain", "wlcg_federation_name": "F", "pledged_slots": 7, "tier": "T2"}]"#;
    const FEDERATIONS: &str = r#"{"F": {"rcsites": ["A"],
        "pledges": {"2025": {"Q3": {"cms": {"CPU": 3}}}}}}"#;
    const MEMBERS: &str = r#"{"Resources": [{"userName": "a", "active": true,
        "groups": [{"display": "cms/Role=x"}]}, {"fqans": ["/a"], "certificates": [{"dn":
        "/OU=Users/CN=b/CN=c"}]}]}"#;
    for pool in [SITES, CAPACITIES, FEDERATIONS] {
        let others = [SITES, FEDERATIONS, CAPACITIES];
        feed("pool-sites", 2, &whole(pool), |bytes| {
            let text = text(bytes);
            let all = others.iter().copied().chain([&*text]);
            import::pool_sites(&all.collect::<Vec<_>>(), NOW).is_ok()
        });
    }
    feed("members", 1, &whole(MEMBERS), |bytes| import::members(&[&*text(bytes)], NOW).is_ok());
    feed("releases", 1, &corpus(RELEASES), |bytes| import::releases(&text(bytes), NOW).is_ok());
    feed("nuclei", 1, &corpus(NUCLEI), |bytes| import::nuclei(&text(bytes), NOW).is_ok());
    feed("nuclei of cric", 4, &corpus(CRIC), |bytes| {
        import::nuclei_from_cric(&text(bytes), NOW, &sites).is_ok()
    });
    const JOBS: &str = r#"{"PANDAID": 1, "JOBSTATUS": "running", "MODIFICATIONTIME": 1760000000,
        "PRODUSERNAME": "x", "CORECOUNT": 8, "STARTTIME": "2025-03-20 20:15:43"}"#;
    let table = [JOBS.replace('\n', " ").into_bytes()];
    feed("table of jobs", 1, &table, |bytes| {
        let (rows, imported) = import::jobs(&text(bytes));
        assert!(
            !rows.is_empty() || !imported.complaints.is_empty() || text(bytes).trim().is_empty()
        );
        !rows.is_empty()
    });
    feed("sites", 4, &corpus(NETMETRICS), |bytes| import::Sites::new().learn(&text(bytes)).is_ok());
}

/// Documents of clusters and what their servers send: LDAP in BER, DNS.
#[test]
fn answers_of_clusters_are_read_or_refused() {
    use import::arc;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let whole = |name: &str| vec![crate::import::arc::document(name).into_bytes()];
    let ldif = whole("ce-old.authuser.ng.ldif");
    let other = || arc::nordugrid(&arc::ldif(&text(&ldif[0])).unwrap()).unwrap();
    feed("glue2", 8, &whole("ce-b.arc7.2.queued.info.xml"), |bytes| {
        let Ok(read) = arc::glue2(&text(bytes)) else { return false };
        !arc::arc_records(&arc::joined(read.cluster, other()), NOW).is_empty()
    });
    feed("ldif", 4, &ldif, |bytes| {
        let Ok(entries) = arc::ldif(&text(bytes)) else { return false };
        let registered = arc::giis(&entries);
        let Ok(cluster) = arc::nordugrid(&entries) else { return !registered.is_empty() };
        let jobs = cluster.jobs.iter().map(|job| job.closed(NOW).record().len());
        jobs.sum::<usize>() + arc::arc_records(&cluster, NOW).len() > 0
    });
    feed("giis", 4, &whole("giis.ldif"), |bytes| {
        let Ok(entries) = arc::ldif(&text(bytes)) else { return false };
        let server = arc::IndexServer::archery("index.example.org");
        let mut walk = arc::IndexWalk::from([server.clone()]);
        let texts: Vec<String> = text(bytes).lines().map(str::to_owned).collect();
        walk.put(&server, &arc::giis(&entries), NOW, 60);
        walk.put(&server, &arc::archery(&texts, 60), NOW, 60);
        !walk.end().0.is_empty()
    });
    let mut entry = vec![0x30, 0x1f, 2, 1, 1, 0x64, 0x1a, 4, 4];
    entry.extend(b"cn=x\x30\x12\x30\x10\x04\x02cn\x31\x0a\x04\x01x\x04\x05x,y=z");
    let done = vec![0x30, 0x0c, 2, 1, 1, 0x65, 7, 10, 1, 0, 4, 0, 4, 0];
    feed("ldap", 1, &[entry, done], |bytes| {
        arc::ldap_message(bytes).is_ok_and(|message| message.is_some())
    });
    let query = arc::txt_query(7, "_archery.index.example.org").unwrap();
    let question = &query[..query.len() - 11];
    let mut answer = [&[0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0], &question[12..]].concat();
    answer.extend(b"\xc0\x0c\0\x10\0\x01\0\0\x0e\x10\0\x0d\x0cu=a.b t=c  d");
    feed("txt", 1, &[answer], |bytes| arc::txt_answer(&query, bytes).is_ok());
    for name in ["txt name", "addresses"] {
        feed(name, 4, &[b"ldap://ce:2135/o=grid".to_vec()], |bytes| {
            let text = text(bytes);
            let _ = (arc::txt_query(1, &text), arc::host_of(&text), arc::rest_base(&text));
            arc::LdapUrl::parse(&text).is_ok()
        });
    }
}

/// Each member of an object as an object of its own: short texts are hit where it matters.
fn pieces(text: &str) -> Vec<Vec<u8>> {
    let all: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let members = all.as_object().into_iter().flatten();
    members.map(|(name, it)| serde_json::json!({ name: it }).to_string().into_bytes()).collect()
}

fn head_of(state: &State) -> Vec<u8> {
    stored::write_head(state, &Head::default())
}

fn chunks_of(state: &State) -> Vec<Vec<u8>> {
    stored::pages(state).into_iter().map(|(kind, page)| stored::page(state, kind, page)).collect()
}

fn restored(head: &[u8], chunks: &[Vec<u8>]) -> Option<State> {
    let mut restore = Restore::begin(state(), head).ok()?;
    chunks.iter().try_for_each(|chunk| restore.chunk(chunk)).ok()?;
    Some(restore.end().0)
}

/// Whether every slot of a chunk is within a few thousand. The reader has no bound of its own: room
/// is made up to whatever slot a record names, and only the store's checksums stand before it.
fn slots_are_near(chunk: &[u8]) -> bool {
    let mut at = Cursor::new(chunk);
    while at.take(1).is_ok() {
        if at.long().is_ok_and(|slot| slot >= 1 << 14) {
            return false;
        }
        if at.bytes().is_err() {
            break;
        }
    }
    true
}

#[test]
fn records_are_restored_or_refused() {
    let state = feed_story(&Story::drawn(7), 1, |_, _, _| ());
    let (head, chunks) = (head_of(&state), chunks_of(&state));
    assert!(restored(&head, &chunks).is_some());
    feed("head", 2, std::slice::from_ref(&head), |bytes| restored(bytes, &chunks[..1]).is_some());
    feed("records", 2, &chunks, |bytes| {
        slots_are_near(bytes) && restored(&head, &[bytes.to_vec()]).is_some()
    });
}
