//! Finding, counting and filtering items, each in a thread of its own; the next of its kind calls
//! the one before off.

use super::{Loader, hits, paths, sieve};
use crate::tui::effect::{Counting, SearchRequest, Sifting};
use crate::tui::proxy::past::PastLog;
use crate::tui::report::Report;
use crate::tui::state::document::Document;
use crate::tui::transcript::nested::{NestedPlace, nested_calls};
use retake_core::usage::{Prices, SessionUsage};
use retake_live::proxy::recorder::past_news;
use retake_live::search::SearchError;
use retake_live::{SubAgent, sub_agents};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many sessions of a file are counted beside the one that is shown.
const NESTED: usize = 200;

impl Loader {
    /// Looks for the item that a search asks for; a new search calls the one before off.
    pub fn search(&mut self, search: SearchRequest) {
        self.searching.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.searching = cancel.clone();
        let reports = self.reports.clone();
        std::thread::spawn(move || {
            let report = match hits::find(&search, &cancel) {
                Ok(found) => Report::Found(found),
                Err(SearchError::Cancelled) => return,
                Err(SearchError::Source(error)) => Report::Failed(error.to_string()),
            };
            reports(report);
        });
    }

    /// Counts the items with a text in the background; a new count cancels the one before.
    pub fn count(&mut self, counting: Counting) {
        self.counting.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.counting = cancel.clone();
        let reports = self.reports.clone();
        std::thread::spawn(move || {
            let mut tell =
                |places, is_done| reports(Report::Counted(counting.clone(), places, is_done));
            match hits::count(&counting, &cancel, &mut tell) {
                Ok(()) | Err(SearchError::Cancelled) => {}
                Err(SearchError::Source(error)) => reports(Report::Failed(error.to_string())),
            }
        });
    }

    /// Counts in the background what a session took; a new count cancels the one before.
    pub fn total(&mut self, document: Arc<Document>, session: usize, prices: Prices) {
        self.totalling.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.totalling = cancel.clone();
        let reports = self.reports.clone();
        std::thread::spawn(move || {
            let is_cancelled = || cancel.load(Ordering::Relaxed);
            // The one that is shown comes first; those of a proxy are summed up.
            let shown = document.session(session);
            let counts_all = shown.is_some_and(|shown| !shown.exchanges.is_empty());
            let most = if counts_all { usize::MAX } else { NESTED };
            let others = 0..document.recording.sessions.len().min(most);
            let others = others.filter(|other| *other != session);
            let all = std::iter::once(session).chain(others);
            for number in all {
                let Some(counted) = document.session(number) else {
                    return;
                };
                match SessionUsage::of(counted, &prices, &is_cancelled, &mut |_, _| ()) {
                    Ok(Some(totals)) => {
                        let totals = Arc::new(totals);
                        reports(Report::Totalled(document.clone(), number, totals));
                    }
                    Ok(None) => return,
                    Err(error) => return reports(Report::Notice(error.to_string())),
                }
            }
        });
    }

    /// Looks for sub-agents with logs of their own.
    pub fn find_sub_agents(&self, log: PathBuf, prices: Prices, document: Option<Arc<Document>>) {
        let (reports, cancel) = (self.reports.clone(), self.closing.clone());
        std::thread::spawn(move || {
            let is_cancelled = || cancel.load(Ordering::Relaxed);
            let mut found = sub_agents(&log, &prices, &is_cancelled);
            if let Some(document) = document.filter(|_| found.len() > 1) {
                sort_by_call(&document, &mut found);
            }
            if !found.is_empty() {
                reports(Report::SubAgents(found));
            }
        });
    }

    /// Reads what has happened in the proxy whose journal the file is.
    pub fn read_proxy_log(&self, journal: PathBuf) {
        let (reports, cancel) = (self.reports.clone(), self.closing.clone());
        std::thread::spawn(move || {
            let is_cancelled = || cancel.load(Ordering::Relaxed);
            let mut log = PastLog::default();
            let read = past_news(&journal, &is_cancelled, |at, news| log.hear(at, news));
            reports(match read {
                Ok(()) => Report::ProxyLog(log.entries.into()),
                Err(error) => Report::Notice(format!("the log cannot be read: {error}")),
            });
        });
    }

    /// Completes a path in the background.
    pub fn complete(&self, typed: String) {
        let (reports, recording) = (self.reports.clone(), self.opening.input().path.clone());
        std::thread::spawn(move || {
            reports(Report::Paths(paths::complete(typed, recording.as_deref())))
        });
    }

    /// Decides which items a filter lets through; a new filter calls the one before off.
    pub fn sift(&mut self, sifting: Sifting) {
        self.sifting.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.sifting = cancel.clone();
        let reports = self.reports.clone();
        std::thread::spawn(move || {
            if let Err(error) = sieve::sift_all(&sifting, &cancel, &*reports) {
                reports(Report::Failed(error.to_string()));
            }
        });
    }
}

/// Puts sub-agents in the order of the calls that began them: their files are named by chance.
fn sort_by_call(document: &Document, agents: &mut Vec<SubAgent>) {
    let sessions = &document.recording.sessions;
    let main = sessions.iter().position(|session| session.active);
    let calls = nested_calls(sessions, agents, main.unwrap_or(0));
    let call_of = |file: usize| {
        let own = |(_, place): &&(usize, NestedPlace)| *place == NestedPlace::File(file);
        calls.iter().find(own).map_or(usize::MAX, |(call, _)| *call)
    };
    let places: Vec<usize> = (0..agents.len()).map(call_of).collect();
    let mut placed: Vec<_> = places.into_iter().zip(agents.drain(..)).collect();
    placed.sort_by_key(|(place, _)| *place);
    agents.extend(placed.into_iter().map(|(_, agent)| agent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::loader::Knowledge;
    use crate::tui::loader::takes::conductor::Staged;
    use retake_live::{OpenedInput, ReadOptions};
    use std::path::Path;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_every_session_of_a_file_took_is_counted() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../sessions/reused-call-id.json"
        );
        let input = retake_live::open(Path::new(path)).unwrap();
        let opening = Arc::new(OpenedInput::begin(input, &ReadOptions::default()).unwrap());
        let (sender, received) = channel();
        let reports = Arc::new(move |report| drop(sender.send(report)));
        let knowledge = Arc::new(Knowledge::default());
        let mut loader = Loader::start(opening, knowledge, Staged::default(), reports);
        let mut heard = std::iter::from_fn(|| received.recv_timeout(Duration::from_secs(60)).ok());
        let document = heard.find_map(|report| match report {
            Report::Whole(document) => Some(document),
            _ => None,
        });
        loader.total(document.unwrap(), 1, Prices::built_in());
        let counted = heard.filter_map(|report| match report {
            Report::Totalled(_, session, _) => Some(session),
            _ => None,
        });
        assert_eq!(counted.take(2).collect::<Vec<_>>(), [1, 0]);
    }
}
