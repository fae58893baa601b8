//! Keys and news.

use super::*;

fn key(model: &mut Model, code: KeyCode) -> Effect {
    model.key(KeyEvent::new(code, KeyModifiers::NONE), 10)
}

fn keys(model: &mut Model, text: &str) {
    for c in text.chars() {
        assert_eq!(key(model, KeyCode::Char(c)), Effect::None, "{c}");
    }
}

fn queue(name: &str, status: &str, running: u64) -> Queue {
    Queue { queue: name.into(), status: status.into(), running, ..Queue::default() }
}

fn event(sequence: u64, kind: &str, subject: &str) -> Event {
    Event { sequence, kind: kind.into(), subject: subject.into(), ..Event::default() }
}

fn model() -> Model {
    let mut model = Model::new();
    let queues =
        vec![queue("ash", "online", 5), queue("elm", "offline", 9), queue("oak", "test", 5)];
    let events = vec![event(1, "decision", "1/1"), event(2, "throttle", "user/ann")];
    let answered = Answered { queues, events, ..Answered::default() };
    model.take(News::Answered(Box::new(answered)), 1_000);
    model
}

fn names(model: &Model) -> Vec<&str> {
    model.queues().iter().map(|it| it.queue.as_str()).collect()
}

#[test]
fn queues_are_sorted_by_any_column_both_ways_and_the_chosen_one_stays_chosen() {
    let mut model = model();
    assert_eq!(names(&model), ["elm", "ash", "oak"]);
    key(&mut model, KeyCode::Down);
    assert_eq!(model.chosen(Pane::Queues), 1);
    keys(&mut model, "r");
    assert_eq!(names(&model), ["ash", "oak", "elm"]);
    assert_eq!(model.chosen(Pane::Queues), 0, "still ash");
    for _ in 0..Words::Queues.columns().len() {
        keys(&mut model, "s");
        assert_eq!(model.queues().len(), 3);
    }
    assert_eq!(model.sort, QueueColumn::Running);
    keys(&mut model, "SS");
    assert_eq!((model.sort, model.is_descending), (QueueColumn::Queue, false));
    assert_eq!(names(&model), ["ash", "elm", "oak"]);
}

#[test]
fn a_filter_is_typed_and_cleared_for_the_pane_that_has_the_focus() {
    let mut model = model();
    keys(&mut model, "/ONq");
    key(&mut model, KeyCode::Backspace);
    assert!(model.is_typing);
    key(&mut model, KeyCode::Enter);
    assert_eq!(names(&model), ["ash"]);
    key(&mut model, KeyCode::Tab);
    keys(&mut model, "/ann");
    assert_eq!(model.shown_events().len(), 1);
    key(&mut model, KeyCode::Esc);
    assert_eq!((model.is_typing, model.shown_events().len()), (false, 2));
    assert_eq!(model.filter(Pane::Queues), "ON");
    key(&mut model, KeyCode::Tab);
    key(&mut model, KeyCode::Esc);
    assert_eq!(model.queues().len(), 3);
}

#[test]
fn enter_asks_about_what_is_chosen_and_the_answer_scrolls() {
    let mut model = model();
    let subject = Subject { name: "elm".into(), kind: Some("queue") };
    assert_eq!(key(&mut model, KeyCode::Enter), Effect::Ask(Some(subject.clone())));
    let other = Subject { name: "oak".into(), kind: Some("queue") };
    model.take(News::Explained(other, Ok(Explained::default())), 0);
    assert!(model.why.as_ref().unwrap().lines.is_none(), "an answer to another question");
    let text = "a\nb\nc".to_owned();
    let explained = Explained { headline: "It is offline".into(), text, queue: None };
    model.take(News::Explained(subject, Ok(explained)), 0);
    key(&mut model, KeyCode::Down);
    assert_eq!(model.why.as_ref().unwrap().scroll, 1);
    key(&mut model, KeyCode::PageDown);
    assert_eq!(model.why.as_ref().unwrap().scroll, 4);
    assert_eq!(key(&mut model, KeyCode::Esc), Effect::Ask(None));
    assert!(model.why.is_none());
    key(&mut model, KeyCode::Tab);
    let subject = Subject { name: "user/ann".into(), kind: None };
    assert_eq!(key(&mut model, KeyCode::Enter), Effect::Ask(Some(subject)));
}

#[test]
fn the_newest_output_is_chosen_until_another_one_is() {
    let mut model = model();
    key(&mut model, KeyCode::Tab);
    let more = |sequence| {
        let events = vec![event(sequence, "decision", "9")];
        News::Answered(Box::new(Answered { events, ..Answered::default() }))
    };
    model.take(more(3), 0);
    assert_eq!(model.chosen(Pane::Events), 0);
    key(&mut model, KeyCode::Down);
    model.take(more(4), 0);
    assert_eq!(model.chosen(Pane::Events), 2);
    assert_eq!(model.shown_events()[2].sequence, 2);
    for sequence in 5..5 + EVENTS_MAX as u64 {
        model.take(more(sequence), 0);
    }
    assert_eq!((model.events.len(), model.chosen(Pane::Events)), (EVENTS_MAX, 0));
    let fresh = Answered { is_fresh: true, ..Answered::default() };
    model.take(News::Answered(Box::new(fresh)), 0);
    assert!(model.events.is_empty());
    assert_eq!(key(&mut model, KeyCode::Enter), Effect::None, "nothing is there to ask about");
}

#[test]
fn it_is_known_since_when_the_process_does_not_answer() {
    let mut model = model();
    model.take(News::Failed("refused".into()), 5_000);
    model.take(News::Failed("no route".into()), 6_000);
    assert_eq!(model.trouble, Some((5_000, "no route".into())));
    assert_eq!(model.queues().len(), 3, "what was known is still shown");
    model.take(News::Answered(Box::default()), 7_000);
    assert_eq!(model.trouble, None);
}

#[test]
fn q_ends_it_and_help_goes_at_any_key() {
    let mut model = model();
    keys(&mut model, "?x");
    assert!(!model.is_helping);
    assert_eq!(key(&mut model, KeyCode::Char('q')), Effect::Quit);
    keys(&mut model, "/q");
    assert_eq!(model.filter(Pane::Queues), "q");
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(model.key(interrupt, 10), Effect::Quit);
}
