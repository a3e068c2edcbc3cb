//! The files that pages need: the style sheet, two scripts and the icon. They are part of the binary.

use std::sync::LazyLock;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};

use super::Console;
use adjourn_http::CONSOLE;

/// Part of the URL of each file. It changes with any of them, so that a browser may keep them for ever.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut all = Context::new(&SHA256);
    for (_, _, text) in FILES {
        all.update(text.as_bytes());
    }
    URL_SAFE_NO_PAD.encode(all.finish().as_ref().first_chunk::<9>().copied().unwrap_or_default())
});

/// The files by their names below `/console/assets/`, with their media types.
const FILES: [(&str, &str, &str); 4] = [
    ("style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("../assets/console.js")),
    ("htmx.js", "text/javascript; charset=utf-8", include_str!("../assets/htmx.min.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

/// The routes of the files. They need no session: the page for logging in has them, too.
pub(crate) fn routes() -> Router<Console> {
    let with = |router: Router<Console>, (name, media_type, text): (&str, &'static str, &'static str)| {
        router.route(&format!("{CONSOLE}/assets/{name}"), get(move || async move { file(media_type, text) }))
    };
    FILES.into_iter().fold(Router::new(), with)
}

fn file(media_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    (headers, text).into_response()
}
