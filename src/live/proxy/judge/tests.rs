//! What is judged with memory is judged as it is from scratch: over conversations of any kind, sound and broken.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use retake_core::session::Splice;
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::Chat, Dialect::Responses, Dialect::Anthropic];

/// Lets the judge fail where a request asks for it by these words.
pub(crate) fn fail_on_purpose(at: &str, request: &[u8]) {
    let words = format!("the judge fails at the {at}");
    let asks = memchr::memmem::find(request, words.as_bytes()).is_some();
    assert!(!asks, "{words}");
}

fn judge() -> Judge {
    Judge::new(true, Policy::default(), Vec::new())
}

/// Everything that rules look at in a session. Names by their texts: their numbers depend on what was read first.
fn told_of(session: &Session) -> String {
    let items = session.items.iter().enumerate().map(|(index, item)| {
        let record = session.records.get(item.record as usize);
        let item = retake_core::session::Item {
            record: 0,
            name: retake_core::session::NameId::default(),
            ..*item
        };
        let name = session.name(&session.items[index]);
        let standing = session.pairing.standing(index);
        format!("{item:?} {record:?} {name} {standing:?}\n")
    });
    let mut names: Vec<&str> = session.names.iter().map(|(_, name)| name).collect();
    names.sort_unstable();
    format!(
        "{}{names:?} {:?} {:?} {:?} {:?}",
        items.collect::<String>(),
        session.contract,
        session.turns,
        session.stops,
        session.model
    )
}

/// How a request and a reply stand, read and judged as recordings are: each time from the first byte.
struct FromScratch {
    request: Vec<RunFault>,
    reply: Option<(Arc<Vec<u8>>, Vec<Finding>, RunStatus)>,
}

fn from_scratch(dialect: Dialect, body: &[u8], reply: &str) -> FromScratch {
    let text = Arc::new(body.to_vec());
    let as_sent = read_anew(dialect, text.clone(), body, false);
    let stands = |session: &Session| {
        let findings = Judge::default().request_findings(session, |_| Vec::new())?;
        Some(request_standing(session, &findings)?.faults)
    };
    let request = as_sent.and_then(|read| stands(read.sessions.first()?));
    let behind = || {
        let items = history_of(dialect, reply).ok()?;
        if items.is_empty() {
            return None;
        }
        let recording = read_anew(dialect, text.clone(), body, true)?;
        let splices = lower(recording.sessions.first()?, &[Edit::Extend { items }]).ok()?;
        let text = whole(&Rope::new(text.clone()).grown(&splices, None))?;
        let recording = read_anew(dialect, text.clone(), &text, true)?;
        let (findings, standing) = super::findings_and_standing(recording.sessions.first()?)?;
        Some((text, findings, standing))
    };
    FromScratch {
        request: request.unwrap_or_default(),
        reply: behind(),
    }
}

/// Judges a request and a reply with what the judge remembers, and from scratch; says how much of the request was not read before.
fn judged_alike(judge: &Judge, dialect: Dialect, body: &str, reply: &str) -> usize {
    let expected = from_scratch(dialect, body.as_bytes(), reply);
    let request = judge.recall(dialect, Bytes::from(body.to_owned()));
    assert_eq!(
        request.request_head(),
        retake_core::wire::RequestHead::read(dialect, body.as_bytes()).as_ref()
    );
    let refused = judge.refused(&request).map(|(_, standing)| standing.faults);
    assert_eq!(refused.unwrap_or_default(), expected.request);
    let anew = read_anew(dialect, request.source(), body.as_bytes(), false);
    let of = |recording: Option<&Recording>| {
        recording.map(|recording| {
            let sessions = recording.sessions.iter().map(told_of);
            (
                sessions.collect::<Vec<_>>(),
                format!("{:?}", recording.problems),
            )
        })
    };
    assert_eq!(of(request.read()), of(anew.as_ref()));
    let found = judge.stand(&request, reply);
    let told = |findings: &[Finding]| format!("{findings:?}");
    let expected_told = expected.reply.as_ref();
    let found =
        found.map(|(text, findings, standing)| (whole(&*text).unwrap(), findings, standing));
    assert_eq!(
        found
            .as_ref()
            .map(|(text, findings, standing)| (text, told(findings), standing)),
        expected_told.map(|(text, findings, standing)| (text, told(findings), standing))
    );
    request.fresh()
}

/// One step of an agent, as its dialect spells it: elements for the list. `n` tells calls apart.
fn elements(dialect: Dialect, step: &str, n: usize) -> Vec<Value> {
    let id = match (dialect, step) {
        (_, "same-id") => "call_same".to_owned(),
        (Dialect::Anthropic, _) => format!("toolu_{n:04}"),
        _ => format!("call_{n:04}"),
    };
    let (name, arguments) = match step {
        "unknown" => ("print_file", r#"{"path":"a"}"#.to_owned()),
        "broken" => ("read_file", r#"{"path": "#.to_owned()),
        "twice" => ("read_file", r#"{"path":"a","path":"b"}"#.to_owned()),
        "invalid" => ("read_file", r#"{"path":7}"#.to_owned()),
        "repeated" => ("read_file", r#"{"path":"the same"}"#.to_owned()),
        _ => (
            "read_file",
            json!({"path": format!("file {n} \"é\"\n")}).to_string(),
        ),
    };
    let output = match step {
        "failing" => "Error: ENOENT: no such file or directory".to_owned(),
        "repeated" => "again".to_owned(),
        _ => format!("line {n}\n{{\"json\": \"{}\"}}", "y".repeat(n % 40 * 30)),
    };
    let call = || match dialect {
        Dialect::Responses => {
            json!({"type":"function_call","call_id":id,"name":name,"arguments":arguments})
        }
        Dialect::Anthropic => {
            let input = serde_json::from_str(&arguments).unwrap_or(json!("broken"));
            json!({"role":"assistant","content":[{"type":"text","text":"I look."},
                {"type":"tool_use","id":id,"name":name,"input":input}]})
        }
        _ => json!({"role":"assistant","content":null,"tool_calls":[{"id":id,"type":"function",
            "function":{"name":name,"arguments":arguments}}]}),
    };
    let answer = || match dialect {
        Dialect::Responses => json!({"type":"function_call_output","call_id":id,"output":output}),
        Dialect::Anthropic => json!({"role":"user","content":[
            {"type":"tool_result","tool_use_id":id,"content":output,"is_error":step == "failing"}]}),
        _ => json!({"role":"tool","tool_call_id":id,"content":output}),
    };
    let says = |role: &str, text: &str| json!({"role": role, "content": text});
    let leak = "<invoke name=\"print_file\">\n<parameter name=\"path\">a</parameter></invoke>";
    match step {
        "user" => vec![says("user", &format!("question {n}"))],
        "assistant" => vec![says("assistant", &format!("answer {n}"))],
        "leaked" => vec![says("assistant", leak)],
        "empty" => vec![says("assistant", "")],
        "system" => vec![says("system", &format!("be brief {n}"))],
        "orphan" => vec![call()],
        "output only" => vec![answer()],
        "duplicate" => vec![call(), answer(), answer()],
        "number" => vec![json!(n)],
        "odd" => vec![json!({"type": "something_new", "value": [n]})],
        "foreign" => vec![json!({"type": "function_call_output", "call_id": id, "output": "x"})],
        "more tools" => vec![
            json!({"type": "tool_search_output", "tools": [{"type": "function", "name": "print_file"}]}),
        ],
        _ => vec![call(), answer()],
    }
}

const STEPS: [&str; 27] = [
    "sound",
    "sound",
    "sound",
    "sound",
    "sound",
    "sound",
    "user",
    "user",
    "assistant",
    "assistant",
    "unknown",
    "broken",
    "twice",
    "invalid",
    "repeated",
    "repeated",
    "failing",
    "leaked",
    "empty",
    "system",
    "orphan",
    "output only",
    "duplicate",
    "same-id",
    "odd",
    "foreign",
    "more tools",
];
/// Elements after which nothing is remembered.
const ODD: [&str; 2] = ["number", "number"];

/// How a request spells what is around its list.
#[derive(Debug, Clone, Copy)]
struct Spelling {
    is_pretty: bool,
    has_list_first: bool,
    tools: u8,
    is_twice: bool,
}

fn body(dialect: Dialect, list: &[Value], spelling: Spelling) -> String {
    let key = if dialect == Dialect::Responses {
        "input"
    } else {
        "messages"
    };
    let tool = |name: &str| {
        let parameters =
            json!({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]});
        match dialect {
            Dialect::Chat => {
                json!({"type":"function","function":{"name":name,"parameters":parameters}})
            }
            Dialect::Anthropic => json!({"name":name,"input_schema":parameters}),
            _ => json!({"type":"function","name":name,"parameters":parameters}),
        }
    };
    let mut members = vec![format!(
        "\"model\":\"m\",\"system\":{}",
        json!("s".repeat(2100))
    )];
    match spelling.tools {
        0 => {}
        1 => members.push(format!("\"tools\":{}", json!([tool("read_file")]))),
        _ => members.push(format!(
            "\"tools\":{}",
            json!([tool("read_file"), tool("print_file")])
        )),
    }
    let list = match spelling.is_pretty {
        true => serde_json::to_string_pretty(list).unwrap(),
        false => serde_json::to_string(list).unwrap(),
    };
    let place = if spelling.has_list_first {
        0
    } else {
        members.len()
    };
    members.insert(place, format!("\"{key}\":{list}"));
    if spelling.is_twice {
        members.push(format!("\"{key}\":[]"));
    }
    format!("{{{}}}", members.join(", "))
}

fn reply(dialect: Dialect, step: &str, n: usize) -> String {
    let said: Vec<Value> = elements(dialect, step, n).into_iter().take(1).collect();
    match dialect {
        Dialect::Responses => {
            json!({"object":"response","status":"completed","output":said}).to_string()
        }
        Dialect::Anthropic => {
            let content = said[0].get("content").cloned().unwrap_or(json!([]));
            let content = if content.is_string() {
                json!([{"type":"text","text":content}])
            } else {
                content
            };
            json!({"type":"message","role":"assistant","content":content,"stop_reason":"end_turn"})
                .to_string()
        }
        _ => json!({"choices":[{"index":0,"message":said[0],"finish_reason":"stop"}]}).to_string(),
    }
}

/// What happens to a conversation before its next request.
#[derive(Debug, Clone)]
enum Next {
    /// It goes on.
    Grows(Vec<&'static str>),
    /// Its last elements are others now.
    Differs(usize, Vec<&'static str>),
    /// An element in the middle is another one.
    Edited(prop::sample::Index, &'static str),
    /// The same again.
    Repeats,
    /// What is around the list is spelled otherwise.
    Spelled(Spelling),
    /// It stops in the middle of its text, which is not a request.
    Torn(prop::sample::Index),
}

fn steps(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(STEPS.to_vec()), 0..most)
}

fn spellings() -> impl Strategy<Value = Spelling> {
    (
        prop::bool::weighted(0.2),
        any::<bool>(),
        0..3_u8,
        prop::bool::weighted(0.05),
    )
        .prop_map(|(is_pretty, has_list_first, tools, is_twice)| Spelling {
            is_pretty,
            has_list_first,
            tools,
            is_twice,
        })
}

fn nexts() -> impl Strategy<Value = Next> {
    prop_oneof![
        6 => steps(4).prop_map(Next::Grows),
        2 => (1..4_usize, steps(3)).prop_map(|(count, steps)| Next::Differs(count, steps)),
        2 => (any::<prop::sample::Index>(), select([&STEPS[..], &ODD[..]].concat()))
            .prop_map(|(place, step)| Next::Edited(place, step)),
        1 => Just(Next::Repeats),
        1 => spellings().prop_map(Next::Spelled),
        1 => any::<prop::sample::Index>().prop_map(Next::Torn),
    ]
}

proptest! {
    #[test]
    fn memory_changes_no_finding(
        dialect in select(DIALECTS.to_vec()), first in steps(12), spelling in spellings(),
        nexts in prop::collection::vec((nexts(), select(STEPS.to_vec())), 1..6),
    ) {
        let judge = judge();
        let (mut spelling, mut number) = (spelling, 0);
        let mut spell = |steps: &[&str]| {
            let spelled = steps.iter().flat_map(|step| {
                number += 1;
                elements(dialect, step, number)
            });
            spelled.collect::<Vec<_>>()
        };
        let mut list = spell(&first);
        judged_alike(&judge, dialect, &body(dialect, &list, spelling), &reply(dialect, "sound", 900));
        for (count, (next, said)) in nexts.into_iter().enumerate() {
            let mut torn = None;
            match next {
                Next::Grows(steps) => list.extend(spell(&steps)),
                Next::Differs(count, steps) => {
                    list.truncate(list.len().saturating_sub(count));
                    list.extend(spell(&steps));
                }
                Next::Edited(place, step) if !list.is_empty() => {
                    let place = place.index(list.len());
                    list.splice(place..=place, spell(&[step]));
                }
                Next::Edited(..) | Next::Repeats => {}
                Next::Spelled(other) => spelling = other,
                Next::Torn(place) => torn = Some(place),
            }
            let mut body = body(dialect, &list, spelling);
            if let Some(place) = torn {
                let at = place.index(body.len());
                if body.is_char_boundary(at) {
                    body.truncate(at);
                }
            }
            judged_alike(&judge, dialect, &body, &reply(dialect, said, 901 + count));
        }
    }
}

/// A conversation that grows is read where it grows, and its sound calls are not judged again.
#[test]
fn what_was_read_and_found_sound_is_not_read_again() {
    for dialect in DIALECTS {
        for has_list_first in [true, false] {
            let spelling = Spelling {
                is_pretty: false,
                has_list_first,
                tools: 1,
                is_twice: false,
            };
            let judge = judge();
            let mut list: Vec<Value> = (0..40)
                .flat_map(|n| elements(dialect, "sound", n))
                .collect();
            let sound = reply(dialect, "sound", 900);
            let first = body(dialect, &list, spelling);
            assert_eq!(judged_alike(&judge, dialect, &first, &sound), first.len());
            list.extend(elements(dialect, "sound", 41));
            let second = body(dialect, &list, spelling);
            let fresh = judged_alike(&judge, dialect, &second, &sound);
            assert_eq!(fresh, second.len() - first.len());
            let request = judge.recall(dialect, Bytes::from(second));
            let splices = [Splice {
                at: Span { start: 0, end: 0 },
                with: Vec::new(),
            }];
            let rope = Rope::new(request.source()).spliced(&splices);
            let run = Run::new(&request.read().unwrap().sessions[0], None);
            assert_eq!(request.known(&run, &rope).len(), 80);
        }
    }
}

#[test]
fn what_only_a_placeholder_breaks_is_not_told() {
    let key = format!("sk-{}", "proj-Abc123".repeat(4));
    let schema =
        json!({"type": "object", "properties": {"key": {"type": "string", "pattern": "^sk-"}}});
    let tool = json!({"type": "function", "function": {"name": "open", "parameters": schema}});
    let body =
        json!({"model": "m", "tools": [tool], "messages": [{"role": "user", "content": "go"}]});
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": json!({"key": key}).to_string()}});
    let calls = [call("call_1", "open"), call("call_2", "opne")];
    let reply = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": calls}}]});
    let judge = judge();
    let request = judge.recall(Dialect::Chat, Bytes::from(body.to_string()));
    let verdict = judge.reply(&request, (&reply.to_string(), true), &[]);
    let told = verdict.findings.iter().map(|finding| finding.rule.id);
    assert_eq!(told.collect::<Vec<_>>(), ["unknown-tool"]);
    let recording = verdict.recording.unwrap();
    let shown = whole(&*recording.source).unwrap();
    assert!(!String::from_utf8_lossy(&shown).contains(&key));
}
