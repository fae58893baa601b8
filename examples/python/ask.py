#!/usr/bin/env python3
"""Asks where the jobs of a task may run, waits for the decision, and prints it as JSON.

    pip install -r requirements.txt
    ./ask.py --bootstrap-server kafka:9092 45123456/17 --jobs 20

Exit code 0: jobs are assigned to queues. 1: they are not, or no decision came within --wait."""

import argparse, io, json, sys, time
from pathlib import Path
import fastavro
from confluent_kafka import Consumer, Producer, TopicPartition
from fastavro.schema import fingerprint, to_parsing_canonical_form

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
def schema(name):
    """A schema, and the ten bytes that stand before its records: Avro's single-object encoding."""
    parsed = fastavro.parse_schema(json.loads((SCHEMAS / f"{name}.avsc").read_text()))
    number = fingerprint(to_parsing_canonical_form(parsed), "CRC-64-AVRO")
    return parsed, b"\xc3\x01" + bytes.fromhex(number)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("subject", help="TASK or TASK/CHUNK: what is asked about")
parser.add_argument("--bootstrap-server", required=True)
parser.add_argument("--domain", default="atlas")
parser.add_argument("--topics", default="yardmaster.", help="how the topics' names begin")
parser.add_argument("--nucleus", default="", help="where the output goes")
parser.add_argument("--jobs", type=int, default=1)
parser.add_argument("--attempt", type=int, default=0, help="a higher one asks once more")
parser.add_argument("--wait", type=float, default=60, help="seconds")
args = parser.parse_args()

# Decisions are read from here on, before there is a request. Only what was committed counts.
consumer = Consumer({"bootstrap.servers": args.bootstrap_server, "group.id": "ask",
                     "isolation.level": "read_committed", "enable.auto.commit": False})
name = args.topics + "decision"
numbers = consumer.list_topics(name, 10).topics[name].partitions
ends = [consumer.get_watermark_offsets(TopicPartition(name, it), 10)[1] for it in numbers]
consumer.assign([TopicPartition(name, it, end) for it, end in zip(numbers, ends)])

# The key is the task. Fields that are left out have the defaults of the schema.
now = int(time.time() * 1000)
task = {"subject": args.subject, "task": args.subject.split("/")[0], "attempt": args.attempt,
        "domain": args.domain, "policy": "production-job", "asked_at": now, "changed_at": now,
        "label": "managed", "nucleus": args.nucleus, "jobs": args.jobs, "core_count": 1}
(parsed, head), value = schema("task"), io.BytesIO()
fastavro.schemaless_writer(value, parsed, task)
producer = Producer({"bootstrap.servers": args.bootstrap_server})
producer.produce(args.topics + "task", head + value.getvalue(), key=task["task"])
producer.flush(30)

(parsed, head), until = schema("decision"), time.monotonic() + args.wait
while (left := until - time.monotonic()) > 0:
    if (message := consumer.poll(left)) is None or message.error() or message.value()[:10] != head:
        continue  # Nothing yet, or a decision with an older schema.
    decision = fastavro.schemaless_reader(io.BytesIO(message.value()[10:]), parsed, None)
    if (decision["subject"], decision["attempt"]) == (args.subject, args.attempt):
        print(json.dumps(decision, default=str))
        sys.exit(0 if decision["outcome"] == "assign" and not decision["dry_run"] else 1)
sys.exit(f"no decision about {args.subject} within {args.wait:.0f} s")
