//! A text found in a recording, as a template that says exactly that.

/// What opens a tag of the template language.
const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];

/// A template that renders as `text` whatever it holds: what would open a tag is written as a literal.
pub fn recorded(text: &str) -> String {
    let mut template = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, tail) = rest.split_at(at);
        template.push_str(before);
        let opening = OPENINGS.iter().find(|opening| tail.starts_with(**opening));
        let length = opening.map_or(1, |opening| opening.len());
        match opening {
            Some(opening) => template.push_str(&format!("{{{{ '{opening}' }}}}")),
            None => template.push('{'),
        }
        rest = &tail[length..];
    }
    template.push_str(rest);
    template
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wording::{Context, render};
    use proptest::prelude::*;

    #[test]
    fn plain_texts_stay_as_they_are() {
        let text = "Tool 'serch' not found. {\"a\": {\"b\": 1}}";
        assert_eq!(recorded(text), text);
    }

    proptest! {
        #[test]
        fn any_text_comes_out_as_it_was(
            text in "(\\{|\\}|%|#|-|\\+|'|\"|\\\\|\\r|\\n| |a|\\{% raw %\\}|\\{% endraw %\\}|\\{%- endraw -%\\}|\\PC){0,24}"
        ) {
            prop_assert_eq!(render(&recorded(&text), &Context::default()).unwrap(), text);
        }
    }
}
