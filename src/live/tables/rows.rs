//! The rows of a recording and of what was found in it.

use super::batches::{BatchSink, RowsError, TableSet};
use super::columns::{CallRow, FindingRow, ItemRow, ProblemRow, SessionRow, Time};
use crate::Recording;
use crate::report::{FileReport, ProblemReport, SessionReport, position_of};
use crate::stores::{AGENTS, Agent};
use retake_core::rules::{ErrorClass, Severity, reports_failure};
use retake_core::session::{Kind, PairStatus, Session, SourceError};
use retake_core::usage::{Cost, Prices, SessionUsage, UsageReader};
use retake_core::wire::body_of;

/// Writes the rows of a file.
pub fn write_rows<S: BatchSink>(
    tables: &mut TableSet<S>,
    report: &FileReport,
    recording: &Recording,
    prices: &Prices,
) -> Result<(), RowsError<S::Error>> {
    for problem in &report.problems {
        push_problem(tables, report, None, problem)?;
    }
    // What is read of the items again costs as much as judging them.
    let has_history = tables.wants::<SessionRow<'_>>()
        || tables.wants::<ItemRow<'_>>()
        || tables.wants::<CallRow<'_>>();
    for (session, of_session) in recording.sessions.iter().zip(&report.sessions) {
        let rows = SessionRows {
            report,
            recording,
            session,
            of_session,
        };
        rows.findings(tables)?;
        if has_history {
            rows.history(tables, prices)?;
        }
    }
    Ok(())
}

fn push_problem<S: BatchSink>(
    tables: &mut TableSet<S>,
    report: &FileReport,
    session: Option<&str>,
    problem: &ProblemReport,
) -> Result<(), RowsError<S::Error>> {
    tables.push(ProblemRow {
        path: &report.path,
        session,
        line: problem.place.line,
        column: problem.place.column,
        byte: problem.byte,
        message: &problem.message,
        is_unread: problem.is_unread,
    })
}

/// The agent that writes a format, where that is only one.
fn agent_of(format: &str) -> Option<&'static str> {
    let is_one = |agent: &&Agent| agent.formats.iter().any(|known| known == format);
    let mut agents = AGENTS.iter().filter(is_one);
    let agent = agents.next()?;
    agents.next().is_none().then_some(&agent.id)
}

fn status(pair: PairStatus) -> &'static str {
    match pair {
        PairStatus::Alone => "alone",
        PairStatus::Paired(_) => "paired",
        PairStatus::Pending => "pending",
        PairStatus::Orphan => "orphan",
        PairStatus::Duplicate(_) => "duplicate",
        PairStatus::Severed(_) => "severed",
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

struct SessionRows<'a> {
    report: &'a FileReport,
    recording: &'a Recording,
    session: &'a Session,
    of_session: &'a SessionReport,
}

impl SessionRows<'_> {
    fn findings<S: BatchSink>(&self, tables: &mut TableSet<S>) -> Result<(), RowsError<S::Error>> {
        let path = &*self.report.path;
        let name = &*self.of_session.name;
        for problem in &self.of_session.problems {
            push_problem(tables, self.report, Some(name), problem)?;
        }
        for finding in &self.of_session.findings {
            tables.push(FindingRow {
                path,
                session: name,
                line: finding.place.line,
                column: finding.place.column,
                offset: finding.offset,
                turn: finding.turn,
                item: finding.item,
                rule: finding.rule.id,
                severity: finding.severity.word(),
                tool: finding.tool.as_deref(),
                call_id: finding.call_id.as_deref(),
                message: &finding.message,
                pointer: finding.pointer.as_deref(),
                cause: finding.cause,
                class: finding.class.map(ErrorClass::words),
            })?;
        }
        Ok(())
    }

    /// The session with its items and calls.
    fn history<S: BatchSink>(
        &self,
        tables: &mut TableSet<S>,
        prices: &Prices,
    ) -> Result<(), RowsError<S::Error>> {
        let (session, of_session) = (self.session, self.of_session);
        let usage = SessionUsage::of(session, prices, &|| false, &mut |_, _| ())?;
        let usage = usage.unwrap_or_default();
        let mut reader = UsageReader::new(session, prices);
        let (mut started, mut ended): (Option<u64>, Option<u64>) = (None, None);
        let mut failed = vec![None; session.items.len()];
        for index in 0..session.items.len() {
            if let Some(at) = self.item(tables, &mut reader, &mut failed, index)? {
                started = Some(started.map_or(at, |first| first.min(at)));
                ended = ended.max(Some(at));
            }
        }
        let count = |severity| {
            let findings = of_session.findings.iter();
            findings
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let tokens = usage.tokens;
        let sent = tokens.sent();
        let is_counted = usage.counted > 0;
        tables.push(SessionRow {
            path: &self.report.path,
            session: &of_session.name,
            format: self.report.format,
            agent: agent_of(self.report.format),
            model: session.model.as_deref(),
            target: of_session.target.word(),
            is_active: session.active,
            turns: of_session.turns,
            items: of_session.items,
            calls: of_session.calls,
            outputs: of_session.outputs,
            tools_known: of_session.tools_known,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            problems: of_session.problems.len(),
            started: started.map(Time),
            ended: ended.map(Time),
            model_ms: usage.model,
            tools_ms: usage.tools,
            waiting_ms: usage.waiting,
            counted: usage.counted,
            input_tokens: sent,
            cached_tokens: sent.map(|_| tokens.cached),
            written_tokens: sent.map(|_| tokens.written + tokens.written_1h),
            output_tokens: is_counted.then_some(tokens.output),
            reasoning_tokens: (tokens.reasoning > 0).then_some(tokens.reasoning),
            cost_usd: usage.cost.map(Cost::dollars),
            recorded_costs: usage.recorded_costs,
            without_price: usage.without_price,
        })
    }

    /// Whether an output says that its call failed, read once for its own row and for that of the call.
    fn failed(&self, known: &mut [Option<bool>], output: usize) -> Result<bool, SourceError> {
        if let Some(failed) = known[output] {
            return Ok(failed);
        }
        let failed = reports_failure(self.session, &self.session.items[output])?;
        known[output] = Some(failed);
        Ok(failed)
    }

    /// An item, and the call that it may be; gives when it was recorded. `failed` is known of outputs so far.
    fn item<S: BatchSink>(
        &self,
        tables: &mut TableSet<S>,
        reader: &mut UsageReader<'_>,
        failed: &mut [Option<bool>],
        index: usize,
    ) -> Result<Option<u64>, RowsError<S::Error>> {
        let session = self.session;
        let item = &session.items[index];
        let (path, name) = (&*self.report.path, &*self.of_session.name);
        let time = reader.item_time(index)?;
        let call_id = session.call_id(item)?;
        let is_output = matches!(item.kind, Kind::Output | Kind::HostedOutput);
        let is_error = match is_output {
            true => Some(self.failed(failed, index)?),
            false => None,
        };
        tables.push(ItemRow {
            path,
            session: name,
            item: index + 1,
            turn: item.turn + 1,
            kind: item.kind.word(),
            tool: some(session.name(item)),
            call_id: some(&call_id),
            bytes: item.span.len(),
            offset: position_of(self.recording, session, index),
            time: time.map(Time),
            is_error,
        })?;
        if !matches!(item.kind, Kind::Call | Kind::HostedCall) {
            return Ok(time);
        }
        let partner = session.pairing.partner(index);
        let body = body_of(item, &session.bytes(item)?).ok();
        tables.push(CallRow {
            path,
            session: name,
            item: index + 1,
            turn: item.turn + 1,
            kind: item.kind.word(),
            tool: some(session.name(item)),
            call_id: some(&call_id),
            arguments_bytes: body.map(|body| body.arguments.as_written().len()),
            status: status(session.pairing.standing(index)),
            output_item: partner.map(|partner| partner + 1),
            result_bytes: partner.map(|output| session.items[output].span.len()),
            is_error: partner
                .map(|output| self.failed(failed, output))
                .transpose()?,
            started: reader.call_start(index)?.map(Time),
            took_ms: reader.call_duration(index)?,
        })?;
        Ok(time)
    }
}
