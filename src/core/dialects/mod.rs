//! How providers spell a conversation: one file per dialect, each with the items it reads and the places it
//! allows for a pair.

pub mod anthropic;
mod body;
pub mod chat;
mod codec;
mod content;
mod fields;
pub mod gemini;
pub mod images;
mod known;
pub mod leaked;
pub mod models;
mod places;
pub mod provider_errors;
mod refusal;
pub mod responses;
mod shapes;
mod stop;
pub mod stream;
mod survivors;
pub mod tools;
mod usage;
pub mod write;

pub use body::{Arguments, Body, body_of, body_within, body_without_reasoning};
pub use codec::{Codec, Said};
pub use content::{Content, joined};
pub use fields::Fields;
pub use known::unknown_in;
pub use places::{Misplaced, Misplacement, misplaced};
pub use refusal::Refusal;
pub use shapes::{ShapeFault, shape_fault};
pub use stop::{stop_of, stops_early};
pub use survivors::{Survivors, survivors};
pub use usage::usage_of;
