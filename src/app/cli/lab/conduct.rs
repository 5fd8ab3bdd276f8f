//! An experiment from its first question to its end, or to the operator's interrupt.

use super::watching::Watching;
use crate::cli::exit::{Exit, Failure};
use retake_core::lab::{Board, End, Phase};
use retake_live::lab::{Command, News};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// How an experiment ended.
#[derive(Debug)]
pub(super) struct Conducted {
    pub(super) board: Arc<Board>,
    /// Whether the operator ended it.
    pub(super) was_interrupted: bool,
}

/// Watches an experiment until it is over; the first interrupt ends it.
pub(super) fn conduct(
    news: &Receiver<News>,
    interrupted: impl Fn() -> bool,
    mut tell: impl FnMut(Command),
    mut watching: Watching,
) -> Result<Conducted, Failure> {
    let mut was_interrupted = false;
    loop {
        if !was_interrupted && interrupted() {
            was_interrupted = true;
            tell(Command::Stop);
        }
        match news.recv_timeout(LOOK) {
            Ok(News::Board(board)) => {
                watching.board(&board);
                if matches!(board.phase, Phase::Ended(_)) {
                    return Ok(Conducted {
                        board,
                        was_interrupted,
                    });
                }
            }
            Ok(News::Notice(notice)) => watching.notice(&notice),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the lab ended before the experiment"));
            }
        }
    }
}

impl Conducted {
    /// How the command ends; `fails` says whether an assertion that counts does.
    pub(super) fn exit(&self, fails: bool) -> Exit {
        let ended = self.board.ended.iter().flatten();
        let model_failed = matches!(self.board.phase, Phase::Ended(End::ModelFailed)) || { ended }
            .any(|end| *end == End::ModelFailed);
        match (self.was_interrupted, model_failed, fails) {
            (true, ..) => Exit::Signal(2),
            (_, true, _) => Exit::Upstream,
            (_, _, true) => Exit::Findings,
            _ => Exit::Clean,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::tests::board;
    use super::*;
    use std::sync::mpsc::channel;

    fn board_in(phase: Phase, ended: [Option<End>; 2]) -> Arc<Board> {
        let mut board = board();
        board.phase = phase;
        board.ended = ended.to_vec();
        Arc::new(board)
    }

    #[test]
    fn an_experiment_is_watched_until_it_is_over() {
        let (sender, news) = channel();
        sender
            .send(News::Notice("slow \u{1b}[2J".to_owned()))
            .unwrap();
        let complete = Some(End::Complete);
        for (phase, ended) in [
            (Phase::Running, [None, None]),
            (Phase::Ending(End::Complete), [complete, None]),
            (Phase::Ended(End::Complete), [complete; 2]),
        ] {
            sender.send(News::Board(board_in(phase, ended))).unwrap();
        }
        let conducted = conduct(
            &news,
            || false,
            |_| panic!("nobody asked"),
            Watching::hidden(),
        );
        let conducted = conducted.unwrap();
        assert_eq!(conducted.board.phase, Phase::Ended(End::Complete));
        assert_eq!(conducted.exit(false), Exit::Clean);
        assert_eq!(conducted.exit(true), Exit::Findings);
    }

    #[test]
    fn the_first_interrupt_ends_the_experiment_and_what_is_there_is_kept() {
        let (sender, news) = channel();
        let mut told = Vec::new();
        let stopped = Some(End::Stopped);
        let conducted = conduct(
            &news,
            || true,
            |command| {
                told.push(command);
                let board = board_in(Phase::Ended(End::Stopped), [stopped; 2]);
                sender.send(News::Board(board)).unwrap();
            },
            Watching::hidden(),
        );
        assert_eq!(conducted.unwrap().exit(true).code(), 130);
        assert_eq!(told, [Command::Stop]);
    }

    #[test]
    fn a_model_that_could_not_be_asked_is_told_apart_from_an_assertion_that_fails() {
        let failed = Some(End::ModelFailed);
        let board = board_in(Phase::Ended(End::Complete), [failed, Some(End::Complete)]);
        let conducted = Conducted {
            board,
            was_interrupted: false,
        };
        assert_eq!(conducted.exit(true), Exit::Upstream);
    }

    #[test]
    fn a_lab_that_vanishes_is_no_end() {
        let (_, news) = channel();
        assert!(conduct(&news, || false, |_| (), Watching::hidden()).is_err());
    }
}
