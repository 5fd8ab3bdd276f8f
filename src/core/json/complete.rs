//! Closes what the beginning of a JSON text leaves open, so that the head of a giant item can be read
//! like a small one.

/// The shortest completion of `head`: a cut string ends where it was cut, a key without value
/// gets `null`, brackets close.
///
/// `head` must be the beginning of a JSON text; of anything else the result is no JSON either, and
/// reading it says so.
pub fn complete(head: &[u8]) -> Vec<u8> {
    let mut text = head.to_vec();
    let mut open = Vec::new();
    let mut at = 0;
    // Whether the object on top waits for a key (true) or for a value.
    let mut expects_key = false;
    while at < head.len() {
        match head[at] {
            b'"' => match super::string_end(head, at) {
                Ok(end) => {
                    at = end;
                    continue;
                }
                Err(_) => {
                    close_string(&mut text, at);
                    return finish(text, &open, expects_key);
                }
            },
            b'{' => {
                open.push(b'}');
                expects_key = true;
            }
            b'[' => {
                open.push(b']');
                expects_key = false;
            }
            b'}' | b']' => {
                open.pop();
                expects_key = false;
            }
            b':' => expects_key = false,
            b',' => expects_key = open.last() == Some(&b'}'),
            _ => {}
        }
        at += 1;
    }
    drop_partial_scalar(&mut text);
    finish(text, &open, expects_key)
}

/// Ends the string that was opened at `open_quote`, without the escape or character that was cut in two.
fn close_string(text: &mut Vec<u8>, open_quote: usize) {
    let inside = &text[open_quote + 1..];
    let mut keep = inside.len();
    let tail_from = keep.saturating_sub(12);
    if let Some(found) = inside[tail_from..].iter().position(|byte| *byte == b'\\') {
        let mut at = tail_from + found;
        let run = inside[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        at -= run;
        while at < inside.len() {
            let length = match inside[at..] {
                [b'\\', b'u', ..] => 6,
                [b'\\', ..] => 2,
                _ => 1,
            };
            if at + length > inside.len() {
                keep = at;
                break;
            }
            at += length;
        }
    }
    while keep > 0 && (inside[keep - 1] & 0xc0) == 0x80 {
        keep -= 1;
    }
    if keep > 0 && inside[keep - 1] >= 0xc0 {
        keep -= 1;
    }
    text.truncate(open_quote + 1 + keep);
    text.push(b'"');
}

/// A number or word at the very end may be half of one.
fn drop_partial_scalar(text: &mut Vec<u8>) {
    while text
        .last()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
    {
        text.pop();
    }
}

fn finish(mut text: Vec<u8>, open: &[u8], expects_key: bool) -> Vec<u8> {
    while text.last().is_some_and(u8::is_ascii_whitespace) {
        text.pop();
    }
    match text.last() {
        Some(b',') => {
            text.pop();
        }
        Some(b':') => text.extend_from_slice(b"null"),
        Some(b'"') if expects_key => text.extend_from_slice(b":null"),
        _ => {}
    }
    text.extend(open.iter().rev());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::skip_value;

    #[test]
    fn every_beginning_of_a_text_can_be_completed() {
        let text =
            r#"{"a":"x\n\u00e9\ud83d\ude00é","b":[1,true,{"c":null,"d":"\\"}],"e":-1.5,"f":{}}"#
                .as_bytes();
        for cut in 1..=text.len() {
            let whole = complete(&text[..cut]);
            let shown = String::from_utf8_lossy(&whole);
            assert_eq!(skip_value(&whole, 0), Ok(whole.len()), "{cut}: {shown}");
            assert!(
                serde_json::from_slice::<serde_json::Value>(&whole).is_ok() || cut < 40,
                "{cut}: {shown}"
            );
        }
    }

    #[test]
    fn a_cut_string_ends_where_it_was_cut() {
        assert_eq!(
            complete(br#"{"output":"first line\nsec"#),
            br#"{"output":"first line\nsec"}"#
        );
        assert_eq!(
            complete(br#"{"output":"first\u00"#),
            br#"{"output":"first"}"#
        );
        assert_eq!(complete(br#"{"output":"first\"#), br#"{"output":"first"}"#);
        assert_eq!(
            complete(br#"{"output":"a","is_"#),
            br#"{"output":"a","is_":null}"#
        );
    }
}
