//! A load for proxies: a model API that answers at once, the barest proxy there can be, and a client that compares.
//!
//! `benches/measure.py` starts each of them as a process of its own for rows 11 to 14. Times are told in nanoseconds.
//!
//! ```text
//! proxy_load upstream                                         prints its address, as `pass` does
//! proxy_load pass 127.0.0.1:1234                              hyper in, hyper out: the yardstick
//! proxy_load load direct=127.0.0.1:1234 pass=127.0.0.1:4321   prints what each of them took
//! ```

mod ask;
mod load;
mod pass;
mod reply;
mod upstream;

use clap::Parser;
use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// What went wrong, for the person who measures.
type Failed = Box<dyn Error + Send + Sync>;

#[derive(Parser)]
enum Task {
    /// Answers like a model API, and at once.
    Upstream,
    /// Hands everything on, and does nothing else.
    Pass {
        /// Where to.
        upstream: SocketAddr,
    },
    /// Asks through every target in turn and compares.
    Load(load::Load),
}

fn main() -> Result<(), Failed> {
    let task = Task::parse();
    // One thread each: on two cores the processes already share them, and a second thread would only add its wake-ups.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match task {
            Task::Upstream => upstream::serve(listener().await?).await,
            Task::Pass { upstream } => pass::serve(listener().await?, upstream).await,
            Task::Load(load) => tell(&load.run().await?.to_string()),
        }
    })
}

/// Listens on loopback and says where.
async fn listener() -> Result<TcpListener, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    tell(&listener.local_addr()?.to_string())?;
    Ok(listener)
}

fn tell(line: &str) -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
