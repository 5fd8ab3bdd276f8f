//! Recordings of llama-stack's tests: one exchange a file, its reply as the SDK's objects, each
//! `{__type__, __data__}`.

use super::http_exchanges::{Exchanges, HttpExchange};
use super::messages::Place;
use super::{Contents, Format, Reading};
use crate::session::{ProblemKind, Source, SourceResult};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format. The dialect is that of the recorded provider.
pub(super) const FORMAT: Format = Format {
    id: "llama-stack",
    title: "llama-stack recordings",
    sniff: |sample| {
        let is_recording = sample
            .any(|document| document.has("response") && document.object("request").has("endpoint"));
        if is_recording { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut recording) => {
            let body = recording.pointer_mut("/response/body").map(Value::take);
            let response = match body.unwrap_or_default() {
                Value::Array(parts) => parts.into_iter().map(data_of).collect(),
                whole => data_of(whole),
            };
            let request = &recording["request"];
            exchanges.push(&HttpExchange {
                url: request["endpoint"].as_str().unwrap_or_default(),
                request: (&request["body"]).into(),
                response: (&response).into(),
                status: 0,
                headers: [&Value::Null; 2],
                place: Place::whole(bytes).member("response").pair(),
                sent: Value::Null,
                took: None,
                continues: None,
            });
        }
        Err(error) => exchanges.report(0, ProblemKind::Undecodable(error.to_string())),
    }
    exchanges.finish(FORMAT.id)
}

fn data_of(mut object: Value) -> Value {
    match object.get_mut("__data__") {
        Some(data) => data.take(),
        None => object,
    }
}
