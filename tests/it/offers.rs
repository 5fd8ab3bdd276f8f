//! Every offer of every finding: it is carried out, or says why not; what comes of it reads, the defect is gone, and nothing else breaks.
#![allow(clippy::print_stderr)]

use retake::actions::{ACTIONS, Choice, Planned, Refusal, Scene, Surroundings, Tried, offers_of};
use retake::dialects::tools::read_tools;
use retake::formats::{self, CannotWrite, Sample, lower, read_buffer};
use retake::rules::{Finding, RULES, Run, Severity, check};
use retake::session::{Dialect, OutputSchema, Rope, Session, Source, Span, Tool};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an action leaves of a finding, with the reason: a fact of the history stays one when the model was told of it.
const STAYS: &[(&str, &str, &str)] = &[
    (
        "",
        "edit",
        "the words of this test change nothing but white space",
    ),
    ("unknown-tool", "inject-error", "the model still called it"),
    (
        "malformed-arguments",
        "inject-error",
        "OpenAI takes them as they are",
    ),
    (
        "invalid-arguments",
        "inject-error",
        "the model still wrote them",
    ),
    (
        "duplicate-argument-key",
        "inject-error",
        "the model still wrote it twice",
    ),
    ("tool-error", "inject-error", "another error in its place"),
    ("repeated-call", "", "the calls before this one were made"),
    ("failing-tool", "", "the errors before this one were made"),
    ("truncated-response", "", "the reply was cut all the same"),
];

/// A reply is judged as a part of a request once it is answered.
const SENT_BACK: &str = "the reply was not to be sent back before";

/// What an action brings, with the reason.
const BRINGS: &[(&str, &str, &str)] = &[
    ("inject-error", "tool-error", "that is what it is"),
    ("close-turn", "tool-error", "that is what it says"),
    ("fallback", "tool-error", "it closes what is open"),
    (
        "repair-arguments",
        "invalid-arguments",
        "JSON can be judged by its schema",
    ),
    ("inject-error", "malformed-message", SENT_BACK),
    ("close-turn", "malformed-message", SENT_BACK),
    ("fallback", "malformed-message", SENT_BACK),
    ("supply-output", "malformed-message", SENT_BACK),
];

/// Longer sessions are left to the test of offers: here each item is tried with each action.
const LONG: usize = 60;

/// Offers that change no recording.
const ELSEWHERE: &[&str] = &["wait", "raise-limit"];

/// Stories for offers that no bundled recording leads to: a transcript, and whether an output schema is set.
const TOLD: &[(&str, bool)] = &[
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"a\":2}"}}]},{"role":"user","content":"well?"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]}]"#,
        true,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten"}]}]"#,
        true,
    ),
    (
        r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"text","text":"and then the"}]},{"role":"user","content":[{"type":"text","text":"well?"}]}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I can't help with that."}]}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"function_call_output","call_id":"c","output":"1"},{"type":"message","role":"user","content":"well?"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"pay","arguments":"{}"},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"message","role":"user","content":"well?"}]"#,
        false,
    ),
];

/// A recording with what is known beside it.
struct Story {
    name: String,
    bytes: Vec<u8>,
    format: Option<&'static str>,
    target: Option<Dialect>,
    tools: Option<Vec<Tool>>,
    asks_for_euros: bool,
}

impl Story {
    fn new(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            format: None,
            target: None,
            tools: None,
            asks_for_euros: false,
        }
    }

    /// The sessions of a text in the format of the story; none where it is no recording.
    fn read(&self, bytes: &[u8]) -> Vec<Session> {
        let named = self.format.and_then(formats::find);
        let Some(format) = named.or_else(|| formats::recognise(&Sample::new(bytes, true))) else {
            return Vec::new();
        };
        let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
        let Ok(contents) = read_buffer(format, &source, bytes) else {
            return Vec::new();
        };
        let mut sessions = contents.sessions;
        for session in &mut sessions {
            let tools = self.tools.as_deref();
            session.contract.supplement(tools, None, None);
            if self.asks_for_euros {
                session.contract.output_schema = Some(OutputSchema {
                    name: "euros".to_owned(),
                    schema: json!({"type": "object", "required": ["eur"]}),
                });
            }
        }
        sessions
    }

    fn check(&self, session: &Session) -> Vec<Finding> {
        check(&Run::new(session, self.target)).unwrap()
    }
}

fn stories() -> Vec<Story> {
    let mut paths = Vec::new();
    files(Path::new("sessions"), &mut paths);
    files(Path::new("../shared/corpus"), &mut paths);
    let mut stories = Vec::new();
    for path in paths {
        let mut story = Story::new(&path.display().to_string(), std::fs::read(&path).unwrap());
        let tools = std::fs::read(path.with_extension("tools.json")).ok();
        story.tools = tools.map(|text| read_tools(&serde_json::from_slice(&text).unwrap()).0);
        stories.push(story);
    }
    let cases: Value = serde_json::from_str(include_str!("hostile/wire_cases.json")).unwrap();
    for case in cases["cases"].as_array().unwrap() {
        let (format, target) = match case["dialect"].as_str().unwrap() {
            "chat" => ("openai-chat", Dialect::Chat),
            "responses" => ("openai-responses", Dialect::Responses),
            _ => ("anthropic-messages", Dialect::Anthropic),
        };
        let body = serde_json::to_vec_pretty(&case["body"]).unwrap();
        let mut story = Story::new(case["id"].as_str().unwrap(), body);
        (story.format, story.target) = (Some(format), Some(target));
        stories.push(story);
    }
    for (number, (text, asks_for_euros)) in TOLD.iter().enumerate() {
        let mut story = Story::new(&format!("story {number}"), text.as_bytes().to_vec());
        story.asks_for_euros = *asks_for_euros;
        stories.push(story);
    }
    stories
}

/// The files of a folder that are small enough to be mended once for every offer.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if std::fs::metadata(&path).is_ok_and(|data| data.len() < 200_000) {
            out.push(path);
        }
    }
    out.sort();
}

/// The offers of a finding, tried as an operator would who says what is asked for.
fn tried(story: &Story, session: &Session, findings: &[Finding], own: &Finding) -> Vec<Tried> {
    let run = Run::new(session, story.target);
    let others = findings.iter().filter(|other| !std::ptr::eq(*other, own));
    let beside = others.map(Finding::defect).collect::<Vec<_>>();
    let Some(scene) = run.scene(own.defect(), &beside) else {
        assert!(own.offers.is_empty(), "{own:?}");
        return Vec::new();
    };
    let bytes = session.bytes(scene.item().unwrap()).unwrap();
    let spaced = String::from_utf8_lossy(&bytes).replacen('{', "{ ", 1);
    let mut tried = offers_of(&scene, &own.offers, &Choice::default());
    for offer in &mut tried {
        let words = match offer.action.id {
            "edit" => spaced.as_str(),
            _ => r#"{"eur":10}"#,
        };
        let choice = Choice {
            confirmed: true,
            include_in_history: true,
            ..Choice::words(words)
        };
        if offer.outcome.as_ref().is_err_and(Refusal::is_question) {
            offer.outcome = (offer.action.plan)(&scene, &choice);
        }
    }
    tried
}

fn counts(findings: &[Finding]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.rule.id).or_default() += 1;
    }
    counts
}

/// What is found in the session once a plan is carried out; `None` where the file is one that is never written to.
fn carried_out(
    story: &Story,
    (number, session): (usize, &Session),
    planned: &Planned,
) -> Result<Option<Vec<Finding>>, String> {
    let splices = match lower(session, &planned.edits) {
        Ok(splices) => splices,
        Err(CannotWrite::Exchanges | CannotWrite::Journal) => return Ok(None),
        Err(error) => return Err(format!("cannot be written: {error}")),
    };
    let rope = Rope::new(session.source.clone()).spliced(&splices);
    let all = Span {
        start: 0,
        end: rope.len(),
    };
    let sessions = story.read(&rope.read(all).unwrap());
    let after = sessions.get(number).ok_or("cannot be read any more")?;
    Ok(Some(story.check(after)))
}

/// Findings of rules that an action adds to, and is not known to bring.
fn brought<'f>(
    action: &str,
    before: &BTreeMap<&str, usize>,
    after: &BTreeMap<&'f str, usize>,
) -> Vec<&'f str> {
    let is_known = |rule: &str| {
        let mut known = BRINGS.iter();
        known.any(|(by, brings, _)| *by == action && *brings == rule)
    };
    let more = after
        .iter()
        .filter(|(rule, count)| *count > before.get(*rule).unwrap_or(&0) && !is_known(rule));
    more.map(|(rule, _)| *rule).collect()
}

/// What is wrong with the session after an offer of a finding was carried out.
fn complaints(
    story: &Story,
    (number, session): (usize, &Session),
    findings: &[Finding],
    own: &Finding,
    offer: &Tried,
) -> Vec<String> {
    let action = offer.action.id;
    let planned = match &offer.outcome {
        Ok(planned) => planned,
        Err(Refusal::Elsewhere(_)) if ELSEWHERE.contains(&action) => return Vec::new(),
        Err(refusal) if offer.safety.word() == "safe" => {
            return vec![format!("refused: {refusal}")];
        }
        Err(refusal) => {
            assert!(!refusal.to_string().is_empty());
            return Vec::new();
        }
    };
    let found = match carried_out(story, (number, session), planned) {
        Ok(Some(found)) => found,
        Ok(None) => return Vec::new(),
        Err(complaint) => return vec![complaint],
    };
    let (before, after) = (counts(findings), counts(&found));
    let rule = own.rule.id;
    let left = after.get(rule).copied().unwrap_or_default();
    let may_stay = STAYS.iter().any(|(known, by, _)| {
        (known.is_empty() || *known == rule) && (by.is_empty() || *by == action)
    });
    let mut complaints = Vec::new();
    if left > before[rule] || (left == before[rule] && !may_stay) {
        complaints.push(format!("stays: {found:?}"));
    }
    let others = brought(action, &before, &after).into_iter();
    for new in others.filter(|new| *new != rule) {
        complaints.push(format!("brings {new}: {found:?}"));
    }
    complaints
}

#[test]
fn every_offer_does_what_it_says_or_says_why_not() {
    let mut wrong = Vec::new();
    let mut done = BTreeSet::new();
    for story in stories() {
        let sessions = story.read(&story.bytes);
        for (number, session) in sessions.iter().enumerate() {
            let findings = story.check(session);
            for own in &findings {
                for offer in tried(&story, session, &findings, own) {
                    let pair = (own.rule.id, offer.action.id);
                    let of = complaints(&story, (number, session), &findings, own, &offer);
                    wrong.extend(
                        of.iter()
                            .map(|what| format!("{} {pair:?} {what}", story.name)),
                    );
                    if offer.outcome.is_ok() {
                        done.insert(pair);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let pairs = RULES.iter().flat_map(|rule| {
        let actions = rule.offers.iter().map(|offer| offer.action);
        actions.map(|action| (rule.id, action))
    });
    let never = pairs
        .filter(|pair| !done.contains(pair) && !ELSEWHERE.contains(&pair.1))
        .collect::<Vec<_>>();
    assert!(never.is_empty(), "never carried out: {never:?}");
}

/// Every action on every item of a sound session; how many changed something.
fn act_on_all(
    story: &Story,
    (number, session): (usize, &Session),
    wrong: &mut Vec<String>,
) -> usize {
    let before = story.check(session);
    let around = Surroundings::new(session);
    let target = story.target.unwrap_or(session.dialect);
    let mut count = 0;
    for item in 0..u32::try_from(session.items.len()).unwrap() {
        let scene = Scene::without_finding(&around, target, item);
        for action in ACTIONS {
            let words = Some("well").filter(|_| action.id != "repair-arguments");
            let choice = Choice {
                words,
                whole_turn: true,
                include_in_history: true,
                confirmed: true,
            };
            let Ok(planned) = (action.plan)(&scene, &choice) else {
                continue;
            };
            count += 1;
            let place = format!("{} item {} {}", story.name, item + 1, action.id);
            match carried_out(story, (number, session), &planned) {
                Ok(Some(found)) => {
                    let new = brought(action.id, &counts(&before), &counts(&found)).join(", ");
                    if !new.is_empty() {
                        wrong.push(format!("{place} brings {new}: {found:?}"));
                    }
                }
                Ok(None) => {}
                Err(complaint) => wrong.push(format!("{place} {complaint}")),
            }
        }
    }
    count
}

#[test]
fn no_action_breaks_a_sound_transcript() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for story in stories() {
        let sessions = story.read(&story.bytes);
        for (number, session) in sessions.iter().enumerate() {
            let findings = story.check(session);
            let is_sound = findings
                .iter()
                .all(|finding| finding.severity == Severity::Info);
            if is_sound && session.items.len() <= LONG {
                count += act_on_all(&story, (number, session), &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 300, "{count}");
}
