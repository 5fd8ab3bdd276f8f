//! A trial with its journal, answered by hand.

use super::prepare::{LabContext, PreparedLab, prepare};
use super::trial::{JournalPlace, TrialStore};
use crate::model::Answer;
use crate::wordings::Wordings;
use retake_core::engine::agent::{AgentModel, ModelEndpoint};
use retake_core::lab::{Class, Named, Question, Spec, Wanted, Which};
use retake_core::redact::Redactor;
use retake_core::session::Dialect;
use retake_core::session::ledger::Usage;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One wording of a failing call.
fn prepared(journals: &Path) -> PreparedLab {
    let spec = Spec {
        name: "story".to_owned(),
        findings: vec![Which {
            path: "unknown-tool-recovered.jsonl".to_owned(),
            rule: Some("unknown-tool".to_owned()),
            ..Which::default()
        }],
        wordings: Wanted {
            recorded: true,
            named: Named::These(Vec::new()),
            added: Vec::new(),
        },
        models: vec![AgentModel {
            dialect: Dialect::Responses,
            name: "m".to_owned(),
            at: ModelEndpoint::Script {
                file: "s.toml".to_owned(),
                text: String::new(),
            },
            stream: false,
            timeout_ms: 1,
            max_tokens: None,
            settings: serde_json::Map::new(),
        }],
        samples: 5,
        ..Spec::default()
    };
    let beside = LabContext {
        folder: &Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions"),
        wordings: &Wordings::default(),
        journals,
        is_fresh: false,
    };
    prepare(&spec, beside).unwrap()
}

fn store(prepared: &PreparedLab) -> TrialStore {
    let place = JournalPlace::In(prepared.journals.clone());
    let subject = &prepared.experiment.trials[0].subject;
    let redactor = Arc::new(Redactor::new([]));
    TrialStore::open(&prepared.trials[0], subject, &redactor, &place).unwrap()
}

fn says(text: &str) -> Answer {
    let item = serde_json::json!({"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]});
    Answer {
        json: serde_json::json!({ "output": [item] }).to_string(),
        usage: Usage::default(),
        first_ms: 1,
        total_ms: 2,
        ended: true,
        unreadable: 0,
        late: 0,
        was_streamed: false,
        request_id: None,
    }
}

#[test]
fn what_was_answered_out_of_turn_keeps_its_number_in_a_later_run() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared(folder.path());
    let mut first = store(&prepared);
    // The second question is slow, and the run ends before it is answered.
    for (number, text) in [(3, "Three."), (0, "Nought."), (2, "Two.")] {
        let question = Question {
            trial: 0,
            variant: 0,
            number,
            attempts: 1,
        };
        let sample = first.keep(question, Ok(says(text)));
        assert_eq!((sample.class, sample.is_earlier), (Class::GaveUp, false));
    }
    drop(first);
    let mut earlier = store(&prepared).earlier();
    let earlier = earlier.remove(0);
    assert_eq!(earlier.requests, 3);
    let told = earlier.samples.iter().map(|sample| {
        assert!(sample.is_earlier);
        (sample.number, &*sample.why)
    });
    let told: BTreeMap<_, _> = told.collect();
    assert_eq!(
        told.into_iter().collect::<Vec<_>>(),
        [(0, "says: Nought."), (2, "says: Two."), (3, "says: Three.")]
    );
}
