//! HTTP archives (HAR 1.2), as browsers, proxies and Polly.JS write them.

use super::http_exchanges::{Exchanges, HttpExchange};
use super::messages::{Place, document, placed};
use super::{Contents, Format, Reading};
use crate::session::{Dialect, Source, SourceError};
use std::sync::Arc;

/// The row of this format. The dialect is that of the recorded provider.
pub(super) const FORMAT: Format = Format {
    id: "har",
    title: "HTTP archives (HAR)",
    dialect: Dialect::Chat,
    sniff: |sample| match sample.any(|document| document.object("log").has("entries")) {
        true => 97,
        false => 0,
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> Result<Contents, SourceError> {
    let mut exchanges = Exchanges::default();
    let archive = document(bytes, |at, kind| exchanges.report(at, kind));
    let log = Place::whole(bytes).member("log");
    for (entry, place) in placed(&archive["log"], log, "entries") {
        let (request, response) = (&entry["request"], &entry["response"]);
        exchanges.push(&HttpExchange {
            url: request["url"].as_str().unwrap_or_default(),
            request: &request["postData"]["text"],
            response: &response["content"],
            status: response["status"].as_u64().unwrap_or_default(),
            headers: [&request["headers"], &response["headers"]],
            sent: entry["startedDateTime"].clone(),
            took: entry["time"].as_f64().map(|time| time as u64),
            place: place.pair(),
            continues: None,
        });
    }
    exchanges.finish(FORMAT.id)
}
