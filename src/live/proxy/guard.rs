//! Admission: checks on a request before anything else is done with it.
//!
//! A page in the operator's browser can send requests to this machine, too; an agent does not say where it
//! comes from, a browser does.

use super::headers::{self, TOKEN};
use super::listen::Door;
use hyper::header::{
    ACCESS_CONTROL_REQUEST_METHOD, CONNECTION, HOST, ORIGIN, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, StatusCode, Version};
use percent_encoding::percent_decode_str;

/// Begins a path that carries the token.
const TOKEN_PATH: &str = "/t/";

/// Begins paths that are nobody's API: where a debugger would have its control. retake has none, and no agent
/// can reach anybody else's through it.
const CONTROL_PATH: &str = "/__";

/// Why a request is turned away. The text goes to the client and repeats nothing of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError {
    #[error("CONNECT and TRACE are not served")]
    Method,
    #[error(
        "retake is no HTTP proxy of this kind: set the agent's base URL to it instead of HTTP_PROXY"
    )]
    AbsoluteForm,
    #[error("a request needs exactly one Host line")]
    Hosts,
    #[error("the Host line names another server than this one; use 127.0.0.1 with the port")]
    ForeignHost,
    #[error("requests of web pages are not served")]
    Browser,
    #[error("this address wants its token")]
    Token,
    #[error(
        "the key is one of {0}, and the upstream of this address is another: --upstream {0}=URL says that it \
        takes such keys"
    )]
    ForeignKey(&'static str),
    /// The body is framed in a way that servers read differently.
    #[error("the framing of the body cannot be used")]
    Framing,
    #[error("no upgrade is passed at this path")]
    Upgrade,
    #[error("a path with dot segments or backslashes is not passed")]
    Path,
    #[error("nothing is served at this path")]
    Control,
    #[error("the request has come back to retake: the upstream leads to its own listener")]
    Loop,
    #[error("the body of the request is too long")]
    TooLong,
    #[error("the body of the request broke off, or is not framed as HTTP wants it")]
    BodyBroken,
}

impl AdmitError {
    pub fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::AbsoluteForm | Self::Hosts | Self::Framing | Self::Path | Self::BodyBroken => {
                StatusCode::BAD_REQUEST
            }
            Self::ForeignHost => StatusCode::MISDIRECTED_REQUEST,
            Self::Browser | Self::ForeignKey(_) => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Upgrade => StatusCode::NOT_IMPLEMENTED,
            Self::Control => StatusCode::NOT_FOUND,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }
}

/// The path and the query of a request that may come in, without a token that it carries.
///
/// # Errors
///
/// Where the request comes from a web page, means another server, lacks the token, or could be
/// read in two ways.
pub(crate) fn admit(head: &request::Parts, door: &Door) -> Result<PathAndQuery, AdmitError> {
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Err(AdmitError::Method);
    }
    check_host(head, door)?;
    if is_of_a_page(&head.headers, &head.method) {
        return Err(AdmitError::Browser);
    }
    let path_and_query = head.uri.path_and_query().ok_or(AdmitError::AbsoluteForm)?;
    let path_and_query = check_token(path_and_query, &head.headers, door)?;
    let upstream = door.upstream.as_ref();
    if let Some(owner) = upstream.and_then(|upstream| upstream.foreign_key(&head.headers)) {
        return Err(AdmitError::ForeignKey(owner));
    }
    check_framing(head)?;
    check_path(path_and_query.path())?;
    Ok(path_and_query)
}

/// The same for a request that goes on to an upstream, and must not have come from here.
pub(crate) fn admit_onward(head: &request::Parts, door: &Door) -> Result<PathAndQuery, AdmitError> {
    let path_and_query = admit(head, door)?;
    match headers::has_gone_round(&head.headers) {
        true => Err(AdmitError::Loop),
        false => Ok(path_and_query),
    }
}

fn check_host(head: &request::Parts, door: &Door) -> Result<(), AdmitError> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(AdmitError::Hosts);
    };
    if !host.to_str().is_ok_and(|host| door.is_host(host)) {
        return Err(AdmitError::ForeignHost);
    }
    match head.uri.authority().is_some() || head.uri.scheme().is_some() {
        true => Err(AdmitError::AbsoluteForm),
        false => Ok(()),
    }
}

/// Browsers tell where a request comes from (Fetch standard: `Origin`; Fetch Metadata: `Sec-Fetch-Site`). No
/// page is served here, so that none can be ours.
fn is_of_a_page(headers: &HeaderMap, method: &Method) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    headers.contains_key(ORIGIN)
        || sites.any(|site| !matches!(site.as_bytes(), b"none" | b"same-origin"))
        || method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn check_token(
    path_and_query: &PathAndQuery,
    headers: &HeaderMap,
    door: &Door,
) -> Result<PathAndQuery, AdmitError> {
    let Some(token) = &door.token else {
        return Ok(path_and_query.clone());
    };
    if headers
        .get(TOKEN)
        .is_some_and(|given| token.is(given.as_bytes()))
    {
        return Ok(path_and_query.clone());
    }
    let carried = path_and_query.as_str().strip_prefix(TOKEN_PATH);
    let (given, rest) = carried
        .and_then(|carried| carried.split_once('/'))
        .ok_or(AdmitError::Token)?;
    if !token.is(given.as_bytes()) {
        return Err(AdmitError::Token);
    }
    PathAndQuery::try_from(format!("/{rest}")).map_err(|_| AdmitError::Path)
}

/// RFC 9112, section 6.1: a transfer coding other than one `chunked` is answered with 400 or 501.
fn check_framing(head: &request::Parts) -> Result<(), AdmitError> {
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    let is_sound = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => {
            head.version == Version::HTTP_11 && coding.as_bytes().eq_ignore_ascii_case(b"chunked")
        }
        (Some(_), Some(_)) => false,
    };
    is_sound.then_some(()).ok_or(AdmitError::Framing)
}

fn check_path(path: &str) -> Result<(), AdmitError> {
    if path.starts_with(CONTROL_PATH) {
        return Err(AdmitError::Control);
    }
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let mut segments = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    let is_dots = |segment: &[u8]| {
        // Some servers drop what follows a semicolon.
        let name = segment.split(|byte| *byte == b';').next();
        matches!(name, Some(b"." | b".."))
    };
    match !path.starts_with('/') || path.contains('\\') || segments.any(is_dots) {
        true => Err(AdmitError::Path),
        false => Ok(()),
    }
}

/// What a request wants to upgrade to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// Nothing, or something that can be ignored: a server need not speak HTTP/2 over plain TCP (`h2c`),
    /// which Java's client offers.
    None,
    WebSocket,
    Other,
}

pub(crate) fn upgrade(headers: &HeaderMap) -> Upgrade {
    let mut connection = headers.get_all(CONNECTION).iter();
    let is_asked = connection.any(|line| {
        let mut words = line.as_bytes().split(|byte| *byte == b',');
        words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
    });
    match headers.get(UPGRADE).map(|word| word.as_bytes()) {
        Some(word) if word.eq_ignore_ascii_case(b"websocket") => Upgrade::WebSocket,
        Some(word) if is_asked && !word.eq_ignore_ascii_case(b"h2c") => Upgrade::Other,
        _ => Upgrade::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::listen::Listen;
    use hyper::Request;

    fn head(lines: &[(&str, &str)], path: &str) -> request::Parts {
        let mut request = Request::builder().method("POST").uri(path);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn path_and_query(lines: &[(&str, &str)], path: &str) -> Result<String, AdmitError> {
        let lines = [&[("host", "127.0.0.1:8000")], lines].concat();
        let admitted = admit(&head(&lines, path), &Door::local(8000));
        admitted.map(|path_and_query| path_and_query.to_string())
    }

    #[test]
    fn c02_what_a_page_sends_is_refused() {
        for line in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1:8000"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(
                path_and_query(&[line], "/v1/x"),
                Err(AdmitError::Browser),
                "{line:?}"
            );
        }
        assert_eq!(path_and_query(&[], "/v1/x?a=b").unwrap(), "/v1/x?a=b");
    }

    #[test]
    fn c04_paths_that_can_be_read_in_two_ways_are_refused() {
        for path in [
            "/v1/../../admin",
            "/v1/%2e%2E/x",
            "/./x",
            "/x/..",
            "/\\evil/v1",
            "/v1/%2e%2e%2fadmin",
            "/v1/.%2E%2Fadmin",
            "/v1/..;/admin",
            "/v1/%2e%2e%3bx/admin",
            "/v1/..%5cadmin",
            "*",
        ] {
            assert_eq!(path_and_query(&[], path), Err(AdmitError::Path), "{path}");
        }
        assert_eq!(
            path_and_query(&[], "/__debugger/approve?id=1"),
            Err(AdmitError::Control)
        );
        for path in [
            "/v1/...",
            "/v1/.x",
            "/v1/models/org%2Fname",
            "/v1/a;b/x",
            "/v1/100%",
            "//evil.example/v1",
            "/v1/x%0d%0ax:1",
        ] {
            assert_eq!(path_and_query(&[], path).unwrap(), path);
        }
    }

    #[test]
    fn c05_only_one_plain_chunked_is_a_framing() {
        for codings in [
            vec!["chunked, chunked"],
            vec!["gzip, chunked"],
            vec!["chunked", "chunked"],
        ] {
            let lines = codings.iter().map(|coding| ("transfer-encoding", *coding));
            let lines = lines.collect::<Vec<_>>();
            assert_eq!(
                path_and_query(&lines, "/x"),
                Err(AdmitError::Framing),
                "{codings:?}"
            );
        }
        assert!(path_and_query(&[("transfer-encoding", "Chunked")], "/x").is_ok());
    }

    #[test]
    fn c08_the_token_is_taken_from_its_line_or_from_the_path_and_goes_no_further() {
        let any = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
        let listen = Listen::new(any, true).unwrap();
        let host = format!("10.0.0.1:{}", listen.address().port());
        let token = listen.token().unwrap().reveal().to_owned();
        let (_, door) = listen.open();
        let ask = |lines: &[(&str, &str)], path: &str| {
            let lines = [&[("host", host.as_str())], lines].concat();
            admit(&head(&lines, path), &door).map(|path_and_query| path_and_query.to_string())
        };
        let in_path = format!("/t/{token}/v1/messages?beta=true");
        assert_eq!(ask(&[], &in_path).unwrap(), "/v1/messages?beta=true");
        let line = [("x-retake-token", token.as_str())];
        assert_eq!(ask(&line, "/v1/messages").unwrap(), "/v1/messages");
        for path in [
            "/v1/messages",
            "/t/",
            "/t/0/v1/messages",
            &format!("/t/{token}"),
        ] {
            assert_eq!(ask(&[], path), Err(AdmitError::Token), "{path}");
        }
        assert_eq!(
            ask(&[("x-retake-token", "0")], "/v1/messages"),
            Err(AdmitError::Token)
        );
    }

    #[test]
    fn c03_upgrades_are_told_apart() {
        for (lines, wanted) in [
            (
                vec![
                    ("upgrade", "h2c"),
                    ("connection", "Upgrade, HTTP2-Settings"),
                ],
                Upgrade::None,
            ),
            (
                vec![
                    ("upgrade", "WebSocket"),
                    ("connection", "keep-alive, Upgrade"),
                ],
                Upgrade::WebSocket,
            ),
            (
                vec![("upgrade", "irc"), ("connection", "upgrade")],
                Upgrade::Other,
            ),
            (vec![("upgrade", "irc")], Upgrade::None),
        ] {
            assert_eq!(upgrade(&head(&lines, "/x").headers), wanted, "{lines:?}");
        }
    }
}
