//! Replies that are retake's own: errors, in the dialect of the client.

use super::body::{self, Body};
use super::heads::error_head;
use hyper::{Response, StatusCode};
use retake_core::session::Dialect;

/// Most characters of an error text.
const TEXT: usize = 500;

/// An error in the dialect of a path, or in OpenAI's where none is spoken. Control characters of the text are
/// escaped, and it is cut at 500 characters.
pub fn error(dialect: Option<Dialect>, status: StatusCode, text: &str) -> Response<Body> {
    let dialect = dialect.unwrap_or_default();
    let spelled = dialect
        .codec()
        .error(status.as_u16(), &plain(text), None, "retake")
        .to_string();
    Response::from_parts(error_head(status.as_u16()), body::whole(spelled))
}

fn plain(text: &str) -> String {
    let mut plain = String::from("retake: ");
    for char in text.chars().take(TEXT) {
        match char.is_control() {
            true => plain.extend(char.escape_default()),
            false => plain.push(char),
        }
    }
    match plain.char_indices().nth(TEXT - 1) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn c13_errors_are_short_plain_and_in_the_dialect_of_the_path() {
        let long = format!("\u{1b}[2J{}", "x".repeat(2000));
        for (dialect, pointer) in [
            (Some(Dialect::Anthropic), "/error/message"),
            (Some(Dialect::Responses), "/error/message"),
            (None, "/error/message"),
        ] {
            let reply = error(dialect, StatusCode::BAD_GATEWAY, &long);
            assert_eq!(reply.headers()["x-should-retry"], "false");
            let bytes = reply.into_body().collect().await.unwrap().to_bytes();
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let text = value.pointer(pointer).unwrap().as_str().unwrap();
            assert!(text.starts_with("retake: \\u{1b}[2Jxxx"), "{text}");
            assert!(text.chars().count() <= 500 && !text.contains('\u{1b}'));
            assert_eq!(
                dialect == Some(Dialect::Anthropic),
                value["type"] == "error"
            );
        }
    }
}
