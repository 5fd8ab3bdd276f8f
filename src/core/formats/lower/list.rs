//! Taking elements out of lists and putting new ones in: lines by their line ends, array
//! elements by their commas.

use super::place::{CannotWrite, Ground, LOOK, List};
use crate::session::{Source, Span, Splice};
use std::collections::BTreeMap;

/// What happens to one list.
#[derive(Debug, Default)]
pub(super) struct ListEdits {
    /// What comes before its first element.
    pub(super) front: Vec<String>,
    /// What happens at elements, by their index.
    pub(super) at: BTreeMap<usize, ElementEdits>,
}

impl ListEdits {
    /// Whether a record leaves the list.
    pub(crate) fn drops(&self, record: u32) -> bool {
        let edits = self.at.get(&(record as usize));
        edits.is_some_and(|edit| edit.is_dropped)
    }
}

/// What happens to one element.
#[derive(Debug, Default)]
pub(super) struct ElementEdits {
    pub(super) is_dropped: bool,
    /// What comes after it.
    pub(super) after: Vec<String>,
}

/// How the elements of a list are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    LineEnd,
    Comma,
}

/// Turns what happens to a list into splices.
pub(super) fn splice_list(
    ground: &mut Ground<'_>,
    list: List,
    edits: &ListEdits,
    out: &mut Vec<Splice>,
) -> Result<(), CannotWrite> {
    let elements = Elements::of(ground, list)?;
    if !edits.front.is_empty() {
        let is_dropped = |index| edits.at.get(&index).is_some_and(|edit| edit.is_dropped);
        // Where everything goes, nothing follows that a comma would separate from.
        let stands_alone = elements
            .inner
            .as_ref()
            .is_some_and(|inner| (0..inner.len()).all(is_dropped));
        elements.put_front(&edits.front, stands_alone, out)?;
    }
    let mut waiting = edits.at.iter().peekable();
    while let Some((index, edit)) = waiting.next() {
        if !edit.is_dropped {
            elements.put_after(*index, &edit.after, out)?;
            continue;
        }
        let (first, mut last) = (*index, *index);
        let mut put = edit.after.clone();
        while let Some((_, next)) = waiting
            .next_if(|(next, edit)| **next == last + 1 && edit.is_dropped && elements.adjoin(last))
        {
            put.extend(next.after.iter().cloned());
            last += 1;
        }
        elements.take_out(first, last, &put, out)?;
    }
    Ok(())
}

struct Elements<'a> {
    source: &'a dyn Source,
    /// Elements of an array in a record; records otherwise.
    inner: Option<std::rc::Rc<Vec<Span>>>,
    records: &'a [crate::session::Record],
}

impl<'a> Elements<'a> {
    fn of(ground: &mut Ground<'a>, list: List) -> Result<Self, CannotWrite> {
        let inner = match list {
            List::Records => None,
            List::Array { .. } => Some(ground.elements(list)?),
        };
        Ok(Self {
            source: &*ground.session.source,
            inner,
            records: &ground.session.records,
        })
    }

    fn span(&self, index: usize) -> Option<Span> {
        match &self.inner {
            Some(elements) => elements.get(index).copied(),
            None => self.records.get(index).map(|record| record.span),
        }
    }

    /// What separates the element from its neighbours.
    fn separator(&self, index: usize) -> Result<Separator, CannotWrite> {
        if self.inner.is_some() {
            return Ok(Separator::Comma);
        }
        let span = self.span(index).ok_or(CannotWrite::NoItem(0))?;
        let before = self.before(span)?;
        let tail = self.tail(span)?;
        let opens = before.trim_ascii_end().last().copied();
        let closes = tail.trim_ascii_start().first().copied();
        let is_element = matches!(opens, Some(b'[' | b',')) && matches!(closes, Some(b',' | b']'));
        Ok(if is_element {
            Separator::Comma
        } else {
            Separator::LineEnd
        })
    }

    fn before(&self, span: Span) -> Result<Vec<u8>, CannotWrite> {
        let start = span.start.saturating_sub(LOOK);
        Ok(self.source.read(Span::new(start, span.start))?)
    }

    fn tail(&self, span: Span) -> Result<Vec<u8>, CannotWrite> {
        let end = self.source.len().min(span.end + LOOK);
        Ok(self.source.read(Span::new(span.end, end))?)
    }

    /// Whether nothing but white space and a comma is between an element and the next: they
    /// are in one list.
    fn adjoin(&self, index: usize) -> bool {
        let (Some(here), Some(next)) = (self.span(index), self.span(index + 1)) else {
            return false;
        };
        let between = Span::new(here.end, next.start);
        next.start >= here.end
            && between.len() <= LOOK
            && self
                .source
                .read(between)
                .is_ok_and(|gap| matches!(gap.trim_ascii(), b"," | b""))
    }

    /// The line end that the file uses, seen after or before an element.
    fn line_end(&self, span: Span) -> Result<&'static str, CannotWrite> {
        let near = [self.tail(span)?, self.before(span)?];
        let has = near
            .iter()
            .any(|bytes| memchr::memmem::find(bytes, b"\r\n").is_some());
        Ok(if has { "\r\n" } else { "\n" })
    }

    /// The white space in front of an element, so that a new one is indented as its neighbours are.
    fn indent(&self, span: Span) -> Result<String, CannotWrite> {
        let before = self.before(span)?;
        let indent = &before[before.trim_ascii_end().len()..];
        Ok(String::from_utf8_lossy(indent).into_owned())
    }

    /// New elements laid out as one beside them: over several lines where that is.
    fn like_neighbour(&self, span: Span, texts: &[String]) -> Result<Vec<String>, CannotWrite> {
        let neighbour = self.source.read(span.head(LOOK))?;
        let inside = neighbour.iter().position(|byte| *byte == b'\n');
        let inside = inside.map_or(&[][..], |line_end| &neighbour[line_end + 1..]);
        let blank = inside
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'));
        let inside = String::from_utf8_lossy(&inside[..blank.count()]).into_owned();
        let indent = self.indent(span)?;
        let step = indent.rsplit_once('\n').and_then(|(_, outside)| {
            let step = inside.strip_prefix(outside)?;
            (!step.is_empty()).then_some(step)
        });
        let Some(step) = step else {
            return Ok(texts.to_vec());
        };
        let texts = texts.iter();
        Ok(texts.map(|text| laid_out(text, &indent, step)).collect())
    }

    fn put_front(
        &self,
        texts: &[String],
        stands_alone: bool,
        out: &mut Vec<Splice>,
    ) -> Result<(), CannotWrite> {
        let Some(span) = self.span(0) else {
            return Err(CannotWrite::EmptyList);
        };
        let indent = self.indent(span)?;
        let texts = self.like_neighbour(span, texts)?;
        let mut text = texts.join(&format!(",{indent}"));
        if !stands_alone {
            text += &format!(",{indent}");
        }
        out.push(insertion(span.start, text));
        Ok(())
    }

    fn put_after(
        &self,
        index: usize,
        texts: &[String],
        out: &mut Vec<Splice>,
    ) -> Result<(), CannotWrite> {
        let (Some(span), false) = (self.span(index), texts.is_empty()) else {
            return Ok(());
        };
        let (separator, texts) = match self.separator(index)? {
            Separator::LineEnd => (self.line_end(span)?.to_owned(), texts.to_vec()),
            Separator::Comma => {
                let separator = format!(",{}", self.indent(span)?);
                (separator, self.like_neighbour(span, texts)?)
            }
        };
        let text = texts
            .iter()
            .fold(String::new(), |text, new| text + &separator + new);
        out.push(insertion(span.end, text));
        Ok(())
    }

    /// Takes a run of elements out, and puts others in their place.
    fn take_out(
        &self,
        first: usize,
        last: usize,
        put: &[String],
        out: &mut Vec<Splice>,
    ) -> Result<(), CannotWrite> {
        let (Some(from), Some(to)) = (self.span(first), self.span(last)) else {
            return Ok(());
        };
        let at = Span::new(from.start, to.end);
        let is_comma = self.separator(first)? == Separator::Comma;
        if !put.is_empty() {
            let (separator, put) = match is_comma {
                true => {
                    let separator = format!(",{}", self.indent(from)?);
                    (separator, self.like_neighbour(from, put)?)
                }
                false => (self.line_end(from)?.to_owned(), put.to_vec()),
            };
            out.push(Splice::new(at, put.join(&separator).into_bytes()));
            return Ok(());
        }
        let before = first
            .checked_sub(1)
            .filter(|before| self.adjoin(*before))
            .and_then(|before| self.span(before));
        let at = match (is_comma, before) {
            (true, Some(before)) => Span::new(before.end, to.end),
            (true, None) if self.adjoin(last) => Span::new(
                from.start,
                self.span(last + 1).map_or(to.end, |next| next.start),
            ),
            (true, None) => at,
            (false, _) => self.whole_lines(at)?,
        };
        out.push(Splice::new(at, Vec::new()));
        Ok(())
    }

    /// A run of lines with the line end after it; at the end of a text without one, with the
    /// line end before it.
    fn whole_lines(&self, at: Span) -> Result<Span, CannotWrite> {
        let tail = self.tail(at)?;
        let blank = tail
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
            .count();
        if tail.get(blank) == Some(&b'\n') {
            return Ok(Span::new(at.start, at.end + blank as u64 + 1));
        }
        if tail.len() > blank {
            return Ok(at);
        }
        let before = self.before(at)?;
        let kept = before.strip_suffix(b"\n").map_or(before.len(), |rest| {
            rest.strip_suffix(b"\r").unwrap_or(rest).len()
        });
        Ok(Span::new(
            at.start - (before.len() - kept) as u64,
            at.end + blank as u64,
        ))
    }
}

/// JSON over several lines: each begins with `indent`, which begins with a line end, and with a `step` for each
/// level.
fn laid_out(text: &str, indent: &str, step: &str) -> String {
    let line = |depth: usize| format!("{indent}{}", step.repeat(depth));
    let mut out = String::new();
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            out.push(letter);
            in_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                if !matches!(letters.peek(), Some('}' | ']')) {
                    depth += 1;
                    out.push_str(&line(depth));
                } else if let Some(end) = letters.next() {
                    out.push(end);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                out.push_str(&line(depth));
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                out.push_str(&line(depth));
            }
            ':' => out.push_str(": "),
            letter if letter.is_ascii_whitespace() => {}
            letter => {
                out.push(letter);
                in_string = letter == '"';
            }
        }
    }
    out
}

pub(super) fn insertion(at: u64, text: String) -> Splice {
    Splice::new(Span { start: at, end: at }, text.into_bytes())
}
