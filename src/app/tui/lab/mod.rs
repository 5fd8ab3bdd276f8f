//! The wording lab on the screen: a form says what is measured, a table fills in as samples arrive, and each
//! sample opens in the debugger.
//!
//! ```text
//! debugger ─ W ─▶ Subject ─▶ form ─▶ Order ─▶ Bench (threads of its own) ─▶ News ─▶ mailbox ─▶ table ─▶ samples ─▶ debugger ─▶ back
//!                                                   ▲                                          │
//!                                                   └──────────────── Command ◀── keys ◀───────┘
//! ```
//!
//! [`Lab`] is pure: keys and news in, cells and wishes out. `desk` brings it together with what works for it.

pub mod desk;
pub mod form;
mod keys;
pub mod memory;
pub mod state;
pub mod subject;
#[cfg(test)]
mod tests;
mod view;
