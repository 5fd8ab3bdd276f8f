//! Answers of ToolBench: a tree of thoughts, actions and their observations. Each leaf ends a history of its own.

use super::messages::{Place, each_value, list, placed, text};
use super::transcript::{Head, Transcript, call, result};
use super::{Contents, Format, Reading};
use crate::session::{Source, SourceResult};
use crate::wire::{Part, Role};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format. Calls have no ids: the number of their node is used as one.
pub(super) const FORMAT: Format = Format {
    id: "toolbench",
    title: "ToolBench answers",
    sniff: |sample| {
        let is_answer = sample.any(|document| {
            document.has("answer_generation") || document.has("win") && document.has("tree")
        });
        if is_answer { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    each_value(bytes, |value, place| match value {
        Ok(answer) => add(&mut out, &answer, place),
        Err(kind) => out.report(place.at, kind),
    });
    out.finish()
}

/// A node of a tree, with its line.
type Node<'a> = (&'a Value, u64);

fn add(out: &mut Transcript, answer: &Value, place: Place<'_>) {
    let mut chains = Vec::new();
    let root = (&answer["tree"]["tree"], place.member("tree").member("tree"));
    leaves(root, &mut Vec::new(), &mut chains);
    // The answer that was given, else the longest attempt.
    let is_finished = |chain: &&Vec<Node<'_>>| {
        chain
            .last()
            .is_some_and(|(leaf, _)| leaf["finished"] == true)
    };
    let best = chains.iter().rposition(|chain| is_finished(&chain));
    let best = best.or((0..chains.len()).max_by_key(|place| chains[*place].len()));
    let generated = &answer["answer_generation"];
    for (number, chain) in chains.iter().enumerate() {
        out.begin_session(&format!("attempt {}", number + 1), Some(number) == best);
        out.offer(&generated["function"].to_string());
        let query = Part::Text(text(generated, &["query"]).to_owned());
        let line = place.member("answer_generation").line;
        out.add(&Head::new(line), Role::User, vec![query]);
        add_chain(out, chain);
    }
}

/// The paths from the root to the leaves.
fn leaves<'a>(
    (node, place): (&'a Value, Place<'_>),
    path: &mut Vec<Node<'a>>,
    chains: &mut Vec<Vec<Node<'a>>>,
) {
    if !node.is_object() {
        return;
    }
    path.push((node, place.line));
    if list(node, "children").is_empty() {
        chains.push(path.clone());
    }
    for child in placed(node, place, "children") {
        leaves(child, path, chains);
    }
    path.pop();
}

fn add_chain(out: &mut Transcript, chain: &[Node<'_>]) {
    let (mut parts, mut name, mut last) = (Vec::new(), "", 0);
    for (number, (node, line)) in (1..).zip(chain) {
        let head = Head::new(*line);
        last = *line;
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
        out.add(&Head::new(last), Role::Model, parts);
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
