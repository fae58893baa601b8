//! Requests that are not looked at: under a name that is not this host's, that want to change
//! something, have a body, or come without a token where one is needed.

use super::problem;
use super::token::{Tokens, bearer};
use crate::page;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, Version, header};
use axum::response::Response;
use std::net::IpAddr;
use std::sync::Arc;

/// Paths that are answered without a token, beside the files of the page: whether the process is
/// well.
const OPEN_PATHS: [&str; 2] = ["/livez", "/readyz"];
/// Allowed methods.
const METHODS: &str = "GET, HEAD";

/// Rights of the client that asks; part of each request's extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// Whether it may see data. Only [`is_open`] paths are answered to others.
    pub may_see_data: bool,
}

/// Which requests are looked at.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Names of this host, beside addresses and `localhost`; as [`plain`] has them.
    pub hosts: Vec<String>,
    /// With one of which a client shows that it may ask; `None`: all may.
    pub tokens: Option<Arc<Tokens>>,
}

impl Rules {
    /// Rights of the client, or the answer to a request that is not looked at.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<Caller, Box<Response>> {
        self.check_form(request)?;
        let Some(tokens) = &self.tokens else { return Ok(Caller { may_see_data: true }) };
        let shown = request.headers().get(header::AUTHORIZATION);
        let token = shown.map(|value| value.to_str().ok().and_then(bearer).unwrap_or_default());
        if token.is_some_and(|token| tokens.has(token)) {
            return Ok(Caller { may_see_data: true });
        }
        if is_open(request.uri().path()) {
            return Ok(Caller { may_see_data: false });
        }
        let (what, challenge) = match token {
            None => ("this process answers only to a token", "Bearer"),
            Some(_) => ("the token is none of this process's", "Bearer error=\"invalid_token\""),
        };
        let remedy = "send the header `Authorization: Bearer TOKEN` with a line of the file that \
                      the process was started with (--http-token-file); the program's own verbs \
                      have the flag too";
        let mut response = problem(StatusCode::UNAUTHORIZED, what, remedy);
        let challenge = HeaderValue::from_static(challenge);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        Err(Box::new(response))
    }

    fn check_form<B>(&self, request: &Request<B>) -> Result<(), Box<Response>> {
        let headers = request.headers();
        // Programs before this one may have gone by the other.
        if headers.get_all(header::HOST).iter().count() > 1 {
            let what = "the request has more than one Host header";
            return Err(Box::new(problem(StatusCode::BAD_REQUEST, what, "send one")));
        }
        let named = match headers.get(header::HOST) {
            Some(host) => Some(host.to_str().unwrap_or_default()),
            None if request.version() == Version::HTTP_10 => None,
            None => {
                let what = "the request has no Host header";
                let remedy = "send one, as HTTP/1.1 demands";
                return Err(Box::new(problem(StatusCode::BAD_REQUEST, what, remedy)));
            }
        };
        if let Some(host) = named.filter(|host| !is_known(host, &self.hosts)) {
            return Err(Box::new(problem(
                StatusCode::MISDIRECTED_REQUEST,
                &format!("this process is not asked under the name {host:?}"),
                "ask under its address, or start it with --http-host and that name",
            )));
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let what = format!("{} is not allowed: nothing can be changed", request.method());
            let mut response =
                problem(StatusCode::METHOD_NOT_ALLOWED, &what, &format!("allowed: {METHODS}"));
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
            return Err(Box::new(response));
        }
        let is_empty = headers.get(header::CONTENT_LENGTH).is_none_or(|length| length == "0");
        if !is_empty || headers.contains_key(header::TRANSFER_ENCODING) {
            let what = "a request with a body is not read";
            let remedy = "send a GET without a body";
            return Err(Box::new(problem(StatusCode::PAYLOAD_TOO_LARGE, what, remedy)));
        }
        Ok(())
    }
}

/// Whether a path holds no data that a token is needed for.
fn is_open(path: &str) -> bool {
    OPEN_PATHS.contains(&path) || page::is_page(path)
}

/// Whether a Host header names this host. A page of a stranger whose name was made to lead here
/// comes with the stranger's name; an address cannot be made to lead elsewhere.
fn is_known(host: &str, hosts: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        },
    };
    let name = plain(name);
    name == "localhost" || name.parse::<IpAddr>().is_ok() || hosts.contains(&name)
}

/// A host's name as it is compared.
pub(super) fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_no_token_and_its_data_does() {
        for path in ["/livez", "/readyz", "/", "/page.js", "/view/now.js", "/css/parts.css"] {
            assert!(is_open(path), "{path}");
        }
        for path in ["/metrics", "/api/v1/queues", "/v1/audit", "/view", "/view/", "//", ""] {
            assert!(!is_open(path), "{path}");
        }
    }

    #[test]
    fn one_host_is_named_and_not_two() {
        let rules = Rules { hosts: Vec::new(), tokens: None };
        let asks = |hosts: &[&str]| {
            let new = Request::builder().uri("/livez");
            let request = hosts.iter().fold(new, |it, host| it.header(header::HOST, *host));
            rules.check(&request.body(()).unwrap()).map_err(|refused| refused.status())
        };
        assert!(asks(&["localhost"]).is_ok());
        for hosts in [&["localhost", "localhost"][..], &["localhost", "evil.example.org"], &[]] {
            assert_eq!(asks(hosts).err(), Some(StatusCode::BAD_REQUEST), "{hosts:?}");
        }
    }

    #[test]
    fn addresses_and_own_names_are_known_and_a_strangers_name_is_not() {
        let hosts = ["metrics.example.org".to_owned()];
        let known = ["127.0.0.1:9187", "[::1]:9187", "10.1.2.3", "localhost", "LOCALHOST.:80"];
        for host in known.into_iter().chain(["metrics.example.org:9187", "Metrics.Example.Org"]) {
            assert!(is_known(host, &hosts), "{host}");
        }
        for host in ["evil.example.org", "127.0.0.1.evil.org", "localhost.evil.org:9187", "", "[x]"]
        {
            assert!(!is_known(host, &hosts), "{host}");
        }
    }
}
