#!/usr/bin/env python3
"""Hands jobs over by a submitter of one's own: follows the decisions about a user's jobs, runs a
program for each that is assigned, and publishes whether the cluster took the job.

    pip install -r ../python/requirements.txt
    ./hand_over.py --bootstrap-server kafka:9092 --user /O=Grid/CN=Ann ./to_act.sh

The program is run as PROGRAM JOB CLUSTER QUEUE ALTERNATIVE, with the decision in JSON on stdin. Exit
code 0: taken, and the first line that it prints is the cluster's own id of the job, if it knows one.
3: refused. Any other: it failed. After the last two the next target is chosen at once."""

import argparse, io, json, subprocess, time
from pathlib import Path
import fastavro
from confluent_kafka import Consumer, Producer
from fastavro.schema import fingerprint, to_parsing_canonical_form

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
def schema(name):
    """A schema, and the ten bytes that stand before its records: Avro's single-object encoding."""
    parsed = fastavro.parse_schema(json.loads((SCHEMAS / f"{name}.avsc").read_text()))
    number = fingerprint(to_parsing_canonical_form(parsed), "CRC-64-AVRO")
    return parsed, b"\xc3\x01" + bytes.fromhex(number)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("program", nargs="+", help="what hands a job over")
parser.add_argument("--bootstrap-server", required=True)
parser.add_argument("--user", required=True, help="whose jobs")
parser.add_argument("--topics", default="yardmaster.nordugrid.", help="how the topics' names begin")
parser.add_argument("--group", default="hand-over", help="consumer group: it remembers what is done")
args = parser.parse_args()

# Only what was committed counts. A decision is done once what became of it is published.
consumer = Consumer({"bootstrap.servers": args.bootstrap_server, "group.id": args.group,
                     "isolation.level": "read_committed", "enable.auto.commit": False,
                     "auto.offset.reset": "earliest"})
consumer.subscribe([args.topics + "decision"])
producer = Producer({"bootstrap.servers": args.bootstrap_server, "enable.idempotence": True})

def publish(topic, record):
    """A record under its job's name. Fields that are left out have the defaults of the schema."""
    (parsed, head), value = schema(topic), io.BytesIO()
    fastavro.schemaless_writer(value, parsed, record)
    key = record.get("subject") or record["job"]
    producer.produce(args.topics + topic, head + value.getvalue(), key=key)

(parsed, head), now = schema("decision"), lambda: int(time.time() * 1000)
while True:
    if (message := consumer.poll(1)) is None or message.error() or message.value()[:10] != head:
        continue
    it = fastavro.schemaless_reader(io.BytesIO(message.value()[10:]), parsed, None)
    if it["user"] == args.user and it["outcome"] == "assign" and not it["dry_run"]:
        job, target = it["subject"], it["ranked"][0]["queue"]
        words = [job, *target.split("/", 1), str(it["placed"]["alternative"])]
        done = subprocess.run(args.program + words, input=json.dumps(it, default=str), text=True,
                              capture_output=True)
        kind = {0: "accepted", 3: "refused"}.get(done.returncode, "failed")
        reason = "" if kind == "accepted" else done.stderr.strip()[-300:]
        publish("outcome", {"subject": job, "decision": it["id"], "kind": kind, "at": now(),
                            "reason": reason})
        if kind == "accepted" and (own := done.stdout.split("\n")[0].strip()):
            publish("job-state", {"job": job, "status": "assigned", "changed_at": now(),
                                  "attempt": it["attempt"], "task": it["task"], "queue": target,
                                  "request": f"{job}:{it['attempt']}", "user": args.user,
                                  "sub_status": "ACCEPTED", "cores": it["placed"]["count"],
                                  "created_at": now(), "cluster_job": own})
        if producer.flush(30):
            raise SystemExit("Kafka does not take what is published")
        print(job, target, kind, flush=True)
    consumer.commit(message, asynchronous=False)
