//! What the data of one event means to the gate, found in one walk over it and without a copy.

use crate::dialects::{gemini, responses};
use crate::json::{Cursor, JsonError, skip_whitespace};
use crate::session::{Dialect, Fragment, Kind};
use std::ops::Range;

/// What an event means to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look<'a> {
    /// Its `sequence_number`, which only Responses has.
    pub number: Option<u64>,
    /// The part of the reply that it is about, where that is, or may be, a call.
    pub part: Option<Part<'a>>,
    /// Whether a Response opens, or says that it is in progress.
    pub opens: bool,
    /// Whether all calls that have begun are complete.
    pub completes: bool,
    /// Whether it is the end mark of the stream.
    pub ends: bool,
    /// Whether the provider reports a failure.
    pub fails: bool,
    /// Whether it says that the reply was cut off, refused or withheld.
    pub stops_early: bool,
    /// Whether it brings a refusal in the model's own words.
    pub refuses: bool,
    /// How many calls it repeats, at the end of a Response.
    pub calls: usize,
}

/// A part of a reply, in an event about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its index as it is spelled, or its id; Chat tells its calls apart only at their end.
    pub key: &'a [u8],
    /// Whether the event alone shows that it is a call.
    pub is_call: bool,
    /// Whether it is complete.
    pub ends: bool,
}

/// Looks at the data of an event; `None` where it is neither JSON nor an end mark.
pub(crate) fn look(dialect: Dialect, data: &[u8]) -> Option<Look<'_>> {
    if data.trim_ascii() == b"[DONE]" {
        return Some(Look {
            completes: true,
            ends: dialect.facts().tells_usage_last,
            ..Look::default()
        });
    }
    let mut cursor = Cursor::new(data);
    let found = dialect.codec().look(&mut cursor);
    let is_all = skip_whitespace(data, cursor.position()) == data.len();
    found.ok().filter(|_| is_all)
}

/// The members of an event that names its type.
#[derive(Default)]
struct Typed<'a> {
    kind: &'a [u8],
    key: Option<&'a [u8]>,
    item_id: Option<&'a [u8]>,
    number: Option<u64>,
    /// `item`, `content_block`, `response` or `delta`.
    inner: Option<Range<usize>>,
    has_error: bool,
}

fn typed<'a>(cursor: &mut Cursor<'a>) -> Result<Typed<'a>, JsonError> {
    let mut event = Typed::default();
    cursor.object(|cursor, key| {
        match key {
            b"type" => event.kind = cursor.string()?.unwrap_or_default(),
            b"sequence_number" => event.number = number(cursor.raw()?),
            b"output_index" | b"index" => {
                event.key = Some(cursor.raw()?).filter(|raw| *raw != b"null");
            }
            b"item_id" => event.item_id = cursor.string()?,
            b"item" | b"content_block" | b"response" | b"delta" => {
                event.inner = Some(cursor.skip()?);
            }
            b"error" => event.has_error = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(event)
}

/// An event of Responses.
pub(in crate::dialects) fn response<'a>(cursor: &mut Cursor<'a>) -> Result<Look<'a>, JsonError> {
    let (event, bytes) = (typed(cursor)?, cursor.bytes());
    let mut look = Look {
        number: event.number,
        ..Look::default()
    };
    let part = |ends, id: Option<&'a [u8]>| {
        Some(Part {
            key: event.key.or(event.item_id).or(id).unwrap_or_default(),
            is_call: true,
            ends,
        })
    };
    match event.kind {
        b"response.output_item.added" | b"response.output_item.done" => {
            let (is_call, id) = item(bytes, event.inner.clone())?;
            if is_call {
                look.part = part(event.kind.ends_with(b".done"), id);
            }
        }
        b"response.created" | b"response.in_progress" | b"response.queued" => look.opens = true,
        b"response.completed" | b"response.incomplete" => {
            look.completes = true;
            look.ends = true;
            look.stops_early = event.kind.ends_with(b".incomplete");
            look.calls = calls_in(bytes, event.inner.clone())?;
        }
        b"response.failed" | b"error" => {
            look.fails = true;
            look.ends = event.kind != b"error";
        }
        b"response.refusal.delta" | b"response.refusal.done" => look.refuses = true,
        // An item that began before anyone listened.
        kind if kind.starts_with(b"response.function_call_arguments.")
            || kind.starts_with(b"response.custom_tool_call_input.") =>
        {
            look.part = part(false, None);
        }
        kind => look.fails = kind.is_empty() && event.has_error,
    }
    Ok(look)
}

/// Whether an item of a Response is a call that the client answers, and its id.
fn item(bytes: &[u8], item: Option<Range<usize>>) -> Result<(bool, Option<&[u8]>), JsonError> {
    let Some(item) = item else {
        return Ok((false, None));
    };
    let (mut fragment, mut id) = (Fragment::default(), None);
    responses::read_item(&mut Cursor::at(bytes, item.start), 0, &mut fragment)?;
    Cursor::at(bytes, item.start).object(|cursor, key| {
        if key == b"id" {
            id = cursor.string()?;
        }
        Ok(())
    })?;
    let is_call = fragment.items.iter().any(|item| item.kind == Kind::Call);
    Ok((is_call, id))
}

/// How many calls the output of a Response holds that the client answers.
fn calls_in(bytes: &[u8], response: Option<Range<usize>>) -> Result<usize, JsonError> {
    let Some(response) = response else {
        return Ok(0);
    };
    let mut fragment = Fragment::default();
    Cursor::at(bytes, response.start).object(|cursor, key| {
        if key == b"output" {
            cursor.array(|cursor| responses::read_item(cursor, 0, &mut fragment))?;
        }
        Ok(())
    })?;
    let calls = fragment.items.iter().filter(|item| item.kind == Kind::Call);
    Ok(calls.count())
}

/// An event of Anthropic.
pub(in crate::dialects) fn anthropic<'a>(cursor: &mut Cursor<'a>) -> Result<Look<'a>, JsonError> {
    let (event, bytes) = (typed(cursor)?, cursor.bytes());
    let mut look = Look::default();
    let part = |is_call, ends| {
        Some(Part {
            key: event.key.unwrap_or_default(),
            is_call,
            ends,
        })
    };
    match event.kind {
        b"content_block_start" => {
            let mut is_call = false;
            if let Some(block) = event.inner.clone() {
                Cursor::at(bytes, block.start).object(|cursor, key| {
                    if key == b"type" {
                        // `server_tool_use` and `mcp_tool_use` are answered by the provider.
                        is_call = cursor.string()? == Some(b"tool_use");
                    }
                    Ok(())
                })?;
            }
            look.part = part(is_call, false).filter(|part| part.is_call);
        }
        b"content_block_delta" => look.part = part(false, false),
        b"content_block_stop" => look.part = part(false, true),
        b"message_delta" => look.stops_early = stops_early(bytes, event.inner.clone())?,
        b"message_stop" => {
            look.completes = true;
            look.ends = true;
        }
        b"error" => look.fails = true,
        kind => look.fails = kind.is_empty() && event.has_error,
    }
    Ok(look)
}

/// Whether the change of a message (Anthropic) says that it was cut off or refused.
fn stops_early(bytes: &[u8], delta: Option<Range<usize>>) -> Result<bool, JsonError> {
    let Some(delta) = delta else {
        return Ok(false);
    };
    let mut is_early = false;
    Cursor::at(bytes, delta.start).object(|cursor, key| {
        if key == b"stop_reason" {
            is_early = cursor.string()?.is_some_and(is_early_word);
        }
        Ok(())
    })?;
    Ok(is_early)
}

fn is_early_word(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(crate::dialects::stops_early)
}

/// A chunk of Chat.
pub(in crate::dialects) fn chunk<'a>(cursor: &mut Cursor<'a>) -> Result<Look<'a>, JsonError> {
    let mut look = Look::default();
    cursor.object(|cursor, key| {
        match key {
            b"choices" => {
                cursor.array(|cursor| choice(cursor, &mut look))?;
            }
            b"error" => look.fails = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(look)
}

fn choice(cursor: &mut Cursor<'_>, look: &mut Look<'_>) -> Result<(), JsonError> {
    let (mut is_first, mut finishes, mut has_call) = (true, false, false);
    let (mut is_early, mut refuses) = (false, false);
    cursor.object(|cursor, key| {
        match key {
            b"index" => is_first = matches!(cursor.raw()?, b"0" | b"null"),
            b"finish_reason" => {
                let why = cursor.string()?.unwrap_or_default();
                (finishes, is_early) = (!why.is_empty(), is_early_word(why));
            }
            b"delta" | b"message" => {
                cursor.object(|cursor, key| {
                    match (key, cursor.peek()) {
                        (b"refusal", Some(b'"')) => {
                            refuses |= cursor.string()?.is_some_and(|text| !text.is_empty());
                        }
                        (b"function_call", Some(b'{')) => has_call = true,
                        (b"tool_calls", Some(b'[')) => {
                            cursor.array(|_| {
                                has_call = true;
                                Ok(())
                            })?;
                        }
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if has_call {
        look.part = Some(Part {
            key: b"",
            is_call: true,
            ends: false,
        });
    }
    // Of several choices the first is the reply that is judged.
    look.completes |= is_first && finishes;
    look.stops_early |= is_first && is_early;
    look.refuses |= is_first && refuses;
    Ok(())
}

/// A chunk of Gemini. Its calls are complete as they come, and there is no end mark but the reason to finish.
pub(in crate::dialects) fn candidates<'a>(cursor: &mut Cursor<'a>) -> Result<Look<'a>, JsonError> {
    let mut look = Look::default();
    cursor.object(|cursor, key| {
        match key {
            b"candidates" => {
                cursor.array(|cursor| candidate(cursor, &mut look))?;
            }
            // A prompt that is blocked gets no candidate.
            b"promptFeedback" => {
                cursor.object(|cursor, key| {
                    if key == b"blockReason" {
                        finishes(cursor.string()?.unwrap_or_default(), &mut look);
                    }
                    Ok(())
                })?;
            }
            b"error" => look.fails = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(look)
}

fn finishes(why: &[u8], look: &mut Look<'_>) {
    if !why.is_empty() {
        (look.completes, look.ends) = (true, true);
        look.stops_early = is_early_word(why);
    }
}

fn candidate(cursor: &mut Cursor<'_>, look: &mut Look<'_>) -> Result<(), JsonError> {
    let (mut is_first, mut why) = (true, None);
    let mut fragment = Fragment::default();
    cursor.object(|cursor, key| {
        match key {
            b"index" => is_first = matches!(cursor.raw()?, b"0" | b"null"),
            b"finishReason" => why = cursor.string()?,
            b"content" if cursor.peek() == Some(b'{') => {
                gemini::read_content(cursor, 0, &mut fragment)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if fragment.items.iter().any(|item| item.kind == Kind::Call) {
        look.part = Some(Part {
            key: b"",
            is_call: true,
            ends: true,
        });
    }
    if is_first {
        finishes(why.unwrap_or_default(), look);
    }
    Ok(())
}

pub(crate) fn number(raw: &[u8]) -> Option<u64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dialect: Dialect, data: &str) -> Look<'_> {
        look(dialect, data.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn words_about_calls_are_no_calls() {
        for data in [
            r#"{"choices":[{"index":0,"delta":{"content":"\"tool_calls\":[{"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[],"function_call":null}}]}"#,
            r#"{"choices":[],"usage":{"total_tokens":1}}"#,
        ] {
            assert_eq!(of(Dialect::Chat, data), Look::default(), "{data}");
        }
        let hosted = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws"}}"#;
        assert_eq!(of(Dialect::Responses, hosted), Look::default());
        let hosted = r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s"}}"#;
        assert_eq!(of(Dialect::Anthropic, hosted), Look::default());
    }

    #[test]
    fn every_type_of_call_that_a_client_answers_is_one() {
        for kind in [
            "function_call",
            "custom_tool_call",
            "computer_call",
            "shell_call",
            "local_shell_call",
            "apply_patch_call",
            "tool_search_call",
        ] {
            let data = format!(
                r#"{{"type":"response.output_item.done","output_index":null,"item":{{"type":"{kind}","id":"x"}},"sequence_number":7}}"#
            );
            let look = of(Dialect::Responses, &data);
            let part = Part {
                key: b"x",
                is_call: true,
                ends: true,
            };
            assert_eq!((look.part, look.number), (Some(part), Some(7)), "{kind}");
        }
    }

    #[test]
    fn what_is_no_json_is_none() {
        for data in ["{\"broken", "{} {}", "<html>", "{\"a\":1,}"] {
            for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
                assert_eq!(look(dialect, data.as_bytes()), None, "{data}");
            }
        }
        assert_eq!(
            look(Dialect::Chat, b" [DONE]").map(|look| look.ends),
            Some(true)
        );
        assert_eq!(
            look(Dialect::Responses, b"[DONE]").map(|look| look.ends),
            Some(false)
        );
    }
}
