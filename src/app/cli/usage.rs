//! `usage`: where tokens and time went in recordings.

mod ranking;

use super::arguments::{UsageArguments, UsageFormat, UsageSort};
use super::config;
use super::exit::{Exit, Failure};
use super::inputs::{self, inputs_of, report_unreadable, session_named};
use super::output::{Output, csv_cell, name_of, safe_line};
use super::report::write_line;
use super::style::Palette;
use super::walk::Skipped;
use crate::tui::transcript::nested::{NestedPlace, nested_calls};
use crate::tui::transcript::print::columns_of_stdout;
use crate::usage::{LISTED, NestedUsage, ReportStyle, UsageLine, call_line, report, total_report};
use crate::words::label_for_people;
use ranking::{RankedUsage, ranking};
use retake_core::session::{Flags, Session, is_sub_agent, sub_agents_of};
use retake_core::usage::{Cost, Prices, SessionUsage, Tokens, TurnUsage, UsageOrder};
use retake_live::inspect::first_words;
use retake_live::report::session_names;
use retake_live::{
    InputError, NamedRecording, Walked, exit_on_interrupt, expand, is_no_recording,
    is_sub_agent_log, sub_agent_logs, sub_agents,
};
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Most columns of the report.
const WIDEST: usize = 110;

/// How the report is printed.
fn style_of(arguments: &UsageArguments) -> ReportStyle {
    ReportStyle {
        width: columns_of_stdout().map_or(WIDEST, |columns| columns.clamp(60, WIDEST)),
        bar: "#",
        more: "…",
        order: arguments.sort.map(|sort| match sort {
            UsageSort::Cost => UsageOrder::Cost,
            UsageSort::Time => UsageOrder::Time,
            UsageSort::Size => UsageOrder::Size,
        }),
    }
}

/// Prints the report of each session.
pub(super) fn run(arguments: &UsageArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let settings = config::load(arguments.config.as_deref())?;
    let prices = config::prices(arguments.prices.as_deref(), &settings)?;
    exit_on_interrupt();
    let Walked { files, failures } = expand(&arguments.paths);
    for (path, error) in &failures {
        report_unreadable(path, error);
    }
    let (mut read, mut unreadable) = (0, failures.len());
    let mut skipped = Skipped::default();
    let mut output = match arguments.format {
        UsageFormat::Text => Output::paged(),
        UsageFormat::Json | UsageFormat::Csv => Output::stdout(),
    };
    let mut writer = UsageWriter {
        out: &mut output,
        format: arguments.format,
        palette: Palette::of_stdout(arguments.color),
        style: style_of(arguments),
        is_first: true,
    };
    if arguments.format == UsageFormat::Csv {
        writeln!(writer.out, "{CSV_HEADING}")?;
    }
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named: BTreeSet<PathBuf> = files.iter().map(|file| whole(&file.path)).collect();
    let mut is_partly_read = false;
    let mut sum = Sum::default();
    let mut ranked: Vec<RankedUsage> = Vec::new();
    let is_summary =
        arguments.format == UsageFormat::Text && !arguments.details && arguments.session.is_none();
    let are_several = files.len() > 1;
    let mut left = VecDeque::from(files);
    while let Some(file) = left.pop_front() {
        let counted = inputs::read(&inputs, &file.path).and_then(|opened| {
            let counted = usage_of(&opened.recording.sessions, &prices)?;
            Ok((opened.recording, counted))
        });
        match counted {
            Ok((recording, counted)) => {
                read += 1;
                is_partly_read |= inputs::exit_of(&recording) == Exit::Unreadable;
                let mut nested = Vec::new();
                // A file that is named itself is counted once.
                let is_other = |path: &Path| !named.contains(&whole(path));
                if recording.format.id == "claude-code" && !is_sub_agent_log(&file.path) {
                    match arguments.format {
                        UsageFormat::Text => {
                            nested = sub_agents(&file.path, &prices, &|| false);
                            let others = nested.iter().filter(|agent| is_other(&agent.path));
                            others.for_each(|agent| sum.add(&agent.usage, true));
                        }
                        UsageFormat::Json | UsageFormat::Csv => {
                            let others = sub_agent_logs(&file.path).into_iter();
                            let others = others.filter(|path| is_other(path));
                            left.extend(others.map(|path| NamedRecording {
                                path,
                                in_folder: true,
                            }));
                        }
                    }
                }
                let names = session_names(&recording.sessions);
                let wanted = arguments.session.as_deref();
                let wanted = wanted.map(|wanted| session_named(&file.path, &names, wanted));
                let wanted = wanted.transpose()?;
                let main = recording.sessions.iter().filter(|one| !is_sub_agent(one));
                let is_ranked = is_summary && (are_several || main.count() > 1);
                let sessions = recording.sessions.iter().zip(&counted);
                let named = names.iter().zip(sessions).enumerate();
                let shown = named.filter(|(place, _)| wanted.is_none_or(|wanted| wanted == *place));
                for (place, (name, (session, (totals, replies)))) in shown {
                    if !repeats(&recording.sessions, place) {
                        sum.add(totals, is_sub_agent(session));
                    }
                    let calls = nested_calls(&recording.sessions, &nested, place);
                    let caller = |agent| calls.iter().find(|(_, it)| *it == agent).map(|it| it.0);
                    let of_file = sub_agents_of(&recording.sessions, place).into_iter();
                    let of_file = of_file.map(|agent| {
                        let label = || label_for_people(&names[agent]).into_owned();
                        let words = || words_of(&recording.sessions[agent]).unwrap_or_else(label);
                        let call = caller(NestedPlace::Session(agent));
                        let own = Some(&recording.sessions[agent]);
                        NestedUsage::new(session, call, words, &counted[agent].0, own)
                    });
                    let others = nested.iter().enumerate().filter(|_| session.active);
                    let others = others.map(|(number, agent)| {
                        let call = caller(NestedPlace::File(number));
                        let words = || one_line(&agent.prompt);
                        NestedUsage::new(session, call, words, &agent.usage, None)
                    });
                    if is_ranked {
                        let agents: Vec<_> = of_file.chain(others).collect();
                        if !is_sub_agent(session) {
                            ranked.push(rank(&file.path, session, totals, &agents));
                        }
                        continue;
                    }
                    let counted = Counted {
                        session,
                        totals,
                        replies,
                        nested: of_file.chain(others).collect(),
                    };
                    writer.session(&file.path, name, &counted)?;
                }
            }
            Err(error) if file.in_folder && is_no_recording(&error) => skipped.add(&file, &error),
            Err(error) => {
                unreadable += 1;
                report_unreadable(&file.path, &error);
            }
        }
    }
    let has_ranking = !ranked.is_empty();
    if has_ranking {
        // A log of a sub-agent is listed with its session.
        let is_nested = |one: &RankedUsage| is_sub_agent_log(&one.path);
        let has_sessions = ranked.iter().any(|one| !is_nested(one));
        ranked.retain(|one| !has_sessions || !is_nested(one));
        writer.lines(ranking(ranked, writer.style))?;
    }
    writer.total(&sum)?;
    if has_ranking {
        writeln!(writer.out, "\n--details prints the report of each session")?;
    }
    output.finish()?;
    skipped.report(read);
    Ok(match (read, unreadable) {
        (0, _) => Exit::Usage,
        (_, 0) if !is_partly_read => Exit::Clean,
        _ => Exit::Unreadable,
    })
}

/// What several sessions took.
#[derive(Default)]
struct Sum {
    sessions: usize,
    usage: SessionUsage,
}

impl Sum {
    fn add(&mut self, usage: &SessionUsage, is_sub_agent: bool) {
        self.sessions += 1;
        match is_sub_agent {
            true => self.usage.add_sub_agents([usage]),
            false => self.usage.add(usage),
        }
    }
}

/// A session with what it took.
struct Counted<'a> {
    session: &'a Session,
    totals: &'a SessionUsage,
    replies: &'a Replies,
    nested: Vec<NestedUsage<'a>>,
}

/// Whether a session has no reply that an earlier one of a proxy's journal has not: the other side of its exchanges.
fn repeats(sessions: &[Session], place: usize) -> bool {
    let session = &sessions[place];
    if session.active || session.format != "retake-journal" {
        return false;
    }
    let replies = |session: &Session| -> BTreeSet<u32> {
        let items = session.items.iter();
        let replies = items.filter(|item| item.flags.has(Flags::STARTS_REPLY));
        replies.map(|item| item.record).collect()
    };
    let known: BTreeSet<u32> = sessions[..place].iter().flat_map(replies).collect();
    replies(session).is_subset(&known)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first words of a session, in one line.
fn words_of(session: &Session) -> Option<String> {
    first_words(session).map(|(_, words)| one_line(&words))
}

/// A session for the ranking, with its sub-agents.
fn rank(
    path: &Path,
    session: &Session,
    totals: &SessionUsage,
    agents: &[NestedUsage<'_>],
) -> RankedUsage {
    let mut usage = totals.clone();
    usage.add_sub_agents(agents.iter().map(|agent| agent.usage));
    let file = path.file_name().unwrap_or(path.as_os_str());
    let label = label_for_people(&session.label);
    let words = words_of(session).unwrap_or_default();
    let parts = [file.to_string_lossy(), label, words.into()];
    let parts = parts.iter().filter(|part| !part.is_empty());
    let agents = agents.iter().map(|agent| RankedUsage {
        path: path.to_owned(),
        name: agent.name.clone(),
        usage: agent.usage.clone(),
        agents: Vec::new(),
    });
    RankedUsage {
        path: path.to_owned(),
        name: parts.map(|part| &**part).collect::<Vec<_>>().join("  "),
        usage,
        agents: agents.collect(),
    }
}

/// Every reply with its turn, counted from 0.
type Replies = Vec<(usize, TurnUsage)>;

fn usage_of(
    sessions: &[Session],
    prices: &Prices,
) -> Result<Vec<(SessionUsage, Replies)>, InputError> {
    let counted = sessions.iter().map(|session| {
        let mut replies = Vec::new();
        let mut each = |turn: usize, usage: &TurnUsage| replies.push((turn, usage.clone()));
        let totals = SessionUsage::of(session, prices, &|| false, &mut each);
        let totals = totals.map_err(InputError::Source)?;
        Ok((totals.unwrap_or_default(), replies))
    });
    counted.collect()
}

const CSV_HEADING: &str = "path,session,turn,at_ms,took_ms,input_tokens,cached_tokens,output_tokens,\
written_tokens,model,cost_usd,cost_source,reasoning_tokens";

struct UsageWriter<'a> {
    out: &'a mut Output,
    format: UsageFormat,
    palette: Palette,
    style: ReportStyle,
    is_first: bool,
}

impl UsageWriter<'_> {
    fn session(&mut self, path: &Path, name: &str, counted: &Counted<'_>) -> io::Result<()> {
        match self.format {
            UsageFormat::Text => self.text(path, name, counted),
            UsageFormat::Json => self.json(path, name, counted),
            UsageFormat::Csv => self.csv(path, name, counted),
        }
    }

    fn text(&mut self, path: &Path, name: &str, counted: &Counted<'_>) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        let Counted {
            session,
            totals,
            nested,
            ..
        } = counted;
        let model = session.model.as_deref().unwrap_or_default();
        let heading = format!(
            "{}  {}  {}",
            name_of(path),
            safe_line(&label_for_people(name)),
            safe_line(model)
        );
        writeln!(self.out, "{}", self.palette.bold(heading.trim_end()))?;
        self.lines(report(session, totals, nested, self.style))
    }

    fn lines(&mut self, lines: Vec<UsageLine>) -> io::Result<()> {
        for line in lines {
            match line.is_heading {
                true => writeln!(self.out, "{}", self.palette.bold(line.text))?,
                false => writeln!(self.out, "{}", line.text)?,
            }
        }
        Ok(())
    }

    /// The sums of all sessions; programs add up what they read.
    fn total(&mut self, sum: &Sum) -> io::Result<()> {
        if self.format != UsageFormat::Text || sum.sessions < 2 {
            return Ok(());
        }
        let heading = format!("\ntotal of {} sessions", sum.sessions);
        writeln!(self.out, "{}", self.palette.bold(heading))?;
        self.lines(total_report(&sum.usage, self.style))
    }

    fn json(&mut self, path: &Path, name: &str, counted: &Counted<'_>) -> io::Result<()> {
        let Counted {
            session,
            totals,
            replies,
            nested,
        } = counted;
        let path = path.to_string_lossy();
        let with_sub_agents = (!nested.is_empty()).then(|| {
            let mut all = (*totals).clone();
            all.add_sub_agents(nested.iter().map(|agent| agent.usage));
            WithSubAgents {
                sub_agents: nested.len(),
                tokens: all.tokens.into(),
                model_ms: all.model,
                held_ms: all.held,
                tools_ms: all.tools,
                cost_usd: all.cost.map(Cost::dollars),
            }
        });
        let line = UsageRecord::Session {
            path: &path,
            session: name,
            model: session.model.as_deref(),
            turns: totals.turns,
            counted: totals.counted,
            tokens: totals.tokens.into(),
            model_ms: totals.model,
            held_ms: totals.held,
            tools_ms: totals.tools,
            waiting_ms: totals.waiting,
            span_ms: totals.span,
            cost_usd: totals.cost.map(Cost::dollars),
            recorded_costs: totals.recorded_costs,
            without_price: totals.without_price,
            with_sub_agents,
        };
        write_line(self.out, &line)?;
        for tool in &totals.by_tool {
            let line = UsageRecord::Tool {
                session: name,
                tool: &tool.name,
                calls: tool.calls,
                errors: tool.errors,
                took_ms: tool.took,
                result_bytes: tool.bytes,
                about_cost_usd: tool.cost.map(Cost::dollars),
            };
            write_line(self.out, &line)?;
        }
        for kind in &totals.by_kind {
            let line = UsageRecord::Kind {
                session: name,
                kind: kind.kind.word(),
                items: kind.items,
                bytes: kind.bytes,
            };
            write_line(self.out, &line)?;
        }
        for (turn, usage) in replies.iter() {
            let line = UsageRecord::Turn {
                session: name,
                turn: turn + 1,
                at_ms: usage.at,
                took_ms: usage.took,
                tokens: usage.tokens.map(Into::into),
                context_window: usage.window,
                model: usage.model.as_deref(),
                cost_usd: usage.cost.map(|cost| cost.all.dollars()),
                cost_source: cost_source(usage),
            };
            write_line(self.out, &line)?;
        }
        for result in totals.results.iter().take(LISTED) {
            let line = UsageRecord::Result {
                session: name,
                turn: result.turn + 1,
                item: result.call + 1,
                call: call_line(session, result.call, ""),
                result_bytes: result.bytes,
                took_ms: result.took,
                about_cost_usd: result.cost.map(Cost::dollars),
            };
            write_line(self.out, &line)?;
        }
        Ok(())
    }

    fn csv(&mut self, path: &Path, name: &str, counted: &Counted<'_>) -> io::Result<()> {
        let number = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
        let (path, name) = (csv_cell(&path.to_string_lossy()), csv_cell(name));
        for (turn, usage) in counted.replies {
            let tokens = usage.tokens;
            let cost = usage.cost.map(|cost| cost.all.dollars().to_string());
            writeln!(
                self.out,
                "{path},{name},{},{},{},{},{},{},{},{},{},{},{}",
                turn + 1,
                number(usage.at),
                number(usage.took),
                number(tokens.and_then(|it| it.sent())),
                number(tokens.map(|it| it.cached)),
                number(tokens.map(|it| it.output)),
                number(tokens.map(|it| it.written + it.written_1h)),
                csv_cell(usage.model.as_deref().unwrap_or_default()),
                cost.unwrap_or_default(),
                cost_source(usage).unwrap_or_default(),
                number(tokens.map(|it| it.reasoning).filter(|it| *it > 0)),
            )?;
        }
        Ok(())
    }
}

fn cost_source(usage: &TurnUsage) -> Option<&'static str> {
    let source = match usage.has_recorded_cost {
        true => "recorded",
        false => "prices",
    };
    usage.cost.map(|_| source)
}

/// One object a line; what the recording does not say is null.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum UsageRecord<'a> {
    Session {
        path: &'a str,
        session: &'a str,
        model: Option<&'a str>,
        turns: usize,
        /// Turns that say how many tokens they took.
        counted: usize,
        #[serde(flatten)]
        tokens: TokenCounts,
        model_ms: u64,
        held_ms: u64,
        tools_ms: u64,
        waiting_ms: u64,
        span_ms: Option<u64>,
        cost_usd: Option<f64>,
        /// Turns whose cost the recording says.
        recorded_costs: usize,
        /// Turns whose tokens are counted and whose model has no price.
        without_price: usize,
        /// What it took together with its sub-agents in the same file, which have objects of their own.
        with_sub_agents: Option<WithSubAgents>,
    },
    Tool {
        session: &'a str,
        tool: &'a str,
        calls: usize,
        errors: usize,
        took_ms: Option<u64>,
        result_bytes: u64,
        about_cost_usd: Option<f64>,
    },
    Kind {
        session: &'a str,
        kind: &'a str,
        items: usize,
        bytes: u64,
    },
    Turn {
        session: &'a str,
        turn: usize,
        at_ms: Option<u64>,
        took_ms: Option<u64>,
        tokens: Option<TokenCounts>,
        context_window: Option<u64>,
        model: Option<&'a str>,
        cost_usd: Option<f64>,
        cost_source: Option<&'static str>,
    },
    Result {
        session: &'a str,
        turn: usize,
        item: usize,
        call: String,
        result_bytes: u64,
        took_ms: Option<u64>,
        about_cost_usd: Option<f64>,
    },
}

#[derive(Serialize)]
struct WithSubAgents {
    sub_agents: usize,
    #[serde(flatten)]
    tokens: TokenCounts,
    model_ms: u64,
    held_ms: u64,
    tools_ms: u64,
    cost_usd: Option<f64>,
}

#[derive(Serialize)]
struct TokenCounts {
    /// With what the cache held and took; `None` where only the answer was counted.
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    written_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// Of the answer; `None` where it is not counted apart.
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for TokenCounts {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.sent(),
            cached_tokens: tokens.sent().map(|_| tokens.cached),
            written_tokens: tokens.sent().map(|_| tokens.written + tokens.written_1h),
            output_tokens: (tokens != Tokens::default()).then_some(tokens.output),
            reasoning_tokens: (tokens.reasoning > 0).then_some(tokens.reasoning),
        }
    }
}
