//! The operator of a run without a screen: commands that were given beforehand, one for each time the run waits.

use crate::cli::arguments::RecoveryWish;
use retake_core::actions::{self, Action};
use retake_core::engine::{Decision, Reason, RunCommand, Words};
use retake_core::rules::Finding;
use retake_core::session::ledger::CallKey;
use retake_core::wording::reads_as_name;
use retake_live::live::{Judged, RunInput};
use retake_live::wordings::Wordings;
use serde::Serialize;

/// What an operator can do where a run waits.
struct OperatorCommand {
    word: &'static str,
    /// What comes after the word, for people.
    argument: &'static str,
    about: &'static str,
    scope: CommandScope,
}

/// What a command is about, and what the run gets of the text after its word.
enum CommandScope {
    Run(fn(&str) -> Result<RunInput, String>),
    /// About the first call that the command answers for.
    Call(fn(CallKey, &str) -> Result<RunInput, String>),
}

/// What a command is to the run.
pub(super) enum RunAnswer {
    Input(RunInput),
    /// An action about the first fault that it waits for.
    Decision(Decision),
}

/// A run that waits for its operator.
pub(super) struct Waiting<'a> {
    pub(super) reasons: &'a [Reason],
    pub(super) judged: Option<&'a Judged>,
    pub(super) wordings: &'a Wordings,
}

/// What a run waits for, and how it can be answered.
#[derive(Serialize)]
pub(super) struct WaitingFor<'a> {
    why: String,
    rule: Option<&'a str>,
    /// Counted from 1.
    item: Option<u32>,
    tool: Option<String>,
    call_id: Option<String>,
    commands: Vec<&'static str>,
}

pub(super) fn waiting_for<'a>(reason: &'a Reason, judged: Option<&Judged>) -> WaitingFor<'a> {
    let (mut rule, mut item, mut tool, mut call_id) = (None, None, None, None);
    if let Some((call, name)) = call_of(reason) {
        (tool, call_id) = (Some(name.to_owned()), Some(call.call_id.clone()));
    }
    let mut commands = match reason {
        Reason::Fault {
            rule: of,
            item: about,
            ..
        } => {
            (rule, item) = (Some(of.as_str()), *about);
            let finding = judged.and_then(|judged| finding_of(judged, of, *about));
            (tool, call_id) = finding.and_then(|it| called_by(judged?, it)).unzip();
            let offers = finding.into_iter().flat_map(|finding| &finding.offers);
            offers
                .map(|offer| offer.action)
                .chain(["release"])
                .collect()
        }
        Reason::Breakpoint { item: about, .. } => {
            item = *about;
            vec!["continue", "step"]
        }
        Reason::Approval { .. } => vec!["approve", "reject"],
        Reason::AskOperator { .. } => vec!["output", "error"],
        Reason::MayHaveRun { .. } => vec!["output", "error", "run-again"],
        Reason::Model { .. } | Reason::Stepped => vec!["continue", "step"],
        Reason::TurnLimit { .. } => vec!["turns"],
        Reason::NothingSaid => vec!["say"],
    };
    commands.push("abort");
    WaitingFor {
        why: reason.words(),
        rule,
        item: item.map(|item| item + 1),
        tool,
        call_id,
        commands,
    }
}

/// The call that a reason is about, with its tool.
fn call_of(reason: &Reason) -> Option<(&CallKey, &str)> {
    match reason {
        Reason::Approval { call, tool, .. }
        | Reason::AskOperator { call, tool, .. }
        | Reason::MayHaveRun { call, tool } => Some((call, tool)),
        _ => None,
    }
}

/// The tool and the id of the call that a finding is about.
fn called_by(judged: &Judged, finding: &Finding) -> Option<(String, String)> {
    let sessions = judged.recording().sessions.iter();
    let mut sessions = sessions.filter(|session| session.active);
    let session = sessions.next()?;
    let item = session.items.get(finding.item? as usize)?;
    let call_id = session.call_id(item).ok().filter(|id| !id.is_empty())?;
    Some((finding.tool(session)?.to_owned(), call_id))
}

fn finding_of<'j>(judged: &'j Judged, rule: &str, item: Option<u32>) -> Option<&'j Finding> {
    let mut findings = judged.findings().iter();
    findings.find(|finding| finding.rule.id == rule && finding.item == item)
}

/// The commands, beside the actions: each of those is a command about the first fault that the run waits for.
const COMMANDS: &[OperatorCommand] = &[
    OperatorCommand {
        word: "continue",
        argument: "",
        about: "go on until something holds",
        scope: CommandScope::Run(|_| Ok(RunInput::Operator(RunCommand::Continue))),
    },
    OperatorCommand {
        word: "step",
        argument: "",
        about: "one question to the model, or the tools of one reply",
        scope: CommandScope::Run(|_| Ok(RunInput::Operator(RunCommand::Step))),
    },
    OperatorCommand {
        word: "release",
        argument: "",
        about: "let the faults pass as they are",
        scope: CommandScope::Run(|_| Ok(RunInput::Operator(RunCommand::Release))),
    },
    OperatorCommand {
        word: "approve",
        argument: "",
        about: "run the call that needs an approval",
        scope: CommandScope::Call(|call, _| {
            Ok(RunInput::Operator(RunCommand::Approve {
                call,
                always: false,
            }))
        }),
    },
    OperatorCommand {
        word: "reject",
        argument: "TEXT",
        about: "do not run it; the model reads the text",
        scope: CommandScope::Call(|call, text| {
            let words = needed(text)?;
            Ok(RunInput::Operator(RunCommand::Reject { call, words }))
        }),
    },
    OperatorCommand {
        word: "output",
        argument: "TEXT",
        about: "the result of a call whose tool is the operator, or that may have run",
        scope: CommandScope::Call(|call, text| supply(call, text, false)),
    },
    OperatorCommand {
        word: "error",
        argument: "TEXT",
        about: "the same, as an error",
        scope: CommandScope::Call(|call, text| supply(call, text, true)),
    },
    OperatorCommand {
        word: "run-again",
        argument: "",
        about: "run a call again that may have run",
        scope: CommandScope::Call(|call, _| Ok(RunInput::Operator(RunCommand::RunAgain { call }))),
    },
    OperatorCommand {
        word: "say",
        argument: "TEXT",
        about: "the user's next message",
        scope: CommandScope::Run(|text| Ok(RunInput::Say(needed(text)?))),
    },
    OperatorCommand {
        word: "turns",
        argument: "N",
        about: "allow so many more replies",
        scope: CommandScope::Run(|text| {
            let more = text
                .parse()
                .map_err(|_| format!("`{text}` is not a number of replies"))?;
            Ok(RunInput::Operator(RunCommand::MoreTurns(more)))
        }),
    },
    OperatorCommand {
        word: "enable",
        argument: "TOOL",
        about: "use a tool again that was switched off",
        scope: CommandScope::Run(|text| {
            let tool = needed(text)?;
            Ok(RunInput::Operator(RunCommand::Enable { tool }))
        }),
    },
    OperatorCommand {
        word: "abort",
        argument: "",
        about: "end the run; open calls get an output that says so",
        scope: CommandScope::Run(|_| Ok(RunInput::Operator(RunCommand::Abort))),
    },
];

impl Waiting<'_> {
    /// The id of the call that a decision is about.
    pub(super) fn call_id_of(&self, decision: &Decision) -> Option<String> {
        let judged = self.judged?;
        let finding = finding_of(judged, &decision.rule, decision.item)?;
        called_by(judged, finding).map(|(_, call_id)| call_id)
    }

    /// What a command is to the run. The error says what it could be instead.
    pub(super) fn answer(&self, command: &str) -> Result<RunAnswer, String> {
        let (word, text) = parts(command);
        let answers = self
            .reasons
            .iter()
            .flat_map(|reason| waiting_for(reason, self.judged).commands);
        // A tool may be switched off whatever the run waits for.
        if word != "enable" && !answers.clone().any(|answer| answer == word) {
            let why = format!("{word} is no answer to this run");
            let commands: Vec<_> = answers.collect();
            return Err(format!(
                "{}; answers: {}",
                self.nothing(&why),
                commands.join(", ")
            ));
        }
        let known = COMMANDS.iter().find(|known| known.word == word);
        let answer = match (known, actions::find(word)) {
            (Some(known), _) => self.input(known, text).map(RunAnswer::Input),
            (None, Some(action)) => self.decision(action, text).map(RunAnswer::Decision),
            (None, None) => return Err(unknown(word)),
        };
        answer.map_err(|why| format!("{word}: {why}"))
    }

    /// An action about the first fault.
    fn decision(&self, action: &'static Action, text: &str) -> Result<Decision, String> {
        let fault = self.reasons.iter().find_map(|reason| match reason {
            Reason::Fault { rule, item, .. } => Some((rule, *item)),
            _ => None,
        });
        let (rule, item) = fault.ok_or_else(|| self.nothing("no fault holds the run"))?;
        let finding = self
            .judged
            .and_then(|judged| finding_of(judged, rule, item));
        let offers: Vec<_> = finding.into_iter().flat_map(|it| &it.offers).collect();
        if finding.is_some() && !offers.iter().any(|offer| offer.action == action.id) {
            let offers: Vec<_> = offers.iter().map(|offer| offer.action).collect();
            return Err(format!("{rule} offers {}", offers.join(", ")));
        }
        let is_value = action.id == "fallback";
        // Of an error text one word is the name of a wording; other texts may be one word.
        let is_name = action.id == "inject-error" && reads_as_name(text) && !text.is_empty();
        let given = |is_meant: bool| (is_meant && !is_value).then(|| text.to_owned());
        let wish = RecoveryWish {
            words: given(!is_name).filter(|words| !words.is_empty()),
            wording: given(is_name),
            ..RecoveryWish::default()
        };
        let (name, template) = wish.template(self.wordings, rule, action.id)?;
        Ok(Decision {
            rule: rule.clone(),
            item,
            call: None,
            action: action.id,
            wording: (!template.is_empty()).then_some(Words {
                name: Some(name).filter(|name| !name.is_empty()),
                template,
            }),
            value: (is_value && !text.is_empty()).then(|| text.to_owned()),
            include_in_history: false,
            keeps_schema: false,
            also: Vec::new(),
        })
    }

    /// What a command is to the run, about the first call that it answers for.
    fn input(&self, command: &OperatorCommand, text: &str) -> Result<RunInput, String> {
        let make = match command.scope {
            CommandScope::Run(make) => return make(text),
            CommandScope::Call(make) => make,
        };
        let answers = |reason: &&Reason| {
            let commands = waiting_for(reason, self.judged).commands;
            commands.contains(&command.word)
        };
        let call = self.reasons.iter().filter(answers).find_map(call_of);
        let (call, _) = call.ok_or_else(|| self.nothing("no call waits for it"))?;
        make(call.clone(), text)
    }

    /// Why a command has nothing to be about, with what the run waits for.
    fn nothing(&self, why: &str) -> String {
        let reasons: Vec<_> = self.reasons.iter().map(Reason::words).collect();
        format!("{why}; it waits for: {}", reasons.join("; "))
    }
}

fn supply(call: CallKey, text: &str, is_error: bool) -> Result<RunInput, String> {
    Ok(RunInput::Operator(RunCommand::Supply {
        call,
        output: needed(text)?,
        is_error,
    }))
}

fn needed(text: &str) -> Result<String, String> {
    match text {
        "" => Err("give a text after it".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// The word of a command, and what comes after it.
fn parts(command: &str) -> (&str, &str) {
    let command = command.trim();
    let (word, text) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    (word, text.trim())
}

/// The user's next message, where a command is one.
pub(super) fn message(command: &str) -> Option<&str> {
    let (word, text) = parts(command);
    (word == "say" && !text.is_empty()).then_some(text)
}

pub(super) fn refuse_unknown(command: &str) -> Result<(), String> {
    let (word, _) = parts(command);
    let is_known = COMMANDS.iter().any(|known| known.word == word);
    match is_known || actions::find(word).is_some() {
        true => Ok(()),
        false => Err(unknown(word)),
    }
}

fn unknown(word: &str) -> String {
    let own = COMMANDS.iter().map(|command| command.word);
    let actions = actions::ACTIONS.iter().map(|action| action.id);
    let known: Vec<_> = own.chain(actions).collect();
    match retake_core::suggest::nearest(word, &known).first() {
        Some(near) => format!("unknown command `{word}`; did you mean `{}`?", near.name),
        None => format!("unknown command `{word}`; there are {}", known.join(", ")),
    }
}

/// The commands with what they do, for the help.
pub fn markdown_table() -> String {
    let rows = COMMANDS.iter().map(|command| {
        let written = format!("{} {}", command.word, command.argument);
        format!("| `{}` | {} |\n", written.trim_end(), command.about)
    });
    "| command | what it does |\n|---|---|\n".to_owned() + &rows.collect::<String>()
}
