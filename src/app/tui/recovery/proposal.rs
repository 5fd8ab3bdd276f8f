//! What an action would change, before it is taken: its safety in words, what the operator should know, and
//! every item as it is and as it would be.

use super::difference::{self, DifferenceRow};
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::Popup;
use crate::tui::text::TextWindow;
use crate::tui::text::{Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use retake_core::actions::Safety;
use retake_core::content::without_colours;
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;

/// Most lines that are shown of an item that is there on one side only.
const LONE: usize = 200;
/// Cells between the edge and an item.
const INDENT: usize = 2;

/// What happens to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It comes into the history.
    Added,
    /// It leaves the history.
    Removed,
    /// It becomes another one.
    Changed,
    /// It goes to this place, counted from 1, as it is.
    Moved(usize),
}

/// An item that an action would touch.
#[derive(Debug, Clone)]
pub struct ProposedChange {
    pub fate: Fate,
    /// Its number in the history, counted from 1; `None` of one that is new.
    pub number: Option<usize>,
    pub kind: Kind,
    /// The tool; empty where there is none.
    pub tool: String,
    /// Its text as it is; empty of one that is new.
    pub before: String,
    /// Its text as it would be; empty of one that goes.
    pub after: String,
}

/// What an action would do, for the operator.
#[derive(Debug, Clone)]
pub struct Proposed {
    /// What the menus call the action, with what it is applied to.
    pub title: String,
    pub safety: Safety,
    /// What is wrong with the result, a sentence each.
    pub faults: Vec<String>,
    /// What the operator should know before accepting, a sentence each.
    pub notes: Vec<String>,
    /// The items that it touches.
    pub changes: Vec<ProposedChange>,
    /// How many further items leave the history, where they are too many to show them all.
    pub more_removed: usize,
    /// Whether other words would make it another change.
    pub has_words: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalVerdict {
    Accept,
    /// The operator wants other words.
    Reword,
}

#[derive(Debug, Clone)]
pub struct Proposal {
    title: SafeText,
    has_words: bool,
    page: TextWindow,
    /// The lines on which items begin.
    starts: Vec<usize>,
}

/// What a safety means.
pub fn safety_words(safety: Safety) -> &'static str {
    match safety {
        Safety::Safe => "keeps the model's meaning",
        Safety::Unsafe => "changes what the model saw or did",
        Safety::Manual => "your own text",
    }
}

impl Proposal {
    /// The view of a change.
    pub fn new(proposed: &Proposed) -> Self {
        let mut lines = preface(proposed);
        let mut starts = Vec::new();
        for change in &proposed.changes {
            lines.push(Line::default());
            starts.push(lines.len());
            lines.push(heading(change));
            lines.extend(body(change));
        }
        if proposed.more_removed > 0 {
            let words = match proposed.more_removed {
                1 => "… 1 more item is removed".to_owned(),
                more => format!("… {more} more items are removed"),
            };
            lines.push(Line::default());
            lines.push(Line::new(Tone::Removed, SafeText::from_str(&words)));
        }
        if proposed.changes.is_empty() && proposed.more_removed == 0 {
            let words = SafeText::from_static("no item changes");
            lines.extend([Line::default(), Line::new(Tone::Dim, words)]);
        }
        Self {
            title: SafeText::single_line(&proposed.title, 200),
            has_words: proposed.has_words,
            page: TextWindow::new(lines),
            starts,
        }
    }
}

impl<S> Layer<S> for Proposal {
    type Output = ProposalVerdict;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Proposal]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<ProposalVerdict> {
        match command(Context::Proposal, &key) {
            Some(Command::Accept) => return Step::Done(ProposalVerdict::Accept),
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Reword) if self.has_words => return Step::Done(ProposalVerdict::Reword),
            Some(Command::Difference(direction)) => {
                let top = self.page.top();
                let mut starts = self.starts.iter();
                let next = if direction.is_forward() {
                    starts.find(|start| **start > top)
                } else {
                    starts.rfind(|start| **start < top)
                };
                if let Some(next) = next {
                    self.page.go_to(*next);
                }
            }
            _ => {
                self.page.key(key);
            }
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<ProposalVerdict> {
        self.page.mouse(event);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let without: &[Command] = if self.has_words {
            &[]
        } else {
            &[Command::Reword]
        };
        let popup = Popup {
            title: &self.title,
            context: Context::Proposal,
            without,
        };
        let inside = popup.view(frame, area, theme);
        self.page.view(frame, inside, theme);
    }
}

fn preface(proposed: &Proposed) -> Vec<Line> {
    let tone = match proposed.safety {
        Safety::Safe => Tone::Info,
        Safety::Unsafe | Safety::Manual => Tone::Warning,
    };
    let mut first = Line::new(tone, SafeText::from_static(proposed.safety.word()));
    let words = format!(": {}", safety_words(proposed.safety));
    first.pieces.push((Tone::Plain, SafeText::from_str(&words)));
    let mut lines = vec![first];
    let faults = proposed
        .faults
        .iter()
        .map(|fault| SafeText::from_str(fault));
    lines.extend(faults.map(|fault| Line::new(Tone::Error, fault)));
    for note in &proposed.notes {
        let note = without_colours(note);
        let seen = note.lines().filter(|line| !line.trim().is_empty());
        lines.extend(seen.map(|line| Line::new(Tone::Plain, SafeText::from_str(line))));
    }
    lines
}

/// `~ item 23  call  serch_flights`.
fn heading(change: &ProposedChange) -> Line {
    let (mark, tone) = match change.fate {
        Fate::Added => ("+", Tone::Added),
        Fate::Removed => ("-", Tone::Removed),
        Fate::Changed | Fate::Moved(_) => ("~", Tone::Title),
    };
    let number = match (change.fate, change.number) {
        (Fate::Added, _) | (_, None) => "new item".to_owned(),
        (_, Some(number)) => format!("item {number}"),
    };
    let words = format!("{mark} {number}  {}", change.kind.word());
    let mut line = Line::new(tone, SafeText::from_str(&words));
    if !change.tool.is_empty() {
        let mut tool = SafeText::from_static("  ");
        tool.push(&SafeText::single_line(&change.tool, 100));
        line.pieces.push((Tone::Title, tool));
    }
    let fate = match change.fate {
        Fate::Added => match change.number {
            Some(number) => format!("  becomes item {number}"),
            None => String::new(),
        },
        Fate::Removed => "  is removed".to_owned(),
        Fate::Changed => String::new(),
        Fate::Moved(to) => format!("  moves to item {to}, unchanged"),
    };
    line.pieces.push((Tone::Dim, SafeText::from_str(&fate)));
    line
}

fn body(change: &ProposedChange) -> Vec<Line> {
    let mut rows = match change.fate {
        Fate::Moved(_) => Vec::new(),
        _ => difference::compare_readable(&change.before, &change.after),
    };
    let surplus = match change.fate {
        Fate::Changed | Fate::Moved(_) => 0,
        Fate::Added | Fate::Removed => rows.len().saturating_sub(LONE),
    };
    rows.truncate(rows.len() - surplus);
    let is_same =
        |row: &DifferenceRow| matches!(row, DifferenceRow::Same(_) | DifferenceRow::Folded(_));
    if change.fate == Fate::Changed && rows.iter().all(is_same) {
        let words = SafeText::from_static("  only the formatting changes: spaces or escapes");
        return vec![Line::new(Tone::Dim, words)];
    }
    let mut lines = difference::unified(&rows);
    if surplus > 0 {
        let words = format!("... {surplus} more lines");
        lines.push(Line::new(Tone::Dim, SafeText::from_str(&words)));
    }
    for line in &mut lines {
        line.indent = INDENT;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, emphasis, event, plain_screen, screen,
    };

    const CALL: &str = r#"{"type":"function_call","call_id":"c1","name":"serch_flights","arguments":"{\"to\":\"JFK\"}"}"#;
    const OUTPUT: &str = r#"{"type":"function_call_output","call_id":"c1","output":"No tool is called serch_flights."}"#;

    fn proposed() -> Proposed {
        Proposed {
            title: "take the suggestion: search_flights".to_owned(),
            safety: Safety::Unsafe,
            faults: Vec::new(),
            notes: vec!["the arguments satisfy the schema of search_flights".to_owned()],
            changes: vec![
                ProposedChange {
                    fate: Fate::Changed,
                    number: Some(23),
                    kind: Kind::Call,
                    tool: "serch_flights".to_owned(),
                    before: CALL.to_owned(),
                    after: CALL.replace("serch", "search"),
                },
                ProposedChange {
                    fate: Fate::Removed,
                    number: Some(24),
                    kind: Kind::Output,
                    tool: "serch_flights".to_owned(),
                    before: OUTPUT.to_owned(),
                    after: String::new(),
                },
            ],
            more_removed: 0,
            has_words: true,
        }
    }

    fn shown(proposal: &Proposal, size: (u16, u16)) -> String {
        screen(size, |frame, area, theme| {
            proposal.view(frame, area, &(), theme)
        })
    }

    #[test]
    fn everything_that_would_change_is_seen_before_it_is_accepted() {
        let mut proposal = Proposal::new(&proposed());
        insta::assert_snapshot!("proposal", shown(&proposal, (80, 24)));
        let parts = emphasis((80, 24), |frame, area, theme| {
            proposal.view(frame, area, &(), theme);
        });
        assert_eq!(parts, ["serch", "search"]);
        assert_eq!(proposal.key(event("j"), &mut ()), Step::Stay);
        assert_eq!(
            proposal.key(event("e"), &mut ()),
            Step::Done(ProposalVerdict::Reword)
        );
        assert_eq!(proposal.key(event("esc"), &mut ()), Step::Leave);
        assert_eq!(
            proposal.key(event("enter"), &mut ()),
            Step::Done(ProposalVerdict::Accept)
        );
    }

    #[test]
    fn it_scrolls_from_change_to_change() {
        let mut proposal = Proposal::new(&proposed());
        shown(&proposal, (60, 9));
        proposal.key(event("]"), &mut ());
        proposal.key(event("]"), &mut ());
        let second = shown(&proposal, (60, 9));
        assert!(second.contains("- item 24  output"), "{second}");
        proposal.key(event("["), &mut ());
        assert!(shown(&proposal, (60, 9)).contains("~ item 23  call"));
    }

    #[test]
    fn without_colour_and_utf_8_the_marks_tell_it() {
        let mut proposed = proposed();
        proposed.has_words = false;
        proposed.changes[1].fate = Fate::Added;
        proposed.changes[1].after = std::mem::take(&mut proposed.changes[1].before);
        proposed.changes.push(ProposedChange {
            fate: Fate::Moved(24),
            number: Some(26),
            kind: Kind::Output,
            tool: "get_\u{1b}[31muser".to_owned(),
            before: "{}".to_owned(),
            after: "{}".to_owned(),
        });
        proposed.more_removed = 1200;
        let mut proposal = Proposal::new(&proposed);
        let view = |frame: &mut Frame<'_>, area: Rect, theme: &Theme| {
            proposal.view(frame, area, &(), theme);
        };
        insta::assert_snapshot!("proposal_plain", plain_screen((60, 30), view));
        assert_draws_at_any_size(view);
        assert_eq!(proposal.key(event("e"), &mut ()), Step::Stay);
    }

    #[test]
    fn bytes_that_change_without_a_word_are_said_so() {
        let mut proposed = proposed();
        proposed.changes.truncate(1);
        proposed.changes[0].after = CALL.replace("\",\"", "\", \"");
        let proposal = Proposal::new(&proposed);
        assert!(shown(&proposal, (80, 12)).contains("only the formatting changes"));
        proposed.changes.clear();
        let proposal = Proposal::new(&proposed);
        assert!(shown(&proposal, (80, 12)).contains("no item changes"));
    }
}
