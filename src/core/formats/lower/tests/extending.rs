//! Histories that go on: elements at their end, outputs as they finish, in every dialect and container.

use super::*;
use crate::formats::find;
use crate::session::{Kind, PairStatus};

/// What the model and the tools of a dialect say.
struct Dialectal {
    format: &'static str,
    tool: &'static str,
    user: &'static str,
    reply: &'static [&'static str],
    last: &'static str,
    list: &'static str,
}

const DIALECTS: [Dialectal; 3] = [
    Dialectal {
        format: "openai-chat",
        tool: r#"{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}"#,
        user: r#"{"role":"user","content":"hi"}"#,
        reply: &[
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        ],
        last: r#"{"role":"assistant","content":"done"}"#,
        list: "messages",
    },
    Dialectal {
        format: "openai-responses",
        tool: r#"{"type":"function","name":"f","parameters":{"type":"object"}}"#,
        user: r#"{"type":"message","role":"user","content":"hi"}"#,
        reply: &[
            r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#,
            r#"{"type":"function_call","call_id":"b","name":"f","arguments":"{}"}"#,
        ],
        last: r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#,
        list: "input",
    },
    Dialectal {
        format: "anthropic-messages",
        tool: r#"{"name":"f","input_schema":{"type":"object"}}"#,
        user: r#"{"role":"user","content":"hi"}"#,
        reply: &[
            r#"{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}"#,
        ],
        last: r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#,
        list: "messages",
    },
];

/// Ways to hold a history that has one message, and ways to hold none.
fn containers(dialect: &Dialectal) -> Vec<(bool, String)> {
    let Dialectal {
        tool, user, list, ..
    } = dialect;
    let body = |history: &str| {
        format!("{{\"model\":\"m\",\"{list}\":{history},\"tools\":[{tool}],\"max_tokens\":9}}")
    };
    let mut containers = vec![
        (true, body(&format!("[{user}]"))),
        (true, body(&format!("[\n    {user}\n  ]")) + "\n"),
        (true, format!("[{user}]\n")),
        (true, format!("[\n  {user}\n]\n")),
        (true, format!("{user}\n")),
        (true, format!("{user}\r\n")),
        (true, (*user).to_owned()),
        (false, body("[]")),
        (false, body("[ ]")),
        (false, body("[\n  ]")),
        (
            false,
            format!("{{\n  \"tools\": [{tool}],\n  \"{list}\": []\n}}\n"),
        ),
    ];
    if dialect.format == "anthropic-messages" {
        let system = body("[]").replace("\"model\"", "\"system\":\"be kind\",\"model\"");
        containers.push((false, system));
    }
    if dialect.format == "openai-responses" {
        containers.push((true, body(r#""hi \"there\"""#)));
        let told = body("\"hi\"").replace("\"model\"", "\"instructions\":\"be kind\",\"model\"");
        containers.push((true, told));
    }
    containers
}

fn read_as(format: &str, text: &str) -> Session {
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    let contents = read_buffer(find(format).unwrap(), &source, text.as_bytes()).unwrap();
    assert_eq!(contents.problems, [], "{text}");
    contents.sessions.into_iter().next().unwrap()
}

/// The text after edits; what was there before is there still, in its order.
fn changed(format: &str, text: &str, edits: &[Edit]) -> String {
    let session = read_as(format, text);
    let splices = lower(&session, edits).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(splices.iter().all(|splice| splice.at.is_empty()), "{text}");
    let rope = Rope::new(session.source.clone()).spliced(&splices);
    let (start, end) = (0, rope.len());
    let text = String::from_utf8(rope.read(Span { start, end }).unwrap()).unwrap();
    let values = serde_json::Deserializer::from_str(&text);
    let mut values = values.into_iter::<serde_json::Value>();
    assert!(values.all(|value| value.is_ok()), "{text}");
    text
}

fn extend(items: &[&str]) -> Edit {
    Edit::Extend {
        items: items.iter().map(|item| (*item).to_owned()).collect(),
    }
}

fn kinds(session: &Session) -> Vec<Kind> {
    let items = session.items.iter().map(|item| item.kind);
    items.filter(|kind| *kind != Kind::System).collect()
}

#[test]
fn a_run_goes_on_in_every_container_and_its_outputs_come_in_any_order() {
    for dialect in &DIALECTS {
        for (has_user, text) in containers(dialect) {
            let format = dialect.format;
            let mut at = text.clone();
            if !has_user {
                let say = Edit::Say {
                    after: 0,
                    voice: MessageRole::User,
                    text: "hi".to_owned(),
                };
                at = changed(format, &at, &[say]);
                assert_eq!(kinds(&read_as(format, &at)), [Kind::User], "{at}");
            }
            at = changed(format, &at, &[extend(dialect.reply)]);
            let asked = read_as(format, &at);
            let calls: Vec<u32> = (0..)
                .zip(&asked.items)
                .filter(|(_, item)| item.kind == Kind::Call)
                .map(|(index, _)| index)
                .collect();
            assert_eq!(calls.len(), 2, "{at}");
            at = changed(format, &at, &[answer(calls[1], "two")]);
            at = changed(format, &at, &[answer(calls[0], "one")]);
            at = changed(format, &at, &[extend(&[dialect.last])]);
            let done = read_as(format, &at);
            let is_paired =
                |call: &u32| matches!(done.pairing.standing(*call as usize), PairStatus::Paired(_));
            assert!(calls.iter().all(is_paired), "{at}");
            assert_eq!(kinds(&done).last(), Some(&Kind::Assistant), "{at}");
            let outputs = at.matches("\"one\"").count() + at.matches("\"two\"").count();
            assert_eq!(outputs, 2, "{at}");
            if format == "anthropic-messages" {
                let one = at.find("\"one\"").unwrap();
                assert!(one < at.find("\"two\"").unwrap(), "{at}");
                assert_eq!(at.matches("\"role\":\"user\"").count(), 2, "{at}");
            }
        }
    }
}

#[test]
fn all_outputs_at_once_are_one_message_of_anthropic() {
    let dialect = &DIALECTS[2];
    let text = format!("[{},{}]", dialect.user, dialect.reply[0]);
    let say = Edit::Say {
        after: 3,
        voice: MessageRole::User,
        text: "and?".to_owned(),
    };
    let edits = [answer(3, "two"), answer(2, "one"), say];
    let answered = changed(dialect.format, &text, &edits);
    assert!(
        answered.ends_with(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one","is_error":true},{"type":"tool_result","tool_use_id":"b","content":"two","is_error":true}]},{"role":"user","content":"and?"}]"#
        ),
        "{answered}"
    );
}

#[test]
fn an_input_that_is_one_text_becomes_the_first_of_a_list() {
    let text = r#"{"model":"m","input" : "hi \"there\"","store":false}"#;
    let extended = changed("openai-responses", text, &[extend(&[DIALECTS[1].last])]);
    let list = format!(
        r#"[{{"role":"user","content":"hi \"there\""}},{}]"#,
        DIALECTS[1].last
    );
    assert_eq!(extended, text.replace(r#""hi \"there\"""#, &list));
}

#[test]
fn what_is_no_plain_list_and_what_is_no_object_is_refused() {
    let last = extend(&[DIALECTS[1].last]);
    let rollout = "{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}}\n";
    let exchange = r#"{"request":{"model":"m","input":[{"role":"user","content":"hi"}]},"response":{"object":"response","output":[{"type":"message","role":"assistant","content":[]}]}}"#;
    let reply = r#"{"object":"response","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}"#;
    let line = format!("{reply}\n{reply}\n");
    for text in [rollout, exchange, reply, &line] {
        let refused = lower(&read(text), std::slice::from_ref(&last));
        let refused = refused.unwrap_err();
        let is_known = matches!(refused, CannotWrite::NotAppended | CannotWrite::Exchanges);
        assert!(is_known, "{refused:?}: {text}");
    }
    let session = read(r#"[{"type":"message","role":"user","content":"hi"}]"#);
    for item in ["[]", "", "{\"a\":", "{} {}", "null"] {
        let refused = lower(&session, &[extend(&[item])]);
        assert!(matches!(refused, Err(CannotWrite::NotJson(_))), "{item}");
    }
}
