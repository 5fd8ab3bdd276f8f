//! Whether a text ends by asking its reader something.

/// Marks that end a question: of Latin and most scripts, full-width, Arabic, Greek, Armenian, Ethiopic, Vai,
/// and marks that hold one.
const MARKS: &[char] = &[
    '?', '\u{ff1f}', '\u{61f}', '\u{37e}', '\u{55e}', '\u{1367}', '\u{a60f}', '\u{2047}',
    '\u{2048}', '\u{2049}', '\u{203d}',
];
/// What may stand behind the mark of a question: exclamation, emphasis and closing brackets. A closing
/// quotation mark may not: then the question is somebody else's.
const BEHIND: &[char] = &['!', '\u{ff01}', '*', '_', ')', ']', '\u{ff09}'];
/// What begins an item of a list, beside numbers.
const BULLETS: &[char] = &['-', '*', '•', '+', '–'];
/// What ends a sentence, beside the marks of questions.
const ENDS: &[char] = &['.', '!', '。', '！', '\n', ':', '：'];

/// The question that a text ends with.
///
/// A heuristic: the last sentence ends with a question mark of some script, or a list of answers follows such
/// a sentence. Code, quoted lines and the question mark of an address do not count. A request without a
/// question mark ("Tell me the date.") is not seen, and a question for the sake of speech ("Anything else?")
/// is taken for one.
pub(super) fn question(text: &str) -> Option<&str> {
    let lines = spoken(text);
    let last = *lines.last()?;
    if let Some(question) = asked(last) {
        return Some(question);
    }
    let before = lines.iter().rev().find(|line| !is_of_list(line))?;
    asked(before).filter(|_| is_of_list(last))
}

/// The lines that say something: none of code, none that quotes.
fn spoken(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        !is_fence && !is_code && !line.is_empty() && !line.starts_with('>')
    });
    lines.collect()
}

fn is_of_list(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let is_numbered = line.len() - number.len() <= 2
        && number.len() < line.len()
        && number.starts_with(['.', ')'])
        && number[1..].starts_with(char::is_whitespace);
    let rest = line.strip_prefix(BULLETS);
    is_numbered || rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// The last sentence of a line, if it is a question.
fn asked(line: &str) -> Option<&str> {
    let trimmed = |c: char| BEHIND.contains(&c) || is_picture(c) || c.is_whitespace();
    let end = line.trim_end_matches(trimmed);
    let before = end.strip_suffix(MARKS)?;
    if is_in_code(end) || is_end_of_address(before) {
        return None;
    }
    let mut inside = before.trim_end_matches(MARKS);
    // A mark inside a word (an address, a number) ends no sentence.
    loop {
        let Some(at) = inside.rfind(|c| ENDS.contains(&c) || MARKS.contains(&c)) else {
            return Some(end.trim_start());
        };
        let behind = at + inside[at..].chars().next().map_or(0, char::len_utf8);
        let is_wide = inside[at..].chars().next().is_some_and(|c| !c.is_ascii());
        if is_wide || end[behind..].starts_with(char::is_whitespace) {
            return Some(end[behind..].trim_start());
        }
        inside = &inside[..at];
    }
}

/// Whether the end of a line stands between backticks.
fn is_in_code(line: &str) -> bool {
    line.matches('`').count() % 2 == 1
}

/// Whether a question mark behind this text belongs to an address: `https://example.org/?`.
fn is_end_of_address(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next();
    word.is_some_and(|word| word.contains("://") && word.ends_with(|c: char| "/=&?".contains(c)))
}

/// Emoji and their joiners.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::question;

    #[test]
    fn the_last_sentence_counts_in_every_script() {
        for (text, asked) in [
            ("Which date?", "Which date?"),
            (
                "I found two. Which one do you want?",
                "Which one do you want?",
            ),
            (
                "One.\n\n**Shall I book QX 4.5 for you?** 🙂",
                "**Shall I book QX 4.5 for you?",
            ),
            ("Really?!", "Really?"),
            ("日付はいつですか？", "日付はいつですか？"),
            ("見つかりました。どれにしますか？", "どれにしますか？"),
            ("متى تريد السفر؟", "متى تريد السفر؟"),
            ("Did you mean \"JFK\"?", "Did you mean \"JFK\"?"),
            ("Did you mean `find`?", "Did you mean `find`?"),
            (
                "Is it https://example.org/a?",
                "Is it https://example.org/a?",
            ),
        ] {
            assert_eq!(question(text), Some(asked), "{text}");
        }
    }

    #[test]
    fn a_list_of_answers_belongs_to_its_question() {
        assert_eq!(
            question("Which one?\n\n- KS 218\n- KS 220"),
            Some("Which one?")
        );
        assert_eq!(
            question("I need two things:\n1. Which date?\n2. Which airport?"),
            Some("Which airport?")
        );
        assert_eq!(question("What I did?\n- searched\nThat is all."), None);
    }

    #[test]
    fn code_addresses_quotations_and_earlier_questions_are_not_asked() {
        for text in [
            "",
            "I could not find it.",
            "Which date? I take the 10th.",
            "See https://example.org/search/?",
            "See https://example.org/search?q=1",
            "The user asked: \"Which date?\"",
            "> Which date?",
            "I ran this:\n```\nis_open?\n```",
            "The name is `open?`",
            "Use `a ?",
        ] {
            assert_eq!(question(text), None, "{text}");
        }
    }
}
