//! A random event of every kind of record that is read as one.

use super::dice::Dice;
use super::{facts, pool, records, targets};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::core::output::Output;
use yardmaster::core::topic::Class;

/// A random event of a topic; `None` if its records are not read as events. A topic that is added
/// to the catalogue does not compile here until it has its generator, and every test that goes
/// through the topics then meets it.
pub fn event<'a>(topic: Topic, dice: &mut Dice<'_>, text: &'a [String]) -> Option<Event<'a>> {
    Some(match topic {
        Topic::JobState => Event::JobState(records::job_state(dice, text)),
        Topic::Heartbeat => Event::Heartbeat(records::heartbeat(dice, text)),
        Topic::Transfer => Event::Transfer(records::transfer(dice, text)),
        Topic::Pilot => Event::Pilot(records::pilot(dice, text)),
        Topic::Task => Event::Task(Box::new(records::task(dice))),
        Topic::Outcome => Event::Outcome(records::outcome(dice)),
        Topic::Queue => Event::from(records::queue(dice)),
        Topic::Site => Event::from(records::site(dice)),
        Topic::Storage => Event::from(records::storage(dice)),
        Topic::Link => Event::from(records::link(dice)),
        Topic::Parameter => Event::from(records::parameter(dice)),
        Topic::Release => Event::from(facts::release(dice)),
        Topic::Share => Event::from(facts::share(dice)),
        Topic::Quota => Event::from(facts::quota(dice)),
        Topic::User => Event::from(facts::user(dice)),
        Topic::Decision => Event::Output(Output::from(records::decision(dice))),
        Topic::Throttle => Event::Output(Output::from(facts::throttle(dice))),
        Topic::Registration => Event::from(targets::registration(dice)),
        Topic::Grant => Event::from(pool::grant(dice)),
        Topic::DomainRecord => Event::from(facts::domain_record(dice)),
        Topic::UserShare => Event::from(targets::user_share(dice)),
        Topic::Progress | Topic::DeadLetter => return None,
        Topic::Replica => Event::from(facts::replica(dice)),
        Topic::Command => Event::Output(Output::from(facts::command(dice))),
        Topic::Counter | Topic::Comparison => return None,
    })
}

/// Whether the catalogue says that a topic's records are read as events.
fn is_event(topic: Topic) -> bool {
    match topic.class() {
        Class::Report | Class::Request | Class::Configuration | Class::Folded => true,
        Class::ReadBack | Class::Published | Class::Beside => false,
    }
}

#[test]
fn exactly_the_topics_of_events_have_a_generator() {
    let mut dice = Dice::new(&[]);
    let text = records::texts(&mut dice);
    for topic in Topic::ALL {
        let event = event(*topic, &mut dice, &text);
        assert_eq!(event.is_some(), is_event(*topic), "{}", topic.name());
    }
}
