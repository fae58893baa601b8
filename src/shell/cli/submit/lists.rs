//! Which clusters, and which index servers, a submission names (spec cms-nordugrid N-01 to N-05).

use super::text::{Unread, text};
use crate::cli::Usage;
use clap::Args;
use std::path::{Path, PathBuf};

/// Flags that name clusters and index servers.
#[derive(Args)]
pub struct Lists {
    /// A cluster that may be chosen; no index server is read then. With a leading minus: one that
    /// may not.
    #[arg(short = 'c', long = "cluster", value_name = "NAME", help_heading = "Clusters")]
    #[arg(allow_hyphen_values = true, conflicts_with = "again")]
    cluster: Vec<String>,
    /// File of such names, one a line, # for comments.
    #[arg(short = 'C', long = "clusters-from", value_name = "FILE", help_heading = "Clusters")]
    #[arg(conflicts_with = "again")]
    clusters_from: Vec<PathBuf>,
    /// The same as -c for a job that is submitted again: these names replace those of the
    /// submission before.
    #[arg(short = 'k', long = "new-cluster", value_name = "NAME", help_heading = "Clusters")]
    #[arg(allow_hyphen_values = true)]
    new_cluster: Vec<String>,
    /// The same as -C for a job that is submitted again.
    #[arg(short = 'K', long = "new-clusters-from", value_name = "FILE")]
    #[arg(help_heading = "Clusters")]
    new_clusters_from: Vec<PathBuf>,
    /// An index server where clusters are looked for. Without any: those of the first list that
    /// exists of ~/.nggiislist, $NORDUGRID_LOCATION/etc/giislist and /etc/giislist.
    #[arg(short = 'g', long = "index-server", value_name = "NAME", help_heading = "Clusters")]
    index_server: Vec<String>,
    /// File of index servers, one a line, # for comments.
    #[arg(short = 'G', long = "index-servers-from", value_name = "FILE")]
    #[arg(help_heading = "Clusters")]
    index_servers_from: Vec<PathBuf>,
}

impl Lists {
    /// Refuses clusters for a job that is submitted again where none is. The other way round the
    /// flags exclude each other.
    ///
    /// # Errors
    /// Such names are given.
    pub fn check(&self, is_again: bool) -> Result<(), Usage> {
        let is_named = !self.new_cluster.is_empty() || !self.new_clusters_from.is_empty();
        match is_named && !is_again {
            true => Err(Usage(
                "-k, -K: they name clusters for a job that is submitted again; give --again ID, or \
                 name clusters with -c, -C"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Clusters that are named.
    ///
    /// # Errors
    /// An empty name, or a file that cannot be read or names nothing.
    pub fn clusters(&self) -> Result<Vec<String>, Usage> {
        let first = named("-c", &self.cluster, "-C", &self.clusters_from)?;
        let again = named("-k", &self.new_cluster, "-K", &self.new_clusters_from)?;
        let is_empty =
            |names: &[String]| names.iter().any(|name| name.trim_start_matches('-').is_empty());
        for (flag, names) in [("-c", &first), ("-k", &again)] {
            if is_empty(names) {
                return Err(Usage(format!("{flag}: an empty name; give that of a cluster")));
            }
        }
        // Only one of them is there.
        Ok([first, again].concat())
    }

    /// Index servers that are named, or else those of the first list that exists; none where
    /// clusters are named.
    ///
    /// # Errors
    /// A file that cannot be read or names nothing, or no index server where one is needed.
    pub fn index_servers(&self) -> Result<Vec<String>, Usage> {
        let named = named("-g", &self.index_server, "-G", &self.index_servers_from)?;
        let is_explicit = self.clusters()?.iter().any(|name| !name.starts_with('-'));
        if is_explicit || !named.is_empty() {
            return Ok(named);
        }
        let lists = lists();
        for list in &lists {
            match text(list) {
                Ok(text) => return not_empty(names(&text), list),
                Err(Unread::File(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let list = list.display();
                    return Err(Usage(format!("{list}: {error}; make it readable, or give -g")));
                }
            }
        }
        let lists: Vec<String> = lists.iter().map(|list| list.display().to_string()).collect();
        Err(Usage(format!(
            "no index server (no_index_server): give -g NAME, -G FILE or clusters with -c (-k \
             with --again); none of the lists {} exists",
            lists.join(", ")
        )))
    }
}

fn not_empty(names: Vec<String>, list: &Path) -> Result<Vec<String>, Usage> {
    match names.is_empty() {
        true => Err(Usage(format!(
            "{}: names no index server (no_index_server); add one, or give -g",
            list.display()
        ))),
        false => Ok(names),
    }
}

/// The lists of the user, the toolkit and the machine, in this order (N-03).
fn lists() -> Vec<PathBuf> {
    let of = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let user = of("HOME").map(|home| Path::new(&home).join(".nggiislist"));
    let toolkit = of("NORDUGRID_LOCATION").map(|at| Path::new(&at).join("etc/giislist"));
    user.into_iter().chain(toolkit).chain([PathBuf::from("/etc/giislist")]).collect()
}

/// Names given one by one, and those in files.
fn named(
    flag: &str,
    given: &[String],
    file_flag: &str,
    files: &[PathBuf],
) -> Result<Vec<String>, Usage> {
    if given.iter().any(|name| name.trim().is_empty()) {
        return Err(Usage(format!("{flag}: an empty name; give the name of a server")));
    }
    let mut all = given.to_vec();
    for file in files {
        let shown = file.display();
        let text = text(file)
            .map_err(|why| Usage(format!("{file_flag} {shown}: {why}; name a readable file")))?;
        let names = names(&text);
        if names.is_empty() {
            let why = "has no name in it; write one a line, or leave the flag out";
            return Err(Usage(format!("{file_flag} {shown}: {why}")));
        }
        all.extend(names);
    }
    Ok(all)
}

/// The names in a file.
fn names(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}
