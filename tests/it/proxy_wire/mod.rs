//! The proxy's wire: hostile clients and upstreams over real sockets, byte for byte.

pub(crate) mod client;
mod clients;
pub(crate) mod fake;
mod faults;
mod hostile;
mod place;
mod replies;
pub(crate) mod sockets;
pub(crate) mod tls;
