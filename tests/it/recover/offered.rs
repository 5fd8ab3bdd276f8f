//! Every offer of every finding: it is carried out, or says why not.

use super::recordings::{Case, bundled, corpus, told, wire_cases};
use super::{Before, counts};
use retake_core::actions::{ActionError, ActionInput, OfferPreview, Safety, offers_of};
use retake_core::rules::{Finding, RULES, Run};
use retake_live::{Base, check_session};
use std::collections::{BTreeMap, BTreeSet};

/// How often one action is tried for one rule in one recording; all of them in long runs.
const TRIED: usize = 3;

/// Offers that change no recording.
const ELSEWHERE: &[&str] = &["raise-limit"];

/// What an action leaves of a finding, with the reason: a fact of the history stays one when the model was told of it.
const STAYS: &[(&str, &str, &str)] = &[
    ("", "edit", "the words of this test only add a note"),
    ("repeated-call", "", "the calls before this one were made"),
    ("failing-tool", "", "the errors before this one were made"),
];

/// Safe offers that their action refuses, with what it says.
const WAITS: &[(&str, &str, &str)] = &[
    (
        "orphan-call",
        "close-turn",
        "which has no id, is probably its own",
    ),
    (
        "orphan-call",
        "inject-error",
        "which has no id, is probably its own",
    ),
];

/// What came of the offers of some recordings, by rule and action.
#[derive(Default)]
struct Score {
    done: BTreeMap<(&'static str, &'static str), usize>,
    refused: BTreeMap<(&'static str, &'static str), BTreeMap<String, usize>>,
    /// The rows of [`STAYS`] that were needed.
    stayed: BTreeSet<usize>,
    wrong: Vec<String>,
}

impl Score {
    fn of(name: &str, cases: &[Case]) -> Self {
        let mut score = Self::default();
        cases.iter().for_each(|case| score.try_case(case));
        let all: usize = score.done.values().sum();
        eprintln!("{name}: {all} actions carried out: {:?}", score.done);
        for (offer, reasons) in &score.refused {
            eprintln!("  {offer:?} refused: {reasons:?}");
        }
        let wrong = &score.wrong;
        assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
        score
    }

    fn try_case(&mut self, case: &Case) {
        let Ok(base) = Base::new(case.recording.clone(), case.path.as_deref()) else {
            return;
        };
        let mut tried = BTreeMap::<_, usize>::new();
        for (number, session) in case.recording.sessions.iter().enumerate() {
            let findings = check_session(session, case.target).unwrap();
            let before = Before {
                case,
                base: &base,
                number,
                session,
                findings: &findings,
            };
            for own in &findings {
                let count = tried.entry(own.rule.id).or_default();
                *count += 1;
                if *count <= TRIED || std::env::var_os("RETAKE_LONG").is_some() {
                    self.try_finding(&before, own);
                }
            }
        }
    }

    fn try_finding(&mut self, before: &Before<'_>, own: &Finding) {
        for offer in tried(before, own) {
            let pair = (own.rule.id, offer.action.id);
            let complaints = match &offer.outcome {
                Ok(planned) if planned.edits.is_empty() => Vec::new(),
                Ok(planned) => {
                    *self.done.entry(pair).or_default() += 1;
                    self.complaints(before, own, &offer)
                        .iter()
                        .map(|what| format!("{what}\n   {:?}", planned.edits))
                        .collect()
                }
                Err(refusal) => {
                    let reasons = self.refused.entry(pair).or_default();
                    *reasons.entry(refusal.to_string()).or_default() += 1;
                    not_to_be_refused(&offer, pair, refusal)
                }
            };
            let told = complaints.into_iter();
            self.wrong.extend(
                told.map(|what| format!("{} {pair:?} on {own:?}: {what}", before.case.name)),
            );
        }
    }

    /// What is wrong with the session after an offer of a finding was carried out.
    fn complaints(
        &mut self,
        before: &Before<'_>,
        own: &Finding,
        offer: &OfferPreview,
    ) -> Vec<String> {
        let (rule, action) = (own.rule.id, offer.action.id);
        let edits = offer
            .outcome
            .as_ref()
            .map_or(&[][..], |planned| &planned.edits);
        let after = match before.after(edits) {
            Ok(Some(after)) => after,
            Ok(None) => return Vec::new(),
            Err(complaint) => return vec![complaint],
        };
        let count = |counts: &BTreeMap<&str, usize>| counts.get(rule).copied().unwrap_or_default();
        let (was, is) = (count(&counts(before.findings)), count(&after));
        let may_stay = STAYS.iter().position(|(known, by, _)| {
            (known.is_empty() || *known == rule) && (by.is_empty() || *by == action)
        });
        let mut complaints = Vec::new();
        match may_stay {
            Some(row) if is == was => {
                self.stayed.insert(row);
            }
            _ if is >= was => complaints.push("the defect is still there".to_owned()),
            _ => {}
        }
        let others = before.brought(action, &after).into_iter();
        let others = others.filter(|new| *new != rule);
        complaints.extend(others.map(|new| format!("new: {new}")));
        complaints
    }
}

/// The offers of a finding, tried as an operator would who says what is asked for.
fn tried(before: &Before<'_>, own: &Finding) -> Vec<OfferPreview> {
    let run = Run::new(before.session, before.case.target);
    let beside = retake_core::rules::beside(before.session, before.findings, own);
    let Some(scene) = run.scene(own.defect(), &beside) else {
        assert!(own.offers.is_empty(), "{own:?}");
        return Vec::new();
    };
    let bytes = before.session.bytes(scene.item().unwrap()).unwrap();
    let noted = String::from_utf8_lossy(&bytes).replacen('{', "{\"note\":\"seen\",", 1);
    let mut tried = offers_of(&scene, &own.offers, &ActionInput::default());
    for offer in &mut tried {
        let words = match offer.action.id {
            "edit" => Some(noted.as_str()),
            "fallback" => before.case.fallback.as_deref(),
            _ => Some("the library opens at nine"),
        };
        let confirmed = ActionInput {
            confirmed: true,
            include_in_history: true,
            ..ActionInput::default()
        };
        for choice in [confirmed, ActionInput { words, ..confirmed }] {
            if offer.outcome.as_ref().is_err_and(ActionError::is_question) {
                offer.outcome = (offer.action.plan)(&scene, &choice);
            }
        }
    }
    tried
}

/// What is safe is not refused, but for known reasons.
fn not_to_be_refused(
    offer: &OfferPreview,
    pair: (&str, &str),
    refusal: &ActionError,
) -> Vec<String> {
    let reason = refusal.to_string();
    assert!(!reason.is_empty(), "{pair:?}");
    let is_known = match refusal {
        ActionError::Elsewhere(_) => ELSEWHERE.contains(&pair.1),
        _ => WAITS
            .iter()
            .any(|(rule, action, known)| (*rule, *action) == pair && reason.contains(known)),
    };
    if is_known || offer.safety != Safety::Safe {
        return Vec::new();
    }
    vec![format!("refused: {reason}")]
}

#[test]
fn every_offer_keeps_its_promise_and_each_is_carried_out_somewhere() {
    let sources = [
        ("bundled sessions", bundled(), 20),
        ("wire cases", wire_cases(), 40),
        ("stories", told(), 10),
    ];
    let (mut done, mut stayed) = (BTreeSet::new(), BTreeSet::new());
    for (name, cases, least) in sources {
        let score = Score::of(name, &cases);
        let all: usize = score.done.values().sum();
        assert!(all >= least, "{name}: {all}");
        done.extend(score.done.into_keys());
        stayed.extend(score.stayed);
    }
    let pairs = RULES.iter().flat_map(|rule| {
        let actions = rule.offers.iter().map(|offer| offer.action);
        actions.map(|action| (rule.id, action))
    });
    let never = pairs
        .filter(|pair| !done.contains(pair) && !ELSEWHERE.contains(&pair.1))
        .collect::<BTreeSet<_>>();
    assert!(never.is_empty(), "never carried out: {never:?}");
    let needless = (0..STAYS.len()).filter(|row| !stayed.contains(row));
    let needless = needless.map(|row| STAYS[row]).collect::<Vec<_>>();
    assert!(needless.is_empty(), "{needless:?}");
}

#[test]
fn every_offer_on_real_recordings_keeps_its_promise() {
    let Some(cases) = corpus() else {
        eprintln!("skipped: ../shared/corpus is absent");
        return;
    };
    let score = Score::of("corpus", &cases);
    assert!(score.done.values().sum::<usize>() >= 50);
}
