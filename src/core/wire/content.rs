//! What a message or an output says, part by part, in the words of all dialects: items of agents' own formats have
//! none, and servers that speak one dialect use parts of another.

use super::body::body_of;
use super::turn::Part;
use crate::json::{Cursor, Result, display_text};
use crate::session::{Item, Kind};

/// The content of a message, of an output or of reasoning.
#[derive(Debug, Default, PartialEq)]
pub struct Content {
    /// Its parts, in order.
    pub parts: Vec<Part>,
    pub role: String,
    /// Reasoning that is beside the text (`reasoning_content` of compatible servers).
    pub reasoning: String,
    /// Whether there is such reasoning, in whatever form.
    pub has_reasoning: bool,
    /// Whether a text has citations or annotations.
    pub has_annotations: bool,
    /// Whether a text carries a signature (Gemini).
    pub has_signature: bool,
}

impl Content {
    /// Reads the content of an item from its bytes.
    pub fn of(item: &Item, bytes: &[u8]) -> Result<Self> {
        let mut content = Self::default();
        let mut cursor = Cursor::new(bytes);
        if cursor.peek() != Some(b'{') {
            content.value(&mut cursor)?;
            return Ok(content);
        }
        let is_output = item.kind == Kind::Output;
        let is_reasoning = item.kind == Kind::Reasoning;
        let mut is_whole = is_output;
        cursor.object(|cursor, key| {
            match key {
                b"role" => {
                    is_whole = true;
                    content.role = text(cursor)?;
                }
                b"content" | b"parts" => {
                    is_whole = true;
                    content.value(cursor)?;
                }
                b"functionResponse" | b"function_response" if is_output => {
                    let body = body_of(item, bytes)?;
                    content.parts.push(Part::Text(body.text));
                }
                b"toolResult" if is_output => {
                    cursor.object(|cursor, key| match key {
                        b"content" => content.value(cursor),
                        _ => Ok(()),
                    })?;
                }
                b"reasoningContent" if is_reasoning => {
                    is_whole = true;
                    content.parts.push(Part::Text(body_of(item, bytes)?.text));
                }
                b"thoughtSignature" | b"thought_signature" => content.has_signature = true,
                b"output" | b"result" | b"response" | b"tools" if is_output => {
                    content.value(cursor)?;
                }
                b"summary" | b"thinking" | b"text" if is_reasoning => {
                    is_whole = true;
                    content.value(cursor)?;
                }
                b"refusal" => {
                    let refusal = text(cursor)?;
                    if !refusal.is_empty() {
                        content.parts.push(Part::Refusal(refusal));
                    }
                }
                b"reasoning_content" | b"reasoning" | b"reasoning_details" => {
                    content.read_reasoning(cursor)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        if !is_whole {
            content.parts.clear();
            content.part(&mut Cursor::new(bytes))?;
        }
        Ok(content)
    }

    fn read_reasoning(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if cursor.peek() != Some(b'"') {
            self.has_reasoning |= !matches!(cursor.raw()?, b"null" | b"[]");
            return Ok(());
        }
        let reasoning = text(cursor)?;
        self.has_reasoning |= !reasoning.is_empty();
        if self.reasoning.is_empty() {
            self.reasoning = reasoning;
        }
        Ok(())
    }

    /// A string, a list of parts, one part, or another value, which is shown as its JSON.
    fn value(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        match cursor.peek() {
            Some(b'[') => cursor.array(|cursor| self.part(cursor)).map(|_| ()),
            _ => self.part(cursor),
        }
    }

    fn part(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        match cursor.peek() {
            Some(b'"') => self.parts.push(Part::Text(text(cursor)?)),
            Some(b'{') => {
                let start = cursor.position();
                let found = Found::read(cursor)?;
                self.has_annotations |= found.has_annotations;
                let raw = &cursor.bytes()[start..cursor.position()];
                self.parts.push(found.into_part(raw));
            }
            _ => match cursor.raw()? {
                b"null" => {}
                raw => self.parts.push(json(raw)),
            },
        }
        Ok(())
    }
}

/// The types of parts that are pictures.
pub(crate) const PICTURES: [&str; 4] = ["image", "image_url", "input_image", "computer_screenshot"];

/// The members of one part.
#[derive(Default)]
struct Found {
    of_type: Option<String>,
    text: Option<String>,
    refusal: Option<String>,
    image: Option<String>,
    printed: Vec<String>,
    /// The value that a part of a result of Bedrock is.
    json: Option<Part>,
    has_annotations: bool,
}

impl Found {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut found = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"type" => found.of_type = Some(text(cursor)?),
                b"text" if cursor.peek() == Some(b'"') => found.text = Some(text(cursor)?),
                b"refusal" if cursor.peek() == Some(b'"') => found.refusal = Some(text(cursor)?),
                b"stdout" | b"stderr" => found.printed.push(text(cursor)?),
                b"image_url" => found.image = image_url(cursor)?,
                b"image" if cursor.peek() == Some(b'{') => found.image = image_block(cursor)?,
                b"json" => found.json = Some(json(cursor.raw()?)),
                b"source" | b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                    found.image = image_source(cursor)?;
                }
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
        let of_type = self.of_type.as_deref();
        let is_picture = of_type.is_none_or(|of_type| PICTURES.contains(&of_type));
        if let Some(url) = self.image.filter(|_| is_picture) {
            return Part::Image(url);
        }
        match (self.refusal, self.text, self.of_type) {
            (Some(refusal), ..) => Part::Refusal(refusal),
            (None, Some(text), _) => Part::Text(text),
            _ if !self.printed.is_empty() => Part::Text(self.printed.concat()),
            (.., Some(of_type)) => Part::Other(of_type),
            _ => self.json.unwrap_or_else(|| json(raw)),
        }
    }
}

fn json(raw: &[u8]) -> Part {
    Part::Json(String::from_utf8_lossy(raw).into_owned())
}

/// `image_url` of Responses is the URL, that of Chat an object with it.
fn image_url(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
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

/// `inlineData: {mimeType, data}` and `fileData: {fileUri}` of Gemini, `source` of Anthropic: `{type: base64,
/// media_type, data}` or `{type: url, url}`; files stand at the provider.
fn image_source(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let (mut url, mut media_type, mut data) = (None, None, None);
    cursor.object(|cursor, key| {
        match key {
            b"url" | b"fileUri" | b"file_uri" => url = Some(text(cursor)?),
            b"media_type" | b"mimeType" | b"mime_type" => media_type = Some(text(cursor)?),
            b"data" => data = Some(text(cursor)?),
            _ => {}
        }
        Ok(())
    })?;
    let inline = media_type.zip(data);
    Ok(url.or_else(|| inline.map(|(kind, data)| format!("data:{kind};base64,{data}"))))
}

/// `image` of Bedrock: `{format, source: {bytes}}`, or `{s3Location: {uri}}` for its source.
fn image_block(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let (mut url, mut format, mut data) = (None, String::new(), None);
    cursor.object(|cursor, key| match key {
        b"format" => {
            format = text(cursor)?;
            Ok(())
        }
        b"source" => cursor
            .object(|cursor, key| {
                match key {
                    b"bytes" => data = Some(text(cursor)?),
                    b"s3Location" => {
                        cursor.object(|cursor, key| {
                            if key == b"uri" {
                                url = Some(text(cursor)?);
                            }
                            Ok(())
                        })?;
                    }
                    _ => {}
                }
                Ok(())
            })
            .map(|_| ()),
        _ => Ok(()),
    })?;
    Ok(url.or_else(|| data.map(|data| format!("data:image/{format};base64,{data}"))))
}

fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let inside = cursor.string()?.unwrap_or_default();
    Ok(display_text(inside).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Dialect, Span};
    use crate::wire::joined;

    fn content(kind: Kind, bytes: &str) -> Content {
        let item = Item::new(kind, Some(Dialect::Chat), Span::default());
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
