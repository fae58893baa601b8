//! Flags of handing jobs over.

use crate::cli::Usage;
use crate::cli::log_args::LogArgs;
use clap::Args;
use std::path::PathBuf;

/// Flags of `submit --wait`.
#[derive(Args)]
pub struct WaitArgs {
    /// Hand each job over to the cluster that is chosen, by its interface REST, follow it to its
    /// end, and fetch its outputs. Exit code 0: all jobs finished; 1: one failed or was cancelled;
    /// 3: no target took one; 4: ended before the jobs were, by a signal or for another cause.
    #[arg(long, help_heading = "Handing over", conflicts_with = "dry_run")]
    pub wait: bool,
    /// Go on with a submission that --wait was ended for: hand over what is decided, follow what is
    /// at a cluster, fetch the outputs of what is over. With --user only if it is that user's.
    #[arg(long, value_name = "ID", help_heading = "Handing over", requires = "wait")]
    #[arg(conflicts_with_all = ["xrsl", "again", "job_id"])]
    pub resume: Option<String>,
    /// Proxy, or certificate with its key, in PEM. Without it $X509_USER_PROXY, a token of
    /// $BEARER_TOKEN or $BEARER_TOKEN_FILE, /tmp/x509up_uUID, a token in $XDG_RUNTIME_DIR/bt_uUID
    /// or /tmp/bt_uUID: the first that is there.
    #[arg(long, value_name = "FILE", help_heading = "Handing over", requires = "wait")]
    #[arg(conflicts_with = "token")]
    pub proxy: Option<PathBuf>,
    /// File with a token, shown instead of a certificate.
    #[arg(long, value_name = "FILE", help_heading = "Handing over", requires = "wait")]
    pub token: Option<PathBuf>,
    /// Authorities of clusters' certificates beside the system's: a PEM file, or a folder of such
    /// files. Without it $X509_CERT_DIR, or /etc/grid-security/certificates.
    #[arg(long, value_name = "PATH", help_heading = "Handing over", requires = "wait")]
    pub ca: Option<PathBuf>,
    /// Fetch the outputs that a job leaves at its cluster into DIR/ID.
    #[arg(long, value_name = "DIR", help_heading = "Handing over", requires = "wait")]
    pub get: Option<PathBuf>,
    /// Remove a job from its cluster once its outputs are fetched. Without it the cluster does so
    /// some days after its end.
    #[arg(long, help_heading = "Handing over", requires = "get")]
    pub clean: bool,
    /// Where files that are uploaded lie. Without it beside the description; with --again and
    /// --resume in the working directory.
    #[arg(long, value_name = "DIR", help_heading = "Handing over", requires = "wait")]
    pub files: Option<PathBuf>,
    /// How often a job that failed before it was in a batch system, so that nothing of it ran, is
    /// submitted again, to other clusters.
    #[arg(long, value_name = "N", help_heading = "Handing over", requires = "wait")]
    #[arg(default_value_t = 1)]
    pub retries: u32,
    /// How long to wait for the first decision about a job; s.
    #[arg(long, value_name = "SECONDS", help_heading = "Handing over", requires = "wait")]
    #[arg(default_value_t = 300)]
    pub decide_within: u64,
}

impl WaitArgs {
    /// Refuses --wait where it cannot be done.
    ///
    /// # Errors
    /// The log is a directory, or the program is built without TLS.
    pub fn check(&self, log_args: &LogArgs) -> Result<(), Usage> {
        if !self.wait {
            return Ok(());
        }
        if let Some(dir) = &log_args.dir {
            return Err(Usage(format!(
                "--wait with --dir {}: what clusters make of jobs is published, and a directory \
                 log has one writer, the `run` that leads; give a Kafka (--bootstrap-server \
                 HOST:PORT)",
                dir.display()
            )));
        }
        if cfg!(not(feature = "tls")) {
            return Err(Usage(
                "--wait: clusters are asked over TLS, and this program is built without it; build \
                 it with --features tls"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
