//! Which header lines go on, in both directions.
//!
//! Nothing is copied by default: what belongs to one connection ends here, and the framing of what goes
//! on is made anew.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_TYPE, COOKIE, EXPECT, HOST, HeaderName, HeaderValue, RETRY_AFTER, SET_COOKIE, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE, VIA, WWW_AUTHENTICATE,
};

/// What retake calls itself in `Via`; a request that comes with it has gone round.
const VIA_US: &str = "1.1 retake";

/// Carries the token of a listener that others can reach. It never goes on.
pub const TOKEN: HeaderName = HeaderName::from_static("x-retake-token");

/// Lines that belong to one connection, or that are made anew for the next one (RFC 9110, section 7.6.1).
static OF_A_CONNECTION: [HeaderName; 14] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TOKEN,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
];

/// Lines that no `Connection` line can strip: credentials, and what a message means.
static END_TO_END: [HeaderName; 17] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    COOKIE,
    RETRY_AFTER,
    SET_COOKIE,
    VIA,
    WWW_AUTHENTICATE,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("x-should-retry"),
];

/// Encodings that are decoded for looking ([`super::decode`]).
const DECODED: &[&str] = &["gzip", "x-gzip", "deflate", "br", "zstd", "identity"];

/// The lines of a message that go on, in their order.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let listed = listed(headers);
    let mut onward = HeaderMap::with_capacity(headers.len() + 2);
    for (name, value) in headers {
        if !OF_A_CONNECTION.contains(name) && !listed.contains(name) {
            onward.append(name.clone(), value.clone());
        }
    }
    onward
}

/// Names that the `Connection` lines strip.
fn listed(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(CONNECTION).iter();
    let words = lines.filter_map(|line| line.to_str().ok());
    let names = words.flat_map(|line| line.split(','));
    let names = names.filter_map(|name| name.trim().parse::<HeaderName>().ok());
    names.filter(|name| !END_TO_END.contains(name)).collect()
}

/// Adds what tells that a request has passed here.
pub(crate) fn sign(headers: &mut HeaderMap) {
    headers.append(VIA, HeaderValue::from_static(VIA_US));
}

/// Whether a request has passed here before.
pub(crate) fn has_gone_round(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(VIA).iter();
    let mut stations = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    stations.any(|station| station.trim_ascii().eq_ignore_ascii_case(VIA_US.as_bytes()))
}

/// Asks for encodings only that can be decoded for looking. A client that names none is not spoken for.
pub(crate) fn ask_for_readable(headers: &mut HeaderMap) {
    let lines = headers.get_all(ACCEPT_ENCODING).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or_default());
    let requested = lines.collect::<Vec<_>>().join(",");
    if requested.is_empty() {
        return;
    }
    let is_decoded = |entry: &&str| {
        let coding = entry.split(';').next().unwrap_or_default().trim();
        DECODED
            .iter()
            .any(|known| coding.eq_ignore_ascii_case(known))
    };
    let kept = requested.split(',').map(str::trim).filter(is_decoded);
    let kept = kept.collect::<Vec<_>>().join(", ");
    match HeaderValue::from_str(&kept) {
        Ok(value) if !kept.is_empty() => headers.insert(ACCEPT_ENCODING, value),
        _ => headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity")),
    };
}

/// How a body is encoded, by all lines that say so: codings in the order in which they were applied, in small
/// letters. Empty where it is plain.
pub(crate) fn content_encoding(headers: &HeaderMap) -> String {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    let lines = lines.map(|line| String::from_utf8_lossy(line.as_bytes()).to_ascii_lowercase());
    let lines = lines.collect::<Vec<_>>().join(",");
    let codings = lines.split(',').map(str::trim);
    let codings = codings.filter(|coding| !matches!(*coding, "" | "identity"));
    codings.collect::<Vec<_>>().join(", ")
}

/// Asks for no encoding at all: a stream is read while it flows.
pub fn ask_for_plain(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter();
        lines
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            })
    }

    fn lines(map: &HeaderMap) -> Vec<String> {
        let lines = map.iter();
        lines
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn c06_what_belongs_to_a_connection_ends_here_and_credentials_cannot_be_stripped() {
        let sent = map(&[
            ("host", "127.0.0.1:1"),
            ("x-api-key", "k"),
            ("connection", "keep-alive, x-api-key, authorization, x-mine"),
            ("authorization", "Bearer k"),
            ("x-mine", "1"),
            ("x-twice", "a"),
            ("te", "trailers"),
            ("keep-alive", "5"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("x-retake-token", "secret"),
            ("x-twice", "b"),
            ("content-type", "application/json"),
        ]);
        assert_eq!(
            lines(&end_to_end(&sent)),
            [
                "x-api-key: k",
                "authorization: Bearer k",
                "x-twice: a",
                "x-twice: b",
                "content-type: application/json",
            ]
        );
    }

    #[test]
    fn c09_a_request_that_went_round_is_known_by_its_via() {
        assert!(!has_gone_round(&map(&[
            ("via", "1.1 agdb"),
            ("via", "1.1 retakes")
        ])));
        assert!(has_gone_round(&map(&[("via", "1.1 a, 1.1 retake")])));
        let mut headers = map(&[("via", "1.0 other")]);
        sign(&mut headers);
        assert!(has_gone_round(&headers));
        assert_eq!(lines(&headers), ["via: 1.0 other", "via: 1.1 retake"]);
    }

    #[test]
    fn all_lines_say_how_a_body_is_encoded() {
        for (sent, read) in [
            (&[("content-encoding", "gzip")][..], "gzip"),
            (&[("content-encoding", "GZip, identity")], "gzip"),
            (
                &[("content-encoding", "gzip"), ("content-encoding", "br")],
                "gzip, br",
            ),
            (
                &[
                    ("content-encoding", "identity"),
                    ("content-encoding", "zstd"),
                ],
                "zstd",
            ),
            (&[("content-encoding", " ")], ""),
            (&[], ""),
        ] {
            assert_eq!(content_encoding(&map(sent)), read, "{sent:?}");
        }
    }

    #[test]
    fn encodings_are_asked_for_that_can_be_decoded() {
        for (requested, onward) in [
            ("gzip, deflate, br, zstd", "gzip, deflate, br, zstd"),
            ("dcb, gzip;q=0.5", "gzip;q=0.5"),
            ("compress", "identity"),
            ("*", "identity"),
        ] {
            let mut headers = map(&[("accept-encoding", requested)]);
            ask_for_readable(&mut headers);
            assert_eq!(headers[ACCEPT_ENCODING], onward);
        }
        let mut none = HeaderMap::new();
        ask_for_readable(&mut none);
        assert!(none.is_empty());
    }
}
