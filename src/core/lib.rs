//! The core of retake, a debugger for tool-calling agents: what a session is, what is wrong with it, what can
//! be done about it.
//!
//! It has no input, output, clock, threads or terminal. `retake-live` has the files, models, tools, runs and
//! the proxy; `retake-app` has the terminal UI and the command line.
//!
//! A run of an agent is a history of messages, calls and outputs. One hallucinated tool name, one broken JSON
//! or one call without its output ends it. retake opens the recording, marks what is broken, says why, and lets
//! the operator mend it; it runs agents itself, and is between any other agent and its model, so that the
//! same can be done before anything goes wrong.
//!
//! # The journey of the data
//!
//! ```text
//! bytes ─formats─▶ Session ─rules─▶ Findings ─offers─▶ actions ─▶ edits ─▶ new take ─formats─▶ bytes
//!   ▲                 ▲
//!  live              wire              standing, events ─engine─▶ effects ─live─▶ model, tools, a take that grows
//! agent ─live::proxy─▶ exchange ─▶ what passes; what is held is a live run whose tools are the agent's ─▶ what agent and provider each see
//! finding ─lab─▶ one history in many wordings ─live::lab─▶ model ─▶ takes, each classed by the rules, counted on a board
//! recording ─replay─▶ the turn that answers a request ─live::replay─▶ agent;  chaos ─▶ faults in what the proxy tells it
//! ```
//!
//! # The rooms, in reading order
//!
//! | room | question it answers | to add one |
//! |---|---|---|
//! | [`json`] | where do values stand in JSON text? | |
//! | [`bundled`] | which tables does the program carry? | a TOML file beside the code that uses it |
//! | [`schema`], [`repair`], [`suggest`], [`jq`], [`pattern`], [`safe_text`], [`redact`] | guards: JSON Schema, JSON repair, near names, jq, names with stars, drawable text, secrets | |
//! | [`content`] | what does a content look like to a reader? calls in one line, diffs, Markdown, terminal colours | |
//! | [`session`] | what happened? items, turns, pairs, contract; what was done about it: the tree of takes; what happened in the world: the ledger | |
//! | [`wire`] | how does a provider spell it? | one folder per dialect and a line in its table; error texts are rows in `provider_errors` |
//! | [`wording`] | what does the model read? templates, the library, rendering, recipes | one row in the table of `wording::library` |
//! | [`config`] | what may a TOML file say? key tables, checks, errors with their lines | a key is one row of a table of `config::Keys` |
//! | [`formats`] | how does a file hold it? | one file and one line in [`formats::FORMATS`] |
//! | [`actions`] | what can be done? a scene in, edits or a reason out | one file and one line in [`actions::ACTIONS`] |
//! | [`rules`] | what is wrong? | one file and one line in [`rules::RULES`] |
//! | [`engine`] | what happens next in a live run? a machine without a clock: the history is so, an event came, do this | |
//! | [`exchange`] | what of an intercepted exchange passes, and what is held? bytes in, bytes out, no socket | |
//! | [`lab`] | which words help? a failing call, several wordings, many samples of each | |
//! | [`usage`] | when did it happen, what did it take? times, durations, tokens | |
//! | [`replay`] | which turn of a recording answers a request? | `retake help replay` lists what is compared |
//! | [`chaos`] | what can go wrong in what an agent receives? faults, on purpose and repeatable | one row of `chaos::FAULTS` |
//! | [`script`] | what does a scripted model answer? rules over what it is asked | |
//!
//! A room uses only rooms above it in the table; `tests/it/tidy` reads the sources and enforces this.
//!
//! # What holds everywhere
//!
//! - **Bytes are the truth.** A session keeps its source and items hold spans into it. Opening costs what is
//!   looked at, memory goes with the number of items, and an untouched item is written back byte for byte.
//! - **Reading never fails as a whole.** A broken line costs that line and is reported with its place; only
//!   "no format claims this" is an error. Every type of every provider is an open enum: what is not known
//!   is kept and shown.
//! - **Recorded bytes never change.** A take is a rope over them ([`session::Rope`]): its session is what the
//!   same format reads from the rope, so rules, screen and saving treat it like any recording.
//!   [`formats::lower`] turns an action's edits into its splices.
//! - **A live run is a take that grows.** What to do next follows from its history and the ledger, so
//!   recoveries, undo and comparing are those of recordings; what has started is in the journal before it
//!   starts, and what may have run never runs again by itself.
//! - **There is one definition of a pair and of an orphan**: [`session::pairing`]. What a provider accepts
//!   beyond it is the dialect's to say.
//! - **Unknown is a value.** Without tool definitions no call is called unknown; a schema that cannot
//!   be used judges nothing.
//! - **Text from outside is hostile.** Nothing reaches a terminal or a
//!   report except through [`safe_text::SafeText`].
//! - **One table per vocabulary.** Formats, rules, actions and keys are tables; help, README and
//!   `explain` come from them.
//!
//! What is deliberately absent: retake fetches nothing and runs nothing while it looks at a recording, and
//! writes only its own journal of takes and what the operator saves.

pub mod actions;
pub mod bundled;
pub mod chaos;
pub mod config;
pub mod content;
pub mod dice;
pub mod engine;
pub mod exchange;
pub mod formats;
pub mod jq;
pub mod json;
pub mod lab;
pub mod pattern;
pub mod redact;
pub mod repair;
pub mod replay;
pub mod rules;
pub mod safe_text;
pub mod schema;
pub mod script;
pub mod session;
pub mod suggest;
pub mod usage;
pub mod wire;
pub mod wording;
