//! The operator's face: a debugger on the screen, and before it a picker of what to open.
//!
//! ```text
//! keys, mouse ─┐                        ┌─▶ effects: editor, suspend, the end of the file
//! loader ──────┼─▶ update ──────────────┤
//! signals ─────┘   (pure)     state ────┴─▶ view ─▶ cells
//! ```
//!
//! `state` holds what is shown, `update` changes it, `view` draws it, `keymap` says which key means what.
//! `app` owns the loop and knows tokio, with `signals` and `panics`, which end it. The first frame is
//! painted from the head of the file before anything else is read or started; the rest is read by `loader` on
//! threads of its own.

mod app;
pub mod columns;
pub mod copy;
mod debugger;
pub mod effect;
pub mod filter;
pub mod fuzzy;
pub mod health;
pub mod help;
pub mod keymap;
pub mod lab;
pub mod layer;
pub mod list;
pub mod live;
pub mod loader;
pub mod palette;
mod panics;
pub mod picker;
#[cfg(feature = "images")]
mod pictures;
pub mod popup;
pub mod prompt;
pub mod proxy;
pub mod recovery;
pub mod render;
pub mod report;
mod request;
pub mod settings;
mod signals;
pub mod stack;
pub mod state;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
pub mod text;
pub mod textbox;
pub mod texts;
pub mod theme;
mod timeline;
pub mod transcript;
pub mod update;
pub mod view;

pub use app::{run, watch};
pub use request::{Left, OpenError, OpenRequest, View};
