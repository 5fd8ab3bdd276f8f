//! A request as a command line of curl: quoted for the shell, with the key left out.

/// A request as it came from the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CurlRequest {
    pub method: String,
    /// Where it goes: the URL of the upstream.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Headers that curl makes by itself, or that belong to one connection.
const LEFT_OUT: [&str; 13] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "accept-encoding",
    "content-encoding",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "cookie",
];
/// Headers that are a key.
const KEYS: [&str; 3] = ["x-api-key", "api-key", "x-goog-api-key"];

/// The command line. The shell fills in `$KEY`.
pub fn curl(request: &CurlRequest) -> String {
    let mut command = format!(
        "curl -sS -X {} {}",
        quoted(request.method.as_bytes()),
        quoted(request.url.as_bytes())
    );
    for (name, value) in &request.headers {
        let lower = name.to_ascii_lowercase();
        if LEFT_OUT.contains(&lower.as_str()) {
            continue;
        }
        let header = match lower.as_str() {
            "authorization" => "\"authorization: Bearer $KEY\"".to_owned(),
            key if KEYS.contains(&key) => format!("\"{key}: $KEY\""),
            _ => quoted(format!("{name}: {value}").as_bytes()),
        };
        command.push_str(" \\\n  -H ");
        command.push_str(&header);
    }
    if !request.body.is_empty() {
        command.push_str(" \\\n  --data-raw ");
        command.push_str(&quoted(&request.body));
    }
    command
}

/// A word of a command line that the shell takes as it is. What a terminal could take for a command when it is
/// pasted is spelled out, as `$'...'` does it in bash, zsh and ksh.
fn quoted(word: &[u8]) -> String {
    let text = std::str::from_utf8(word).ok();
    if let Some(text) = text.filter(|text| !text.chars().any(is_risky)) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for chunk in word.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\'' => quoted.push_str(r"\'"),
                '\\' => quoted.push_str(r"\\"),
                letter if is_risky(letter) => {
                    let mut bytes = [0; 4];
                    spell(&mut quoted, letter.encode_utf8(&mut bytes).as_bytes());
                }
                letter => quoted.push(letter),
            }
        }
        spell(&mut quoted, chunk.invalid());
    }
    quoted.push('\'');
    quoted
}

/// In octal: unlike hexadecimal, three digits end by themselves.
fn spell(quoted: &mut String, bytes: &[u8]) {
    for byte in bytes {
        quoted.push_str(&format!("\\{byte:03o}"));
    }
}

/// Controls, and characters that change the direction of a line or cannot be seen.
fn is_risky(letter: char) -> bool {
    let is_plain = matches!(letter, '\n' | '\t');
    (letter.is_control() && !is_plain)
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn request(body: &[u8]) -> CurlRequest {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        CurlRequest {
            method: "POST".to_owned(),
            url: "https://api.openai.com/v1/responses".to_owned(),
            headers: vec![
                header("Host", "127.0.0.1:4000"),
                header("Authorization", "Bearer sk-live-1"),
                header("X-Api-Key", "sk-live-2"),
                header("Cookie", "session=sk-live-3"),
                header("User-Agent", "it's $HOME `id`"),
            ],
            body: body.to_vec(),
        }
    }

    #[test]
    fn c14_a_request_is_copied_quoted_with_data_raw_and_a_placeholder_for_the_key() {
        let line = curl(&request(br#"{"a":"it's @file"}"#));
        assert_eq!(
            line,
            r#"curl -sS -X 'POST' 'https://api.openai.com/v1/responses' \
  -H "authorization: Bearer $KEY" \
  -H "x-api-key: $KEY" \
  -H 'User-Agent: it'\''s $HOME `id`' \
  --data-raw '{"a":"it'\''s @file"}'"#
        );
        assert!(!line.contains("sk-live"));
    }

    #[test]
    fn a_shell_gives_back_every_byte_and_nothing_of_it_is_a_control() {
        let hostile = b"'; rm -rf ~ #\n$(id) `id` \\ \x1b[201~\x03 \xff \xe2\x80\xae!x";
        let line = curl(&request(hostile));
        assert!(!line.chars().any(is_risky), "{line:?}");
        let script = line.replacen("curl -sS -X", "printf '%s|'", 1);
        let ran = Command::new("bash").args(["-c", &script]).output().unwrap();
        let last = [&b"--data-raw|"[..], hostile, b"|"].concat();
        assert!(
            ran.stdout.ends_with(&last),
            "{:?}",
            String::from_utf8_lossy(&ran.stdout)
        );
    }
}
