//! From a rule's message and the facts of a finding to a sentence.

/// Fills a message: `{name}` is the fact of that name; a part in square brackets stays only if all
/// its facts are known.
///
/// `"{tool} is not offered[; nearest: {nearest}]"` reads "serch is not offered; nearest: search", or
/// "serch is not offered".
pub fn fill(message: &str, fact: impl Fn(&str) -> Option<String>) -> String {
    let mut sentence = String::new();
    let mut rest = message;
    while let Some(open) = rest.find('[') {
        let Some(length) = rest[open..].find(']') else {
            break;
        };
        sentence.push_str(&fill_part(&rest[..open], &fact).0);
        let (part, complete) = fill_part(&rest[open + 1..open + length], &fact);
        if complete {
            sentence.push_str(&part);
        }
        rest = &rest[open + length + 1..];
    }
    sentence.push_str(&fill_part(rest, &fact).0);
    sentence
}

/// The part with its facts, and whether all of them are known.
fn fill_part(part: &str, fact: &impl Fn(&str) -> Option<String>) -> (String, bool) {
    let mut text = String::new();
    let mut complete = true;
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, remainder) = after.split_once('}').unwrap_or((after, ""));
        match fact(name) {
            Some(value) => text.push_str(&value),
            None => complete = false,
        }
        rest = remainder;
    }
    text.push_str(rest);
    (text, complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_their_facts_are_left_out() {
        let message = "{tool} is not offered[; nearest: {nearest}][; {home}]";
        let told = |known: &[(&str, &str)]| {
            fill(message, |name| {
                known
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            told(&[("tool", "serch"), ("nearest", "search")]),
            "serch is not offered; nearest: search"
        );
        assert_eq!(told(&[("tool", "serch")]), "serch is not offered");
    }

    #[test]
    fn a_fact_with_brackets_is_only_text() {
        assert_eq!(
            fill("{tool} fails", |_| Some("[{tool}]".to_owned())),
            "[{tool}] fails"
        );
    }
}
