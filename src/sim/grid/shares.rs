//! Global shares: the part of the grid that each is meant to have, and the part it had.

use super::classes::{CLASSES, Class, URGENT};
use yardmaster_core::event::Share;
use yardmaster_core::unit::Millis;

/// Of work that cannot wait.
pub const EXPRESS: &str = "Express";

/// All shares there are work for.
pub struct Shares {
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    /// Part of the core time it is meant to have; 0..=1.
    target: f64,
    cores: u64,
    since: Millis,
    /// Core time it had before `since`; ms.
    had: u128,
}

impl Row {
    fn had(&self, now: Millis) -> u128 {
        self.had + (now - self.since).max(0) as u128 * u128::from(self.cores)
    }
}

impl Shares {
    /// Each share is meant to have what its work asks for in the long run.
    pub fn new(now: Millis) -> Shares {
        let mut shares = Shares { rows: Vec::new() };
        for class in CLASSES {
            let work = class.weight * f64::from(class.cores) * mean(class);
            let urgent = if class.label == "user" { 0.0 } else { URGENT * work };
            for (name, work) in [(class.gshare, work - urgent), (EXPRESS, urgent)] {
                shares.row(name, now).target += work;
            }
        }
        let sum: f64 = shares.rows.iter().map(|row| row.target).sum();
        shares.rows.iter_mut().for_each(|row| row.target /= sum);
        shares
    }

    fn row(&mut self, name: &'static str, now: Millis) -> &mut Row {
        let at = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Row { name, target: 0.0, cores: 0, since: now, had: 0 });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    /// As published: their parts in per mille.
    pub fn facts(&self, now: Millis) -> impl Iterator<Item = Share> {
        self.rows.iter().zip(0..).map(move |(row, position)| Share {
            name: row.name.to_owned(),
            changed_at: now,
            value: (row.target * 1_000.0).round(),
            position,
            vo: "atlas".to_owned(),
            throttled: true,
            ..Share::default()
        })
    }

    /// Cores begin or cease to work for a share.
    pub fn shift(&mut self, name: &str, now: Millis, begin: u32, cease: u32) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
            row.had = row.had(now);
            row.since = now;
            row.cores = (row.cores + u64::from(begin)).saturating_sub(u64::from(cease));
        }
    }

    /// Part of the core time used that went to other shares than those meant; 0..=1.
    pub fn error(&self, now: Millis) -> f64 {
        let all: u128 = self.rows.iter().map(|row| row.had(now)).sum();
        if all == 0 {
            return 0.0;
        }
        let part = |row: &Row| row.had(now) as f64 / all as f64;
        self.rows.iter().map(|row| (part(row) - row.target).abs()).sum::<f64>() / 2.0
    }
}

/// Mean of a class's times, from its quantiles; s.
fn mean(class: &Class) -> f64 {
    let [p5, p25, p50, p75, p90, p95, p99] = *class.wall_s;
    let between = |a: f64, b: f64, part: f64| (a + b) / 2.0 * part;
    between(p5, p25, 0.2)
        + between(p25, p50, 0.25)
        + between(p50, p75, 0.25)
        + between(p75, p90, 0.15)
        + between(p90, p95, 0.05)
        + between(p95, p99, 0.04)
        + p5 * 0.05
        + p99 * 0.01
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_what_went_elsewhere() {
        let mut shares = Shares::new(0);
        assert_eq!(shares.error(1_000), 0.0, "nothing was used");
        let targets: f64 = shares.rows.iter().map(|row| row.target).sum();
        assert!((targets - 1.0).abs() < 1e-12);
        let cores: Vec<(&str, u32)> =
            shares.rows.iter().map(|row| (row.name, (row.target * 1e6).round() as u32)).collect();
        for (name, cores) in &cores {
            shares.shift(name, 0, *cores, 0);
        }
        assert!(shares.error(1_000) < 1e-5, "each has what it is meant to have");
        let (name, own) = cores[0];
        for (other, cores) in &cores[1..] {
            shares.shift(other, 0, 0, *cores);
        }
        let error = shares.error(1_000);
        assert!((error - (1.0 - f64::from(own) / 1e6)).abs() < 1e-5, "all went to {name}: {error}");
    }
}
