//! Parameters that are lists of names. They are no numbers: no filter and no weight reads them, and
//! no run-time parameter overrides them.

use super::param::{Arg, Mistake};

/// A parameter that is a list of names.
#[derive(Clone, Copy, Debug)]
pub struct ListParam {
    /// Its name in the topology file.
    pub name: &'static str,
    /// The list where the topology states none.
    pub default: &'static [&'static str],
    /// Meaning.
    pub help: &'static str,
    /// Why an item cannot be in it; `None`: it can.
    pub fault: fn(&str) -> Option<String>,
}

impl ListParam {
    /// The list where the topology states none.
    pub fn default_list(&self) -> Vec<String> {
        self.default.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Whether a list is that where the topology states none.
    pub fn is_default(&self, list: &[String]) -> bool {
        list == self.default
    }

    /// The list for a value of a topology file; else what is wrong with it.
    fn read(&self, arg: &Arg) -> Result<Vec<String>, String> {
        let Arg::List(names) = arg else { return Err(arg.to_string()) };
        let is_blank = |name: &&String| name.trim() != name.as_str() || name.is_empty();
        if let Some(name) = names.iter().find(is_blank) {
            return Err(format!("{name:?} in {arg}"));
        }
        if let Some(fault) = names.iter().find_map(|name| (self.fault)(name)) {
            return Err(format!("{fault} in {arg}"));
        }
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        match twice {
            Some((_, name)) => Err(format!("{name:?} twice in {arg}")),
            None => Ok(names.clone()),
        }
    }
}

/// Allowed values of such a parameter, for a reader.
pub const ALLOWED: &str = "a list of different names, none with spaces around it";

/// The lists in force, in the order of their declaration, of the values that a topology file gives;
/// and every mistake in these.
pub fn read_lists(
    lists: &[ListParam],
    given: &[(String, Arg)],
) -> (Vec<Vec<String>>, Vec<Mistake>) {
    let mut mistakes = Vec::new();
    let found = lists.iter().map(|list| {
        let mut read = list.default_list();
        for (name, arg) in given.iter().filter(|(name, _)| name == list.name) {
            match list.read(arg) {
                Ok(names) => read = names,
                Err(found) => {
                    let allowed = ALLOWED.to_owned();
                    mistakes.push(Mistake { place: name.clone(), found, allowed });
                }
            }
        }
        read
    });
    let found = found.collect();
    (found, mistakes)
}

/// A list as a topology file would have it.
pub fn show_list<T: AsRef<str>>(list: &[T]) -> String {
    let names: Vec<String> = list.iter().map(|name| format!("{:?}", name.as_ref())).collect();
    format!("[{}]", names.join(", "))
}
