//! Requests are read back by the formats with what they were made of.

use super::*;
use crate::formats::{FORMATS, Sample, read_buffer, recognise};
use crate::session::{Kind, Session, Source};
use std::sync::Arc;

const DIALECTS: [(Dialect, &str); 3] = [
    (Dialect::Responses, "openai-responses"),
    (Dialect::Chat, "openai-chat"),
    (Dialect::Anthropic, "anthropic-messages"),
];

fn offered() -> Vec<Offered> {
    let tool = |name: &str, description: &str, parameters| Tool {
        name: name.to_owned(),
        kind: ToolKind::Function,
        description: description.to_owned(),
        parameters,
        output_schema: None,
    };
    let schema =
        json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    let search = tool("search_flights", "Finds flights.", Some(schema));
    let strict = [Some(true), None];
    let tools = [search, tool("book", "", None)];
    let offered = tools.into_iter().zip(strict);
    offered
        .map(|(tool, strict)| Offered { tool, strict })
        .collect()
}

fn settings(dialect: Dialect, members: &Map<String, Value>) -> RequestSettings<'_> {
    RequestSettings {
        dialect,
        model: "small",
        max_tokens: None,
        max_tokens_key: "max_tokens",
        members,
    }
}

fn opening<'a>(tools: &'a [Offered], schema: &'a OutputSchema) -> Opening<'a> {
    Opening {
        instructions: "You book flights.\nAlways \"ask\".",
        input: Some("To Oslo, please."),
        tools,
        output_schema: Some(schema),
    }
}

fn schema() -> OutputSchema {
    OutputSchema {
        name: "output".to_owned(),
        schema: json!({"type": "object", "properties": {"seat": {"type": "integer"}}}),
    }
}

fn read(body: &[u8], format: &str) -> Vec<Session> {
    let format = FORMATS.iter().find(|row| row.id == format).unwrap();
    let source: Arc<dyn Source> = Arc::new(body.to_vec());
    let contents = read_buffer(format, &source, body).unwrap();
    assert_eq!(contents.problems, []);
    contents.sessions
}

fn text(body: Result<Vec<u8>, NoRequest>) -> String {
    String::from_utf8(body.unwrap()).unwrap()
}

#[test]
fn the_first_request_of_a_run_is_spelled_as_each_api_wants_it() {
    let members = Map::from_iter([("temperature".to_owned(), json!(0.2))]);
    let (tools, schema) = (offered(), schema());
    let bodies = DIALECTS.map(|(dialect, _)| {
        let settings = settings(dialect, &members);
        text(first_request(&opening(&tools, &schema), &settings))
    });
    insta::assert_snapshot!(bodies.join("\n"));
}

#[test]
fn formats_know_the_first_request_and_read_back_what_it_was_made_of() {
    let members = Map::new();
    let (tools, schema) = (offered(), schema());
    for (dialect, format) in DIALECTS {
        let body = first_request(&opening(&tools, &schema), &settings(dialect, &members));
        let body = body.unwrap();
        let recognised = recognise(&Sample::new(&body, true)).map(|format| format.id);
        assert_eq!(recognised, Some(format));
        let sessions = read(&body, format);
        let [session] = &sessions[..] else {
            panic!("{dialect:?}: {} sessions", sessions.len());
        };
        let kinds = session.items.iter().map(|item| item.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::System, Kind::User]);
        assert_eq!(session.model.as_deref(), Some("small"));
        let contract = &session.contract;
        assert!(contract.is_request && contract.tools_known());
        let read = contract.tools_at(1);
        let told = read.iter().map(|tool| (&tool.name, &tool.description));
        let meant = tools.iter().map(|offered| &offered.tool);
        let meant = meant.map(|tool| (&tool.name, &tool.description));
        assert_eq!(told.collect::<Vec<_>>(), meant.collect::<Vec<_>>());
        assert_eq!(read[0].parameters, tools[0].tool.parameters);
        let known = contract.output_schema.as_ref();
        assert_eq!(known.map(|known| &known.schema), Some(&schema.schema));
    }
}

#[test]
fn a_run_that_the_operator_begins_holds_the_instructions_alone() {
    let members = Map::new();
    let tools = offered();
    for (dialect, format) in DIALECTS {
        let opening = Opening {
            instructions: "You book flights.",
            input: None,
            tools: &tools,
            output_schema: None,
        };
        let body = text(first_request(&opening, &settings(dialect, &members)));
        let recognised = recognise(&Sample::new(body.as_bytes(), true));
        assert_eq!(recognised.map(|format| format.id), Some(format));
        let sessions = read(body.as_bytes(), format);
        let kinds = sessions[0].items.iter().map(|item| item.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::System], "{dialect:?}");
        assert_eq!(sessions[0].contract.tools_at(0).len(), 2);
    }
}

#[test]
fn what_the_settings_do_not_name_goes_out_byte_for_byte() {
    let body = "{ \"model\" : \"old\",\n  \"messages\":[ {\"role\":\"user\", \"content\":\"caf\\u00e9\"} ] , \"x\":1.0e0 }\n";
    let members = Map::from_iter([("seed".to_owned(), json!(7))]);
    let sent = wire_request(body.as_bytes(), &settings(Dialect::Chat, &members), false);
    assert_eq!(
        text(sent),
        "{ \"model\" : \"small\",\n  \"messages\":[ {\"role\":\"user\", \"content\":\"caf\\u00e9\"} ] , \"x\":1.0e0,\n\"seed\":7 }\n"
    );
}

#[test]
fn streams_are_asked_for_as_each_api_wants_it_and_called_off_where_they_stand() {
    let members = Map::new();
    let sent = |dialect, body: &str, stream| {
        text(wire_request(
            body.as_bytes(),
            &settings(dialect, &members),
            stream,
        ))
    };
    let lines = [
        sent(Dialect::Responses, "{\"model\":\"m\"}", true),
        sent(Dialect::Chat, "{\"model\":\"m\"}", true),
        sent(
            Dialect::Anthropic,
            "{\"model\":\"m\",\"max_tokens\":9}",
            true,
        ),
        sent(
            Dialect::Chat,
            "{\"stream_options\":{\"include_usage\":true},\"stream\":true,\"model\":\"m\"}",
            false,
        ),
        sent(
            Dialect::Chat,
            "{\"model\":\"m\",\"stream_options\":{\"a\":1}}",
            true,
        ),
        sent(Dialect::Anthropic, "{}", false),
    ];
    insta::assert_snapshot!(lines.join("\n---\n"));
}

#[test]
fn a_limit_stands_under_one_name_only() {
    let members = Map::new();
    let limited = RequestSettings {
        max_tokens: Some(50),
        max_tokens_key: "max_completion_tokens",
        ..settings(Dialect::Chat, &members)
    };
    let recorded = b"{\"max_tokens\":9,\"model\":\"m\"}";
    assert_eq!(
        text(wire_request(recorded, &limited, false)),
        "{\"model\":\"small\",\n\"max_completion_tokens\":50}"
    );
    let members = Map::from_iter([("max_tokens".to_owned(), json!(3))]);
    let anthropic = settings(Dialect::Anthropic, &members);
    let sent = text(wire_request(b"{\"model\":\"m\"}", &anthropic, false));
    assert_eq!(sent, "{\"model\":\"small\",\n\"max_tokens\":3}");
}

#[test]
fn settings_are_merged_into_the_members_that_are_there() {
    let members = json!({"text": {"verbosity": "low"}, "reasoning": {"effort": "high"}});
    let members = members.as_object().unwrap();
    let body = "{\"input\":[],\"text\":{\"format\":{\"type\":\"json_schema\"}},\"reasoning\":null}";
    let sent = wire_request(
        body.as_bytes(),
        &settings(Dialect::Responses, members),
        false,
    );
    assert_eq!(
        text(sent),
        "{\"input\":[],\"text\":{\"format\":{\"type\":\"json_schema\"},\n\"verbosity\":\"low\"},\"reasoning\":{\"effort\":\"high\"},\n\"model\":\"small\"}"
    );
}

#[test]
fn a_key_that_stands_twice_or_in_escapes_is_set_wherever_it_stands() {
    let members = Map::new();
    let body = r#"{"model":"a","mod\u0065l":"b"}"#;
    let sent = wire_request(body.as_bytes(), &settings(Dialect::Chat, &members), false);
    assert_eq!(text(sent), r#"{"model":"small","mod\u0065l":"small"}"#);
}

#[test]
fn what_is_no_body_is_refused_with_the_reason() {
    let members = Map::new();
    let refused = |body: &[u8]| {
        let refused = wire_request(body, &settings(Dialect::Chat, &members), true);
        refused.unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [&b"[]"[..], b"{\"model\":", b"", b"nothing"]
            .map(refused)
            .join("\n")
    );
}
