//! The grid that a demo simulates: built in, or from files; what no file has is made up.

use super::{Demo, START};
use crate::cli::Usage;
use crate::cli::complaints;
use crate::cli::import::{ImportKind, Text, imported};
use crate::cli::log_args::Read;
use crate::fetch;
use std::path::{Path, PathBuf};
use yardmaster_core::event::Configuration;
use yardmaster_sim::grid::Facts;
use yardmaster_wire::import::{Imported, Parents};

impl Demo {
    /// Reads the files that were given, and prints what was made up for want of others.
    pub(super) fn facts(&self, read: &Read) -> anyhow::Result<Facts> {
        let (is_generic, parents) = (read.topology.is_generic(), read.topology.parents());
        let Some(cric) = &self.cric else {
            let made = if is_generic { Facts::built_in_generic() } else { Facts::built_in() };
            return Ok(made);
        };
        let sites: Vec<&Path> = self.netmetrics.iter().map(PathBuf::as_path).collect();
        let files = [
            (ImportKind::Cric, Some(cric)),
            (ImportKind::Netmetrics, self.netmetrics.as_ref()),
            (ImportKind::Storage, self.storage.as_ref()),
            (ImportKind::Nuclei, Some(self.nuclei.as_ref().unwrap_or(cric))),
        ];
        let mut facts = Facts { is_generic, ..Facts::default() };
        for (kind, path) in files {
            let Some(path) = path else { continue };
            let imported = load_file(kind, path, &sites, parents)?;
            println!("{}: {} records", path.display(), imported.records.len());
            complaints::summary(&imported.complaints).iter().for_each(|line| println!("  {line}"));
            for record in imported.records {
                match record {
                    Configuration::Queue(queue) => facts.queues.push(queue),
                    Configuration::Site(site) => facts.sites.push(site),
                    Configuration::Storage(storage) => facts.storages.push(storage),
                    Configuration::Link(link) => facts.links.push(link),
                    _ => {}
                }
            }
        }
        if self.storage.is_none() {
            let made = facts.make_up_storages();
            println!("no --storage: space of {made} endpoints is made up");
        }
        if self.netmetrics.is_none() {
            let made = facts.make_up_links();
            println!(
                "no --netmetrics: throughput of {made} links is made up, closer within a cloud"
            );
        }
        if self.nuclei.is_none() {
            let nuclei = facts.sites.iter().filter(|site| site.nucleus).count();
            println!("no --nuclei: {nuclei} sites of the CRIC dump are taken for nuclei");
        }
        Ok(facts)
    }
}

/// The records of a JSON file.
///
/// # Errors
/// A file that cannot be read, or is of another kind.
fn load_file(
    kind: ImportKind,
    path: &Path,
    sites: &[&Path],
    parents: Parents,
) -> anyhow::Result<Imported> {
    let text = |path: &Path| {
        let name = path.display().to_string();
        match fetch::file(path) {
            Ok(text) => Ok(Text { name, text }),
            Err(why) => Err(Usage(format!("{name}: {why}"))),
        }
    };
    let sites: Vec<Text> = sites.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
    imported(kind, &[text(path)?], &sites, START, parents).map_err(|why| Usage(why).into())
}
