//! The IO of a run: a thread of its own that calls the model, runs tools and waits.
//!
//! Work starts at once and is reported when it has ended; nothing here waits for anybody. When the
//! world is dropped, everything in it is stopped: programs are ended with their groups, connections are closed.

use super::news::{StreamedCall, Streaming};
use crate::http;
use crate::lock::lock;
use crate::model::{Answer, Model, ReplyProgress};
use crate::scripted::ScriptedServer;
use crate::tools::{ToolRequest, ToolResponse, Toolbox};
use retake_core::engine::{Millis, ModelFault, Timer};
use retake_core::session::ledger::{Ask, CallKey};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// How often the growth of a reply is reported.
const OFTEN: Duration = Duration::from_millis(50);
/// How long the end of the world may take: tools get their grace, then they are killed.
const END: Duration = Duration::from_secs(10);

/// What happened in the world.
#[derive(Debug)]
pub enum IoEvent {
    Growing(Streaming),
    Answered {
        ask: Ask,
        /// The reply, or why there is none.
        answer: Box<Result<Answer, ModelFault>>,
    },
    Called {
        call: CallKey,
        called: ToolResponse,
    },
    Rang(Timer),
    /// The operator should know this; it holds text from outside.
    Notice(String),
}

/// Who hears of it, on the world's own thread.
pub type Report = Arc<dyn Fn(IoEvent) + Send + Sync>;

pub struct RunIo {
    handle: Handle,
    report: Report,
    model: Arc<Model>,
    /// The script that answers for the model; it listens until this is dropped.
    _script: Option<ScriptedServer>,
    /// Without one the calls are somebody else's.
    toolbox: Option<Arc<Toolbox>>,
    /// Everything ends with it.
    all: CancellationToken,
    asking: Mutex<HashMap<Ask, CancellationToken>>,
    /// Stops the tools that run now.
    tools: Mutex<CancellationToken>,
    thread: Option<JoinHandle<()>>,
}

impl RunIo {
    /// Begins a world with this model and these tools.
    pub(crate) fn start(
        model: Model,
        script: Option<ScriptedServer>,
        toolbox: Toolbox,
        thread: Thread,
        report: Report,
    ) -> Self {
        let Thread {
            handle,
            all,
            thread,
        } = thread;
        Self {
            handle,
            report,
            model: Arc::new(model),
            _script: script,
            toolbox: Some(Arc::new(toolbox)),
            tools: Mutex::new(all.child_token()),
            all,
            asking: Mutex::default(),
            thread: Some(thread),
        }
    }

    /// Starts an executor that only calls a model, beside others in one thread.
    pub(crate) fn in_room(model: Model, room: IoThread, report: Report) -> Self {
        let IoThread { handle, all } = room;
        Self {
            handle,
            report,
            model: Arc::new(model),
            _script: None,
            toolbox: None,
            tools: Mutex::new(all.child_token()),
            all,
            asking: Mutex::default(),
            thread: None,
        }
    }

    pub(crate) fn ask(&self, ask: Ask, body: Vec<u8>) {
        let cancel = self.all.child_token();
        lock(&self.asking).insert(ask, cancel.clone());
        let (model, report) = (self.model.clone(), self.report.clone());
        self.handle.spawn(async move {
            let mut watch = Watch::new(ask, report.clone());
            let mut on = |progress: ReplyProgress<'_>| watch.see(progress);
            let answer = Box::new(model.ask(body, &mut on, cancel).await);
            report(IoEvent::Answered { ask, answer });
        });
    }

    /// Calls a question off; it still ends with [`IoEvent::Answered`].
    pub(crate) fn cancel_ask(&self, ask: Ask) {
        if let Some(cancel) = lock(&self.asking).remove(&ask) {
            cancel.cancel();
        }
    }

    /// Carries out a call. `earlier` are the arguments of the calls of this tool that were answered before it.
    pub(crate) fn run(&self, call: CallKey, tool: String, arguments: String, earlier: Vec<String>) {
        let cancel = lock(&self.tools).clone();
        let report = self.report.clone();
        let Some(toolbox) = self.toolbox.clone() else {
            let called = ToolResponse::NeedsOperator("the agent carries it out".to_owned());
            return report(IoEvent::Called { call, called });
        };
        self.handle.spawn(async move {
            let earlier: Vec<&str> = earlier.iter().map(String::as_str).collect();
            let order = ToolRequest {
                tool: &tool,
                arguments: &arguments,
                earlier: &earlier,
            };
            let called = toolbox.call(order, &cancel).await;
            report(IoEvent::Called { call, called });
        });
    }

    /// Stops the tools that run; each still ends with [`IoEvent::Called`].
    pub(crate) fn stop_tools(&self) {
        let next = self.all.child_token();
        std::mem::replace(&mut *lock(&self.tools), next).cancel();
    }

    pub(crate) fn wait(&self, timer: Timer, for_ms: Millis) {
        let report = self.report.clone();
        self.spawn(async move {
            tokio::time::sleep(Duration::from_millis(for_ms)).await;
            report(IoEvent::Rang(timer));
        });
    }

    /// Calls a webhook; its failure is reported.
    pub(crate) fn webhook(&self, url: String, body: String) {
        let report = self.report.clone();
        self.spawn(async move {
            if let Err(error) = http::post_json(&url, body).await {
                report(IoEvent::Notice(format!(
                    "the webhook was not called: {error}"
                )));
            }
        });
    }

    /// Begins something that ends with the world.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let all = self.all.clone();
        self.handle.spawn(async move {
            tokio::select! {
                () = work => {}
                () = all.cancelled() => {}
            }
        });
    }
}

impl Drop for RunIo {
    fn drop(&mut self) {
        let Some(toolbox) = self.toolbox.clone() else {
            return self.all.cancel();
        };
        let (all, handle) = (self.all.clone(), self.handle.clone());
        let end = async move {
            // In time or not, the thread ends after it, and what is left is killed.
            let _ = tokio::time::timeout(END, toolbox.stop()).await;
            all.cancel();
        };
        lock(&self.tools).cancel();
        handle.spawn(end);
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic in it.
            let _ = thread.join();
        }
    }
}

/// The thread of a world, before there is a model and tools: servers of tools are started in it.
pub struct Thread {
    handle: Handle,
    all: CancellationToken,
    thread: JoinHandle<()>,
}

impl Thread {
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let all = CancellationToken::new();
        let end = all.clone();
        let thread = std::thread::Builder::new()
            .name("world".to_owned())
            .spawn(move || {
                runtime.block_on(end.cancelled());
                // What was cancelled has this long to end by itself.
                runtime.shutdown_timeout(Duration::from_secs(1));
            })?;
        Ok(Self {
            handle,
            all,
            thread,
        })
    }

    /// Begins something in it; it ends with the thread at the latest.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// A place in it for a world that ends by itself.
    pub fn room(&self) -> IoThread {
        IoThread {
            handle: self.handle.clone(),
            all: self.all.child_token(),
        }
    }

    /// Ends it, with every world that has a room in it.
    pub fn end(self) {
        self.all.cancel();
        // The panic hook has reported a panic in it.
        let _ = self.thread.join();
    }

    /// Does something in it, and waits for that.
    pub fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, done) = std::sync::mpsc::channel();
        self.handle.spawn(async move {
            // Nobody waits any more when the caller is gone.
            let _ = sender.send(work.await);
        });
        done.recv().ok()
    }
}

/// A place in the thread of worlds.
#[derive(Debug)]
pub struct IoThread {
    handle: Handle,
    all: CancellationToken,
}

/// Puts together what has come of a reply, and tells of it now and then.
struct Watch {
    streaming: Streaming,
    report: Report,
    last_report: Option<Instant>,
}

impl Watch {
    fn new(ask: Ask, report: Report) -> Self {
        Self {
            streaming: Streaming {
                ask,
                ..Streaming::default()
            },
            report,
            last_report: None,
        }
    }

    fn see(&mut self, progress: ReplyProgress<'_>) {
        self.streaming.silent_ms = 0;
        match progress {
            ReplyProgress::First { .. } => {}
            ReplyProgress::Silent { ms } => self.streaming.silent_ms = ms,
            ReplyProgress::Text(text) => self.streaming.text.push_str(text),
            ReplyProgress::Reasoning(text) => self.streaming.reasoning.push_str(text),
            ReplyProgress::Call { place, call } => {
                let calls = &mut self.streaming.calls;
                if calls.len() <= place {
                    calls.resize_with(place + 1, StreamedCall::default);
                }
                calls[place] = StreamedCall {
                    call_id: call.id.to_owned(),
                    name: call.name.into_owned(),
                    arguments: call.arguments.to_owned(),
                    is_complete: call.is_complete,
                };
            }
        }
        let is_due = self.last_report.is_none_or(|at| at.elapsed() >= OFTEN);
        if is_due {
            self.last_report = Some(Instant::now());
            (self.report)(IoEvent::Growing(self.streaming.clone()));
        }
    }
}
