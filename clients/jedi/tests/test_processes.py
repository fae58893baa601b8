"""Threads of forked processes: each process has a connection of its own, which its threads share,
and there is a new broker object for each chunk."""

import gc
import multiprocessing
import os
import threading
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pandajedi.jedicore import Interaction
from pandajedi.jedicore.ThreadUtils import MapWithLock
from place import Place
from standin import assign, ranked, wait_for
from world import chunk_of

from yardmaster_jedi import connection, process


def run_in_threads(place: Place, tasks: range) -> list[bool]:
    """Brokers chunks as JobGenerator's threads do: the live counter is held meanwhile."""
    counter, done = MapWithLock(), []

    def work(task: int) -> None:
        chunk = chunk_of(task)
        status = place.run(chunk, counter=counter)
        done.append(
            status == Interaction.SC_SUCCEEDED and list(chunk.siteCandidates) == ["SYNTH_ALPHA"]
        )

    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def run_in_child(place: Place, tasks: range, results: Any) -> None:
    done = run_in_threads(place, tasks)
    results.put((os.getpid(), all(done), len(done), id(process.current().connection())))


def test_threads_share_the_connection_of_their_process(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert all(run_in_threads(place, range(701, 707)))
    connection = process.current().connection()
    assert all(run_in_threads(place, range(711, 717)))
    assert process.current().connection() is connection
    assert len({it["subject"] for it in place.standin.requests}) == 12


def test_forked_processes_have_connections_of_their_own(place: Place) -> None:
    """The parent has a connection already, with threads that the children do not have."""
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert all(run_in_threads(place, range(721, 723)))
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    children = [
        context.Process(target=run_in_child, args=(place, range(first, first + 3), results))
        for first in (731, 741)
    ]
    for child in children:
        child.start()
    found = [results.get(timeout=60) for _ in children]
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0, 0]
    assert all(done and count == 3 for _, done, count, _ in found)
    assert len({pid for pid, *_ in found} | {os.getpid()}) == 3
    # The parent's still works.
    assert all(run_in_threads(place, range(751, 752)))


def test_a_forked_process_does_not_destroy_what_its_parent_had_done_with(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert place.run(chunk_of(756)) == Interaction.SC_SUCCEEDED
    reader = Consumer({"bootstrap.servers": place.bootstrap, "group.id": "left"})
    reader.assign([TopicPartition(place.topics.task, 0, 0)])
    assert reader.poll(10) is not None
    garbage: list[Any] = [reader]
    garbage.append(garbage)
    gc.disable()
    try:
        del garbage, reader
        child = multiprocessing.get_context("fork").Process(target=gc.collect)
        child.start()
    finally:
        gc.enable()
    child.join(30)
    assert child.exitcode == 0


def test_threads_that_wait_for_a_connection_do_not_wait_in_turn(place: Place) -> None:
    place.configure(bootstrap="127.0.0.1:1", connect_s=0.5)
    began = time.monotonic()
    threads = [threading.Thread(target=place.run, args=(chunk_of(it),)) for it in range(771, 777)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 2


def test_a_changed_configuration_is_used_at_once(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    place.run(chunk_of(761))
    before = process.current().connection()
    place.configure(connect_s=6)
    chunk = chunk_of(762)
    place.run(chunk)
    assert process.current().connection() is not before
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]
    wait_for(lambda: not any(thread.is_alive() for thread in before._threads))


def test_a_connection_is_made_again_when_partitions_were_added(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LOOK_S", 0.1)
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert place.run(chunk_of(771)) == Interaction.SC_SUCCEEDED
    first = process.current().connection()
    time.sleep(0.5)
    assert process.current().connection() is first
    # As if it had begun before one was added.
    first._read_partitions[place.topics.decision] -= 1
    wait_for(lambda: process.current().connection() is not first)
    assert place.run(chunk_of(772)) == Interaction.SC_SUCCEEDED


def test_records_that_cannot_be_read_are_logged_rarely(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    here = process.current().connection()
    for number in range(25):
        place.standin.producer.produce(place.topics.decision, b"\xc3\x01unknown!" + bytes([number]))
    place.standin.producer.flush(10)
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert place.run(chunk_of(773)) == Interaction.SC_SUCCEEDED
    wait_for(lambda: sum(here._unread.values()) == 25)
    lines = [it for it in caplog.records if "is left out" in it.getMessage()]
    assert len(lines) == 2
