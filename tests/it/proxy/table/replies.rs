//! Faults of a model's turn.

use super::{Fault, Makes, Way};
use crate::proxy::policies::wants_answer;
use crate::proxy::speech::{Agent, events, stream_head, turn};
use crate::proxy::stage::upstream;
use crate::proxy_wire::fake::{Fake, chunk, ok};
use retake_core::script::Script;
use retake_live::scripted::{ANY_PORT, ScriptedServer};
use std::fmt::Write as _;

/// A turn of a model.
pub(super) struct Reply {
    pub(super) says: Says,
    /// What the tool answers.
    pub(super) tool: &'static str,
    /// In how many turns it is said.
    pub(super) turns: usize,
    pub(super) has_schema: bool,
    /// The most turns of the run.
    pub(super) limit: usize,
}

/// Who says it.
pub(super) enum Says {
    /// A scripted model.
    Scripted(&'static str),
    /// A gateway that gives another reason for the end of a reply.
    Stop,
    /// A run of its own that ends as a policy says: nothing that passes a proxy.
    Run(&'static str),
}

pub(super) const WARM: &str = "9 degrees";
pub(super) const DOWN: &str = "Error: user not found";

/// The model that is asked.
pub(super) enum Model {
    Scripted(ScriptedServer),
    Gateway(Fake),
}

impl Model {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Scripted(endpoint) => format!("http://{}", endpoint.address()),
            Self::Gateway(fake) => fake.url(),
        }
    }
}

impl Reply {
    /// What the model is: it makes the fault, and then says something sound.
    pub(super) fn script(&self) -> String {
        let says = match self.says {
            Says::Scripted(says) => says,
            Says::Stop => "text = \"I look.\"",
            Says::Run(_) => CALL,
        };
        let mut text = "name = \"table\"\n".to_owned();
        for turn in 1..=self.turns {
            let _ = write!(text, "[[rule]]\nturn = {turn}\nattempt = 1\n{says}\n");
        }
        let sound = match self.has_schema {
            true => "{\"answer\":1}",
            false => "It is warm.",
        };
        text + &format!("[[rule]]\ntext = '{sound}'\n")
    }

    pub(super) fn model(&self, way: Way) -> Model {
        match self.says {
            Says::Stop => Model::Gateway(gateway(way)),
            _ => {
                let script = Script::parse("table", &self.script()).unwrap();
                Model::Scripted(ScriptedServer::start(script, ANY_PORT).unwrap())
            }
        }
    }

    pub(super) fn agent(&self, way: Way) -> Agent {
        let mut agent = Agent::new(way);
        if self.has_schema {
            agent.members = wants_answer(way.0);
        }
        agent
    }
}

/// A gateway that says once that a reply ended for a call that is not in it.
fn gateway((dialect, streams): Way) -> Fake {
    let swap = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let text = text.replace(
            "\"finish_reason\":\"stop\"",
            "\"finish_reason\":\"tool_calls\"",
        );
        text.replace("\"end_turn\"", "\"tool_use\"").into_bytes()
    };
    let spell = |text: &str, swap: &dyn Fn(&[u8]) -> Vec<u8>| {
        let reply = turn("1", text, &[]);
        if !streams {
            let whole = swap(reply.spell(dialect).as_bytes());
            return ok(&String::from_utf8(whole).unwrap());
        }
        let chunks = events(dialect, &reply).into_iter();
        let chunks = chunks.map(|event| chunk(&swap(&event)));
        [
            stream_head(dialect).as_bytes(),
            &chunks.collect::<Vec<_>>().concat(),
            b"0\r\n\r\n",
        ]
        .concat()
    };
    upstream(vec![
        spell("I look.", &swap),
        spell("It is warm.", &|bytes| bytes.to_vec()),
    ])
}

const CALL: &str = "calls = [{ name = \"search\", arguments = { city = \"Rome {{ turn }}\" } }]";

fn reply(rule: &'static str, says: &'static str) -> Fault {
    Fault {
        rule,
        form: "",
        makes: Makes::Reply(Reply {
            says: Says::Scripted(says),
            tool: WARM,
            turns: 1,
            has_schema: false,
            limit: 6,
        }),
    }
}

impl Fault {
    fn form(mut self, form: &'static str) -> Self {
        self.form = form;
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Reply)) -> Self {
        if let Makes::Reply(reply) = &mut self.makes {
            change(reply);
        }
        self
    }
}

/// Each fault of a turn.
pub(super) fn faults() -> Vec<Fault> {
    let call = "calls = [{ name = \"search\", arguments = { city = \"Rome\" } }]";
    vec![
        reply("unknown-tool", "calls = [{ name = \"serch\", arguments = { city = \"Rome\" } }]"),
        reply("malformed-arguments", "calls = [{ name = \"search\", arguments = '{\"city\":\"Rome\",}' }]"),
        reply("invalid-arguments", "calls = [{ name = \"search\", arguments = { town = \"Rome\" } }]"),
        reply("truncated-response", "calls = [{ name = \"search\", arguments = '{\"city\":\"Ro' }]\nfinish = \"length\""),
        reply("truncated-response", "text = \"It is wa\"\nfinish = \"length\"").form("text"),
        reply("refused", "refusal = \"I cannot help with that.\""),
        reply("invalid-final-output", "text = '{\"answer\":\"one\"}'").with(|reply| reply.has_schema = true),
        reply("missing-final-output", "text = ''").with(|reply| reply.has_schema = true),
        reply("tool-error", call).with(|reply| reply.tool = DOWN),
        reply("failing-tool", CALL).with(|reply| (reply.tool, reply.turns) = (DOWN, 3)),
        reply("repeated-call", call).with(|reply| reply.turns = 3),
        reply("duplicate-argument-key", "calls = [{ name = \"search\", arguments = '{\"city\":\"Rome\",\"city\":\"Oslo\"}' }]"),
        reply("leaked-tool-call", "text = '<tool_call>{\"name\": \"search\", \"arguments\": {\"city\": \"Rome\"}}</tool_call>'"),
        reply("duplicate-call-id", "calls = [{ name = \"search\", id = \"call_same\", arguments = { city = \"Rome\" } }, { name = \"search\", id = \"call_same\", arguments = { city = \"Oslo\" } }]").form("reply"),
        reply("stop-reason-mismatch", "").with(|reply| reply.says = Says::Stop),
        reply("turn-limit", "").with(|reply| (reply.says, reply.turns, reply.limit) = (Says::Run(""), 6, 2)),
        reply("run-failed", "").with(|reply| (reply.says, reply.tool) = (Says::Run("[on.tool-error]\ndo = \"raise\"\n"), DOWN)),
    ]
}
