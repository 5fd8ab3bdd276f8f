//! The faults that there are.

use super::inject::NotHere;
use super::reply::Reply;
use super::request::Request;
use super::{arguments, final_output, names};
use crate::dice::Dice;

/// One kind of fault.
#[derive(Debug)]
pub struct Fault {
    /// Its name in specs and reports.
    pub id: &'static str,
    /// What the agent receives.
    pub does: &'static str,
    /// What an agent does that handles it.
    pub expected: &'static str,
    /// The rule that finds it in a recording; `None` where the history shows nothing.
    pub rule: Option<&'static str>,
    /// How it is made.
    pub deed: Deed,
    /// What it means when the agent asks nothing behind it.
    pub silence: Silence,
    /// Whether an agent that ends with an error behind it has handled it.
    pub may_fail: bool,
}

/// How a fault is made.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    /// The reply is changed.
    Change(fn(&Request, &mut Reply, &mut Dice) -> Result<(), NotHere>),
    /// The upstream is not asked; the agent gets an error with this status.
    Status(u16),
    /// The stream ends in the middle.
    Cut,
    /// The stream comes with pauses.
    Slow,
}

/// What it means when an agent asks nothing behind a fault, and ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It has taken the fault for an answer.
    Unnoticed,
    /// It has given up, which its caller can see.
    GaveUp,
    /// Nothing was wrong with what it received.
    Fine,
}

/// What most faults have in common.
const FAULT: Fault = Fault {
    id: "",
    does: "",
    expected: "",
    rule: None,
    deed: Deed::Cut,
    silence: Silence::Unnoticed,
    may_fail: false,
};

/// All faults, in the order of reports.
pub static FAULTS: &[Fault] = &[
    Fault {
        id: "unknown-tool-near",
        does: "a call names a tool that is nearly one of those offered: letters swapped, a plural, another case",
        expected: "tells the model which tools there are, and goes on",
        rule: Some("unknown-tool"),
        deed: Deed::Change(names::near),
        ..FAULT
    },
    Fault {
        id: "unknown-tool-far",
        does: "a call names a tool that is not offered at all",
        expected: "tells the model which tools there are, and goes on",
        rule: Some("unknown-tool"),
        deed: Deed::Change(names::far),
        ..FAULT
    },
    Fault {
        id: "malformed-arguments",
        does: "the arguments of a call are no JSON",
        expected: "tells the model what is wrong with them, and goes on",
        rule: Some("malformed-arguments"),
        deed: Deed::Change(arguments::malformed),
        ..FAULT
    },
    Fault {
        id: "cut-arguments",
        does: "the arguments of a call end in the middle",
        expected: "tells the model what is wrong with them, and goes on",
        rule: Some("malformed-arguments"),
        deed: Deed::Change(arguments::cut),
        ..FAULT
    },
    Fault {
        id: "schema-break",
        does: "a required argument is missing, or one has another type than the tool's schema says",
        expected: "checks arguments before the tool runs, tells the model what is wrong, and goes on",
        rule: Some("invalid-arguments"),
        deed: Deed::Change(arguments::break_schema),
        ..FAULT
    },
    Fault {
        id: "duplicate-call-id",
        does: "two calls of one reply have the same id",
        expected: "answers both under ids of its own, or asks the model again",
        rule: Some("duplicate-call-id"),
        deed: Deed::Change(duplicate_id),
        ..FAULT
    },
    Fault {
        id: "call-as-text",
        does: "the call stands in the text of the reply, and no call is made",
        expected: "notices that nothing ran, and asks the model to call the tool",
        rule: Some("leaked-tool-call"),
        deed: Deed::Change(as_text),
        ..FAULT
    },
    Fault {
        id: "empty-final-output",
        does: "the last reply says nothing",
        expected: "asks the model again, or ends with an error",
        rule: Some("missing-final-output"),
        deed: Deed::Change(final_output::empty),
        may_fail: true,
        ..FAULT
    },
    Fault {
        id: "wrong-final-output",
        does: "the last reply breaks the output schema, or is prose where JSON is asked for",
        expected: "checks the output, and asks the model again or ends with an error",
        rule: Some("invalid-final-output"),
        deed: Deed::Change(final_output::wrong),
        may_fail: true,
        ..FAULT
    },
    Fault {
        id: "http-429",
        does: "the provider answers with status 429 and Retry-After: 1",
        expected: "waits as long as it is told, and asks again",
        deed: Deed::Status(429),
        silence: Silence::GaveUp,
        ..FAULT
    },
    Fault {
        id: "http-500",
        does: "the provider answers with status 500",
        expected: "asks again, a few times",
        deed: Deed::Status(500),
        silence: Silence::GaveUp,
        ..FAULT
    },
    Fault {
        id: "http-503",
        does: "the provider answers with status 503",
        expected: "asks again, a few times",
        deed: Deed::Status(503),
        silence: Silence::GaveUp,
        ..FAULT
    },
    Fault {
        id: "cut-stream",
        does: "the connection ends in the middle of the stream",
        expected: "throws the half of the reply away, and asks again",
        deed: Deed::Cut,
        silence: Silence::GaveUp,
        ..FAULT
    },
    Fault {
        id: "slow-stream",
        does: "the stream comes with pauses",
        expected: "waits",
        deed: Deed::Slow,
        silence: Silence::Fine,
        ..FAULT
    },
];

/// The fault of a name.
pub fn find(id: &str) -> Option<&'static Fault> {
    FAULTS.iter().find(|fault| fault.id == id)
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Fault {}

fn duplicate_id(_: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(), NotHere> {
    let count = reply.calls().len();
    match count {
        0 => Err(NotHere::NoCall),
        1 => {
            reply.repeat_call(0);
            Ok(())
        }
        _ => {
            let place = 1 + dice.below(count - 1);
            reply.share_id(0, place);
            Ok(())
        }
    }
}

fn as_text(request: &Request, reply: &mut Reply, _: &mut Dice) -> Result<(), NotHere> {
    let calls = reply.calls();
    if calls.is_empty() {
        return Err(NotHere::NoCall);
    }
    let mut blocks = Vec::new();
    for call in &calls {
        let is_whole = serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok();
        if !is_whole || request.tool(&call.name).is_none() {
            return Err(NotHere::BrokenAlready);
        }
        let name = crate::dialects::write::quoted(&call.name);
        let arguments = call.arguments.replace('\n', " ");
        blocks.push(format!(
            "<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>"
        ));
    }
    reply.remove_calls();
    let said = reply.text();
    let text = match said.trim().is_empty() {
        true => blocks.join("\n"),
        false => format!("{said}\n\n{}", blocks.join("\n")),
    };
    reply.say(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_is_found_by_it() {
        for (place, fault) in FAULTS.iter().enumerate() {
            assert_eq!(find(fault.id), Some(fault));
            assert!(!FAULTS[..place].contains(fault), "{} twice", fault.id);
            assert!(!fault.does.is_empty() && !fault.expected.is_empty());
        }
        assert_eq!(find("nothing"), None);
    }
}
