//! Software that clusters publish, each item known by a number, and conditions on it (B.9).

use super::names::NumberedNames;
use crate::domain::nordugrid::xrsl::{Relation, Software, SoftwareCondition};
use std::collections::BTreeMap;

/// Every item of software that any cluster published: `name[-version]`.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    texts: NumberedNames,
    items: Vec<Software>,
    by_name: BTreeMap<String, Vec<u32>>,
}

/// A condition, with the items that satisfy it. Made once a choice.
#[derive(Clone, Debug)]
pub struct WantedSoftware {
    /// Whether it is `!=`: then none of the items may be published.
    is_refused: bool,
    /// Items, ascending: those that hold, or of `!=` those that equal what is refused.
    items: Vec<u32>,
}

impl Catalogue {
    /// The numbers of published texts, ascending, each once.
    pub fn numbers(&mut self, texts: &[String]) -> Vec<u32> {
        let mut found: Vec<u32> = texts.iter().map(|text| self.number(text)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn number(&mut self, text: &str) -> u32 {
        let number = self.texts.number(text);
        if number as usize == self.items.len() {
            let item = Software::parse(text);
            self.by_name.entry(item.name.clone()).or_default().push(number);
            self.items.push(item);
        }
        number
    }

    /// A condition with the items that satisfy it. Different names never compare.
    pub fn wanted(&self, condition: &SoftwareCondition) -> WantedSoftware {
        let SoftwareCondition { relation, name, version } = condition;
        let asked = Software { name: name.clone(), version: version.clone() };
        let is_refused = *relation == Relation::NotEqual;
        let relation = if is_refused { Relation::Equal } else { *relation };
        let of_name = self.by_name.get(name).into_iter().flatten().copied();
        let holds = |at: &u32| relation.holds(self.items[*at as usize].compare(&asked));
        let mut items: Vec<u32> = of_name.filter(holds).collect();
        items.sort_unstable();
        WantedSoftware { is_refused, items }
    }
}

impl WantedSoftware {
    /// Whether a cluster that publishes these items satisfies the condition. If it publishes none,
    /// no condition holds.
    pub fn is_met_by(&self, published: &[u32]) -> bool {
        let is_published = |item: &u32| published.binary_search(item).is_ok();
        !published.is_empty() && self.items.iter().any(is_published) != self.is_refused
    }
}
