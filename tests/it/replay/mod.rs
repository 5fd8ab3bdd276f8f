//! Recordings that are served again: matched with requests, over sockets, and as a process.

mod chaos;
mod client;
mod itself;
mod program;
mod sockets;
