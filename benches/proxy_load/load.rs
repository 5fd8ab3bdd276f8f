//! The client: the same requests through every target in turns, so that what disturbs one disturbs all.

use crate::Failed;
use crate::ask::{ANSWER, Answer, Ask, Dialect};
use crate::reply::{self, CHUNKS, STAMP};
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// After this time without the end of an answer, there is none.
const PATIENCE: Duration = Duration::from_secs(30);
/// Requests of each connection before anything is measured.
const WARM: u32 = 5;

#[derive(Args)]
pub(crate) struct Load {
    /// What is asked, each as NAME=ADDRESS.
    #[arg(required = true, value_parser = target)]
    targets: Vec<(String, SocketAddr)>,
    #[arg(long, value_enum, default_value = "chat")]
    dialect: Dialect,
    /// What the upstream is to answer; several are taken in turn.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "text")]
    answer: Vec<Answer>,
    /// The length of a request.
    #[arg(long, default_value_t = 1024)]
    bytes: usize,
    /// One in so many requests is long.
    #[arg(long)]
    long_every: Option<u32>,
    /// The length of a long request.
    #[arg(long, default_value_t = 205_000)]
    long_bytes: usize,
    /// No request repeats calls of another one.
    #[arg(long)]
    fresh: bool,
    /// Connections that ask at the same time.
    #[arg(long, default_value_t = 1)]
    concurrency: u32,
    /// Requests to each target, at least.
    #[arg(long, default_value_t = 1000)]
    requests: u32,
    /// Requests of each connection before it is the next target's turn.
    #[arg(long, default_value_t = 20)]
    batch: u32,
}

fn target(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, address) = text.split_once('=').ok_or("this is not NAME=ADDRESS")?;
    let address = address.parse().map_err(|error| format!("{error}"))?;
    Ok((name.to_owned(), address))
}

/// What was measured of one target, in nanoseconds.
#[derive(Default)]
struct Samples {
    whole: Vec<u64>,
    first: Vec<u64>,
    chunks: Vec<u64>,
    /// How long its turns took.
    turns: u64,
}

impl Samples {
    fn add(&mut self, mut others: Self) {
        self.whole.append(&mut others.whole);
        self.first.append(&mut others.first);
        self.chunks.append(&mut others.chunks);
        self.turns += others.turns;
    }

    fn told(mut self) -> Value {
        let requests = self.whole.len();
        let per_second = requests as f64 * 1e9 / self.turns.max(1) as f64;
        json!({
            "whole": quantiles(&mut self.whole), "first": quantiles(&mut self.first),
            "chunk": quantiles(&mut self.chunks), "requests": requests, "per_second": per_second,
        })
    }
}

fn quantiles(values: &mut [u64]) -> Value {
    values.sort_unstable();
    let at =
        |part: usize| values.get((values.len() * part / 100).min(values.len().saturating_sub(1)));
    json!({"p50": at(50), "p99": at(99)})
}

/// What is asked, the same of all.
struct Plan {
    dialect: Dialect,
    answers: Vec<Answer>,
    short: Ask,
    long: Option<(u32, Ask)>,
}

impl Load {
    pub(crate) async fn run(self) -> Result<Value, Failed> {
        let streams = self.answer.contains(&Answer::Stream);
        let ask = |bytes| Ask::new(self.dialect, streams, bytes, self.fresh);
        let plan = Arc::new(Plan {
            dialect: self.dialect,
            short: ask(self.bytes),
            long: self
                .long_every
                .map(|every| (every.max(1), ask(self.long_bytes))),
            answers: self.answer,
        });
        let mut lanes = Vec::new();
        for (_, address) in &self.targets {
            let mut connections = Vec::new();
            for number in 0..self.concurrency {
                connections.push(Connection::open(*address, plan.clone(), number).await?);
            }
            lanes.push(connections);
        }
        for lane in &mut lanes {
            turn(lane, WARM.min(self.batch)).await?;
        }
        let mut samples: Vec<Samples> = lanes.iter().map(|_| Samples::default()).collect();
        let turns = self
            .requests
            .div_ceil((self.concurrency * self.batch).max(1)) as usize;
        let count = lanes.len();
        for number in
            (0..turns).flat_map(|first| (0..count).map(move |next| (first + next) % count))
        {
            samples[number].add(turn(&mut lanes[number], self.batch).await?);
        }
        let named = self.targets.into_iter().map(|(name, _)| name);
        Ok(named.zip(samples.into_iter().map(Samples::told)).collect())
    }
}

/// All connections to a target ask so many times, side by side.
async fn turn(lane: &mut Vec<Connection>, requests: u32) -> Result<Samples, Failed> {
    let started = Instant::now();
    let mut asking = JoinSet::new();
    for mut connection in lane.drain(..) {
        asking.spawn(async move {
            let mut samples = Samples::default();
            for _ in 0..requests {
                let asked = timeout(PATIENCE, connection.ask(&mut samples)).await;
                asked.map_err(|_| format!("{} never answered", connection.address))??;
            }
            Ok::<_, Failed>((connection, samples))
        });
    }
    let mut all = Samples::default();
    while let Some(asked) = asking.join_next().await {
        let (connection, samples) = asked??;
        lane.push(connection);
        all.add(samples);
    }
    all.turns = nanoseconds(started);
    Ok(all)
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// One connection that asks one request after the other.
struct Connection {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
    plan: Arc<Plan>,
    /// Of the next request; no two connections to a target share one.
    number: u32,
}

impl Connection {
    async fn open(address: SocketAddr, plan: Arc<Plan>, number: u32) -> Result<Self, Failed> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // What breaks it is told to the one who asks.
        tokio::spawn(async { connection.await.ok() });
        let number = number * 1_000_000;
        Ok(Self {
            address,
            sender,
            plan,
            number,
        })
    }

    async fn ask(&mut self, samples: &mut Samples) -> Result<(), Failed> {
        let answer = self.plan.answers[self.number as usize % self.plan.answers.len()];
        let request = self.request(answer)?;
        self.number += 1;
        self.sender.ready().await?;
        let started = Instant::now();
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let (mut body, mut bytes, mut stamps) = (response.into_body(), 0, Stamps::default());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            if bytes == 0 {
                samples.first.push(nanoseconds(started));
            }
            bytes += data.len();
            if answer == Answer::Stream {
                stamps.read(&data, reply::now(), &mut samples.chunks);
            }
        }
        samples.whole.push(nanoseconds(started));
        let is_whole = match answer {
            Answer::Stream => stamps.count == CHUNKS,
            Answer::Text | Answer::Call => bytes == reply::WHOLE_BYTES,
        };
        match status == StatusCode::OK && is_whole {
            true => Ok(()),
            false => {
                let address = self.address;
                Err(format!(
                    "{address} answered {status}, {bytes} bytes, {} chunks",
                    stamps.count
                )
                .into())
            }
        }
    }

    fn request(&self, answer: Answer) -> Result<Request<Full<Bytes>>, Failed> {
        let ask = match &self.plan.long {
            Some((every, long)) if self.number.is_multiple_of(*every) => long,
            _ => &self.plan.short,
        };
        let request = Request::post(self.plan.dialect.path())
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, "Bearer none")
            .header(ANSWER, answer.word());
        Ok(request.body(Full::new(ask.numbered(self.number)))?)
    }
}

/// Reads the times that the deltas of a stream carry, wherever the stream was cut.
#[derive(Default)]
struct Stamps {
    open: Option<u64>,
    count: u32,
}

impl Stamps {
    fn read(&mut self, data: &[u8], arrived: u64, delays: &mut Vec<u64>) {
        for byte in data {
            // Behind the last delta, the end of a stream may repeat the text.
            if self.count == CHUNKS {
                return;
            }
            self.open = match (*byte, self.open) {
                (STAMP, _) => Some(0),
                (digit @ b'0'..=b'9', Some(so_far)) => Some(so_far * 10 + u64::from(digit - b'0')),
                (_, Some(written)) => {
                    delays.push(arrived.saturating_sub(written));
                    self.count += 1;
                    None
                }
                (_, None) => None,
            };
        }
    }
}
