//! The scripted model as clients meet it: over sockets, in every dialect, whole and streamed.

mod bundled;
mod client;
mod dialogue;
mod faults;
mod sockets;
