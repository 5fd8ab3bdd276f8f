//! What can be said of a dialect without code.

use crate::session::Dialect;

#[derive(Debug)]
pub struct Facts {
    pub dialect: Dialect,
    /// The word for it on the command line, in files and in reports.
    pub word: &'static str,
    /// Who refuses a request, in findings: the provider, as `OpenAI`.
    pub vendor: &'static str,
    /// The API, as `OpenAI Chat`.
    pub title: &'static str,
    /// Its histories, as `Chat messages`.
    pub history_title: &'static str,
    /// Id of the format that reads its requests and replies.
    pub format: &'static str,

    pub family: Family,
    /// Where the provider's API begins, and the variable that its own programs take the key from.
    pub base_url: &'static str,
    pub key_variable: &'static str,
    /// What follows the version in the path of a request; where there are methods, before the model.
    pub path: &'static str,
    /// The methods of a path that names the model, too; elsewhere the body says both.
    pub methods: Option<Methods>,
    /// The version in the path where a base URL names none.
    pub version: &'static str,
    /// The dialect that its provider speaks at base URLs with this in their path.
    pub other_at: Option<(&'static str, Dialect)>,
    /// The media type of its streams.
    pub stream_type: &'static str,
    /// What the base URL of its SDKs ends with.
    pub sdk_base: &'static str,
    /// The header line that holds the key, and what is before the key.
    pub key_header: (&'static str, &'static str),
    /// Header lines of every request.
    pub headers: &'static [(&'static str, &'static str)],

    /// The member of a request that holds the history.
    pub history_key: &'static str,
    /// Members that may hold a history in a file, those of replies among them.
    pub holders: &'static [&'static str],
    /// The member for the instructions; where there is none they are the first message.
    pub instructions_key: Option<&'static str>,
    /// The member of the object that the instructions are, where they are one.
    pub prompt_parts: Option<&'static str>,
    pub model_role: &'static str,
    /// The member of a message that holds its calls; `None` where a call is an element by itself.
    pub calls_key: Option<&'static str>,
    /// The member of a message that holds its one call without an id.
    pub legacy_call_key: Option<&'static str>,
    /// The types that the parts of a content may have, where a part has one.
    pub content_types: &'static [&'static [u8]],
    /// The text before the tool definitions of a request, from the name of their member on, and after them.
    pub tools_member: [&'static str; 2],
    /// The member that says that there are none; empty where there must be no such member.
    pub no_tools: &'static str,
    /// The member of a tool definition that holds the schema of its arguments.
    pub schema_key: &'static str,
    /// The members of a request that belong to the run, so that no setting may name them.
    pub own_members: &'static [&'static str],
    /// The member that holds how the model is to answer (limit, format); elsewhere the request itself.
    pub settings_key: Option<&'static str>,
    /// The members that limit the tokens of a reply; a request has one of them.
    pub limit_keys: &'static [&'static str],
    /// The limit of a request for which nobody set one, where the provider wants one in every request.
    pub default_limit: Option<u32>,
    /// Whether a stream tells the tokens only where the request asks for it (`stream_options.include_usage`), and
    /// then after its end, which `[DONE]` marks.
    pub tells_usage_last: bool,
    /// The members that say what the final output must look like.
    pub formats: &'static [&'static [&'static str]],
    /// Whether a reply has a status: it can be one that failed, or has not been made yet.
    pub has_status: bool,
    /// Whether a reply repeats the tools of its request.
    pub repeats_tools: bool,
    /// Whether the events of a stream are numbered.
    pub numbers_events: bool,
    /// What of a stream counts as a sign of life for its SDKs, and reaches nobody.
    pub heartbeat: &'static str,
    /// Whether the content of a message is a list of blocks in which texts, calls and outputs stand side by side.
    pub has_blocks: bool,
    /// What of a conversation the provider keeps.
    pub server_state: ServerState,
    /// What the ids of calls that retake makes begin with.
    pub call_prefix: &'static str,
    /// What a provider counts as one message when it says which one it refuses.
    pub unit: RequestUnit,
    /// Texts of which at least one is in each whole reply that holds a call of a client's tool.
    pub call_marks: &'static [&'static str],
    /// The member of a whole reply that holds the turn and belongs to no other object, with the byte that opens its
    /// value.
    pub reply_key: Option<(&'static str, u8)>,
    /// The paths to the word for why a whole reply ended; `0` is the first element of a list.
    pub stop_paths: &'static [&'static [&'static str]],
    /// The words for replies that were cut off, refused or withheld.
    pub early_stops: &'static [&'static str],
    /// The member of a whole reply that counts its tokens.
    pub usage_key: &'static str,
    /// The members of it whose sum was sent, and those whose sum was generated.
    pub input_counts: &'static [&'static str],
    pub output_counts: &'static [&'static str],
    /// The member that holds the sum of both.
    pub total_count: Option<&'static str>,

    pub names: NameRules,
    pub schemas: Schemas,
    pub call_ids: CallIds,
    pub placement: OutputPlacement,
    /// Whether a tool that is offered twice is refused.
    pub refuses_repeated_tools: bool,
    /// Whether arguments are JSON in place, so that broken ones make the history unsendable (vercel/ai #14280).
    pub object_arguments: bool,
    /// Whether a call without arguments is refused.
    pub needs_arguments: bool,
    /// Whether a stream holds them in place, too, and not as pieces of text.
    pub streams_objects: bool,
    /// Whether an output names its tool, and pairs by that name where it or its call has no id.
    pub names_outputs: bool,
    /// Whether outputs of custom tools are spelled like all others.
    pub plain_outputs: bool,
    /// Whether outputs and words of the user may share a message.
    pub mixes_outputs: bool,
    /// Whether citations split a text of one message into several blocks.
    pub splits_texts: bool,
    /// Whether an output may hold pictures, and one of an error is marked as such.
    pub images_in_outputs: bool,
    pub marks_errors: bool,
    /// Whether a history tells a refusal from other words of the model.
    pub marks_refusals: bool,
    /// Whether a text without words is taken.
    pub blank_texts: bool,
    /// Whether a call of a custom tool, whose input is free text, has a type of its own.
    pub custom_tools: bool,
    /// Whether replies that retake makes hold such calls; elsewhere they are calls of functions.
    pub made_custom_calls: bool,
    /// Whether a name may have a namespace, in a member of its own.
    pub namespaces: bool,
    /// Whether reasoning goes back to the provider; elsewhere a conversion leaves it out.
    pub keeps_reasoning: bool,
    /// Whether reasoning carries a signature that the provider checks.
    pub signs_reasoning: bool,
    /// Whether calls carry one.
    pub signs_calls: bool,
    /// Whether the result of a hosted tool must follow its call.
    pub pairs_hosted_results: bool,
    /// Whether each item has an id of its own, which no other has.
    pub item_ids: bool,
    /// Whether the history must open with the user.
    pub opens_with_user: bool,
    /// Whether a message with the role `tool` is refused.
    pub refuses_tool_role: bool,
    /// Whether a request with many images takes only small ones.
    pub caps_many_images: bool,
    /// What the names of its vendor's models contain, where that identifies them.
    pub model_word: Option<&'static str>,
    /// Whether servers of other vendors speak it, too.
    pub is_common: bool,
    /// Whether a stream says only after a call that the token limit cut it off.
    pub tells_cut_late: bool,
}

/// The methods that ask a model, after its name in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods {
    pub whole: &'static str,
    pub streamed: &'static str,
    /// What is between the model and the method. After a slash the model is percent-encoded.
    pub separator: char,
    /// The query by which a stream comes as events; empty where none is needed.
    pub query: &'static str,
}

/// The wires that a client can be pointed with one variable: those of OpenAI (Responses and Chat), that of
/// Anthropic, that of Google and that of Amazon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// OpenAI's, and of the many servers that speak Chat.
    OpenAi,
    Anthropic,
    Google,
    Amazon,
}

/// What the names of tools may be: letters, digits, `_` and `-`, and what is named here.
#[derive(Debug)]
pub struct NameRules {
    /// In characters.
    pub longest: usize,
    pub extra: &'static [u8],
}

/// What a provider refuses in the schema of a tool's arguments.
#[derive(Debug)]
pub struct Schemas {
    /// Words that must not stand at its top.
    pub barred: &'static [&'static str],
    /// Whether each array must say what is in it.
    pub needs_items: bool,
    /// Whether it must be a JSON Schema.
    pub is_checked: bool,
    /// Whether it must name a type.
    pub needs_type: bool,
    /// Whether the empty schema, without a type, means a tool without parameters.
    pub takes_empty: bool,
    /// Whether the names of properties have a pattern (`^[a-zA-Z0-9_.-]{1,64}$`).
    pub limits_keys: bool,
    /// Whether a tool without one is refused.
    pub is_needed: bool,
    /// Whether its types may be spelled in upper case (`STRING`).
    pub has_upper_case_types: bool,
}

/// What the ids of calls may be.
#[derive(Debug)]
pub struct CallIds {
    /// In bytes, as long as retake makes them.
    pub longest: usize,
    /// Whether they are of `[a-zA-Z0-9_-]` only; elsewhere any text does that JSON spells without escapes.
    pub plain: bool,
    pub needed: IdsNeeded,
    pub repeats: Repeats,
}

/// Which half of a pair must have an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdsNeeded {
    Neither,
    Call,
    Both,
}

/// Which call may have the id of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    None,
    /// One in a later turn, where the earlier one was answered.
    Answered,
    /// That, and the same call again.
    AnsweredOrSame,
    All,
}

/// Where the output of a call must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPlacement {
    /// Anywhere after the call: pairs are found by id.
    Behind,
    /// After the message of the call, before any other message.
    BehindMessage,
    /// In the message after that of the call, first of all; in the message of a call nothing but calls is
    /// after it.
    FirstInNextMessage,
    /// In the turn after that of the call. A turn with calls cannot open the history.
    NextTurn,
}

/// What a provider counts as one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestUnit {
    Item,
    Record,
    /// Neighbours of one role.
    Role,
}

/// What of a conversation the provider keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    None,
    /// Every reply, unless the request says no (`store`), and conversations.
    Replies,
    /// The replies of threads.
    Threads,
}

impl Facts {
    /// A message that is a list of these blocks.
    pub fn message_of(&self, role: &str, blocks: &str) -> String {
        let key = self.calls_key.unwrap_or("content");
        format!(r#"{{"role":"{role}","{key}":[{blocks}]}}"#)
    }
}
