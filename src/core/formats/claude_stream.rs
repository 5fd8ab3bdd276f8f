//! What `claude -p --output-format stream-json` and the Agent SDK print: JSONL of messages of Anthropic.
//!
//! The first line names the tools on offer, without their schemas. A message may be spread over several lines with
//! one `message.id`; lines with a `parent_tool_use_id` belong to the sub-agent that this call started.

use super::assemble::{Folded, assemble_folded};
use super::{Contents, Document, Format, Reading, Records, Sample};
use crate::json::{Cursor, Result, display_text};
use crate::session::{
    Fact, Flags, Fragment, Item, Keyed, Kind, LinkFlags, RecordLink, Source, SourceResult, Span,
    index_number,
};
use crate::wire::anthropic;
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "claude-stream",
    title: "streams of claude -p and the Claude Agent SDK (stream-json)",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: |_, _, _, _| Ok(()),
        arrays: &[],
        assemble,
    }),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let is_init = |document: &Document<'_>| {
        document.says("type", "system")
            && document.says("subtype", "init")
            && document.has("session_id")
    };
    let is_message = |document: &Document<'_>| {
        document.has("parent_tool_use_id") && document.has("session_id") && document.has("message")
    };
    match sample.any(is_init) || sample.any(is_message) {
        true => 98,
        false => 0,
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (first, start) = (out.items.len(), cursor.position());
    let (mut kind, mut subtype, mut turns) = (None, None, None);
    let (mut tools, mut failed) = (None, false);
    let mut link = RecordLink::default();
    cursor.object(|cursor, key| {
        match (key, cursor.peek()) {
            (b"type", _) => kind = cursor.string()?,
            (b"subtype", _) => subtype = cursor.string()?,
            (b"parent_tool_use_id", _) => {
                link.parent = RecordLink::key(cursor.string()?.unwrap_or_default());
            }
            (b"tools", Some(b'[')) => tools = Some(Span::within(base, cursor.skip()?)),
            (b"model", Some(b'"')) => {
                out.note_model(cursor.string()?.unwrap_or_default());
            }
            (b"num_turns", _) => turns = display_text(cursor.raw()?).parse().ok(),
            (b"is_error", _) => failed = cursor.is_true()?,
            (b"message", Some(b'{')) => {
                let message = anthropic::read_message(cursor, base, out)?;
                link.message = RecordLink::key(message.id.unwrap_or_default());
                if let Some(model) = message.model {
                    out.note_model(model);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let span = Span::within(base, start..cursor.position());
    match (kind, subtype) {
        (Some(b"system"), Some(b"init")) => {
            tools
                .into_iter()
                .for_each(|tools| out.note(Fact::Tools(tools)));
        }
        (Some(b"system"), Some(b"compact_boundary")) => {
            out.note(Fact::HistoryReplaced);
            out.push(Kind::Compaction, None, span);
        }
        (Some(b"result"), subtype) => {
            if let (Some(b"error_max_turns"), Some(turns)) = (subtype, turns) {
                out.note(Fact::TurnLimit(turns));
            }
            if failed || subtype != Some(b"success") {
                out.push(Kind::Notice, None, span).flags = Flags::ERROR;
            }
        }
        (Some(b"assistant"), _) => link.flags.set_if(LinkFlags::ASSISTANT, true),
        (Some(b"user"), _) => {}
        // Pieces of messages that come whole as well, and what is said about the run.
        _ => out.items.truncate(first),
    }
    out.links
        .resize(out.record() as usize, RecordLink::default());
    out.links.push(link);
    Ok(())
}

/// The conversation first, then each sub-agent, by the call that started it.
fn assemble(mut fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    let count = fragment.records.len();
    fragment.links.resize(count, RecordLink::default());
    let link = |item: &Item| fragment.links[item.record as usize];
    let mut parents = vec![0];
    for item in &fragment.items {
        let parent = link(item).parent;
        if !parents.contains(&parent) {
            parents.push(parent);
        }
    }
    let records = std::mem::take(&mut fragment.records).into();
    let names = Arc::new(std::mem::take(&mut fragment.names));
    let mut contents = Contents::default();
    for parent in parents {
        let mut messages = HashSet::with_hasher(Keyed::default());
        let mut facts = fragment.facts.iter().peekable();
        let mut folded = Folded {
            dialect: FORMAT.dialect(),
            label: label_of(parent, &fragment.items, source)?,
            items: Vec::new(),
            facts: Vec::new(),
        };
        let mut is_own = parent == 0;
        for (index, item) in fragment.items.iter().enumerate() {
            while let Some((_, fact)) = facts.next_if(|(at, _)| *at as usize <= index) {
                // Why a reply ended belongs to its session; tools and model hold for all.
                let is_of_all = matches!(fact, Fact::Tools(_) | Fact::Model(_));
                if is_own || is_of_all {
                    let at = index_number(folded.items.len());
                    folded.facts.push((at, fact.clone()));
                }
            }
            let link = link(item);
            is_own = link.parent == parent;
            if is_own {
                folded.items.push(link.mark_reply(*item, &mut messages));
            }
        }
        for (_, fact) in facts.filter(|_| is_own) {
            let at = index_number(folded.items.len());
            folded.facts.push((at, fact.clone()));
        }
        let read = assemble_folded(FORMAT.id, folded, (&records, &names), source)?;
        let sessions = read.sessions.into_iter().map(|mut session| {
            session.active = parent == 0;
            session
        });
        contents.sessions.extend(sessions);
        contents.problems.extend(read.problems);
    }
    Ok(contents)
}

/// The name of the session of the sub-agent that a call started; empty for the conversation itself.
fn label_of(parent: u64, items: &[Item], source: &Arc<dyn Source>) -> SourceResult<String> {
    if parent == 0 {
        return Ok(String::new());
    }
    let is_start = |item: &&Item| item.kind == Kind::Call && item.call_id.hash == parent;
    let start = items.iter().find(is_start);
    let id = match start.and_then(|item| item.call_id.span(item.span)) {
        Some(span) => String::from_utf8_lossy(&source.read(span)?).into_owned(),
        None => String::new(),
    };
    Ok(format!("sub-agent {id}").trim_end().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{PairStatus, Session};

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","tools":["Task","Read"],"model":"claude-x","cwd":"/p"}"#;

    fn line(kind: &str, parent: &str, message: &str) -> String {
        format!(
            r#"{{"type":"{kind}","message":{message},"parent_tool_use_id":{parent},"session_id":"s","uuid":"u"}}"#
        )
    }

    fn sessions(lines: &[String]) -> Vec<Session> {
        let contents = read("claude-stream", &lines.join("\n"));
        assert_eq!(contents.problems, []);
        contents.sessions
    }

    #[test]
    fn the_first_line_names_the_tools_and_sub_agents_stand_apart() {
        let call = |id: &str, name: &str| {
            format!(
                r#"{{"id":"m_{id}","role":"assistant","model":"claude-x","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}]}}"#
            )
        };
        let result = |id: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}"#
            )
        };
        let lines = [
            INIT.to_owned(),
            line("assistant", "null", &call("t1", "Task")),
            line("user", "\"t1\"", r#"{"role":"user","content":"Look."}"#),
            line("assistant", "\"t1\"", &call("t2", "Grab")),
            line("user", "\"t1\"", &result("t2")),
            line("user", "null", &result("t1")),
            r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":2,"session_id":"s"}"#.to_owned(),
        ];
        let sessions = sessions(&lines);
        let main = &sessions[0];
        assert_eq!(main.pairing.standing(0), PairStatus::Paired(1));
        assert_eq!(main.items[2].kind, Kind::Notice);
        assert_eq!(main.contract.turn_limit, Some(2));
        let offered = main.contract.tools_at(0);
        let offered = offered.iter().map(|tool| tool.name.as_str());
        assert_eq!(offered.collect::<Vec<_>>(), ["Task", "Read"]);
        let other = &sessions[1];
        assert_eq!((&*other.label, other.active), ("sub-agent t1", false));
        assert_eq!(other.pairing.standing(1), PairStatus::Paired(2));
        assert!(other.contract.tools_known());
    }
}
