//! The terminal: taken when the debugger opens, given back whatever happens. The guard restores it on drop, the
//! panic hook before the message prints, and a watcher ends the program when the terminal itself goes away.

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::tcgetwinsize;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Columns of the terminal that an output is; `None` where it is another file.
pub(crate) fn columns_of(output: impl AsFd) -> Option<u16> {
    let size = tcgetwinsize(output).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// More than a frame of a large terminal, so that a frame is one write.
const FRAME_BYTES: usize = 1 << 18;

/// The exit code of a program that was hung up on: 128 and the number of SIGHUP.
const HUNG_UP: i32 = 129;
/// How long the loop has to notice that the terminal is gone.
const HEARING: Duration = Duration::from_secs(1);
/// Whether the terminal is taken: it is given back once only, or what was written to it since
/// would be drawn over.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the debugger has it.
#[derive(Debug)]
pub(super) struct TerminalScreen {
    /// Never dropped: on drop it complains to stderr about a terminal that is gone, and where stderr is
    /// gone too, that panics.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    mouse: bool,
}

impl TerminalScreen {
    /// Takes the terminal. Asks it nothing: no answer may stand before the first paint.
    pub(super) fn open(mouse: bool) -> io::Result<Self> {
        // Installs the handler of SIGWINCH, which crossterm does at the first poll only; a resize before
        // that would be lost.
        crossterm::event::poll(Duration::ZERO)?;
        enter(mouse)?;
        let writer = BufWriter::with_capacity(FRAME_BYTES, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(writer)).inspect_err(|_| leave())?;
        Ok(Self {
            terminal: ManuallyDrop::new(terminal),
            mouse,
        })
    }

    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws a frame as one update, so that no half of a frame is seen.
    pub(super) fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(view)?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Forgets what was drawn: the next frame is drawn whole. `Terminal::clear` would ask the terminal where
    /// its cursor is, and wait for ever beside the stream of keys; a resize clears without a question.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let (width, height) = self.size()?;
        self.terminal.resize(Rect::new(0, 0, width, height))
    }

    /// Gives the terminal back for a while.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().flush()?;
        leave();
        Ok(())
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        enter(self.mouse)?;
        self.clear()
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::Release);
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, Hide, EnableBracketedPaste)?;
    if mouse {
        execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Whether the terminal is taken.
pub(super) fn is_taken() -> bool {
    IS_TAKEN.load(Ordering::Acquire)
}

/// Restores what can be restored, if anything was taken; there is nobody to tell when it fails.
pub(super) fn leave() {
    if !IS_TAKEN.swap(false, Ordering::AcqRel) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// The terminal that keys come from.
fn keyboard() -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        stdin.as_fd().try_clone_to_owned()
    } else {
        Ok(std::fs::File::open("/dev/tty")?.into())
    }
}

/// Ends the program when the terminal goes away. Reading keys from a terminal that is gone never returns and
/// spins (crossterm issue 793), so the loop cannot be asked to do it. Where it ends by itself it has `patience`.
pub(super) fn exit_when_hung_up(is_ending: fn() -> bool, patience: Duration) {
    std::thread::spawn(move || {
        let Ok(tty) = keyboard() else { return };
        loop {
            let mut watched = [PollFd::new(&tty, PollFlags::empty())];
            let polled = poll(&mut watched, None);
            let gone = watched[0]
                .revents()
                .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            if polled.is_ok() && gone {
                // The loop ends by itself where it can; on a busy machine it takes a while to hear.
                let until = Instant::now() + HEARING;
                while !is_ending() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(20));
                }
                if is_ending() {
                    std::thread::sleep(patience);
                }
                std::process::exit(HUNG_UP);
            }
            if polled.is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
        }
    });
}
