//! `health`: whether a process is ready, for health checks of containers that have no curl.

use crate::ask::Ask;
use crate::cli::Ended;
use crate::cli::http_args::AskArgs;
use crate::http::ADDRESS;
use clap::Args;
use std::process::ExitCode;

/// Asks a running process at /readyz whether it is ready; exits 0 if it is, 1 if not or if it does
/// not answer, and prints why. /readyz needs no token. A process of several domains is ready if it
/// is for all of them.
///
/// Examples:
///   yardmaster health
///   yardmaster health --http 127.0.0.1:9188
///   yardmaster health --domain cms
#[derive(Args)]
pub struct Health {
    /// Where the process serves HTTP; with https:// before it if it has a certificate.
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS)]
    http: String,
    /// Whether it is ready for this one of its domains.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    #[command(flatten)]
    ask_args: AskArgs,
}

impl Health {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let process = Ask::new(&self.http, self.ask_args.proof()?).about(self.domain.as_deref());
        let Some(reply) = process.get("/readyz")? else {
            println!("not ready: {}", process.absent());
            return Ok(ExitCode::FAILURE);
        };
        if reply.status == 200 {
            println!("ready");
            return Ok(ExitCode::SUCCESS);
        }
        let answer: serde_json::Value = serde_json::from_str(&reply.text()).unwrap_or_default();
        let why = answer["reason"].as_str().or(answer["error"].as_str());
        println!("not ready: {}", why.unwrap_or("it states no reason"));
        Ok(ExitCode::FAILURE)
    }
}
