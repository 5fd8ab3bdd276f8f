//! A page of HTML: one file with its own style and nothing to load. Folding needs no script.

use super::writer::{
    PageError, PageLink, PageSession, PageWriter, ending, is_same, listed_turns, parted, prefix_of,
    sign,
};
use crate::tui::text::{Glyph, Tone};
use crate::tui::transcript::block::{BlockRow, RowKind};
use crate::tui::transcript::page::{Page, PageBlock};
use retake_core::content::{Colour, Look};
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, Session};
use retake_core::wire::images::image_addresses;
use std::fmt::Write as _;
use std::io::Write;

const STYLE: &str = include_str!("page.css");

/// What a browser may do with the page: show it in its own style. Were a piece of the recording to become a tag,
/// it could neither run nor load anything. Pictures are in the page itself.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Pictures of larger items are left out.
const PICTURES: u64 = 32 * 1024 * 1024;

/// Writes a page of HTML.
pub(super) struct HtmlPage<W> {
    out: W,
}

impl<W: Write> HtmlPage<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out }
    }

    fn findings(&mut self, session: &PageSession<'_>) -> Result<(), PageError> {
        if session.checked.findings().is_empty() {
            return Ok(());
        }
        let prefix = prefix_of(session.section);
        let count = session.checked.findings().len();
        let plural = if count == 1 { "" } else { "s" };
        writeln!(
            self.out,
            "<details class=findings><summary>{count} finding{plural}</summary><ul>"
        )?;
        for finding in session.checked.findings() {
            let tone = Tone::of(finding.severity);
            let message = SafeText::single_line(&finding.message(), 400);
            let mut line = piece(Tone::Sign(finding.severity), &SafeText::from_static("  "));
            line.push_str(&piece(tone, &SafeText::from_static(finding.rule.id)));
            line.push_str(": ");
            line.push_str(&piece(Tone::Plain, &message));
            match finding.item {
                Some(item) => {
                    let item = item + 1;
                    writeln!(self.out, "<li><a href=\"#{prefix}item-{item}\">{line}</a>")?;
                }
                None => writeln!(self.out, "<li>{line}")?,
            }
        }
        writeln!(self.out, "</ul></details>")?;
        Ok(())
    }

    /// The turns of a session, folded: each leads to its place.
    fn turns(&mut self, session: &PageSession<'_>, page: &Page<'_>) -> Result<(), PageError> {
        let prefix = prefix_of(session.section);
        let turns = listed_turns(page);
        if turns.is_empty() {
            return Ok(());
        }
        let count = turns.len();
        writeln!(
            self.out,
            "<nav><details class=contents><summary>contents: {count} turns</summary><ul>"
        )?;
        for (turn, words) in turns {
            let words = escaped(&words);
            writeln!(
                self.out,
                "<li><a href=\"#{prefix}turn-{turn}\">{turn}  {words}</a>"
            )?;
        }
        writeln!(self.out, "</ul></details></nav>")?;
        Ok(())
    }

    fn block<'b>(
        &mut self,
        block: &'b PageBlock,
        prefix: &str,
        session: &Session,
        agent: Option<&PageLink<'_>>,
    ) -> Result<(), PageError> {
        let (heads, mut below) = parted(&block.own.folded);
        let (opened, mut whole) = parted(&block.own.unfolded);
        let is_turn = |row: &&&BlockRow| block.begins_turn.is_some() && row.kind == RowKind::Head;
        for row in heads.iter().filter(is_turn) {
            let (turn, row) = (block.begins_turn.unwrap_or_default() + 1, row_of(row, ""));
            writeln!(
                self.out,
                "<h3 class=turn id=\"{prefix}turn-{turn}\">\
                 <a href=\"#{prefix}turn-{turn}\">{row}</a></h3>"
            )?;
        }
        let titles = |rows: Vec<&'b BlockRow>| -> Vec<&'b BlockRow> {
            rows.into_iter().filter(|row| !is_turn(&row)).collect()
        };
        let (title, opened) = (titles(heads), titles(opened));
        let all = |rows: &[&BlockRow], class| {
            let rows = rows.iter().map(|below| row_of(below, class));
            rows.collect::<String>()
        };
        // A short result is on the page once, whether or not its call is folded.
        let (mut anchor, mut after) = (String::new(), String::new());
        if let Some(output) = &block.output {
            let _ = write!(anchor, "<a id=\"{prefix}item-{}\"></a>", output.index + 1);
            let folded: Vec<&BlockRow> = output.folded.iter().collect();
            let unfolded: Vec<&BlockRow> = output.unfolded.iter().collect();
            match is_same(&folded, &unfolded) {
                true => after = all(&unfolded, ""),
                false => {
                    below.extend(folded);
                    whole.extend(unfolded);
                }
            }
        }
        if let Some(link) = agent {
            let name = escaped(SafeText::single_line(link.agent_name, 200).as_plain());
            let section = link.agent + 1;
            let _ = writeln!(
                after,
                "<p class=agent><a href=\"#session-{section}\">{name}</a></p>"
            );
        }
        let items = [Some(&block.own), block.output.as_ref()];
        for item in items.into_iter().flatten() {
            after.push_str(&pictures(session, item.index)?);
        }
        if opened.is_empty() && whole.is_empty() && after.is_empty() {
            return Ok(());
        }
        let id = format!("id=\"{prefix}item-{}\"", block.own.index + 1);
        let folded = [&title[..], &below].concat();
        let unfolded = [&opened[..], &whole].concat();
        let (below, whole) = (all(&below, " folded"), all(&whole, ""));
        if is_same(&folded, &unfolded) {
            let title = all(&opened, " t");
            writeln!(self.out, "<div {id}>{title}{anchor}{whole}{after}</div>")?;
            return Ok(());
        }
        // A long line is broken or cut only where it is folded.
        let title = match is_same(&title, &opened) {
            true => all(&opened, " t"),
            false => all(&title, " t folded") + &all(&opened, " t opened"),
        };
        writeln!(
            self.out,
            "<details {id}><summary>{title}{anchor}{below}</summary>{whole}</details>{after}"
        )?;
        Ok(())
    }
}

impl<W: Write> PageWriter for HtmlPage<W> {
    fn begin(&mut self, title: &str, facts: &[String]) -> Result<(), PageError> {
        let title = escaped(SafeText::single_line(title, 200).as_plain());
        let facts = facts
            .iter()
            .map(|fact| escaped(SafeText::single_line(fact, 200).as_plain()));
        let facts = facts.collect::<Vec<_>>().join(" · ");
        writeln!(
            self.out,
            "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=referrer content=no-referrer>\n\
             <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>{title}</h1>{facts}</header>"
        )?;
        Ok(())
    }

    fn contents(&mut self, sessions: &[(&str, String)]) -> Result<(), PageError> {
        writeln!(self.out, "<nav class=contents><ul>")?;
        for (section, (name, facts)) in (1..).zip(sessions) {
            let name = escaped(SafeText::single_line(name, 200).as_plain());
            let facts = escaped(facts);
            writeln!(
                self.out,
                "<li><a href=\"#session-{section}\">{name}</a>  {facts}"
            )?;
        }
        writeln!(self.out, "</ul></nav>")?;
        Ok(())
    }

    fn session(&mut self, session: &PageSession<'_>) -> Result<(), PageError> {
        if !session.name.is_empty() {
            let name = escaped(SafeText::single_line(session.name, 200).as_plain());
            let section = session.section + 1;
            writeln!(self.out, "<h2 id=\"session-{section}\">{name}</h2>")?;
        }
        if let Some(link) = session.caller() {
            let (prefix, item) = (prefix_of(link.caller), link.call + 1);
            let name = escaped(SafeText::single_line(link.caller_name, 200).as_plain());
            let turn = link.turn + 1;
            writeln!(
                self.out,
                "<p class=agent><a href=\"#{prefix}item-{item}\">called in turn {turn} of {name}</a></p>"
            )?;
        }
        self.findings(session)?;
        let page = session.page()?;
        self.turns(session, &page)?;
        let prefix = prefix_of(session.section);
        for block in page.blocks() {
            if let Some(shown) = session.sessions.get(session.number) {
                let agent = session.agent_of(block.own.index);
                self.block(&block, &prefix, shown, agent)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, is_redacted: bool) -> Result<(), PageError> {
        let end = ending(is_redacted);
        writeln!(self.out, "<footer>{end}</footer>\n</body>\n</html>")?;
        self.out.flush()?;
        Ok(())
    }
}

/// The pictures that an item holds.
fn pictures(session: &Session, index: usize) -> Result<String, PageError> {
    let item = session.items.get(index);
    let Some(item) = item.filter(|item| item.span.len() <= PICTURES) else {
        return Ok(String::new());
    };
    let bytes = session.bytes(item)?;
    let addresses = image_addresses(item, &bytes).into_iter();
    let pictures = addresses.map(|it| format!("<img alt=picture src=\"{it}\">\n"));
    Ok(pictures.collect())
}

/// A row with what ends at its right edge.
fn row_of(row: &BlockRow, class: &str) -> String {
    let mut html = format!(
        "<div class=\"row{class}\" style=\"--i:{}\"><span class=l>",
        row.indent
    );
    for (tone, text) in &row.left {
        html.push_str(&piece(*tone, text));
    }
    html.push_str("</span>");
    if !row.right.is_empty() {
        html.push_str("<span class=r>");
        for (tone, text) in &row.right {
            html.push_str(&piece(*tone, text));
        }
        html.push_str("</span>");
    }
    html.push_str("</div>");
    html
}

/// A piece of text in its look.
fn piece(tone: Tone, text: &SafeText) -> String {
    let words = sign(tone, text);
    let words = escaped(words.as_deref().unwrap_or(text.as_plain()));
    match class(tone) {
        "" => words,
        class => format!("<span class=\"{class}\">{words}</span>"),
    }
}

/// Letters that mean something in HTML as references.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            // Controls and characters that turn text around have no place in a page.
            letter if letter.is_control() && letter != '\t' => {
                let _ = write!(html, "&#xfffd;");
            }
            letter => html.push(letter),
        }
    }
    html
}

/// The class of a tone in the style of the page.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Look(Look::Plain) => "",
        Tone::Dim | Tone::Glyph(Glyph::Bar | Glyph::Dot | Glyph::More | Glyph::Across) => "dim",
        Tone::Title => "title",
        Tone::Key => "key",
        Tone::String => "str",
        Tone::Scalar => "num",
        Tone::Sign(Severity::Error) | Tone::Error => "error",
        Tone::Sign(Severity::Warning) | Tone::Warning => "warning",
        Tone::Sign(Severity::Info) | Tone::Info => "info",
        Tone::Glyph(Glyph::Ok) => "ok",
        Tone::Kind(kind) => class_of_kind(kind),
        Tone::Look(look) => class_of_look(look),
        Tone::Marked => "marked",
        Tone::Added => "add",
        Tone::AddedPart => "add part",
        Tone::Removed => "del",
        Tone::RemovedPart => "del part",
    }
}

fn class_of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::User => "k-user",
        Kind::Assistant => "k-assistant",
        Kind::Reasoning => "k-reasoning",
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => "k-call",
        Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => "k-output",
        Kind::System | Kind::ToolDefinitions => "k-system",
        Kind::Notice | Kind::Compaction | Kind::Other | Kind::Unreadable => "k-notice",
    }
}

fn class_of_look(look: Look) -> &'static str {
    match look {
        Look::Plain => "",
        Look::Faint => "faint",
        Look::Strong => "strong",
        Look::Emphasis => "em",
        Look::Heading => "heading",
        Look::Link => "link",
        Look::Code => "code",
        Look::Quote => "quote",
        Look::Keyword => "key",
        Look::Text => "str",
        Look::Number => "num",
        Look::Comment => "dim",
        Look::Added => "add",
        Look::Removed => "del",
        Look::Place => "place",
        Look::Colour(Colour::Red) => "red",
        Look::Colour(Colour::Green) => "green",
        Look::Colour(Colour::Yellow) => "yellow",
        Look::Colour(Colour::Blue) => "blue",
        Look::Colour(Colour::Magenta) => "magenta",
        Look::Colour(Colour::Cyan) => "cyan",
        Look::Colour(Colour::Grey) => "",
        Look::Background(Colour::Red) => "on red",
        Look::Background(Colour::Green) => "on green",
        Look::Background(Colour::Yellow) => "on yellow",
        Look::Background(Colour::Blue | Colour::Cyan) => "on blue",
        Look::Background(Colour::Magenta) => "on magenta",
        Look::Background(Colour::Grey) => "on",
    }
}
