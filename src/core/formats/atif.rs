//! Trajectories of benchmark runs (ATIF, versions 1.4 to 1.7): one document of steps. The calls of a step and their
//! results stand in it side by side; an observation that answers no call is what the environment says next.

use super::transcript::{self, Head, Lines, Spent, Transcript};
use super::{Contents, Format, Reading, Sample};
use crate::session::{Source, SourceResult};
use crate::wire::Role;
use crate::wire::write::Object;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "atif",
    title: "ATIF trajectories",
    sniff: |sample: &Sample<'_>| {
        let is_trajectory = sample.any(|document| {
            let version = document.text("schema_version").unwrap_or_default();
            version.starts_with("ATIF") && document.has("steps")
        });
        if is_trajectory { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    out.read_objects(bytes, write);
    out.finish()
}

fn write(out: &mut Transcript, document: &Object<'_>, lines: &mut Lines<'_>) {
    let agent = document.object("agent");
    out.note_model(&agent.text("model_name"));
    if let Some(tools) = agent.get("tool_definitions") {
        out.offer(tools);
    }
    for json in document.list("steps") {
        let step = Object::read(json);
        let head = Head::new(lines.of(json)).at(step.get("timestamp"));
        let message = transcript::content(step.get("message"));
        match &*step.text("source") {
            "agent" => write_reply(out, head, &step),
            "system" => out.say(&head, Role::System, message),
            _ => out.say(&head, Role::User, message),
        }
    }
}

fn write_reply(out: &mut Transcript, head: Head, step: &Object<'_>) {
    let metrics = step.object("metrics");
    let count = |key| metrics.number(key).unwrap_or_default();
    let cache_read = count("cached_tokens");
    let head = head.of_model(&step.text("model_name")).spent(Spent {
        input: count("prompt_tokens").saturating_sub(cache_read),
        cache_read,
        cache_write: 0,
        output: count("completion_tokens"),
        cost: metrics.decimal("cost_usd").unwrap_or_default(),
    });
    out.begin_reply();
    out.think(&head, &step.text("reasoning_content"));
    let mut parts = transcript::content(step.get("message"));
    parts.extend(step.list("tool_calls").into_iter().map(|json| {
        let call = Object::read(json);
        let (id, name) = (call.text("tool_call_id"), call.text("function_name"));
        transcript::call(&id, &name, call.get("arguments"))
    }));
    out.add(&head, Role::Model, parts);
    for json in step.object("observation").list("results") {
        let result = Object::read(json);
        let content = transcript::content(result.get("content"));
        match result.text("source_call_id") {
            id if id.is_empty() => out.add(&head, Role::User, content),
            id => {
                let answer = transcript::result(&id, "", content, false);
                out.add(&head, Role::Tool, vec![answer])
            }
        };
    }
}
