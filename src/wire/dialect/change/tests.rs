use super::*;

#[test]
fn a_change_of_a_job_is_read() {
    let value = br#"{"before": null, "after": {"PANDAID": 23, "jobstatus": "running",
        "statechangetime": 1795368940435879, "modificationhost": "slot1@wn0.synthetic.example"},
        "source": {"snapshot": "false", "sequence": "[\"283143400\",\"283143448\"]",
        "table": "jobsactive4", "txId": 70610, "lsn": 283143448, "ts_ms": 1795370089137},
        "transaction": null, "op": "u", "ts_ms": 1795370089326}"#;
    let Ok(Message::Change(change)) = read(None, Some(value)) else { panic!("no change") };
    assert_eq!((change.op, change.position), (Op::Update, 283_143_448));
    let Row::Job(job) = change.row else { panic!("no job") };
    assert_eq!((job.job, job.node()), (23, "wn0.synthetic.example"));
}
