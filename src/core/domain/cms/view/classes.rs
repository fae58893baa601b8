//! The classes of a pool's jobs: what they use, against what the quotas of all sites give them.

use crate::domain::cms::policy::facts::PerClass;
use crate::domain::cms::policy::pool::Pool;
use crate::event::Class;

/// Use of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassUse {
    /// Class.
    pub class: &'static str,
    /// Its part of the weight that is used, from 0 to 1.
    pub part: f64,
    /// Its part of the quotas, from 0 to 1.
    pub quota: f64,
}

/// The part of each class in what is used, and in the quotas.
pub(crate) fn class_use(pool: &Pool) -> Vec<ClassUse> {
    let (mut used, mut quota) = (PerClass::default(), PerClass::default());
    for (name, terms) in pool.sites() {
        for class in Class::ALL {
            let of_site = pool.counters().site(name).used.of(class);
            add(used.of_mut(class), of_site);
            add(quota.of_mut(class), terms.quota.of(class));
        }
    }
    let part = |of: PerClass<i64>, class: Class| match of.total() {
        0 => 0.0,
        all => of.of(class) as f64 / all as f64,
    };
    let class = |class: Class| ClassUse {
        class: class.name(),
        part: part(used, class),
        quota: part(quota, class),
    };
    Class::ALL.map(class).to_vec()
}

fn add(sum: &mut i64, number: i64) {
    *sum = sum.saturating_add(number);
}
