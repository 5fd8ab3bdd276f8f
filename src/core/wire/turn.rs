//! What is said in a conversation, as no dialect spells it: the form in which it goes from one dialect into
//! another.

use super::object::quoted;

/// A message of a history, with the calls or the outputs that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub role: Role,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    System,
    /// Instructions of the developer, which some dialects tell from those of the system.
    Developer,
    User,
    #[strum(serialize = "assistant")]
    Model,
    Tool,
}

impl Role {
    /// The word for it in OpenAI's dialects.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// One part of an element, or of the content of an output.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    /// What the model said instead of an answer.
    Refusal(String),
    /// A picture: its URL, which may be a `data:` URL.
    Image(String),
    /// A value that is not part of a content, as it is spelled.
    Json(String),
    /// Something else, by its type.
    Other(String),
    Call(ToolCall),
    Result(ToolResult),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// `None` where it has none.
    pub id: Option<String>,
    pub name: String,
    /// The namespace of its tool, where the dialect has namespaces (Responses).
    pub namespace: Option<String>,
    pub input: Input,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// What is, or should be, the JSON of an object.
    Json(String),
    /// Free-form text of a custom tool.
    Free(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the call that it answers.
    pub id: Option<String>,
    /// The tool that was called; empty where that is not known.
    pub name: String,
    pub content: Vec<Part>,
    pub is_error: bool,
    /// Whether the call is one of a custom tool.
    pub is_custom: bool,
}

impl ToolCall {
    /// A call of a function.
    pub fn new(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            namespace: None,
            input: Input::Json(arguments.to_owned()),
        }
    }
}

impl Input {
    /// As the model wrote it.
    pub fn as_written(&self) -> &str {
        match self {
            Self::Json(text) | Self::Free(text) => text,
        }
    }

    /// An object that holds it, for a dialect that has no other arguments.
    pub fn as_object(&self) -> String {
        match self {
            Self::Json(json) => json.clone(),
            Self::Free(text) => format!(r#"{{"input":{}}}"#, quoted(text)),
        }
    }
}

impl Element {
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts }
    }
}

impl Part {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Refusal(text) | Self::Json(text) => Some(text),
            Self::Image(_) | Self::Other(_) | Self::Call(_) | Self::Result(_) => None,
        }
    }
}

/// The texts of parts, joined by line feeds.
pub fn joined(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(Part::text);
    texts.collect::<Vec<_>>().join("\n")
}

/// The media type and the data of a `data:` URL.
pub fn inline_data(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}
