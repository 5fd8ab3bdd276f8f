//! The machine of an exchange, told what happens on a wire.

mod stories;
mod wire;
