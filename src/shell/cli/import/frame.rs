//! Flags that imports share: where they publish, whether they go on, how they report.

use crate::cli::Usage;
use crate::cli::http_args::ServeArgs;
use crate::cli::log_args::LogArgs;
use crate::http::Door;
use clap::Args;
use jiff::SignedDuration;
use std::net::SocketAddr;

/// Shortest time between two imports: sources are others' servers.
const EVERY_LEAST: SignedDuration = SignedDuration::from_secs(1);

/// Where an import publishes, and whether it goes on.
#[derive(Args)]
pub struct Frame {
    #[command(flatten)]
    pub log_args: LogArgs,
    /// Publish only what changed since the last import of this name, and remove what that published
    /// and the sources no longer have.
    #[arg(long)]
    pub prune: bool,
    /// Goes on, with --prune: reads the sources again after so long, such as 30s, 10m or 1h30m.
    #[arg(long, value_name = "SPAN", value_parser = span, conflicts_with = "dry_run")]
    pub every: Option<SignedDuration>,
    /// Name of this import, if there are several of a kind: each removes what it published itself
    /// [default: the kind].
    #[arg(long)]
    pub name: Option<String>,
    /// With --prune: also if the sources have fewer than half of what was published before.
    #[arg(long)]
    pub may_shrink: bool,
    /// With --every: where metrics, /livez and /readyz are served; port 0 for any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "HTTP", requires = "every")]
    pub http: Option<SocketAddr>,
    #[command(flatten)]
    pub serve_args: ServeArgs,
    /// Show what would be published, and publish nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print every complaint, instead of summing up those that repeat.
    #[arg(long)]
    pub verbose: bool,
}

/// A span of time as it is given to a flag: 30s, 10m; a second at least.
pub fn span(text: &str) -> Result<SignedDuration, String> {
    let span: SignedDuration = text.parse().map_err(|_| "give a span such as 30s or 10m")?;
    match span >= EVERY_LEAST {
        true => Ok(span),
        false => Err("give at least 1s".to_owned()),
    }
}

impl Frame {
    /// Where it serves, and which connections.
    ///
    /// # Errors
    /// Flags of HTTP that do not go together, or files of no use.
    pub fn door(&self) -> anyhow::Result<Option<(SocketAddr, Door)>> {
        match self.http {
            Some(address) => {
                let limits = self.log_args.read()?.topology.limits;
                Ok(Some((address, self.serve_args.door(address, &limits)?)))
            }
            None if self.serve_args.is_given() => {
                let what = "flags of HTTP, and no address: give --http HOST:PORT, or none of them";
                Err(Usage(what.to_owned()).into())
            }
            None => Ok(None),
        }
    }

    /// Whether a log is needed: to be published to, or to be compared with.
    pub fn is_published(&self) -> bool {
        !self.dry_run || self.prune
    }
}
