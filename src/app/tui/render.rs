//! Contents as lines: Markdown, terminal output, diffs. All text becomes drawable here.

use super::recovery::difference::within;
use super::text::{Glyph, Line, Tone};
use crate::words::{bytes as bytes_in_words, duration};
use memchr::memmem;
use retake_core::content::{
    Change, DiffLine, FileDiff, Highlighter, Look, ResultText, StyledLine, answers_in_markdown,
    code_lines, diff_of_text, file_read, has_colours, language_of, markdown_lines, terminal_lines,
};
use retake_core::safe_text::SafeText;
use retake_core::session::{Item, Session};
use retake_core::wire::body_within;
use retake_core::wire::images::images_of;
use std::borrow::Cow;

/// The longest line that is laid out as one; longer ones are cut in several.
const LONGEST: usize = 2048;

/// Larger items are not searched for pictures.
const IMAGES: u64 = 8 * 1024 * 1024;
/// Bytes in which the first picture of an item is named.
const BEFORE_IMAGE: u64 = 8 * 1024;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing<'a> {
    /// What people and models say, in so many cells.
    Markdown(usize),
    /// What programs print.
    Output,
    /// What is in the file of this name.
    File(&'a str),
}

/// The lines of a text.
pub fn text_lines(text: &str, writing: Writing<'_>) -> Vec<Line> {
    let styled = match writing {
        Writing::Markdown(width) => {
            let styled = markdown_lines(text, width);
            return styled.into_iter().flat_map(list_lines).collect();
        }
        Writing::File(name) => match language_of(name) {
            Some(language) => code_lines(text, language),
            None => return text_lines(text, Writing::Output),
        },
        Writing::Output => match diff_of_text(text) {
            Some(diff) => return diff_lines(&diff),
            None if has_colours(text) || text.contains('\r') => terminal_lines(text),
            None => return plain_lines(&SafeText::from_str(text)),
        },
    };
    styled.iter().flat_map(styled_lines).collect()
}

/// A text whose places of pictures say how large these are, in the words of [`image_words`].
pub fn with_images(text: &str, images: impl FnOnce() -> Vec<String>) -> Cow<'_, str> {
    const PLACES: [&str; 3] = ["[image]", "[image_url]", "[input_image]"];
    let next = |text: &str| {
        let places = PLACES.iter();
        let found = places.filter_map(|place| Some((text.find(place)?, place.len())));
        found.min()
    };
    if next(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut images = images().into_iter();
    let (mut named, mut rest) = (String::new(), text);
    while let Some((at, length)) = next(rest) {
        let place = &rest[at..at + length];
        named.push_str(&rest[..at]);
        named.push_str(&images.next().unwrap_or_else(|| place.to_owned()));
        rest = &rest[at + length..];
    }
    named.push_str(rest);
    Cow::Owned(named)
}

/// What the key of pictures does.
pub const PICTURE_KEY: &str = match cfg!(feature = "images") {
    true => "P shows it",
    false => "P saves it",
};

/// The pictures of an item in words: `[image png 800x600, 12 kB, P saves it]`, where there are keys with what theirs
/// does; none of an item that is too large to be looked at.
pub fn image_words(session: &Session, item: &Item, key: Option<&str>) -> Vec<String> {
    if item.span.len() > IMAGES {
        return Vec::new();
    }
    let bytes = session.bytes(item).unwrap_or_default();
    let images = images_of(item, &bytes).into_iter();
    let images = images.map(|image| match (image.kind, image.size) {
        (Some(kind), Some((width, height))) => {
            let size = bytes_in_words(image.length);
            let key = key.map_or(String::new(), |key| format!(", {key}"));
            format!("[image {kind} {width}x{height}, {size}{key}]")
        }
        _ => "[image]".to_owned(),
    });
    images.collect()
}

/// The pictures at the beginning of an item in words without brackets: `image png 800x600, 12 kB`.
pub fn image_facts(session: &Session, item: &Item) -> Vec<String> {
    if !names_image(session, item) {
        return Vec::new();
    }
    let words = image_words(session, item, None).into_iter();
    words
        .map(|words| words.trim_matches(['[', ']']).to_owned())
        .collect()
}

/// How many bytes of an item are read where so many are wanted. Of one that begins with a picture all: what is said
/// beside it comes after.
pub fn limit_of(
    session: &Session,
    item: &Item,
    wanted: u64,
    has_images: impl FnOnce() -> bool,
) -> u64 {
    match item.span.len() > wanted && names_image(session, item) && has_images() {
        true => item.span.len(),
        false => wanted,
    }
}

/// Whether the beginning of an item is that of a picture.
fn names_image(session: &Session, item: &Item) -> bool {
    let head = session.source.read(item.span.head(BEFORE_IMAGE));
    head.is_ok_and(|head| memmem::find(&head, b"image").is_some())
}

/// Lines of which those of a nested list are indented as a whole, where they wrap, too.
fn list_lines(mut styled: StyledLine) -> Vec<Line> {
    let mut indent = 0;
    if let Some((Look::Plain, text)) = styled.pieces.first_mut() {
        let start = text.trim_start_matches([' ', '\t']);
        let marks = start.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_item = match marks.len() < start.len() {
            true => marks.starts_with(". ") || marks.starts_with(") "),
            false => ["- ", "* ", "+ "]
                .iter()
                .any(|mark| start.starts_with(mark)),
        };
        let before = &text[..text.len() - start.len()];
        if is_item && before.len() <= DEEPEST {
            indent = before.len() + 3 * before.matches('\t').count();
            *text = start.to_owned();
        }
    }
    let mut lines = styled_lines(&styled);
    lines.iter_mut().for_each(|line| line.indent = indent);
    lines
}

/// Most letters before an item of a list.
const DEEPEST: usize = 16;

fn styled_lines(styled: &StyledLine) -> Vec<Line> {
    match &styled.pieces[..] {
        [(look, text)] if text.len() > LONGEST => {
            let text = SafeText::from_str(text);
            let parts = text.wrapped(LONGEST);
            parts
                .map(|part| Line::new(Tone::Look(*look), part))
                .collect()
        }
        pieces => {
            let pieces = pieces.iter();
            let pieces = pieces.map(|(look, text)| (Tone::Look(*look), SafeText::from_str(text)));
            vec![Line {
                pieces: pieces.collect(),
                ..Line::default()
            }]
        }
    }
}

/// Text as lines, giant ones cut in several.
pub fn plain_lines(text: &SafeText) -> Vec<Line> {
    let lines = text.lines().flat_map(|line| {
        if line.as_plain().len() <= LONGEST {
            return vec![Line::new(Tone::Plain, line)];
        }
        let parts = line.wrapped(LONGEST);
        parts.map(|part| Line::new(Tone::Plain, part)).collect()
    });
    lines.collect()
}

/// JSON as it is in its file, without the indentation that all of its lines have there.
pub fn raw_lines(bytes: &[u8]) -> Vec<Line> {
    let text = SafeText::from_bytes(bytes);
    // The first line begins where the item does.
    let others = text.as_plain().lines().skip(1);
    let others = others.filter(|line| !line.trim().is_empty());
    let depth = others.map(|line| line.len() - line.trim_start_matches(' ').len());
    let depth = depth.min().unwrap_or(0);
    if depth == 0 {
        return plain_lines(&text);
    }
    let lines = text.lines().flat_map(|line| {
        let spaces = line.as_plain().len() - line.as_plain().trim_start_matches(' ').len();
        plain_lines(&line.part(spaces.min(depth)..line.as_plain().len()))
    });
    lines.collect()
}

/// What lines before an output of Codex say of its command: `still running · session 7 · 10.0s`; nothing of one that
/// succeeded at once.
pub fn words_about(result: &ResultText<'_>) -> Option<String> {
    let took = result.took.filter(|took| *took >= 1_000);
    let facts = [
        result.session.map(|_| "still running".to_owned()),
        result.session.map(|session| format!("session {session}")),
        result
            .exit
            .filter(|_| result.took.is_some())
            .map(|code| format!("exit {code}")),
        took.map(duration),
    ];
    let says_more = result.session.is_some()
        || took.is_some()
        || result.took.is_some() && result.exit.is_some_and(|code| code != 0);
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    says_more.then(|| facts.join(" · "))
}

/// The longest line in which the words that make the difference are looked for.
const COMPARED: usize = 400;

/// The file that a result holds the text of, by the call that it answers.
pub fn file_of_result(session: &Session, call: usize) -> Option<String> {
    let item = session.items.get(call)?;
    let body = body_within(session, item, CALL)?;
    file_read(session.name(item), body.arguments.as_written())
}

/// Whether the result of a call is Markdown, by its tool.
pub fn is_markdown_result(session: &Session, call: usize) -> bool {
    let item = session.items.get(call);
    item.is_some_and(|item| answers_in_markdown(session.name(item)))
}

/// How much of a call is read for the name of its file.
const CALL: u64 = 8 * 1024;

/// The lines of a diff, each with its sign. Where lines are replaced by as many others, the words that make the
/// difference are set apart; in other lines that stay or come, the code has its looks.
pub fn diff_lines(diff: &FileDiff) -> Vec<Line> {
    let mut lines = Vec::with_capacity(diff.lines.len());
    let mut code = language_of(&diff.path).map(Highlighter::new);
    let (mut rest, mut costs) = (&diff.lines[..], 0);
    while let Some(first) = rest.first() {
        let run = |lines: &[DiffLine], change| {
            let own = lines.iter().take_while(|line| line.change == change);
            own.count()
        };
        let removed = run(rest, Change::Removed);
        let added = run(&rest[removed..], Change::Added);
        if removed == 0 || removed != added {
            lines.push(diff_line(first, &mut code));
            rest = &rest[1..];
            continue;
        }
        let (before, after) = rest[..2 * removed].split_at(removed);
        let sides: (Vec<Line>, Vec<Line>) = before
            .iter()
            .zip(after)
            .map(
                |(old, new)| match old.text.len().max(new.text.len()) <= COMPARED {
                    true => {
                        // What it opens is open for the lines below.
                        code.as_mut().map(|code| code.line(&new.text));
                        let (old, new) = within(&old.text, &new.text, &mut costs);
                        (marked(Change::Removed, &old), marked(Change::Added, &new))
                    }
                    false => (diff_line(old, &mut code), diff_line(new, &mut code)),
                },
            )
            .unzip();
        lines.extend(sides.0);
        lines.extend(sides.1);
        rest = &rest[2 * removed..];
    }
    lines
}

/// The diff of a call that failed: what it would have changed.
pub fn not_applied(mut lines: Vec<Line>) -> Vec<Line> {
    for (tone, _) in lines.iter_mut().flat_map(|line| &mut line.pieces) {
        *tone = Tone::Dim;
    }
    let heading = SafeText::from_static("not applied: the call failed");
    lines.insert(0, Line::new(Tone::Warning, heading));
    lines
}

fn sign_of(change: Change) -> (&'static str, Tone, Tone) {
    match change {
        Change::Same => ("  ", Tone::Plain, Tone::Plain),
        Change::Added => ("+ ", Tone::Look(Look::Added), Tone::AddedPart),
        Change::Removed => ("- ", Tone::Look(Look::Removed), Tone::RemovedPart),
        Change::Place => ("", Tone::Look(Look::Place), Tone::Look(Look::Place)),
    }
}

fn diff_line(line: &DiffLine, code: &mut Option<Highlighter>) -> Line {
    if line.change == Change::Place {
        // A unified diff names its file above the lines.
        match line.text.strip_prefix("+++ ") {
            Some(path) => *code = language_of(path).map(Highlighter::new),
            None => code.iter_mut().for_each(Highlighter::skip),
        }
    }
    match (line.change, code) {
        (Change::Place, _) if line.text.is_empty() => {
            Line::new(Tone::Glyph(Glyph::More), SafeText::from_static(" "))
        }
        (Change::Same | Change::Added, Some(code)) => {
            let (sign, own, _) = sign_of(line.change);
            let pieces = code.line(&line.text).into_iter().map(|(look, text)| {
                let tone = if look == Look::Plain {
                    own
                } else {
                    Tone::Look(look)
                };
                (tone, SafeText::from_str(text))
            });
            let sign = (own, SafeText::from_static(sign));
            Line {
                pieces: std::iter::once(sign).chain(pieces).collect(),
                hangs: true,
                ..Line::default()
            }
        }
        (change, _) => marked(change, &[(false, line.text.clone())]),
    }
}

/// A line of pieces, of which some make the difference.
fn marked(change: Change, pieces: &[(bool, String)]) -> Line {
    let (sign, tone, part) = sign_of(change);
    let pieces = pieces.iter().map(|(differs, text)| {
        let tone = if *differs { part } else { tone };
        (tone, SafeText::from_str(text))
    });
    let sign = (tone, SafeText::from_static(sign));
    Line {
        pieces: std::iter::once(sign).chain(pieces).collect(),
        hangs: true,
        ..Line::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_list_keeps_its_indent_where_it_wraps() {
        let text = "- one\n  - a long item of a list\n\t1. two\n  no item";
        let lines = text_lines(text, Writing::Markdown(14));
        let indents: Vec<usize> = lines.iter().map(|line| line.indent).collect();
        assert_eq!(indents, [0, 2, 4, 0]);
        let rows = lines[1].rows(14);
        assert!(rows.len() > 1 && rows.iter().all(|row| row.indent == 2));
    }

    #[test]
    fn a_diff_names_the_language_of_its_lines() {
        let text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n import x\n-if a:\n+\"\"\" if\n+if b\n@@ -9 +9 @@\n+if\ndiff --git a/a.txt b/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n+if\n";
        let lines = text_lines(text, Writing::Output);
        let keywords = |line: &Line| -> String {
            let pieces = line.pieces.iter();
            let pieces = pieces.filter(|(tone, _)| *tone == Tone::Look(Look::Keyword));
            pieces.map(|(_, text)| text.as_plain()).collect()
        };
        let found: Vec<String> = lines[4..].iter().map(keywords).collect();
        assert_eq!(found, ["import", "", "", "", "", "if", "", "", "", ""]);
    }

    #[test]
    fn words_that_make_the_difference_are_set_apart() {
        let line = |change, text: &str| DiffLine {
            change,
            text: text.to_owned(),
        };
        let diff = FileDiff {
            lines: vec![
                line(Change::Same, "fn delay() {"),
                line(Change::Removed, "let delay = base * factor(attempt);"),
                line(Change::Added, "let delay = base * factor(attempt + 1);"),
                line(Change::Added, "cap(delay)"),
                line(Change::Removed, "let limit = 60 + base * factor(attempt);"),
                line(Change::Added, "let limit = 90 + base * factor(attempt);"),
            ],
            ..FileDiff::default()
        };
        let lines = diff_lines(&diff);
        let parts = |line: &Line| -> Vec<String> {
            let parts = line.pieces.iter();
            let parts =
                parts.filter(|(tone, _)| matches!(tone, Tone::AddedPart | Tone::RemovedPart));
            parts.map(|(_, text)| text.as_plain().to_owned()).collect()
        };
        let marked: Vec<_> = lines.iter().map(parts).collect();
        assert_eq!(
            marked[..4],
            [vec![], vec![], vec![], Vec::<String>::new()],
            "two for one"
        );
        assert_eq!(marked[4..], [vec!["60".to_owned()], vec!["90".to_owned()]]);
    }
}
