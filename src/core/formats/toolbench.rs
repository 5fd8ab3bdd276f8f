//! Answers of ToolBench: a tree of thoughts, actions and their observations. Each leaf ends a history of its own.

use super::messages::{each_value, list, text};
use super::transcript::{Head, Transcript, call, result};
use super::{Contents, Format, Reading};
use crate::session::{Dialect, Source, SourceError};
use crate::wire::{Part, Role};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format. Calls have no ids: the number of their node is used as one.
pub(super) const FORMAT: Format = Format {
    id: "toolbench",
    title: "ToolBench answers",
    dialect: Dialect::Chat,
    sniff: |sample| {
        let is_answer = sample.any(|document| {
            document.has("answer_generation") || document.has("win") && document.has("tree")
        });
        if is_answer { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> Result<Contents, SourceError> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect);
    each_value(bytes, |value, (at, _)| match value {
        Ok(answer) => add(&mut out, &answer),
        Err(kind) => out.report(at, kind),
    });
    out.finish()
}

fn add(out: &mut Transcript, answer: &Value) {
    let mut chains = Vec::new();
    leaves(&answer["tree"]["tree"], &mut Vec::new(), &mut chains);
    // The answer that was given, else the longest attempt.
    let is_finished =
        |chain: &&Vec<&Value>| chain.last().is_some_and(|leaf| leaf["finished"] == true);
    let best = chains.iter().rposition(|chain| is_finished(&chain));
    let best = best.or((0..chains.len()).max_by_key(|place| chains[*place].len()));
    let generated = &answer["answer_generation"];
    for (place, chain) in chains.iter().enumerate() {
        out.begin_session(&format!("attempt {}", place + 1), Some(place) == best);
        out.offer(&generated["function"].to_string());
        let query = Part::Text(text(generated, &["query"]).to_owned());
        out.add(&Head::new(1), Role::User, vec![query]);
        add_chain(out, chain);
    }
}

/// The paths from the root to the leaves.
fn leaves<'a>(node: &'a Value, path: &mut Vec<&'a Value>, chains: &mut Vec<Vec<&'a Value>>) {
    if !node.is_object() {
        return;
    }
    path.push(node);
    let children = list(node, "children");
    if children.is_empty() {
        chains.push(path.clone());
    }
    for child in children {
        leaves(child, path, chains);
    }
    path.pop();
}

fn add_chain(out: &mut Transcript, chain: &[&Value]) {
    let (mut parts, mut name) = (Vec::new(), "");
    for (number, node) in (1..).zip(chain) {
        let head = Head::new(number);
        let words = text(node, &["description"]);
        match text(node, &["node_type"]) {
            "Thought" => parts.push(Part::Text(words.to_owned())),
            "Action" => name = words,
            "Action Input" if !name.is_empty() => {
                let input = Value::from(words).to_string();
                let id = format!("node_{number}");
                parts.push(call(&id, name, Some(&input)));
                out.begin_reply();
                out.add(&head, Role::Model, std::mem::take(&mut parts));
                if let Some(observed) = node["observation"].as_str() {
                    let observed = vec![Part::Text(observed.to_owned())];
                    out.add(&head, Role::Tool, vec![result(&id, name, observed, false)]);
                }
                name = "";
            }
            _ => {}
        }
    }
    if !parts.is_empty() {
        out.begin_reply();
        out.add(&Head::new(chain.len() as u64), Role::Model, parts);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use serde_json::json;

    #[test]
    fn each_leaf_ends_a_history_and_the_finished_one_is_active() {
        let node = |kind: &str, words: &str, children: serde_json::Value| json!({"node_type": kind, "description": words, "children": children, "finished": false});
        let mut done = node("Action Input", "{}", json!([]));
        done["observation"] = json!("ok");
        done["finished"] = json!(true);
        let mut failed = node("Action Input", "{\"a\":", json!([]));
        failed["observation"] = json!("{\"error\": \"No such function name: login\"}");
        let tree = node(
            "Action Input",
            "",
            json!([
                node(
                    "Thought",
                    "Try this.",
                    json!([node("Action", "login", json!([failed]))])
                ),
                node("Action", "Finish", json!([done])),
            ]),
        );
        let text = json!({"win": true, "tree": {"tree": tree}, "answer_generation": {
            "query": "Do it.", "function": [{"name": "Finish", "parameters": {"type": "object"}}]}});
        let contents = read("toolbench", &text.to_string());
        let found: Vec<_> = contents
            .sessions
            .iter()
            .map(|one| (outline(one), one.active))
            .collect();
        assert_eq!(
            found,
            [("u a c o".to_owned(), false), ("u c o".to_owned(), true)]
        );
        assert!(contents.sessions[0].contract.tools_known());
    }
}
