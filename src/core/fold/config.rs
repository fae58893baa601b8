//! Slowly changing facts. Within a lane the newest content since the last null holds; across
//! lanes the newest of those. "Newest" is by the fact's own time, then by its content.

use crate::core::content::{Contained, content_of};
use crate::core::cut::{Lane, Topic};
use crate::core::event::{
    Link, Parameter, Queue, Quota, QuotaKind, Release, Share, Site, Storage, User, UserKind,
};
use crate::core::oddity::Oddity;
use crate::core::output::throttle::SubjectKind;
use crate::core::state::record::Fact;
use crate::core::state::{Book, State};
use crate::core::unit::Millis;
use std::cmp::Ordering;

/// What all configuration records have.
pub trait Configured: Clone + PartialEq + Contained {
    /// When it was last changed.
    fn changed_at(&self) -> Millis;

    /// The same, changed at `bound` at the latest.
    fn bounded(&self, bound: Millis) -> Self;
}

macro_rules! configured {
    ($($kind:ty),*) => {
        $(impl Configured for $kind {
            fn changed_at(&self) -> Millis {
                self.changed_at
            }

            fn bounded(&self, bound: Millis) -> Self {
                Self { changed_at: self.changed_at.min(bound), ..self.clone() }
            }
        })*
    };
}
configured!(Queue, Site, Storage, Link, Parameter, Release, Share, Quota, User);

/// Whether one record is newer than another: by its time, then by its content.
pub fn is_newer<T: Configured>(one: &T, other: &T) -> bool {
    let order = |record: &T| record.changed_at();
    order(one).cmp(&order(other)).then_with(|| content_of(one).cmp(&content_of(other)))
        == Ordering::Greater
}

/// Name of a link.
pub fn link_name(source: &str, destination: &str) -> String {
    format!("{source}:{destination}")
}

/// Name of a parameter.
pub fn parameter_name(parameter: &Parameter) -> String {
    let Parameter { app, component, key, vo, .. } = parameter;
    format!("{app}/{component}/{key}/{vo}")
}

/// Name of a quota: whose it is, a slash, the subject, a space, the expression.
pub fn quota_name(quota: &Quota) -> String {
    let kind = match quota.kind {
        QuotaKind::User => "user",
        QuotaKind::Group => "group",
    };
    format!("{kind}/{} {}", quota.subject, quota.expression)
}

/// Name of a user or group: which of both, a slash, the name.
pub fn user_name(kind: UserKind, name: &str) -> String {
    match kind {
        UserKind::User => format!("user/{name}"),
        UserKind::Group => format!("group/{name}"),
    }
}

fn hold<T: Configured>(
    book: &mut Book<Fact<T>>,
    name: &str,
    (lane, bound): (Lane, Millis),
    new: &T,
) -> Option<Oddity> {
    let new = &new.bounded(bound);
    let make = || Fact { name: name.to_owned(), held: Vec::new() };
    let fact = book.at(name, make)?;
    match fact.held.iter_mut().find(|(held, _)| *held == lane) {
        None => {
            fact.held.push((lane, new.clone()));
            fact.held.sort_by_key(|(lane, _)| *lane);
            None
        }
        Some((_, old)) if old == new => Some(Oddity::Repeated),
        Some((_, old)) if is_newer(new, old) => {
            *old = new.clone();
            None
        }
        Some(_) => Some(Oddity::Stale),
    }
}

fn drop_fact<T: Configured>(book: &mut Book<Fact<T>>, name: &str, lane: Lane) {
    if book.of(name).is_none() {
        return;
    }
    let is_empty =
        book.at(name, || Fact { name: name.to_owned(), held: Vec::new() }).is_some_and(|fact| {
            fact.held.retain(|(held, _)| *held != lane);
            fact.held.is_empty()
        });
    if is_empty {
        book.remove(name);
    }
}

impl State {
    pub(super) fn fold_queue(&mut self, at: (Lane, Millis), event: &Queue) {
        let odd = hold(&mut self.facts.queues, &event.name, at, event);
        self.config_changed(Topic::Queue, odd);
    }

    pub(super) fn fold_site(&mut self, at: (Lane, Millis), event: &Site) {
        let odd = hold(&mut self.facts.sites, &event.name, at, event);
        self.config_changed(Topic::Site, odd);
    }

    pub(super) fn fold_storage(&mut self, at: (Lane, Millis), event: &Storage) {
        let odd = hold(&mut self.facts.storages, &event.name, at, event);
        if odd.is_none() {
            self.touched.storages.insert(event.name.clone());
        }
        self.config_changed(Topic::Storage, odd);
    }

    pub(super) fn fold_link(&mut self, at: (Lane, Millis), event: &Link) {
        let name = link_name(&event.source, &event.destination);
        let odd = hold(&mut self.facts.links, &name, at, event);
        if odd.is_none() {
            self.touch_link(&event.source, &event.destination);
            self.touched.links.insert(name);
        }
        self.config_changed(Topic::Link, odd);
    }

    pub(super) fn fold_parameter(&mut self, at: (Lane, Millis), event: &Parameter) {
        let odd = hold(&mut self.facts.parameters, &parameter_name(event), at, event);
        self.config_changed(Topic::Parameter, odd);
    }

    pub(super) fn fold_release(&mut self, at: (Lane, Millis), event: &Release) {
        let odd = hold(&mut self.facts.releases, &event.queue, at, event);
        self.config_changed(Topic::Release, odd);
    }

    pub(super) fn fold_share(&mut self, at: (Lane, Millis), event: &Share) {
        let odd = hold(&mut self.facts.shares, &event.name, at, event);
        self.config_changed(Topic::Share, odd);
    }

    pub(super) fn fold_quota(&mut self, at: (Lane, Millis), event: &Quota) {
        let odd = hold(&mut self.facts.quotas, &quota_name(event), at, event);
        let kind = match event.kind {
            QuotaKind::User => SubjectKind::User,
            QuotaKind::Group => SubjectKind::Group,
        };
        self.touched.accounts.insert((kind, event.subject.clone()));
        self.config_changed(Topic::Quota, odd);
    }

    pub(super) fn fold_user(&mut self, at: (Lane, Millis), event: &User) {
        let odd = hold(&mut self.facts.users, &user_name(event.kind, &event.name), at, event);
        let kind = match event.kind {
            UserKind::User => SubjectKind::User,
            UserKind::Group => SubjectKind::Group,
        };
        self.touched.accounts.insert((kind, event.name.clone()));
        self.config_changed(Topic::User, odd);
    }

    pub(super) fn fold_removed(&mut self, lane: Lane, topic: Topic, name: &str) {
        match topic {
            Topic::Queue => drop_fact(&mut self.facts.queues, name, lane),
            Topic::Site => drop_fact(&mut self.facts.sites, name, lane),
            Topic::Storage => {
                drop_fact(&mut self.facts.storages, name, lane);
                self.touched.storages.insert(name.to_owned());
            }
            Topic::Link => {
                drop_fact(&mut self.facts.links, name, lane);
                if let Some((source, destination)) = name.split_once(':') {
                    self.touch_link(source, destination);
                    self.touched.links.insert(name.to_owned());
                }
            }
            Topic::Parameter => drop_fact(&mut self.facts.parameters, name, lane),
            Topic::Release => drop_fact(&mut self.facts.releases, name, lane),
            Topic::Share => drop_fact(&mut self.facts.shares, name, lane),
            Topic::Quota => {
                drop_fact(&mut self.facts.quotas, name, lane);
                self.touched.everyone = true;
            }
            Topic::User => {
                drop_fact(&mut self.facts.users, name, lane);
                self.touched.everyone = true;
            }
            _ => return self.odd(topic, Oddity::Garbled),
        }
        self.config_changed(topic, None);
    }

    fn touch_link(&mut self, source: &str, destination: &str) {
        let source = self.name(source);
        self.touched.from.add(source);
        let destination = self.name(destination);
        self.touched.into.add(destination);
    }

    fn config_changed(&mut self, topic: Topic, odd: Option<Oddity>) {
        match (odd, topic) {
            (Some(oddity), _) => self.odd(topic, oddity),
            (None, Topic::Queue) => self.touched.queues = true,
            (None, Topic::Site | Topic::Parameter | Topic::Release | Topic::Share) => {
                self.touched.settings = true;
            }
            (None, _) => {}
        }
    }
}
