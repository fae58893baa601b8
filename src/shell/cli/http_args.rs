//! Flags of HTTP: of verbs that serve, and of verbs that ask a running process.

use crate::ask::{Ask, ClientTls, Proof};
use crate::cli::Usage;
use crate::http::{Door, Tls, token};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use yardmaster_core::limits::Limits;

/// Under which names a process is asked, and what clients have to show.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// A name under which this host may be asked over HTTP, beside its addresses, localhost and its
    /// own name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub http_host: Vec<String>,
    /// File of tokens, one a line, read again when it changes: only clients that send one of them
    /// (`Authorization: Bearer TOKEN`) are answered, but for /livez, /readyz and the page.
    #[arg(long, value_name = "FILE")]
    pub http_token_file: Option<PathBuf>,
    /// Certificate to serve HTTPS with, and those that lead to its authority: a PEM file, read
    /// again when it changes.
    #[arg(long, value_name = "FILE", requires = "http_key")]
    pub http_cert: Option<PathBuf>,
    /// Key of --http-cert, without a password: a PEM file.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    pub http_key: Option<PathBuf>,
    /// Authority of the certificates that clients must show: a PEM file.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    pub http_client_ca: Option<PathBuf>,
}

impl ServeArgs {
    /// Which connections are served at an address.
    ///
    /// # Errors
    /// A file of no use; an address that others can reach while nothing keeps them out.
    pub fn door(&self, address: SocketAddr, limits: &Limits) -> Result<Door, Usage> {
        let mut door = Door::new(limits, &self.http_host);
        if let Some(path) = &self.http_token_file {
            door.tokens = Some(Arc::new(token::Tokens::open(path).map_err(Usage)?));
        }
        if let (Some(cert), Some(key)) = (&self.http_cert, &self.http_key) {
            let tls = Tls::open(cert, key, self.http_client_ca.as_deref()).map_err(Usage)?;
            door.tls = Some(Arc::new(tls));
        }
        if !address.ip().to_canonical().is_loopback() && !door.is_guarded() {
            return Err(Usage(format!(
                "--http {address} can be reached from other machines: give --http-token-file FILE \
                 (clients send a token), or --http-cert FILE, --http-key FILE and --http-client-ca \
                 FILE (clients show a certificate); or a loopback address such as 127.0.0.1:{}",
                address.port()
            )));
        }
        Ok(door)
    }

    /// Whether any of the flags is given.
    pub fn is_given(&self) -> bool {
        let ServeArgs { http_host, http_token_file, http_cert, http_key, http_client_ca } = self;
        let files = [http_token_file, http_cert, http_key, http_client_ca];
        !http_host.is_empty() || files.into_iter().any(Option::is_some)
    }
}

/// Flags of a verb that asks a running process: its token, and the certificates of both sides.
#[derive(Args, Clone, Debug)]
pub struct AskArgs {
    /// File with a token of the running process: its own --http-token-file, of which the first
    /// line is sent.
    #[arg(long, value_name = "FILE")]
    pub http_token_file: Option<PathBuf>,
    /// Authority of the running process's certificate, if it serves HTTPS: a PEM file.
    #[arg(long, value_name = "FILE")]
    pub http_ca: Option<PathBuf>,
    /// Certificate to show to a running process that demands one: a PEM file.
    #[arg(long, value_name = "FILE", requires = "http_key", requires = "http_ca")]
    pub http_cert: Option<PathBuf>,
    /// Key of --http-cert: a PEM file.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    pub http_key: Option<PathBuf>,
}

impl AskArgs {
    /// The token and the TLS settings.
    ///
    /// # Errors
    /// A file of tokens that is of no use.
    pub fn proof(&self) -> Result<Proof, Usage> {
        let tokens = self.http_token_file.as_deref().map(token::read).transpose().map_err(Usage)?;
        let identity = self.http_cert.clone().zip(self.http_key.clone());
        let tls = self.http_ca.clone().map(|ca| ClientTls { ca, identity });
        Ok(Proof { token: tokens.into_iter().flatten().next(), tls })
    }
}

/// Flags of a verb that asks a process at an address in place of the log.
#[derive(Args, Clone, Debug)]
pub struct HttpArgs {
    /// Ask the process at this address.
    #[arg(long, value_name = "HOST:PORT")]
    http: Option<String>,
    /// Of a process of several domains: the one to ask about.
    #[arg(long, value_name = "DOMAIN", requires = "http")]
    domain: Option<String>,
    #[command(flatten)]
    ask_args: AskArgs,
}

impl HttpArgs {
    /// The token and the TLS settings.
    ///
    /// # Errors
    /// As [`AskArgs::proof`].
    pub fn proof(&self) -> Result<Proof, Usage> {
        self.ask_args.proof()
    }

    /// The process at the address that is given.
    ///
    /// # Errors
    /// As [`AskArgs::proof`].
    pub fn process(&self) -> Result<Option<Ask>, Usage> {
        let Some(address) = &self.http else { return Ok(None) };
        Ok(Some(Ask::new(address, self.proof()?).about(self.domain.as_deref())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Serve {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn serve(args: &[&str]) -> ServeArgs {
        let given = std::iter::once("serve").chain(args.iter().copied());
        Serve::try_parse_from(given).map(|it| it.serve).unwrap()
    }

    #[test]
    fn only_a_guarded_process_listens_where_others_reach_it() {
        let dir = tempfile::TempDir::new().unwrap();
        let tokens = dir.path().join("tokens");
        std::fs::write(&tokens, "0123456789abcdef").unwrap();
        let door = |args: &[&str], address: &str| {
            serve(args).door(address.parse().unwrap(), &Limits::default()).map_err(|it| it.0)
        };
        for open in ["0.0.0.0:9187", "192.0.2.1:80", "[::]:9187", "[2001:db8::1]:1"] {
            let error = door(&[], open).unwrap_err();
            assert!(error.contains(open), "{error}");
            for remedy in ["--http-token-file", "--http-client-ca", "127.0.0.1:"] {
                assert!(error.contains(remedy), "{error}");
            }
            let guarded = door(&["--http-token-file", tokens.to_str().unwrap()], open).unwrap();
            assert!(guarded.is_guarded());
            assert_eq!(guarded.scheme(), "http");
        }
        for closed in ["127.0.0.1:0", "127.8.8.8:1", "[::1]:9187", "[::ffff:127.0.0.1]:9187"] {
            assert!(!door(&[], closed).unwrap().is_guarded());
        }
        let parts = ["--http-cert", "a"];
        assert!(Serve::try_parse_from([&["serve"], &parts[..]].concat()).is_err());
        assert!(!serve(&[]).is_given() && serve(&["--http-host", "a"]).is_given());
    }
}
