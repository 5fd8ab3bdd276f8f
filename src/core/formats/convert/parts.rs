//! What a message or an output says, part by part, whoever spelled it.

use super::LossKind;
use crate::json::{Cursor, JsonError, display_text};
use crate::session::{Item, Kind};

/// The content of a message or an output.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    /// Its parts, in order.
    pub parts: Vec<Part>,
    pub role: String,
    /// Whether it holds reasoning beside its text (`reasoning_content` of compatible servers).
    pub has_reasoning: bool,
    /// Whether a text has citations or annotations.
    pub has_annotations: bool,
}

/// One part of a content.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// What the model said instead of an answer.
    Refusal(String),
    /// A picture: its URL, which may be a `data:` URL.
    Image(String),
    /// Something else, by its type.
    Other(String),
}

impl Part {
    /// Its text, where it has one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Refusal(text) => Some(text),
            Self::Image(_) | Self::Other(_) => None,
        }
    }
}

impl Content {
    /// The content of an item from its bytes.
    pub(super) fn of(item: &Item, bytes: &[u8]) -> Result<Self, JsonError> {
        let mut content = Self::default();
        let mut cursor = Cursor::new(bytes);
        if cursor.peek() != Some(b'{') {
            content.value(&mut cursor)?;
            return Ok(content);
        }
        let is_output = item.kind == Kind::Output;
        let (mut has_role, mut has_content) = (false, false);
        cursor.object(|cursor, key| {
            match key {
                b"role" => {
                    has_role = true;
                    content.role = text(cursor)?;
                }
                b"content" => {
                    has_content = true;
                    content.value(cursor)?;
                }
                b"output" | b"result" | b"response" | b"tools" if is_output => {
                    content.value(cursor)?;
                }
                b"refusal" => {
                    let refusal = text(cursor)?;
                    if !refusal.is_empty() {
                        content.parts.push(Part::Refusal(refusal));
                    }
                }
                b"reasoning_content" | b"reasoning" | b"reasoning_details" => {
                    content.has_reasoning |= !matches!(cursor.raw()?, b"null" | b"\"\"" | b"[]");
                }
                _ => {}
            }
            Ok(())
        })?;
        if !has_role && !has_content && !is_output {
            content.parts.clear();
            content.part(&mut Cursor::new(bytes))?;
        }
        Ok(content)
    }

    /// A string, a list of parts, one part, or another value, which stands for its JSON.
    fn value(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        match cursor.peek() {
            Some(b'[') => cursor.array(|cursor| self.part(cursor)).map(|_| ()),
            _ => self.part(cursor),
        }
    }

    fn part(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        match cursor.peek() {
            Some(b'"') => self.parts.push(Part::Text(text(cursor)?)),
            Some(b'{') => {
                let start = cursor.position();
                let found = Found::read(cursor)?;
                self.has_annotations |= found.has_annotations;
                let raw = &cursor.bytes()[start..cursor.position()];
                self.parts.push(found.into_part(raw));
            }
            _ => {
                let raw = cursor.raw()?;
                if raw != b"null" {
                    let text = String::from_utf8_lossy(raw).into_owned();
                    self.parts.push(Part::Text(text));
                }
            }
        }
        Ok(())
    }
}

/// The texts of parts, joined by line feeds.
pub(super) fn joined(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(Part::text);
    texts.collect::<Vec<_>>().join("\n")
}

/// The members of one part.
#[derive(Default)]
struct Found {
    of_type: Option<String>,
    text: Option<String>,
    refusal: Option<String>,
    image: Option<String>,
    printed: Vec<String>,
    has_annotations: bool,
}

impl Found {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, JsonError> {
        let mut found = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"type" => found.of_type = Some(text(cursor)?),
                b"text" if cursor.peek() == Some(b'"') => found.text = Some(text(cursor)?),
                b"refusal" if cursor.peek() == Some(b'"') => found.refusal = Some(text(cursor)?),
                b"stdout" | b"stderr" => found.printed.push(text(cursor)?),
                b"image_url" => found.image = image_url(cursor)?,
                b"source" => found.image = image_source(cursor)?,
                b"annotations" | b"citations" if cursor.peek() == Some(b'[') => {
                    cursor.array(|_| {
                        found.has_annotations = true;
                        Ok(())
                    })?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn into_part(self, raw: &[u8]) -> Part {
        let is_picture = matches!(
            self.of_type.as_deref(),
            None | Some("image" | "image_url" | "input_image" | "computer_screenshot")
        );
        match self {
            Self {
                image: Some(url), ..
            } if is_picture => Part::Image(url),
            Self {
                refusal: Some(refusal),
                ..
            } => Part::Refusal(refusal),
            Self {
                text: Some(text), ..
            } => Part::Text(text),
            Self { printed, .. } if !printed.is_empty() => Part::Text(printed.concat()),
            Self {
                of_type: Some(of_type),
                ..
            } => Part::Other(of_type),
            _ => Part::Text(String::from_utf8_lossy(raw).into_owned()),
        }
    }
}

/// `image_url` of Responses is the URL, that of Chat an object with it.
fn image_url(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    if cursor.peek() == Some(b'"') {
        return text(cursor).map(Some);
    }
    let mut url = None;
    cursor.object(|cursor, key| {
        if key == b"url" {
            url = Some(text(cursor)?);
        }
        Ok(())
    })?;
    Ok(url)
}

/// `source` of Anthropic: `{type: base64, media_type, data}` or `{type: url, url}`; files
/// stand at the provider.
fn image_source(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    let (mut url, mut media_type, mut data) = (None, None, None);
    cursor.object(|cursor, key| {
        match key {
            b"url" => url = Some(text(cursor)?),
            b"media_type" => media_type = Some(text(cursor)?),
            b"data" => data = Some(text(cursor)?),
            _ => {}
        }
        Ok(())
    })?;
    let inline = media_type.zip(data);
    Ok(url.or_else(|| inline.map(|(kind, data)| format!("data:{kind};base64,{data}"))))
}

/// The media type and the data of a `data:` URL.
pub(super) fn inline_data(url: &str) -> Option<(&str, &str)> {
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((media_type, data))
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, JsonError> {
    let inside = cursor.string()?.unwrap_or_default();
    Ok(display_text(inside).into_owned())
}

/// Which parts have a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub images: bool,
    /// Whether texts without words have.
    pub blanks: bool,
}

impl Room {
    /// The parts of a content that have a place, and what became of the others.
    pub(super) fn fit(self, content: Content) -> (Vec<Part>, Vec<LossKind>) {
        let mut losses = Vec::new();
        if content.has_reasoning {
            losses.push(LossKind::Reasoning);
        }
        if content.has_annotations {
            losses.push(LossKind::Annotations);
        }
        let mut parts = content.parts;
        parts.retain(|part| match part {
            Part::Text(text) | Part::Refusal(text) if !self.blanks && text.trim().is_empty() => {
                losses.push(LossKind::Empty);
                false
            }
            Part::Text(_) | Part::Refusal(_) => true,
            Part::Image(_) if self.images => true,
            Part::Image(_) => {
                let of_type = "image".to_owned();
                losses.push(LossKind::Part { of_type });
                false
            }
            Part::Other(of_type) => {
                let of_type = of_type.clone();
                losses.push(LossKind::Part { of_type });
                false
            }
        });
        (parts, losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{CallId, Family, Flags, NameId, Shape, Span};

    fn content(kind: Kind, bytes: &str) -> Content {
        let item = Item {
            span: Span::default(),
            call_id: CallId::default(),
            record: 0,
            turn: 0,
            name: NameId::default(),
            kind,
            family: Family::None,
            shape: Shape::Chat,
            flags: Flags::default(),
        };
        Content::of(&item, bytes.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn one_picture_is_read_in_three_spellings() {
        let spellings = [
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}"#,
            r#"{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}"#,
        ];
        for spelling in spellings {
            let picture = Part::Image("data:image/png;base64,AA".to_owned());
            assert_eq!(content(Kind::User, spelling).parts, [picture], "{spelling}");
        }
    }

    #[test]
    fn a_text_is_read_wherever_it_stands() {
        let spellings = [
            r#""hi""#,
            r#"{"role":"user","content":"hi"}"#,
            r#"{"type":"text","text":"hi"}"#,
            r#"[{"type":"text","text":"hi"}]"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
        ];
        for spelling in spellings {
            assert_eq!(
                joined(&content(Kind::User, spelling).parts),
                "hi",
                "{spelling}"
            );
        }
    }

    #[test]
    fn what_a_shell_printed_is_its_output() {
        let output = r#"{"type":"shell_call_output","output":[{"stdout":"a\n","stderr":"b","outcome":{"type":"exit","exit_code":0}}]}"#;
        assert_eq!(joined(&content(Kind::Output, output).parts), "a\nb");
    }
}
