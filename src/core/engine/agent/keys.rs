//! The keys of an agent file, and what single values may be.

use crate::config::{Keys, keys, looks_like_key};
use crate::engine::policy::{Approval, POLICY_KEYS};
use crate::session::Dialect;

/// Longest name, in characters.
const NAME: usize = 100;
/// Longest name of an environment variable.
const VARIABLE: usize = 128;
/// What to do about a key of the file.
const USE_VARIABLE: &str = "put the key into an environment variable and write the name of that";
/// What can carry out a tool.
const BY: &[&str] = &["command", "canned", "ask", "recorded"];

/// The tables of an agent file, for the help; those of its policy are [`crate::engine::POLICY_TABLES`].
pub static AGENT_TABLES: [&Keys; 5] = [
    &AGENT_KEYS,
    &MODEL_KEYS,
    &TOOL_KEYS,
    &CANNED_KEYS,
    &MCP_KEYS,
];

keys! {
    pub(crate) static AGENT_KEYS = "the file" {
        name [required]: CheckedText(check_name), "what the agent is called";
        instructions: Text, "the system prompt";
        input: Text, "the first message of the user; without it the operator begins";
        max_turns: COUNT, "the most model requests, whatever becomes of the replies", or "100";
        output_schema: JsonTable, "the JSON Schema of the final output";
        output_schema_file: Text, "a JSON file with it";
        policy: Table(&POLICY_KEYS), "what is done about faults without asking";
        policy_file: Text, "a TOML file with it";
        model [required]: Table(&MODEL_KEYS), "the model";
        tools: Tables(&TOOL_KEYS), "tools";
        mcp: Tables(&MCP_KEYS), "MCP servers, which bring tools along";
    }
    rules [
        AtMostOne(&["output_schema", "output_schema_file"]),
        AtMostOne(&["policy", "policy_file"]),
    ]
}

keys! {
    pub(crate) static MODEL_KEYS = "[model]" {
        dialect [required]: Word(None, dialects), "which API it speaks";
        name: Text, "its name in requests; required without a script";
        base_url: CheckedText(check_base_url), "where the API begins; without it the provider's own";
        key_env: CheckedText(check_variable),
            "the environment variable that holds the key; without `base_url` the provider's usual one";
        headers: TextTable, "further headers; `env:NAME` at the end of a value names a variable";
        script: Text, "a file with a scripted model, in the place of a server";
        stream: Flag, "whether replies come as a stream", or "true";
        timeout: Duration(1), "how long a reply may take without a byte", or "\"120s\"";
        max_tokens: COUNT, "the most tokens of a reply";
        settings: JsonTable, "further members of every request, as `temperature`";
    }
    rules [
        AtLeastOne(&["name", "script"]),
        AtMostOne(&["script", "base_url"]),
        AtMostOne(&["script", "key_env"]),
        AtMostOne(&["script", "headers"]),
    ]
}

keys! {
    static TOOL_KEYS = "[[tools]]" {
        name [required]: Text, "what the model calls it";
        description: Text, "its description for the model";
        parameters: JsonTable, "the JSON Schema of its arguments";
        parameters_file: Text, "a JSON file with it";
        strict: Flag, "whether the provider keeps the model to the schema";
        command: List("texts", &CheckedText(check_word)),
            "a program and its arguments; it reads the call's arguments as JSON on its standard input";
        cwd: CheckedText(check_folder), "the folder the program runs in; without it that of the agent file";
        env: List("texts", &CheckedText(check_variable)),
            "environment variables that the program sees besides the usual few";
        timeout: Duration(1), "how long the program may take", or "\"30s\"";
        canned: Either(&[AnyText, Tables(&CANNED_KEYS)]),
            "outputs that stand in the file; the first that fits is given";
        ask: True, "the operator types the output";
        recorded: Either(&[Text, True]),
            "a recording that answers as long as name and arguments are the same; true for the one at hand";
        approval: Approval::SHAPE,
            "whether the operator is asked before it runs: never, until they approve for good, every time; \
             \"ask\" for programs, \"never\" for the others";
    }
    rules [
        AtMostOne(BY),
        AtLeastOne(BY),
        AtMostOne(&["parameters", "parameters_file"]),
        Needs(&["cwd", "env", "timeout"], &["command"]),
        Unique("name"),
        AtMost(500),
    ]
}

keys! {
    static CANNED_KEYS = "an answer of `canned`" {
        when: JsonTable, "arguments with the values that they must have";
        output [required]: Text, "what the model reads";
        error: Flag, "whether it reports an error";
    }
}

keys! {
    static MCP_KEYS = "[[mcp]]" {
        name [required]: CheckedText(check_name), "what the server is called";
        command: List("texts", &CheckedText(check_word)), "a server that is started, and its arguments";
        cwd: CheckedText(check_folder), "the folder it runs in; without it that of the agent file";
        env: List("texts", &CheckedText(check_variable)),
            "environment variables that it sees besides the usual few";
        url: CheckedText(check_url), "a server that speaks streamable HTTP";
        headers: TextTable,
            "headers of every request to it; `env:NAME` at the end of a value names a variable";
        tools: TEXTS, "the tools that the model is offered; all without it";
        approval: Approval::SHAPE, "whether the operator is asked before its tools run", or "\"ask\"";
        timeout: Duration(1), "how long a call may take", or "\"60s\"";
    }
    rules [
        AtMostOne(&["command", "url"]),
        AtLeastOne(&["command", "url"]),
        Needs(&["cwd", "env"], &["command"]),
        Needs(&["headers"], &["url"]),
        Unique("name"),
        AtMost(100),
    ]
}

fn dialects() -> Vec<&'static str> {
    Dialect::ALL.map(Dialect::word).to_vec()
}

/// A name that menus show.
fn check_name(name: &str) -> Result<(), String> {
    let is_short = (1..=NAME).contains(&name.chars().count());
    match is_short && !name.chars().any(char::is_control) {
        true => Ok(()),
        false => Err("has 1 to 100 characters on one line".to_owned()),
    }
}

/// A word of a command. What is confirmed is read on one line, and a line break could hide its end.
fn check_word(word: &str) -> Result<(), String> {
    if word.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    check_no_key(word)
}

fn check_folder(folder: &str) -> Result<(), String> {
    if folder.is_empty() {
        return Err("must not be empty".to_owned());
    }
    check_word(folder)
}

fn check_no_key(text: &str) -> Result<(), String> {
    match looks_like_key(text) {
        true => Err(format!(
            "holds what looks like a key itself; {USE_VARIABLE}"
        )),
        false => Ok(()),
    }
}

/// The name of an environment variable (POSIX: letters, digits and underscores, no digit first).
pub(crate) fn check_variable(name: &str) -> Result<(), String> {
    // A key of one kind of letters could be a name, but nobody calls a variable so.
    let has = |is: fn(&u8) -> bool| name.as_bytes().iter().any(is);
    let is_mixed = name.len() > 20
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit);
    if is_mixed {
        return Err(format!(
            "holds what looks like a key itself; {USE_VARIABLE}"
        ));
    }
    check_no_key(name)?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_variable = (1..=VARIABLE).contains(&name.len())
        && name.bytes().all(is_letter)
        && !name.starts_with(|first: char| first.is_ascii_digit());
    match is_variable {
        true => Ok(()),
        false => Err(format!(
            "is not a name of an environment variable; {USE_VARIABLE}"
        )),
    }
}

fn check_base_url(url: &str) -> Result<(), String> {
    if url.contains('?') {
        return Err("is not an address: nothing may follow its path".to_owned());
    }
    check_url(url)
}

/// An address of a server.
fn check_url(url: &str) -> Result<(), String> {
    let refused = |why: &str| Err(format!("is not an address: {why}"));
    let rest = { url.strip_prefix("https://") }.or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return refused("it begins with http:// or https://");
    };
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return refused("there is white space in it");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(format!(
            "holds what looks like a key itself; {USE_VARIABLE}"
        ));
    }
    if authority.is_empty() || authority.starts_with(':') {
        return refused("it names no host");
    }
    if url.contains('#') {
        return refused("nothing may follow its path");
    }
    check_no_key(url)
}
