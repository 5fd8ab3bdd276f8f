//! Where in a request an error points: `messages.[57].role`, `messages.5`, `input[2].call_id`,
//! `messages.48.content.1`.

use std::sync::LazyLock;

use regex::Regex;

use super::text::FoldedText;

/// A place in the request as it was sent. Indices count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The list that the indices start in: `messages`, `input`, `tools`, `contents`, ...
    pub path: String,
    /// The indices on the way, outermost first: `messages.48.content.1` gives 48 and 1.
    pub indices: Vec<usize>,
    /// The place as the provider spells it.
    pub text: String,
}

/// A path is at most this far before its sentence.
const REACH_BEFORE: usize = 200;
/// The `param` of an error body is at most this far from its message.
const REACH_OF_PARAM: usize = 4096;

const ROOTS: &str = r"messages?|input|tools|contents?|tool_calls|functions|function_declarations|system|diagnostics|input_schema";

static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        format!(r"\b(?:generatecontentrequest\.)?({ROOTS})\b((?:\.?\[[0-9]+\]|\.[a-z0-9_]+)*)");
    Regex::new(&pattern).ok()
});

static PARAM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bparam[:=]? ?([a-z0-9_.\[\]]+)").ok());

impl ErrorPlace {
    /// Reads a path such as `messages.[57].role`; a text that does not begin with one gives nothing.
    pub fn parse(text: &str) -> Option<ErrorPlace> {
        let lower = text.to_ascii_lowercase();
        let captures = PLACE.as_ref()?.captures(&lower)?;
        let whole = captures.get(0).filter(|whole| whole.start() == 0)?;
        let rest = captures.get(2).map_or("", |rest| rest.as_str());
        let mut indices: Vec<usize> = rest
            .split(['.', '[', ']'])
            .filter_map(|segment| segment.parse().ok())
            .collect();
        // AWS writes `messages.1.member.content` and counts from 1.
        if rest.contains(".member") {
            indices
                .iter_mut()
                .for_each(|index| *index = index.saturating_sub(1));
        }
        let path = match &captures[1] {
            // Without an index it is a key of the error body.
            "message" if indices.is_empty() => return None,
            "message" => "messages",
            root => root,
        };
        Some(ErrorPlace {
            path: path.to_owned(),
            indices,
            text: text[whole.range()].to_owned(),
        })
    }

    /// The element of one list, for errors that only say a number.
    pub(crate) fn element(path: &str, index: usize) -> ErrorPlace {
        ErrorPlace {
            path: path.to_owned(),
            indices: vec![index],
            text: format!("{path}[{index}]"),
        }
    }

    /// The place that belongs to the sentence at `start..end`: the path right before it, else the `param`
    /// of its error body.
    pub(crate) fn around(folded: &FoldedText, start: usize, end: usize) -> Option<ErrorPlace> {
        let before = before(folded, start);
        let param = || param_near(folded, start, end);
        match before {
            Some(place) if place.indices.is_empty() => param().or(Some(place)),
            Some(place) => Some(place),
            None => param(),
        }
    }
}

fn before(folded: &FoldedText, start: usize) -> Option<ErrorPlace> {
    let from = folded
        .lower
        .floor_char_boundary(start.saturating_sub(REACH_BEFORE));
    let last = PLACE
        .as_ref()?
        .find_iter(&folded.lower[from..start])
        .last()?;
    let between = &folded.lower[from + last.end()..start];
    let joined = between.contains(['.', ':']) || folded.lower[start..].starts_with('.');
    let adjacent = joined
        && between
            .chars()
            .all(|char| matches!(char, ' ' | '.' | ':' | '*'));
    let place = adjacent
        .then(|| ErrorPlace::parse(&folded.text[from + last.start()..start]))
        .flatten()?;
    // `input:` and `content:` are keys of logged JSON as often as places; these two are places.
    (!place.indices.is_empty() || matches!(place.path.as_str(), "messages" | "tools"))
        .then_some(place)
}

/// A `param` counts when no object ends between it and the sentence.
fn param_near(folded: &FoldedText, start: usize, end: usize) -> Option<ErrorPlace> {
    let limit = folded
        .lower
        .floor_char_boundary((end + REACH_OF_PARAM).min(folded.lower.len()));
    let after = folded.lower[end..limit]
        .split('}')
        .next()
        .map(|object| end..end + object.len());
    let from = folded
        .lower
        .floor_char_boundary(start.saturating_sub(REACH_BEFORE));
    let before = folded.lower[from..start]
        .rfind(['{', '}'])
        .map(|open| from + open..start);
    [after, before].into_iter().flatten().find_map(|range| {
        let value = PARAM
            .as_ref()?
            .captures(&folded.lower[range.clone()])?
            .get(1)?;
        ErrorPlace::parse(&folded.text[range.start + value.start()..range.start + value.end()])
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, indices: &[usize]) {
        let place = ErrorPlace::parse(text).unwrap();
        assert_eq!(
            (place.path.as_str(), place.indices.as_slice()),
            (path, indices),
            "{text}"
        );
    }

    #[test]
    fn every_spelling_of_a_path_is_read() {
        check("messages.[57].role", "messages", &[57]);
        check("messages.5: `tool_use`", "messages", &[5]);
        check("input[2].call_id", "input", &[2]);
        check("messages.48.content.1", "messages", &[48, 1]);
        check(
            "messages[9].tool_calls[0].function.name",
            "messages",
            &[9, 0],
        );
        check("message[15].role", "messages", &[15]);
        check("tools.0.custom.name", "tools", &[0]);
        check(
            "GenerateContentRequest.contents[3].parts[0].function_response.name",
            "contents",
            &[3, 0],
        );
        check("input", "input", &[]);
    }

    #[test]
    fn the_members_of_aws_count_from_one() {
        check(
            "messages.1.member.content.2.member.toolUse.name",
            "messages",
            &[0, 1],
        );
    }

    #[test]
    fn other_words_are_no_places() {
        for text in ["arguments", "the input[1]", "inputs[1]", "", "null"] {
            assert_eq!(ErrorPlace::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_index_beyond_any_request_is_left_out() {
        check("messages.99999999999999999999999", "messages", &[]);
    }

    #[test]
    fn the_param_of_another_error_is_not_taken() {
        let folded =
            FoldedText::new(r#"{"error":{"message":"SENTENCE"}} {"error":{"param":"input[1]"}}"#);
        let start = folded.text.find("SENTENCE").unwrap();
        assert_eq!(ErrorPlace::around(&folded, start, start + 8), None);
    }

    #[test]
    fn a_param_before_its_message_counts() {
        let folded = FoldedText::new(r#"{"error":{"param":"input[1].id","message":"SENTENCE"}}"#);
        let start = folded.text.find("SENTENCE").unwrap();
        assert_eq!(
            ErrorPlace::around(&folded, start, start + 8)
                .unwrap()
                .indices,
            [1]
        );
    }
}
