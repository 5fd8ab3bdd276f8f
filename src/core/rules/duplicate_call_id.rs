//! duplicate-call-id: an id that another call has already.

use super::{Finding, Rule, RulePage, Run, Scope, Severity, pairs};
use crate::actions::Offer;
use crate::session::{Keyed, Kind, PairStatus};
use crate::wire::Repeats;
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-call-id",
    severity: Severity::Error,
    summary: "an id is used again for another call",
    message: "{tool} has the id of the call at item {first}[; {note}]",
    page: RulePage {
        what: "Two calls of the history have the same id.",
        why: "Anthropic refuses the request. Where it is accepted, clients that look outputs up by id show, \
            delete or answer the wrong call.",
        example: "A server numbers its calls from call_0 in every reply: find_order is call_0, and two turns \
            later exchange_article is call_0 again.",
        what_to_do: "Give the later call a new id, in the call and in its output.",
        limits: "Chat and Responses take an id again in a later turn once the first call is answered: a warning \
            there. Twice in one message it is an error; ids from before a compaction do not count. Gemini's ids \
            are made up by clients and pair by order too: a warning.",
    },
    offers: &[Offer::safe("renew-id"), Offer::unsafe_("drop-pair")],
    scope: Scope::Session(check),
};

/// What is known of the last call with an id.
struct Use {
    first: usize,
    last: usize,
}

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let mut uses: HashMap<u64, Use, Keyed> = HashMap::default();
    for (index, item) in session.items.iter().enumerate() {
        match item.kind {
            Kind::Compaction => uses.clear(),
            Kind::Call if !item.call_id.is_none() => match uses.get_mut(&item.call_id.hash) {
                None => {
                    let (first, last) = (index, index);
                    uses.insert(item.call_id.hash, Use { first, last });
                }
                Some(known) => {
                    findings.push(judge(run, known, index));
                    known.last = index;
                }
            },
            _ => {}
        }
    }
}

fn judge(run: &Run<'_>, known: &Use, index: usize) -> Finding {
    let session = run.session;
    let (before, item) = (&session.items[known.last], &session.items[index]);
    let content = |index: usize| run.digest(index).map(|digest| digest.content);
    let is_same = before.name == item.name && content(known.last) == content(index);
    let is_answered = matches!(
        session.pairing.standing(known.last),
        PairStatus::Paired(output) if (output as usize) < index
    );
    let is_later = is_answered && before.turn != item.turn;
    let accepted = match run.target.facts().call_ids.repeats {
        Repeats::None => false,
        Repeats::Answered => is_later,
        Repeats::AnsweredOrSame => is_same || is_later,
        Repeats::All => true,
    };
    let note = match (is_same, accepted) {
        (true, _) => "it is the same call again",
        (false, true) => "the first one was answered before, so the provider takes it",
        (false, false) => "",
    };
    Finding::new(&RULE, index)
        .fact("tool", pairs::tool(session, index))
        .fact("first", pairs::ordinal(known.first))
        .fact("note", note)
        .beside(Some(known.first))
        .warning_if(accepted)
        .in_branch_of(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;
    use crate::session::Dialect;

    fn pair(id: &str, arguments: &str) -> String {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","function":{{"name":"f","arguments":"{arguments}"}}}}]}},
            {{"role":"tool","tool_call_id":"{id}","content":"1"}}"#
        )
    }

    fn history(parts: &[String]) -> String {
        format!(r#"[{{"role":"user","content":"hi"}},{}]"#, parts.join(","))
    }

    #[test]
    fn an_id_of_an_answered_call_is_taken_by_openai_and_refused_by_anthropic() {
        let text = history(&[pair("call_0", "{}"), pair("call_0", "{ }")]);
        let chat = fixture(&text).finding(&RULE);
        assert_eq!((chat.severity, chat.related), (Severity::Warning, Some(1)));
        let anthropic = fixture(&text).target(Dialect::Anthropic).finding(&RULE);
        assert_eq!(anthropic.severity, Severity::Error);
    }

    #[test]
    fn twice_in_one_message_is_an_error() {
        let text = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[
            {"id":"call_0","function":{"name":"f","arguments":"{}"}},{"id":"call_0","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_0","content":"1"},{"role":"tool","tool_call_id":"call_0","content":"2"}]"#;
        assert_eq!(fixture(text).finding(&RULE).severity, Severity::Error);
    }

    #[test]
    fn other_ids_are_other_ids() {
        let text = history(&[
            pair("call_0", "{}"),
            pair("call_1", "{}"),
            pair("call_00", "{}"),
        ]);
        fixture(&text).expect(&RULE, &[]);
    }

    #[test]
    fn ids_from_before_a_compaction_do_not_count() {
        let text = r#"[{"role":"user","content":"hi"},
            {"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_0","output":"1"},
            {"type":"compaction","encrypted_content":"x"},
            {"type":"function_call","call_id":"call_0","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_0","output":"1"}]"#;
        fixture(text).expect(&RULE, &[]);
    }
}
