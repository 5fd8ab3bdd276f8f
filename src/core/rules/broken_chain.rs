//! broken-chain: an entry of a log names an entry before it that is not there.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::Flags;

pub(crate) static RULE: Rule = Rule {
    id: "broken-chain",
    severity: Severity::Error,
    summary: "an entry names a missing parent, so the history before it is lost",
    message: "the chain of entries breaks here: the parent that this one names is not in the file, and the \
        agent loses what came before",
    page: RulePage {
        what: "An entry of a Claude Code log whose `parentUuid` is the id of no entry, although entries stand \
            before it.",
        why: "When the session is resumed, Claude Code walks from the last entry to its parent and on: it stops \
            here, and the model sees nothing of the history before. It happens when two processes write one \
            log, or a line is lost.",
        example: r#"{"type": "user", "uuid": "a3", "parentUuid": "PHANTOM", ...} after the entries a1 and a2"#,
        what_to_do: "Hang the entry on the one before it in the file, which the offer does; look first whether \
            that is where the conversation went on.",
        limits: "Of the conversation itself; side chains are left alone. A log that begins with an entry of \
            another file, and one that begins after a compaction, are whole.",
    },
    offers: &[Offer::unsafe_("relink")],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let items = run.session.items.iter().enumerate();
    let broken = items.filter(|(_, item)| item.flags.has(Flags::BROKEN_CHAIN));
    findings.extend(broken.map(|(index, _)| Finding::new(&RULE, index).in_branch_of(run.session)));
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::fixture;

    /// Entries as `uuid parent`, the first one with the user's words, all others the model's.
    fn log(entries: &[&str]) -> String {
        let line = |(index, told): (usize, &&str)| {
            let (uuid, parent) = told.split_once(' ').unwrap_or((told, "-"));
            let parent = if parent == "-" {
                "null".to_owned()
            } else {
                format!("\"{parent}\"")
            };
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            let message = format!(
                r#"{{"id":"msg_{index}","role":"{role}","content":[{{"type":"text","text":"x"}}]}}"#
            );
            format!(
                r#"{{"type":"{role}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","isSidechain":false,"message":{message}}}"#
            )
        };
        entries
            .iter()
            .enumerate()
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn a_parent_that_is_not_there_breaks_the_chain() {
        fixture(&log(&["a1 -", "a2 a1", "a3 PHANTOM", "a4 a3"])).expect(&RULE, &["#3"]);
        fixture(&log(&["a1 -", "a2 a1", "a3 a2", "a4 a3"])).expect(&RULE, &[]);
    }

    #[test]
    fn a_log_may_begin_in_the_middle() {
        fixture(&log(&["a1 OTHER_FILE", "a2 a1", "a3 a2"])).expect(&RULE, &[]);
        let cut = r#"{"type":"system","subtype":"compact_boundary","uuid":"b0","parentUuid":null,"logicalParentUuid":"GONE","sessionId":"s","isSidechain":false,"content":"Conversation compacted"}"#;
        let behind = log(&["a1 b0", "a2 a1"]);
        fixture(&format!("{cut}\n{behind}")).expect(&RULE, &[]);
        let before = log(&["z1 -", "z2 z1"]);
        fixture(&format!("{before}\n{cut}\n{behind}")).expect(&RULE, &[]);
    }

    #[test]
    fn each_break_of_the_chain_is_reported() {
        fixture(&log(&["a1 -", "a2 P1", "a3 a2", "a4 P2"])).expect(&RULE, &["#2", "#4"]);
    }
}
