//! A broker that is killed and restarted in each step of a transaction: after the step was done,
//! without an answer, and at its end also before. `YARDMASTER_LONG=1` does both in all steps, also in
//! that by which partitions are added to a transaction.

use super::proxy::{Loss, Proxy, Step};
use super::{is_long, quick};
use crate::broker::{Broker, Wanted, free_ports, is_possible};
use crate::kill::bus::Bus;
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::{decisions, glance};
use crate::kill::{SECOND, settle_accounts, wait_for_answers, wait_for_lead};
use std::collections::BTreeSet;
use yardmaster::core::cut::Topic;

/// How the broker is killed in a step.
fn losses(step: Step) -> &'static [Loss] {
    match is_long() || matches!(step, Step::End) {
        true => &[Loss::Request, Loss::Answer],
        false => &[Loss::Answer],
    }
}

/// A broker that tells those who come through a proxy to go on coming through it.
fn broker() -> (Broker, Proxy) {
    let [port, controller, out] = free_ports();
    let proxy = Proxy::start(out);
    let through = proxy.port();
    let properties = format!(
        "listeners=PLAINTEXT://127.0.0.1:{port},OUT://127.0.0.1:{out},\
         CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=OUT://127.0.0.1:{through},PLAINTEXT://127.0.0.1:{port}\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         inter.broker.listener.name=PLAINTEXT\n\
         broker.session.timeout.ms=3000\nbroker.heartbeat.interval.ms=500\n"
    );
    (Broker::start(&Wanted { port, controller, properties, format: Vec::new() }), proxy)
}

/// Waits until the step comes, kills the broker in it, and starts it again.
#[track_caller]
fn kill_in_it(broker: &Broker, proxy: &Proxy, process: &Process) {
    proxy.wait(30 * SECOND, || process.logged());
    broker.kill();
    proxy.let_go();
    broker.start_again();
}

#[test]
fn a_broker_killed_in_any_step_of_a_transaction_costs_nothing_but_time() {
    if !is_possible() {
        return;
    }
    let (broker, proxy) = broker();
    let bus = Bus::on(&broker.address(), &[], quick);
    proxy.mark(&bus.topic(Topic::Decision));
    let through = format!("127.0.0.1:{}", proxy.port());
    let store = bus.path("store");
    let mut subjects = BTreeSet::new();
    let mut ask = |cores: u32| {
        let subject = format!("1/{}", subjects.len());
        bus.ask(&subject, cores, 500);
        bus.flush();
        subjects.insert(subject);
        subjects.clone()
    };
    bus.queue("QUEUE_00", 1, 40);
    // What no queue has is deferred again and again, so that there is a count to keep.
    let many = ask(8);
    let mut last = None;
    for loss in losses(Step::Begin).iter().copied() {
        last.take().map(Process::stop);
        proxy.arm(Step::Begin, loss);
        let process = Process::start(&through, &bus.topology, &store);
        kill_in_it(&broker, &proxy, &process);
        println!("{loss:?} of Begin: leads {:?} later", wait_for_lead(&process, 90 * SECOND));
        last = Some(process);
    }
    let mut process = [last.expect("it was started")];
    let steps = [Step::Produce, Step::End, Step::Add];
    let steps = if is_long() { &steps[..] } else { &steps[..2] };
    let both = steps.iter().flat_map(|step| losses(*step).iter().map(|loss| (*step, *loss)));
    for (step, loss) in both {
        proxy.arm(step, loss);
        let asked: BTreeSet<String> = ask(1).difference(&many).cloned().collect();
        kill_in_it(&broker, &proxy, &process[0]);
        let begun = std::time::Instant::now();
        let what = || process[0].logged();
        wait_until(90 * SECOND, what, || super::answered(&bus).is_superset(&asked));
        println!("{loss:?} of {step:?}: answered {:?} later", begun.elapsed());
    }
    let answers = || {
        let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
        published.into_iter().filter(|it| many.contains(&it.subject)).collect::<Vec<_>>()
    };
    let what = || format!("deferred too seldom: {:?}\n{}", answers(), process[0].logged());
    wait_until(30 * SECOND, what, || answers().len() > 2);
    bus.queue("QUEUE_01", 8, 40);
    bus.flush();
    let subjects = ask(1);
    wait_for_answers(&bus, &subjects, &mut process);
    let [process] = process;
    assert_eq!(process.stop().code(), Some(0));
    println!("{}", settle_accounts(&bus, &subjects, &[&store]));
}
