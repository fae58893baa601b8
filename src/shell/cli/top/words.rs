//! The words of a domain for its rows, and the columns that they have.

use super::columns::QueueColumn;

/// Kind of the rows, as the process states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Words {
    /// Queues.
    #[default]
    Queues,
    /// Sites of a pool of slots.
    Sites,
    /// Queues of clusters.
    Clusters,
}

impl Words {
    /// Those of `of` in `/api/v1/queues`; an older process states none.
    pub fn of(noun: &str) -> Words {
        match noun {
            "sites" => Words::Sites,
            "cluster queues" => Words::Clusters,
            _ => Words::Queues,
        }
    }

    /// The columns, as they stand. Where there is no room for all, the last ones go first.
    pub const fn columns(self) -> &'static [QueueColumn] {
        use QueueColumn::*;
        match self {
            Words::Queues => &[
                Queue,
                Status,
                Running,
                Queued,
                Transferring,
                Ratio,
                Pilots,
                Submitted,
                Slots,
                Reserved,
                RunningCores,
                QueuedCores,
                LastPilot,
                LastStart,
                Site,
                Group,
            ],
            Words::Sites => &[
                Queue,
                Status,
                Running,
                RunningCores,
                Pledged,
                Used,
                Offers,
                Free,
                LastOffer,
                LastStart,
                Group,
            ],
            Words::Clusters => &[
                Queue,
                Status,
                Running,
                Queued,
                Assigned,
                Transferring,
                RunningCores,
                Pledged,
                Free,
                GridQueued,
                LocalQueued,
                AsOf,
                Disk,
                Cache,
                LastStart,
                Site,
                Group,
            ],
        }
    }

    /// The heading of a column.
    pub const fn head(self, column: QueueColumn) -> &'static str {
        match (self, column) {
            (Words::Sites, QueueColumn::Queue) => "site",
            (Words::Sites, QueueColumn::Group) => "tier",
            (Words::Sites, QueueColumn::RunningCores) => "cores",
            (Words::Clusters, QueueColumn::Site) => "cluster",
            (Words::Clusters, QueueColumn::Group) => "country",
            (Words::Clusters, QueueColumn::Transferring) => "finish",
            (Words::Clusters, QueueColumn::Pledged) => "CPUs",
            (Words::Clusters, QueueColumn::RunningCores) => "used",
            (_, column) => column.head(),
        }
    }

    /// The rows, in the plural.
    pub const fn rows(self) -> &'static str {
        match self {
            Words::Queues => "queues",
            Words::Sites => "sites",
            Words::Clusters => "cluster queues",
        }
    }

    /// The same as a title.
    pub const fn title(self) -> &'static str {
        match self {
            Words::Queues => "Queues",
            Words::Sites => "Sites",
            Words::Clusters => "Cluster queues",
        }
    }

    /// Whatever waits for an answer.
    pub const fn open(self) -> &'static str {
        match self {
            Words::Queues => "open requests",
            Words::Sites => "idle jobs",
            Words::Clusters => "jobs to place",
        }
    }

    /// The column so many places after one, from the last on to the first.
    pub fn after(self, column: QueueColumn, places: usize) -> QueueColumn {
        let columns = self.columns();
        let at = columns.iter().position(|it| *it == column).unwrap_or(0);
        columns[(at + places) % columns.len()]
    }

    /// The column before one.
    pub fn before(self, column: QueueColumn) -> QueueColumn {
        self.after(column, self.columns().len() - 1)
    }

    /// The columns that a width has room for.
    pub fn fitting(self, width: u16, name: u16) -> Vec<QueueColumn> {
        let mut used = 0;
        let fits = |column: &QueueColumn| {
            used += column.width(name) + if used > 0 { 2 } else { 0 };
            used <= width
        };
        let mut fitting: Vec<QueueColumn> =
            self.columns().iter().copied().take_while(fits).collect();
        if fitting.is_empty() {
            fitting.push(QueueColumn::Queue);
        }
        fitting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_from_the_last_one_where_there_is_no_room() {
        let words = Words::Queues;
        assert_eq!(words.fitting(3, 20), [QueueColumn::Queue]);
        let few = [QueueColumn::Queue, QueueColumn::Status, QueueColumn::Running];
        assert_eq!(words.fitting(40, 20), few);
        for words in [Words::Queues, Words::Sites, Words::Clusters] {
            assert_eq!(words.fitting(300, 20), words.columns());
            for column in words.columns() {
                assert_eq!(words.before(words.after(*column, 1)), *column);
                let head = words.head(*column);
                assert!(head.len() <= usize::from(column.width(7)), "{head}");
            }
        }
    }

    #[test]
    fn no_domain_has_the_words_of_another() {
        let heads = |words: Words| -> Vec<&str> {
            words.columns().iter().map(|column| words.head(*column)).collect()
        };
        for word in ["pilots", "transf", "queue", "queued", "slots"] {
            assert!(!heads(Words::Sites).contains(&word), "{word}");
        }
        for word in ["pilots", "transf", "slots", "offers", "site"] {
            assert!(!heads(Words::Clusters).contains(&word), "{word}");
        }
        assert_eq!(Words::of("sites").open(), "idle jobs");
    }
}
