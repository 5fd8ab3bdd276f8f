//! The one table of keys. The keys that work, the footer, the help and the table of the README are all read from it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// One row down, or up.
    Step(Direction),
    /// Half a page down, or up.
    HalfPage(Direction),
    /// A page down, or up.
    Page(Direction),
    /// To the beginning or the end.
    Edge(Direction),
    /// The next or the previous turn.
    Turn(Direction),
    /// Unfold the turn, or go right.
    Unfold,
    /// Fold the turn, or go left.
    Fold,
    /// Fold or unfold the turn.
    Toggle,
    /// Fold or unfold all turns.
    FoldAll(bool),
    /// The next or previous finding.
    Finding(Direction),
    /// The next or previous error.
    Error(Direction),
    /// From a call to its output and back.
    Partner,
    /// Ask for a text to find.
    Find,
    /// The next or previous hit.
    Hit(Direction),
    /// The next item of the same tool.
    SameTool,
    /// Ask for a filter.
    Filter,
    /// Mark the item, or take its mark away.
    Mark,
    /// Show marked items only, or all.
    OnlyMarked,
    /// The next or previous pane.
    NextPane(Direction),
    /// The pane of this number.
    Pane(u8),
    /// Open what the cursor is on.
    Open,
    /// Pretty or raw.
    View,
    /// A recovery of a later version, by its title.
    Later(&'static str),
    /// Follow the file as it grows.
    Follow,
    /// The problems of reading.
    Log,
    /// Copy.
    Copy,
    /// Open the item in the editor.
    Editor,
    /// All commands by name.
    Palette,
    /// The keys.
    Help,
    /// Back.
    Back,
    /// Close the view; at the root quit.
    Close,
    /// Quit.
    Quit,
    /// Suspend.
    Suspend,
    /// Draw everything anew.
    Redraw,
}

/// Towards the end or towards the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    Forward,
    /// Towards the beginning.
    Backward,
}

impl Direction {
    /// Whether it leads towards the end.
    pub fn is_forward(self) -> bool {
        self == Self::Forward
    }
}

/// Under which title a key stands in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Moving.
    Move,
    /// Folding turns.
    Tree,
    /// From finding to finding.
    Findings,
    /// Finding and filtering.
    Find,
    /// Panes.
    Panes,
    /// Recoveries.
    Recover,
    /// Live runs.
    Live,
    /// Files, copies, editors.
    Files,
    /// The program.
    Program,
}

impl Group {
    /// Every group with its title, in the order of the help.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Move, "Move"),
        (Self::Tree, "Turns"),
        (Self::Findings, "Findings"),
        (Self::Find, "Find"),
        (Self::Panes, "Panes"),
        (Self::Recover, "Recover"),
        (Self::Live, "Live"),
        (Self::Files, "Files"),
        (Self::Program, "Program"),
    ];
}

/// Where a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Turns and items.
    Browse,
    /// The detail pane.
    Detail,
    /// Lists that are not the history: findings, sessions.
    List,
    /// A text over the screen: help, log.
    Overlay,
}

/// A key as it is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press {
    code: KeyCode,
    control: bool,
}

const fn key(character: char) -> Press {
    Press {
        code: KeyCode::Char(character),
        control: false,
    }
}

const fn control(character: char) -> Press {
    Press {
        code: KeyCode::Char(character),
        control: true,
    }
}

const fn named(code: KeyCode) -> Press {
    Press {
        code,
        control: false,
    }
}

impl Press {
    /// The key of an event; shift is in the character already.
    pub fn of(event: &KeyEvent) -> Self {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let code = match event.code {
            KeyCode::Char(character) if control => KeyCode::Char(character.to_ascii_lowercase()),
            code => code,
        };
        Self { code, control }
    }

    /// How it is written in help texts.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(character) => character.to_string(),
            KeyCode::Up => "up".to_owned(),
            KeyCode::Down => "down".to_owned(),
            KeyCode::Left => "left".to_owned(),
            KeyCode::Right => "right".to_owned(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            KeyCode::BackTab => "S-tab".to_owned(),
            KeyCode::F(number) => format!("F{number}"),
            code => format!("{code:?}").to_lowercase(),
        };
        if self.control {
            format!("^{name}")
        } else {
            name
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Binding {
    /// The keys; the first one is named in the footer.
    pub keys: &'static [Press],
    /// What they do.
    pub command: Command,
    /// Where they do it.
    pub contexts: &'static [Context],
    /// Where they stand in the help.
    pub group: Group,
    /// What they do, for people.
    pub help: &'static str,
    /// What the footer says, and how much that matters there; 0 keeps it out.
    pub footer: (u8, &'static str),
}

use Command as C;
use Context::{Browse, Detail, List, Overlay};
use Direction::{Backward, Forward};

const EVERYWHERE: &[Context] = &[Browse, Detail, List, Overlay];
const PANES: &[Context] = &[Browse, Detail, List];
const HISTORY: &[Context] = &[Browse, Detail];

const fn row(
    keys: &'static [Press],
    command: Command,
    contexts: &'static [Context],
    group: Group,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        command,
        contexts,
        group,
        help,
        footer: (0, ""),
    }
}

impl Binding {
    const fn in_footer(mut self, weight: u8, words: &'static str) -> Self {
        self.footer = (weight, words);
        self
    }

    /// Its keys as they are written in help texts.
    pub fn labels(&self) -> String {
        let labels: Vec<String> = self.keys.iter().map(|key| key.label()).collect();
        labels.join(" ")
    }
}

/// Every key.
#[rustfmt::skip]
pub const KEYMAP: &[Binding] = &[
    row(&[key('j'), named(KeyCode::Down)], C::Step(Forward), EVERYWHERE, Group::Move, "down"),
    row(&[key('k'), named(KeyCode::Up)], C::Step(Backward), EVERYWHERE, Group::Move, "up"),
    row(&[control('d')], C::HalfPage(Forward), EVERYWHERE, Group::Move, "half a page down"),
    row(&[control('u')], C::HalfPage(Backward), EVERYWHERE, Group::Move, "half a page up"),
    row(&[named(KeyCode::PageDown), control('f')], C::Page(Forward), EVERYWHERE, Group::Move, "a page down"),
    row(&[named(KeyCode::PageUp), control('b')], C::Page(Backward), EVERYWHERE, Group::Move, "a page up"),
    row(&[key('g'), named(KeyCode::Home)], C::Edge(Backward), EVERYWHERE, Group::Move, "to the beginning"),
    row(&[key('G'), named(KeyCode::End)], C::Edge(Forward), EVERYWHERE, Group::Move, "to the end"),
    row(&[key('J')], C::Turn(Forward), HISTORY, Group::Move, "next turn"),
    row(&[key('K')], C::Turn(Backward), HISTORY, Group::Move, "previous turn"),
    row(&[key('l'), named(KeyCode::Right)], C::Unfold, HISTORY, Group::Tree, "unfold the turn; then go right"),
    row(&[key('h'), named(KeyCode::Left)], C::Fold, HISTORY, Group::Tree, "fold the turn; else go left"),
    row(&[key(' ')], C::Toggle, &[Browse], Group::Tree, "fold or unfold the turn"),
    row(&[key('=')], C::FoldAll(true), HISTORY, Group::Tree, "unfold all turns"),
    row(&[key('-')], C::FoldAll(false), HISTORY, Group::Tree, "fold all turns"),
    row(&[key(']')], C::Finding(Forward), PANES, Group::Findings, "next finding").in_footer(90, "finding"),
    row(&[key('[')], C::Finding(Backward), PANES, Group::Findings, "previous finding"),
    row(&[key('}')], C::Error(Forward), PANES, Group::Findings, "next error"),
    row(&[key('{')], C::Error(Backward), PANES, Group::Findings, "previous error"),
    row(&[key('%')], C::Partner, PANES, Group::Findings, "from a call to its output and back").in_footer(80, "pair"),
    row(&[key('/')], C::Find, PANES, Group::Find, "find a text").in_footer(70, "find"),
    row(&[key('n')], C::Hit(Forward), PANES, Group::Find, "next hit"),
    row(&[key('N')], C::Hit(Backward), PANES, Group::Find, "previous hit"),
    row(&[key('*')], C::SameTool, PANES, Group::Find, "next item of the same tool"),
    row(&[key('f')], C::Filter, PANES, Group::Find, "filter the items").in_footer(50, "filter"),
    row(&[key('m')], C::Mark, PANES, Group::Find, "mark the item"),
    row(&[key('M')], C::OnlyMarked, PANES, Group::Find, "marked items only, or all"),
    row(&[named(KeyCode::Tab)], C::NextPane(Forward), PANES, Group::Panes, "next pane").in_footer(60, "pane"),
    row(&[named(KeyCode::BackTab)], C::NextPane(Backward), PANES, Group::Panes, "previous pane"),
    row(&[key('1')], C::Pane(0), PANES, Group::Panes, "turns"),
    row(&[key('2')], C::Pane(1), PANES, Group::Panes, "items of the turn"),
    row(&[key('3')], C::Pane(2), PANES, Group::Panes, "the item in full"),
    row(&[key('4')], C::Pane(3), PANES, Group::Panes, "all findings").in_footer(40, "findings"),
    row(&[key('5'), key('S')], C::Pane(4), PANES, Group::Panes, "the sessions of the file"),
    row(&[key('t')], C::View, PANES, Group::Panes, "pretty or raw"),
    row(&[named(KeyCode::Enter)], C::Open, PANES, Group::Recover, "everything that can be done about the finding; in lists: open").in_footer(30, "offers"),
    row(&[key('i')], C::Later("inject error"), PANES, Group::Recover, "inject an error that the model can read"),
    row(&[key('r')], C::Later("retry turn"), PANES, Group::Recover, "retry the turn"),
    row(&[key('a')], C::Later("accept fallback"), PANES, Group::Recover, "accept a fallback"),
    row(&[key('s')], C::Later("take the suggestion"), PANES, Group::Recover, "take the suggestion"),
    row(&[key('e')], C::Later("edit"), PANES, Group::Recover, "edit the item"),
    row(&[key('o')], C::Later("supply output"), PANES, Group::Recover, "supply the output"),
    row(&[key('x')], C::Later("drop pair"), PANES, Group::Recover, "drop the pair"),
    row(&[key('u')], C::Later("undo"), PANES, Group::Recover, "undo"),
    row(&[control('r')], C::Later("redo"), PANES, Group::Recover, "redo"),
    row(&[key('D')], C::Later("fork here"), PANES, Group::Recover, "fork a take here"),
    row(&[key('T')], C::Later("takes"), PANES, Group::Recover, "the takes and their differences"),
    row(&[key('W')], C::Later("wording lab"), PANES, Group::Recover, "the wording lab"),
    row(&[key('I')], C::Later("interception"), PANES, Group::Live, "interception on or off"),
    row(&[key('b')], C::Later("breakpoint"), PANES, Group::Live, "breakpoint here"),
    row(&[key('B')], C::Later("breakpoints"), PANES, Group::Live, "all breakpoints"),
    row(&[key('.')], C::Later("step"), PANES, Group::Live, "step"),
    row(&[key('c')], C::Later("continue"), PANES, Group::Live, "continue"),
    row(&[key('X')], C::Later("abort"), PANES, Group::Live, "abort the run"),
    row(&[key('F')], C::Follow, PANES, Group::Live, "follow the file as it grows").in_footer(20, "follow"),
    row(&[key('H')], C::Later("tool health"), PANES, Group::Live, "tool health"),
    row(&[key('L')], C::Log, PANES, Group::Files, "what could not be read"),
    row(&[key('y')], C::Copy, PANES, Group::Files, "copy"),
    row(&[control('e')], C::Editor, PANES, Group::Files, "open the item in $EDITOR"),
    row(&[key('w')], C::Later("save as"), PANES, Group::Files, "save as"),
    row(&[key(':'), control('p')], C::Palette, PANES, Group::Program, "all commands by name"),
    row(&[key('?'), named(KeyCode::F(1))], C::Help, EVERYWHERE, Group::Program, "the keys").in_footer(100, "help"),
    row(&[named(KeyCode::Esc)], C::Back, EVERYWHERE, Group::Program, "back"),
    row(&[key('q')], C::Close, EVERYWHERE, Group::Program, "close; at the root quit").in_footer(95, "quit"),
    row(&[key('Q'), control('c')], C::Quit, EVERYWHERE, Group::Program, "quit"),
    row(&[control('z')], C::Suspend, EVERYWHERE, Group::Program, "suspend"),
    row(&[control('l')], C::Redraw, EVERYWHERE, Group::Program, "draw the screen anew"),
];

/// What a key does here.
pub fn command(context: Context, event: &KeyEvent) -> Option<Command> {
    let press = Press::of(event);
    KEYMAP
        .iter()
        .find(|binding| binding.contexts.contains(&context) && binding.keys.contains(&press))
        .map(|binding| binding.command)
}

/// What the footer may say here, what matters most first.
pub fn footer(context: Context) -> Vec<&'static Binding> {
    let mut bindings: Vec<_> = KEYMAP
        .iter()
        .filter(|binding| binding.footer.0 > 0 && binding.contexts.contains(&context))
        .collect();
    bindings.sort_by_key(|binding| std::cmp::Reverse(binding.footer.0));
    bindings
}

/// The keys as the table of the README.
pub fn markdown_table() -> String {
    let mut table = String::from("| | keys | |\n|---|---|---|\n");
    for (group, title) in Group::ALL {
        let mut title = title;
        for binding in KEYMAP.iter().filter(|binding| binding.group == group) {
            let keys: Vec<String> = binding
                .keys
                .iter()
                .map(|key| format!("`{}`", key.label()))
                .collect();
            let later = match binding.command {
                Command::Later(_) => " (not yet)",
                _ => "",
            };
            table.push_str(&format!(
                "| {title} | {} | {}{later} |\n",
                keys.join(" "),
                binding.help
            ));
            title = "";
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for (number, binding) in KEYMAP.iter().enumerate() {
            for other in &KEYMAP[..number] {
                let shares_place = binding
                    .contexts
                    .iter()
                    .any(|context| other.contexts.contains(context));
                let shares_key = binding.keys.iter().any(|key| other.keys.contains(key));
                assert!(!(shares_place && shares_key), "{binding:?} {other:?}");
            }
        }
    }

    #[test]
    fn shift_and_control_are_read_as_terminals_send_them() {
        let pressed = |code, modifiers| command(Browse, &KeyEvent::new(code, modifiers));
        assert_eq!(
            pressed(KeyCode::Char('G'), KeyModifiers::SHIFT),
            Some(Command::Edge(Forward))
        );
        assert_eq!(
            pressed(KeyCode::Char('d'), KeyModifiers::CONTROL),
            Some(Command::HalfPage(Forward))
        );
        assert_eq!(
            pressed(KeyCode::BackTab, KeyModifiers::SHIFT),
            Some(Command::NextPane(Backward))
        );
    }

    #[test]
    fn every_key_stands_in_the_table_of_the_readme() {
        let table = markdown_table();
        for binding in KEYMAP {
            assert!(table.contains(binding.help), "{binding:?}");
        }
    }
}
