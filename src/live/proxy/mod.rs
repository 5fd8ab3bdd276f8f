//! Between any agent and its model: listeners, upstreams, exchanges that are watched, held and recorded.
//!
//! | | |
//! |---|---|
//! | [`Proxy`] | a running proxy: its parts and its commands |
//! | [`serve`] | the wire, from the client inwards: [`Listen`] has the port, `contact` the socket, `guard` lets in who may come, each request is answered by a [`Watch`], and [`UpstreamOrigin`] asks the model; `headers` and `body` say what goes on in either direction |
//! | `exchanges` | a [`Watch`] that looks: what somebody may decide about is driven by a task of its own through [`retake_core::exchange::machine`], what is only watched passes in the task of its connection; `judge` finds what is wrong |
//! | [`holds`] | what is held: live runs whose tools are the agent's |
//! | [`Chaos`] | faults on purpose |
//! | [`recorder`] | what is written down |
//! | [`connect`], [`agent`] | how agents are pointed here, and the one that is started here |
//! | [`trial`] | one that is started here anew for each fault |

pub mod agent;
pub(crate) mod body;
mod chaos;
mod client_side;
pub mod connect;
pub mod decode;
mod exchanges;
pub(crate) mod guard;
mod headers;
pub mod holds;
mod judge;
pub(crate) mod listen;
mod news;
mod options;
mod origin;
mod pass;
mod recent;
pub mod recorder;
mod running;
pub(crate) mod server;
mod websocket;

pub use body::{Body, ClientPresence, Cut, Outgoing, Patience, whole};
pub use chaos::{Chaos, ChaosSpecError, read_spec};
pub use guard::AdmitError;
pub use headers::{TOKEN, ask_for_plain, error};
pub use listen::{Listen, ListenError, Token, TokenError};
pub use news::{
    Observer, OpenedSocket, Passed, ProxyCommand, ProxyNews, ProxyRequest, Report, SocketDirection,
    TurnedAway, Watch,
};
pub use options::{
    BaseUrlError, Family, Fit, Ports, ProxyOptions, USUAL, USUAL_ASKS, Upstream, UpstreamBase,
    UpstreamError,
};
pub use origin::{CertificateTrust, TlsError, UpstreamFailure, UpstreamOrigin};
pub use pass::{Count, head, no_reply, onward};
pub use recent::StoredRequest;
pub use running::{Proxy, ProxyError};
pub use server::{ServeError, serve};
