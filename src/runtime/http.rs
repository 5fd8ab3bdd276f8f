//! Stand-in until the client lands.
use reqwest::Client;
pub(in crate::runtime) use reqwest::header::{HeaderName, HeaderValue};
/// x
pub(in crate::runtime) fn client() -> Result<Client, reqwest::Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
}
/// x
pub(in crate::runtime) fn header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), String> {
    Ok((
        HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?,
        HeaderValue::from_str(value).map_err(|e| e.to_string())?,
    ))
}
