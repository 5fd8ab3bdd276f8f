//! What becomes of the wording that was found best: a policy entry, a recipe for the agent's framework, and a
//! spec that tests it again.

use super::board::Board;
use super::experiment::{Meant, Origin, Stop, Trial, WordingVariant};
use super::spec::{Added, Assertion, Named, Spec, Wanted, Which};
use super::verdict::corrected;
use crate::rules;
use crate::wording::Channel;
use crate::wording::recipe::{self, RecipeError, RecoveryCase};

/// What a wording becomes, or why it cannot become that.
#[derive(Debug, Clone, PartialEq)]
pub struct Winner {
    /// An entry of a policy, in TOML.
    pub policy: Result<String, RecipeError>,
    /// A Python module for openai-agents.
    pub recipe: Result<String, RecipeError>,
    /// A spec for `retake lab --assert`.
    pub test: Result<Spec, NoTest>,
}

/// Why a wording makes no test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTest {
    /// There is no such wording in the experiment.
    #[error("the experiment has no such wording")]
    Unknown,
    #[error(
        "{corrected} of {answers} answers were corrected: the true rate may be below 1 %, so there is nothing to assert"
    )]
    NoRate {
        corrected: u32,
        /// Out of how many answers.
        answers: u32,
    },
    #[error("the spec has no model `{0}`")]
    NoModel(String),
}

/// What a variant of a trial becomes. `spec` is what the experiment was ordered with; `is_custom` says whether
/// the tool of the call takes free-form input. `None` where there is no such variant.
pub fn winner(
    board: &Board,
    spec: &Spec,
    (trial, variant): (usize, usize),
    is_custom: bool,
) -> Option<Winner> {
    let of_trial = board.experiment.trials.get(trial)?;
    let words = of_trial.variants.get(variant)?;
    let recovery = recovery(of_trial, words, is_custom);
    Some(Winner {
        policy: recipe::policy(&recovery),
        recipe: recipe::openai_agents(&recovery),
        test: regression(board, spec, (trial, variant)),
    })
}

/// The recovery that tells the model these words: the answer to the call, or feedback with which
/// it is requested again.
fn recovery<'a>(trial: &'a Trial, words: &'a WordingVariant, is_custom: bool) -> RecoveryCase<'a> {
    let subject = &trial.subject;
    let offers = rules::find(&subject.rule).map_or(&[][..], |rule| rule.offers);
    let answers = words.channel != Channel::UserMessage
        && offers.iter().any(|offer| offer.action == "inject-error");
    RecoveryCase {
        rule: &subject.rule,
        action: if answers { "inject-error" } else { "retry" },
        wording: match words.origin {
            Origin::Library | Origin::Own => &words.name,
            Origin::Recorded | Origin::Spec => "",
        },
        template: &words.template,
        tool: &subject.tool,
        is_custom,
        ..RecoveryCase::default()
    }
}

/// An experiment that tries the wording again on the finding of its trial and asserts what was found.
///
/// The bound is the lower end of the interval of the rate, rounded down to whole percents: what was measured
/// reaches it. So it asks for less than was seen, and where few samples were taken for much less; with as many
/// samples again the same wording may come out undecided, which is not a failure. Where the words of the recording
/// were clearly worse, it also asserts that.
pub fn regression(
    board: &Board,
    spec: &Spec,
    (trial, variant): (usize, usize),
) -> Result<Spec, NoTest> {
    let of_trial = board.experiment.trials.get(trial).ok_or(NoTest::Unknown)?;
    let words = of_trial.variants.get(variant).ok_or(NoTest::Unknown)?;
    let counted = corrected(board, trial, variant);
    let bound = (counted.interval().low * 100.0).floor() / 100.0;
    if bound <= 0.0 {
        let (corrected, answers) = (counted.hits(), counted.of());
        return Err(NoTest::NoRate { corrected, answers });
    }
    let labels = spec.model_labels();
    let mut models = spec.models.iter().zip(labels);
    let (model, _) = { models.find(|(_, label)| *label == of_trial.model) }
        .ok_or_else(|| NoTest::NoModel(of_trial.model.clone()))?;
    let recorded = of_trial.baseline();
    let is_compared = recorded != variant
        && of_trial.variants[recorded].origin == Origin::Recorded
        && { counted.minus(corrected(board, trial, recorded)) }
            .is_some_and(|difference| difference.interval.low > 0.0);
    Ok(Spec {
        name: format!("{}: {}", spec.name, words.name),
        findings: vec![which(spec, of_trial)],
        wordings: wanted(words, is_compared),
        models: vec![model.clone()],
        samples: board.experiment.samples,
        stop: Stop::Never,
        caps: spec.caps,
        concurrency: board.experiment.concurrency,
        seed: board.experiment.seed,
        assertions: vec![Assertion {
            wording: words.name.clone(),
            at_least: Some(bound),
            better_than: is_compared.then(|| of_trial.variants[recorded].name.clone()),
            model: None,
        }],
    })
}

/// The finding of a trial, as a spec names it.
fn which(spec: &Spec, trial: &Trial) -> Which {
    let subject = &trial.subject;
    // The spec names the file from its own folder, which a test beside it has to do too.
    let named = spec.findings.get(subject.finding);
    Which {
        path: named.map_or(&subject.path, |which| &which.path).clone(),
        session: Some(subject.session.saturating_add(1)),
        item: Some(subject.item.saturating_add(1)),
        rule: Some(subject.rule.clone()),
        meant: match &subject.meant {
            Meant::Tool(tool) => Some(tool.clone()),
            Meant::AnyTool | Meant::Message | Meant::Otherwise => None,
        },
        tools: named.and_then(|which| which.tools.clone()),
    }
}

/// The one wording, beside that of the recording where the two are compared. Words that the library does not
/// have stand in the spec.
fn wanted(words: &WordingVariant, is_compared: bool) -> Wanted {
    let mut wanted = Wanted {
        recorded: is_compared,
        named: Named::These(Vec::new()),
        added: Vec::new(),
    };
    match words.origin {
        Origin::Recorded => wanted.recorded = true,
        Origin::Library => wanted.named = Named::These(vec![words.name.clone()]),
        Origin::Own | Origin::Spec => wanted.added.push(Added {
            name: words.name.clone(),
            text: words.template.clone(),
            channel: words.channel,
        }),
    }
    wanted
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::{NoTest, Winner, regression, winner};
    use crate::engine::agent::{Beside, ModelEndpoint};
    use crate::lab::verdict::tests::{Counts, board};
    use crate::lab::{Board, Origin, Spec, Verdict, judge, together};
    use crate::wording::Channel;
    use std::sync::Arc;

    const SPEC: &str = "name = \"desk\"\n[[finding]]\npath = \"../desk/a.json\"\ntools = \"t.json\"\n\
        [[model]]\ndialect = \"chat\"\nname = \"m\"\nscript = \"a\"\n";

    fn parse(text: &str) -> Spec {
        let beside = Beside {
            file: &mut |_| Ok(String::new()),
            wording: &|_, _| None,
        };
        Spec::parse(text, beside).unwrap()
    }

    const COUNTS: &[Counts] = &[("recorded", 4, 40), ("nearest", 38, 40)];

    fn won(board: &Board) -> Winner {
        winner(board, &parse(SPEC), (0, 1), false).unwrap()
    }

    /// The board with another origin and channel of the wording that won.
    fn changed(origin: Origin, channel: Channel) -> Board {
        let mut board = board(&[("m", COUNTS)]);
        let experiment = Arc::make_mut(&mut board.experiment);
        let words = &mut experiment.trials[0].variants[1];
        (words.origin, words.channel) = (origin, channel);
        board
    }

    #[test]
    fn a_winner_becomes_a_policy_a_recipe_and_a_test_that_it_passes() {
        let board = board(&[("m", COUNTS)]);
        let won = won(&board);
        let policy = won.policy.unwrap();
        assert!(policy.contains("[on.unknown-tool]") && policy.contains("do = \"inject\""));
        crate::engine::Policy::parse(&policy).unwrap();
        assert!(won.recipe.unwrap().contains("tool_not_found"));
        let test = won.test.unwrap();
        assert_eq!(parse(&test.write().unwrap()), test);
        let assertion = &test.assertions[0];
        // Wilson's interval of 38 of 40 begins at 0.835.
        assert_eq!(assertion.at_least, Some(0.83));
        assert_eq!(assertion.better_than.as_deref(), Some("recorded"));
        let which = &test.findings[0];
        assert_eq!((which.session, which.item), (Some(1), Some(5)));
        assert_eq!(which.path, "../desk/a.json");
        assert_eq!(which.tools.as_deref(), Some("t.json"));
        assert_eq!(which.meant.as_deref(), Some("search_flights"));
        let judged = judge(&board, &test.assertions).unwrap();
        assert_eq!(together(&judged), Verdict::Holds);
    }

    #[test]
    fn the_test_is_of_the_finding_of_its_trial_however_alike_the_files_are_called() {
        let two = "[[finding]]\npath = \"a.json\"\n[[finding]]\npath = \"desk/a.json\"\ntools = \"t.json\"\n[[model]]";
        let (before, after) = SPEC.split_once("[[model]]").unwrap();
        let (name, _) = before.split_once("[[finding]]").unwrap();
        let spec = parse(&format!("{name}{two}{after}"));
        let mut board = board(&[("m", COUNTS)]);
        Arc::make_mut(&mut board.experiment).trials[0]
            .subject
            .finding = 1;
        let which = &regression(&board, &spec, (0, 1)).unwrap().findings[0];
        assert_eq!(which.path, "desk/a.json");
        assert_eq!(which.tools.as_deref(), Some("t.json"));
    }

    #[test]
    fn words_of_the_spec_stand_in_the_test_themselves() {
        let board = changed(Origin::Spec, Channel::Output);
        let test = regression(&board, &parse(SPEC), (0, 1)).unwrap();
        assert_eq!(test.wordings.added[0].text, "There is no {{ tool }}.");
        assert_eq!(test.wordings.added[0].channel, Channel::Output);
        let policy = won(&board).policy.unwrap();
        assert!(policy.contains("There is no {{ tool }}."), "{policy}");
    }

    #[test]
    fn words_that_came_as_a_user_message_are_feedback_of_a_retry() {
        let won = won(&changed(Origin::Library, Channel::UserMessage));
        assert!(won.policy.unwrap().contains("do = \"retry\""));
        assert!(won.recipe.is_err());
    }

    #[test]
    fn what_was_hardly_ever_corrected_makes_no_test() {
        let board = board(&[("m", &[("recorded", 0, 40), ("nearest", 0, 40)])]);
        let fault = NoTest::NoRate {
            corrected: 0,
            answers: 40,
        };
        assert_eq!(won(&board).test, Err(fault));
        assert_eq!(winner(&board, &parse(SPEC), (0, 9), false), None);
    }

    #[test]
    fn a_test_needs_the_model_and_a_wording_that_is_no_better_asserts_no_difference() {
        let other = board(&[("other", COUNTS)]);
        assert_eq!(won(&other).test, Err(NoTest::NoModel("other".to_owned())));
        let same = board(&[("m", &[("recorded", 30, 40), ("nearest", 31, 40)])]);
        let test = regression(&same, &parse(SPEC), (0, 1)).unwrap();
        assert_eq!(test.assertions[0].better_than, None);
        assert!(!test.wordings.recorded);
        assert!(matches!(test.models[0].at, ModelEndpoint::Script { .. }));
    }
}
