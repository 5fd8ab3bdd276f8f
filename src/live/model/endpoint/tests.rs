//! Where models are asked, and what nobody is shown of it.

use super::*;

pub(crate) fn endpoint(dialect: Dialect, base_url: &str) -> Endpoint {
    Endpoint {
        dialect,
        base_url: base_url.to_owned(),
        headers: Vec::new(),
        key: None,
        timeouts: Timeouts::default(),
    }
}

#[test]
fn a_base_is_understood_with_its_version_and_without() {
    for (dialect, base, path) in [
        (
            Dialect::Responses,
            "https://api.openai.com/v1",
            "/v1/responses",
        ),
        (
            Dialect::Responses,
            "https://api.openai.com/",
            "/v1/responses",
        ),
        (
            Dialect::Chat,
            "http://127.0.0.1:11434",
            "/v1/chat/completions",
        ),
        (
            Dialect::Chat,
            "http://127.0.0.1:8080/v1/",
            "/v1/chat/completions",
        ),
        (
            Dialect::Chat,
            "https://host/api/paas/v4",
            "/api/paas/v4/chat/completions",
        ),
        (
            Dialect::Chat,
            "https://host/v1beta/openai",
            "/v1beta/openai/chat/completions",
        ),
        (
            Dialect::Chat,
            "https://host/odd/chat/completions",
            "/odd/chat/completions",
        ),
        (
            Dialect::Anthropic,
            "https://api.anthropic.com",
            "/v1/messages",
        ),
        (
            Dialect::Anthropic,
            "https://api.anthropic.com/v1",
            "/v1/messages",
        ),
        (
            Dialect::Anthropic,
            "https://host/anthropic",
            "/anthropic/v1/messages",
        ),
        (Dialect::Gemini, "https://host", "/v1beta"),
        (Dialect::Gemini, "https://host/v1/", "/v1"),
    ] {
        assert_eq!(
            endpoint(dialect, base).target().unwrap().path(),
            path,
            "{base}"
        );
    }
    let azure = endpoint(Dialect::Chat, "https://host/openai/v1?api-version=1").target();
    assert!(azure.is_ok());
}

#[test]
fn a_url_that_holds_a_password_or_leads_to_no_server_is_refused_without_repeating_it() {
    for base in [
        "https://me:hunter2@host/v1",
        "file:///etc/passwd",
        "host:80",
        "",
        "https://",
    ] {
        let error = endpoint(Dialect::Chat, base)
            .target()
            .unwrap_err()
            .to_string();
        assert!(
            !error.contains("hunter2") && error.starts_with("base_url: "),
            "{error}"
        );
    }
}

#[test]
fn nothing_that_is_printed_of_an_endpoint_shows_a_secret() {
    let mut endpoint = endpoint(Dialect::Chat, "https://host/v1?key=hunter2");
    endpoint.key = ApiKey::new("sk-hunter2");
    endpoint.headers = vec![("api-key".to_owned(), "Bearer hunter2".to_owned())];
    let headers = endpoint.headers(true).unwrap();
    let shown = format!("{endpoint:?} {headers:?} {:?}", endpoint.target());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(endpoint.secrets(), ["hunter2", "sk-hunter2"]);
    endpoint.key = ApiKey::new("a\u{1}b");
    let error = endpoint.headers(true).unwrap_err().to_string();
    assert!(
        error.contains("authorization") && !error.contains('\u{1}'),
        "{error}"
    );
}
