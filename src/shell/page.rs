//! The web page: its files, as they are served. They are compiled into the program, hold no data,
//! and load nothing from elsewhere; what they show they ask of the JSON API.

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

/// Kept by browsers, but asked for again each time: a new version is seen at once.
const CACHE: &str = "no-cache";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// One file of the page.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Where it is served: its path below `src/shell/page`, but for the page itself.
    pub path: &'static str,
    /// Its MIME type.
    pub content_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! asset {
    ($path:literal, $content_type:expr) => {
        asset!($path, $path, $content_type)
    };
    ($path:literal, $file:literal, $content_type:expr) => {
        Asset {
            path: $path,
            content_type: $content_type,
            text: include_str!(concat!("page", $file)),
        }
    };
}

/// All files of the page. They need no token: there is no data in them.
pub const ASSETS: [Asset; 42] = [
    asset!("/", "/index.html", HTML),
    asset!("/css/data.css", CSS),
    asset!("/css/frame.css", CSS),
    asset!("/css/parts.css", CSS),
    asset!("/css/tiles.css", CSS),
    asset!("/css/tokens.css", CSS),
    asset!("/early.js", JS),
    asset!("/page.js", JS),
    asset!("/part/ask.js", JS),
    asset!("/part/card.js", JS),
    asset!("/part/chart.js", JS),
    asset!("/part/cutflow.js", JS),
    asset!("/part/decision.js", JS),
    asset!("/part/dom.js", JS),
    asset!("/part/events.js", JS),
    asset!("/part/format.js", JS),
    asset!("/part/frame.js", JS),
    asset!("/part/groups.js", JS),
    asset!("/part/known.js", JS),
    asset!("/part/live.js", JS),
    asset!("/part/pool.js", JS),
    asset!("/part/story.js", JS),
    asset!("/part/table.js", JS),
    asset!("/part/tiles.js", JS),
    asset!("/part/timeline.js", JS),
    asset!("/part/waits.js", JS),
    asset!("/part/words.js", JS),
    asset!("/view/changes.js", JS),
    asset!("/view/decisions.js", JS),
    asset!("/view/more.js", JS),
    asset!("/view/now.js", JS),
    asset!("/view/owner.js", JS),
    asset!("/view/place.js", JS),
    asset!("/view/queues.js", JS),
    asset!("/view/sites.js", JS),
    asset!("/view/task.js", JS),
    asset!("/view/throttles.js", JS),
    asset!("/view/time.js", JS),
    asset!("/view/usage.js", JS),
    asset!("/view/waiting.js", JS),
    asset!("/view/whatif.js", JS),
    asset!("/view/why.js", JS),
];

/// Whether a path is a file of the page.
pub fn is_page(path: &str) -> bool {
    ASSETS.iter().any(|asset| asset.path == path)
}

/// The routes of the page's files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    ASSETS.iter().fold(Router::new(), |router, asset| {
        let tag = tag(asset.text);
        router.route(asset.path, get(async move |headers: HeaderMap| serve(asset, &tag, &headers)))
    })
}

/// An entity tag: another text has another one.
fn tag(text: &str) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(text.as_bytes())[..12]))
}

/// A file, or that the one which the client has is the same.
fn serve(asset: &Asset, tag: &str, headers: &HeaderMap) -> Response {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let is_known = |tags: &str| {
        let mut tags = tags.split(',').map(|it| it.trim().trim_start_matches("W/"));
        tags.any(|it| it == tag || it == "*")
    };
    let kept = [(header::ETAG, tag), (header::CACHE_CONTROL, CACHE)];
    if known.into_iter().any(is_known) {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    (kept, [(header::CONTENT_TYPE, asset.content_type)], asset.text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Ways from a text to markup or code, and places elsewhere.
    const BARRED: [&str; 13] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "createContextualFragment",
        "DOMParser",
        "document.write",
        "setHTMLUnsafe",
        "eval(",
        "new Function",
        " style=",
        " onclick=",
        "http://",
        "https://",
    ];

    /// The name of SVG in the page's icon, which nothing is loaded from.
    const SVG: &str = "xmlns='http://www.w3.org/2000/svg'";

    #[test]
    fn every_file_of_the_page_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut found = BTreeSet::new();
        for dir in ["", "/css", "/part", "/view"] {
            for entry in std::fs::read_dir(root.join(dir.trim_start_matches('/'))).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    found.insert(format!("{dir}/{}", entry.file_name().to_string_lossy()));
                }
            }
        }
        let served = ASSETS.iter().map(|asset| match asset.path {
            "/" => "/index.html".to_owned(),
            path => path.to_owned(),
        });
        assert_eq!(found, served.collect::<BTreeSet<_>>());
        assert!(is_page("/") && is_page("/page.js") && !is_page("/api/v1/queues"));
    }

    #[test]
    fn no_text_becomes_markup_and_nothing_comes_from_elsewhere() {
        for Asset { path, text, .. } in ASSETS {
            let text = text.replace(SVG, "");
            for barred in BARRED {
                assert!(!text.contains(barred), "{path}: {barred}");
            }
            let scripts = text.matches("<script").count();
            assert_eq!(
                scripts,
                text.matches("<script src=").count()
                    + text.matches("<script type=\"module\" src=").count(),
                "{path}: an inline script"
            );
        }
    }

    #[test]
    fn a_client_that_has_the_text_is_not_sent_it_again() {
        let asset = &ASSETS[0];
        let tag = tag(asset.text);
        let status = |known: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, known.parse().unwrap());
            serve(asset, &tag, &headers).status()
        };
        assert_eq!(status(&tag), StatusCode::NOT_MODIFIED);
        assert_eq!(status(&format!("\"a\", W/{tag}")), StatusCode::NOT_MODIFIED);
        assert_eq!(status("\"a\""), StatusCode::OK);
        let first = serve(asset, &tag, &HeaderMap::new());
        assert_eq!(first.headers()[header::ETAG], *tag);
        assert_eq!(first.headers()[header::CACHE_CONTROL], CACHE);
        assert_eq!(first.headers()[header::CONTENT_TYPE], HTML);
    }
}
