//! Requests in which no secret was found: what the next request of a conversation repeats of one is
//! not looked through again.

use crate::proxy::judge::{common, common_end};
use bytes::Bytes;
use retake_core::json::{Cursor, skip_value, skip_whitespace};
use retake_core::session::Dialect;
use retake_core::wire::RequestHead;
use serde_json::value::RawValue;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;

/// How many requests are remembered: of so many conversations at a time.
const COUNT: usize = 8;
/// Most bytes of them.
const MOST: usize = 8 << 20;
/// Shorter ones are looked through as fast as they are compared.
const LEAST: usize = 4096;

/// The requests that were written last, the latest first.
#[derive(Debug, Default)]
pub(super) struct Repeated(VecDeque<Clean>);

/// A request that is one JSON object on one line, and holds no secret that is known.
#[derive(Debug)]
struct Clean {
    dialect: Dialect,
    body: Bytes,
    /// Looked for once another one has the most of it; `None` where it has no history.
    history: OnceCell<Option<History>>,
}

/// Where a history stands.
#[derive(Debug)]
struct History {
    /// Where its elements begin.
    elements: Vec<usize>,
    /// Where the bracket stands that closes it.
    bracket: usize,
}

/// A request that repeats one of these.
#[derive(Debug)]
pub(super) struct Repeats {
    place: usize,
    /// What is new: whole elements of the history.
    pub(super) new: Range<usize>,
    begins: Vec<usize>,
}

impl Repeated {
    /// How a request repeats an earlier one. What is new of it is JSON on one line, as the rest is.
    pub(super) fn find(&self, dialect: Dialect, body: &Bytes) -> Option<Repeats> {
        if body.len() < LEAST {
            return None;
        }
        let known = self.0.iter().enumerate();
        let known = known.filter(|(_, clean)| clean.dialect == dialect);
        let found = known.filter_map(|(place, clean)| Some((place, clean.repeated(body)?)));
        let (place, new) = found.min_by_key(|(_, new)| new.start.abs_diff(new.end))?;
        let begins = elements_in(body, new.clone())?;
        Some(Repeats { place, new, begins })
    }

    /// Remembers a request that repeats an earlier one, in its place, and was found clean as well.
    pub(super) fn go_on(&mut self, body: Bytes, repeats: Repeats) {
        let Some(mut clean) = self.0.remove(repeats.place) else {
            return;
        };
        if let Some(Some(history)) = clean.history.get_mut() {
            history.elements.retain(|start| *start < repeats.new.start);
            history.elements.extend(repeats.begins);
            history.bracket = repeats.new.end;
        }
        clean.body = body;
        self.remember(clean);
    }

    /// Remembers a request in which no secret was found, and which is JSON.
    pub(super) fn keep(&mut self, dialect: Dialect, body: &Bytes) {
        let is_one_object = body.starts_with(b"{") && body.ends_with(b"}");
        let is_on_one_line = || memchr::memchr2(b'\n', b'\r', body).is_none();
        if !(LEAST..=MOST).contains(&body.len()) || !is_one_object || !is_on_one_line() {
            return;
        }
        self.remember(Clean {
            dialect,
            body: body.clone(),
            history: OnceCell::new(),
        });
    }

    /// Puts a request before the others, of which those stay that fit beside it; one that is too long
    /// itself is not remembered.
    fn remember(&mut self, clean: Clean) {
        if clean.bytes() > MOST {
            return;
        }
        self.0.push_front(clean);
        let mut bytes = 0;
        let fits = |clean: &Clean| {
            bytes += clean.bytes();
            bytes <= MOST
        };
        let count = self.0.iter().map(fits).take_while(|fits| *fits).count();
        self.0.truncate(count.min(COUNT));
    }

    /// Forgets those that hold this text.
    pub(super) fn forget_those_with(&mut self, text: &str) {
        let finder = memchr::memmem::Finder::new(text);
        self.0.retain(|clean| finder.find(&clean.body).is_none());
    }

    /// Knows nothing any more: other secrets are looked for.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

impl Clean {
    fn bytes(&self) -> usize {
        let history = self.history.get().and_then(Option::as_ref);
        let elements = history.map_or(0, |history| history.elements.len());
        self.body.len() + elements * size_of::<usize>()
    }

    /// What a request has instead of elements of this one, if it has the most of it.
    fn repeated(&self, body: &Bytes) -> Option<Range<usize>> {
        let before = common(&self.body, body);
        let same = common_end(&self.body, body, self.body.len().min(body.len()));
        // One that has only a few words in common is of another conversation.
        if before + same < body.len() / 2 {
            return None;
        }
        let history = self.history.get_or_init(|| self.history()).as_ref()?;
        let known = history.elements.partition_point(|start| *start < before);
        let start = *history.elements[..known].last()?;
        let behind = self.body.len() - history.bracket;
        let end = body.len().checked_sub(behind).filter(|end| start < *end)?;
        let is_mostly_known = end - start <= body.len() / 2;
        (is_mostly_known && same >= behind).then_some(start..end)
    }

    fn history(&self) -> Option<History> {
        let asked = RequestHead::read(self.dialect, &self.body).filter(RequestHead::has_one_list);
        let history = asked?.history?;
        let mut elements = Vec::new();
        let walked = Cursor::at(&self.body, history.start).array(|cursor| {
            cursor.peek();
            elements.push(cursor.position());
            Ok(())
        });
        walked.ok()?;
        Some(History {
            elements,
            bracket: history.end - 1,
        })
    }
}

/// Where the elements of a list begin that stand in a part of a text; `None` where that is not
/// JSON on one line.
fn elements_in(text: &[u8], part: Range<usize>) -> Option<Vec<usize>> {
    let bytes = &text[..part.end];
    let (mut begins, mut at) = (Vec::new(), part.start);
    loop {
        let end = skip_value(bytes, at).ok()?;
        // Whether its strings are in order, too.
        serde_json::from_slice::<&RawValue>(&bytes[at..end]).ok()?;
        begins.push(at);
        at = skip_whitespace(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = skip_whitespace(bytes, at + 1),
            None => break,
            Some(_) => return None,
        }
    }
    memchr::memchr2(b'\n', b'\r', &bytes[part.start..])
        .is_none()
        .then_some(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(list: &str) -> Bytes {
        let rest = "x".repeat(LEAST);
        Bytes::from(format!(r#"{{"messages":[{list}],"rest":"{rest}"}}"#))
    }

    #[test]
    fn a_request_that_goes_on_has_only_new_elements_looked_through() {
        let (first, more) = (
            r#"{"role":"user"}, {"n":1}"#,
            r#"{"role":"user"}, {"n":1},{"n":"2"}"#,
        );
        let mut repeated = Repeated::default();
        assert!(repeated.find(Dialect::Chat, &body(more)).is_none());
        repeated.keep(Dialect::Chat, &body(first));
        assert!(repeated.find(Dialect::Responses, &body(more)).is_none());
        let text = body(more);
        let found = repeated.find(Dialect::Chat, &text).unwrap();
        assert_eq!(&text[found.new.clone()], br#"{"n":1},{"n":"2"}"#);
        repeated.go_on(text, found);
        let last = body(&format!("{more},[3]"));
        let found = repeated.find(Dialect::Chat, &last).unwrap();
        assert_eq!(&last[found.new], br#"{"n":"2"},[3]"#);
    }

    #[test]
    fn a_conversation_that_grows_and_grows_stays_within_the_bound() {
        let says = |length: usize| {
            let text = "y".repeat(length);
            format!(r#"{{"role":"user","content":"{text}"}},[1]"#)
        };
        let mut repeated = Repeated::default();
        let other = body(r#"{"role":"system"},{"n":1}"#);
        repeated.keep(Dialect::Responses, &other);
        let mut list = says(MOST / 8);
        repeated.keep(Dialect::Chat, &body(&list));
        while list.len() <= MOST {
            list = format!("{list},{}", says(list.len() - 64));
            let text = body(&list);
            let found = repeated.find(Dialect::Chat, &text).unwrap();
            repeated.go_on(text, found);
            let kept: usize = repeated.0.iter().map(|clean| clean.body.len()).sum();
            assert!(kept <= MOST, "{kept} bytes");
        }
        // The others stay.
        let left: Vec<_> = repeated.0.iter().map(|clean| &clean.body).collect();
        assert_eq!(left, [&other]);
    }

    #[test]
    fn what_is_no_json_on_one_line_is_no_repetition() {
        let first = r#"{"role":"user"},{"n":1}"#;
        let mut repeated = Repeated::default();
        repeated.keep(Dialect::Chat, &body(first));
        for broken in [
            "{\"role\":\"user\"},{\"n\":1},",
            "{\"role\":\"user\"},{\"n\":1}}",
            "{\"role\":\"user\"},{\"n\":\n1}",
            "{\"role\":\"user\"},{\"n\":\"\u{1}\"}",
            "{\"role\":\"user\"},{\"n\":\"\\q\"}",
            "",
        ] {
            assert!(
                repeated.find(Dialect::Chat, &body(broken)).is_none(),
                "{broken:?}"
            );
        }
        repeated.forget();
        assert!(repeated.find(Dialect::Chat, &body(first)).is_none());
    }
}
