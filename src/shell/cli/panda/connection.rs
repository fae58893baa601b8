//! A connection to PanDA's PostgreSQL. No message shows a password.

use crate::cli::Usage;
use crate::cli::panda::passfile::{self, For};
use anyhow::Context;
use postgres::config::Host;
use postgres::{Client, Config};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take to answer, where the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PORT: u16 = 5_432;

/// Where the server is and as who it is asked, for messages; empty where the URL is none.
pub fn server(url: &str) -> String {
    parse(url).map_or_else(|_| String::new(), |config| address(&config))
}

/// Connects.
///
/// # Errors
/// The URL is none, or names no host, user or database; the certificate of the authority cannot be
/// read; the server cannot be reached or refuses the role.
pub fn connect(url: &str, ca: Option<&Path>) -> anyhow::Result<Client> {
    let mut config = parse(url)?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.application_name("yardmaster panda check");
    if config.get_password().is_none()
        && let Some(password) = password(&config)?
    {
        config.password(password);
    }
    let at = address(&config);
    open(&mut config, ca).with_context(|| format!("--postgres: cannot connect to {at}"))
}

/// The URL as the library has it.
fn parse(url: &str) -> Result<Config, Usage> {
    let form = "give postgres://USER@HOST:PORT/DATABASE";
    let wrong = |what: String| Usage(format!("--postgres: {what}; {form}"));
    if url.contains("sslmode=verify-") {
        let what = "sslmode=verify-ca and verify-full are no modes here: leave sslmode out, and \
                    give the authority of the server's certificate as --ca FILE";
        return Err(wrong(what.to_owned()));
    }
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(wrong("does not begin with postgres://".to_owned()));
    }
    let config: Config = url.parse().map_err(|error: postgres::Error| {
        // The error names the part that is wrong, not its value.
        wrong(chain(&error))
    })?;
    let missing = [
        ("host", config.get_hosts().is_empty()),
        ("user", config.get_user().is_none()),
        ("database", config.get_dbname().is_none()),
    ];
    match missing.iter().find(|(_, is_missing)| *is_missing) {
        Some((what, _)) => Err(wrong(format!("names no {what}"))),
        None => Ok(config),
    }
}

/// The password of the environment, else of the password file.
fn password(config: &Config) -> anyhow::Result<Option<String>> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()) {
        return Ok(Some(password));
    }
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let is_named = named.is_some();
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = named.or_else(home) else { return Ok(None) };
    let file = match std::fs::read_to_string(&path) {
        Ok(file) => file,
        Err(_) if !is_named => return Ok(None),
        Err(error) => return Err(error).context(format!("PGPASSFILE: {}", path.display())),
    };
    let host = host(config);
    let wanted = For {
        host: &host,
        port: port(config),
        database: config.get_dbname().unwrap_or_default(),
        user: config.get_user().unwrap_or_default(),
    };
    Ok(passfile::password(&file, wanted))
}

fn host(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    }
}

fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(PORT)
}

/// Where it is and as who, for messages.
fn address(config: &Config) -> String {
    let (user, database) = (config.get_user(), config.get_dbname());
    let (user, database) = (user.unwrap_or_default(), database.unwrap_or_default());
    format!("{}:{}, database {database}, as {user}", host(config), port(config))
}

#[cfg(feature = "tls")]
fn open(config: &mut Config, ca: Option<&Path>) -> anyhow::Result<Client> {
    use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode};
    let mut builder = SslConnector::builder(SslMethod::tls_client())?;
    match ca {
        Some(ca) => {
            let at = || format!("--ca {}: no certificate of an authority", ca.display());
            builder.set_ca_file(ca).with_context(at)?;
            config.ssl_mode(postgres::config::SslMode::Require);
        }
        None => builder.set_verify(SslVerifyMode::NONE),
    }
    let mut tls = postgres_openssl::MakeTlsConnector::new(builder.build());
    let is_verified = ca.is_some();
    tls.set_callback(move |connection, _| {
        connection.set_verify_hostname(is_verified);
        Ok(())
    });
    config.connect(tls).map_err(explain)
}

#[cfg(not(feature = "tls"))]
fn open(config: &mut Config, ca: Option<&Path>) -> anyhow::Result<Client> {
    if ca.is_some() {
        return Err(Usage("--ca: this program was built without TLS".to_owned()).into());
    }
    config.connect(postgres::NoTls).map_err(explain)
}

/// The library's error with its causes, and what to do about those that a caller makes.
fn explain(error: postgres::Error) -> anyhow::Error {
    let text = chain(&error);
    let remedy = match error.code().map(|code| code.code()) {
        Some("28P01" | "28000") => "; see its password, and pg_hba.conf for this role and host",
        Some("3D000") => "; name PanDA's database in the URL",
        _ if text.contains("password") => "; give it in PGPASSWORD or in ~/.pgpass",
        _ => "",
    };
    anyhow::anyhow!("{text}{remedy}")
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(of) = cause {
        let more = of.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = of.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_none_is_refused_with_its_part() {
        for (url, what) in [
            ("mysql://db/panda", "does not begin with postgres://"),
            ("postgres://db/panda_db", "names no user"),
            ("postgres://cdc@/panda_db", "names no host"),
            ("postgres://cdc@db", "names no database"),
            ("postgres://cdc:geheim@db:port/panda_db", "port"),
            ("postgres://cdc:geheim@db/panda_db?sslmode=perhaps", "sslmode"),
            ("postgres://cdc:geheim@db/panda_db?sslmode=verify-full", "--ca FILE"),
        ] {
            let error = parse(url).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("give postgres://"), "{url}: {error}");
            assert!(!error.contains("geheim"), "{error}");
        }
    }
}
