//! The Markdown of a message between others: it stays as it is written, but for what is active in it or reaches
//! beyond the message. HTML becomes text, a picture a link, a link to anything but a page text; headings rank below
//! those of the page, and a fence that is left open is closed.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// How often a text is read again after a change: what was HTML may be other Markdown once it is text.
const PASSES: usize = 4;
/// How many ranks of headings are above those of messages.
const RANKS: usize = 3;

/// What a reader of the page may understand.
fn readings() -> [Options; 3] {
    let github = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    [github, Options::empty(), Options::all()]
}

/// A part of a text, and what is written for it.
type Replacement = (Range<usize>, String);

/// A text as Markdown in which nothing is active, for a place between blank lines.
pub(super) fn inert(text: &str) -> String {
    let [github, ..] = readings();
    let mut markdown = replaced(text, softened(text, github));
    for _ in 0..PASSES {
        if let Some(fence) = open_fence(&markdown, github) {
            markdown = format!("{markdown}\n{fence}");
        }
        let faults = readings().map(|options| faults(&markdown, options));
        match faults.into_iter().find(|faults| !faults.is_empty()) {
            Some(faults) => markdown = replaced(&markdown, faults),
            None if ends_with_itself(&markdown) => return markdown,
            None => break,
        }
    }
    let lines = text.lines().map(|line| match line.trim() {
        line if line.starts_with(['-', '+']) => format!("\\{}  ", escaped(line)),
        line => format!("{}  ", escaped(line)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn replaced(text: &str, mut replacements: Vec<Replacement>) -> String {
    replacements.sort_by_key(|(range, _)| range.start);
    let (mut changed, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, words) in replacements {
        if range.start >= copied {
            changed.push_str(&text[copied..range.start]);
            changed.push_str(&words);
            copied = range.end;
        }
    }
    changed + &text[copied..]
}

/// Keeps lines as lines, and mentions nobody.
fn softened(text: &str, options: Options) -> Vec<Replacement> {
    let mut replacements = Vec::new();
    let mut links = 0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { .. }) => links += 1,
            Event::End(TagEnd::Link) => links -= 1,
            Event::SoftBreak => replacements.push((range.start..range.start, "  ".to_owned())),
            Event::Text(_) if links == 0 => {
                let words = &text[range.clone()];
                for (at, _) in words.match_indices('@') {
                    let at = range.start + at;
                    let before = text[..at].chars().next_back();
                    if !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '/') {
                        replacements.push((at..at + 1, "&#64;".to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    without_code(text, options, replacements)
}

/// Those replacements that are in no block of code.
fn without_code(text: &str, options: Options, replacements: Vec<Replacement>) -> Vec<Replacement> {
    let events = Parser::new_ext(text, options).into_offset_iter();
    let blocks = events.filter(|(event, _)| matches!(event, Event::Start(Tag::CodeBlock(_))));
    let blocks: Vec<Range<usize>> = blocks.map(|(_, range)| range).collect();
    let is_code = |at: usize| {
        let before = blocks.partition_point(|block| block.start <= at);
        blocks[..before].last().is_some_and(|block| at < block.end)
    };
    let all = replacements.into_iter();
    all.filter(|(range, _)| !is_code(range.start)).collect()
}

/// What of a text must not stay as it is.
fn faults(text: &str, options: Options) -> Vec<Replacement> {
    let mut faults = Vec::new();
    let parser = Parser::new_ext(text, options);
    let definitions = parser.reference_definitions().iter();
    for (_, definition) in definitions.filter(|(_, it)| !leads_to_page(&it.dest)) {
        faults.push(first_escaped(text, &definition.span));
    }
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let html = escaped(&text[range.clone()]);
                faults.push((range, html));
            }
            Event::Start(Tag::Image { .. } | Tag::MetadataBlock(_)) => {
                faults.push(first_escaped(text, &range));
            }
            Event::Start(Tag::Link { dest_url, .. }) if !leads_to_page(&dest_url) => {
                faults.push(first_escaped(text, &range));
            }
            Event::Start(Tag::Heading { level, .. }) if level as usize <= RANKS => {
                faults.push(lowered(text, &range, level));
            }
            Event::Text(_) => faults.extend(pictures_of_others(text, &range)),
            _ => {}
        }
    }
    without_code(text, options, faults)
}

/// What begins pictures if another message defines their places.
fn pictures_of_others(text: &str, range: &Range<usize>) -> Vec<Replacement> {
    let marks = text[range.clone()].match_indices('!');
    let marks = marks.map(|(at, _)| range.start + at).filter(|at| {
        let slashes = text[..*at].bytes().rev().take_while(|it| *it == b'\\');
        text[*at..].starts_with("![") && slashes.count() % 2 == 0
    });
    marks.map(|at| (at..at + 1, "\\!".to_owned())).collect()
}

/// The first letter of a part that is no space, as a text.
fn first_escaped(text: &str, range: &Range<usize>) -> Replacement {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
    let letter = match &text[start..end] {
        "<" => "&lt;".to_owned(),
        letter => format!("\\{letter}"),
    };
    (start..end, letter)
}

/// A heading of a lower rank, or without the line below it.
fn lowered(text: &str, range: &Range<usize>, level: HeadingLevel) -> Replacement {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    let rank = level as usize;
    if text[start..].starts_with('#') {
        return (start..start + rank, "#".repeat(rank + RANKS));
    }
    let part = part.trim_end();
    let end = range.start + part.len();
    let line = part.len() - part.trim_end_matches(['=', '-']).len();
    let start = end - line;
    (start..start, "\\".to_owned())
}

/// Whether a link opens a page or a message to somebody, and does nothing by itself.
fn leads_to_page(destination: &str) -> bool {
    let Some((scheme, rest)) = destination.split_once(':') else {
        return true;
    };
    let is_line = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = scheme.contains(['/', '?', '#']);
    let known = ["http", "https", "mailto"];
    is_path || is_line || known.iter().any(|it| scheme.eq_ignore_ascii_case(it))
}

/// What closes the fence that is open at the end.
fn open_fence(text: &str, options: Options) -> Option<String> {
    let events = Parser::new_ext(text, options).into_offset_iter();
    let is_fenced = |event: &Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
        )
    };
    let (_, range) = events.filter(|(event, _)| is_fenced(event)).last()?;
    let block = &text[range];
    let mark = block
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = block.len() - block.trim_start_matches(mark).len();
    let last = block
        .trim_end()
        .rsplit('\n')
        .next()?
        .trim_start_matches([' ', '>']);
    let is_closed =
        block.contains('\n') && last.len() >= length && last.chars().all(|it| it == mark);
    (!is_closed && !ends_with_itself(text)).then(|| mark.to_string().repeat(length))
}

/// Whether what follows a text is no part of it.
fn ends_with_itself(text: &str) -> bool {
    const AFTER: &str = "after";
    let text = format!("{text}\n\n{AFTER}");
    readings().into_iter().all(|options| {
        let (mut depth, mut is_apart) = (0, false);
        for event in Parser::new_ext(&text, options) {
            match event {
                Event::Start(tag) => {
                    depth += 1;
                    is_apart = depth == 1 && tag == Tag::Paragraph;
                }
                Event::End(_) => depth -= 1,
                Event::Text(words) => is_apart &= &*words == AFTER,
                _ => is_apart = false,
            }
        }
        is_apart
    })
}

/// Letters that mean something in Markdown or HTML as references, so that they are shown as they are.
pub(super) fn escaped(text: &str) -> String {
    let mut markdown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => markdown.push_str("&lt;"),
            '>' => markdown.push_str("&gt;"),
            '&' => markdown.push_str("&amp;"),
            // Nobody is mentioned.
            '@' => markdown.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '~' | '|' | '#' | '$' | '=' => {
                markdown.push('\\');
                markdown.push(letter);
            }
            letter => markdown.push(letter),
        }
    }
    markdown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markdown_stays_as_it_is() {
        for text in [
            "Some *emphasis*, **bold**, `inline <code>` and [a link](https://example.com/a_b?x=1).",
            "| tool | calls |\n|---|---:|\n| `Read` | 3 |",
            "```rust\nfn main() { println!(\"<b>\"); } // # @you ![x](y)\n```",
            "- one\n  - two\n    1. three\n- [x] done",
            "#### Deep\n\n> quoted\n\n---",
            "[main.rs:12](src/main.rs#L12), [b](b.rs:12), <https://example.com>, <me@example.com>",
            "~~~~\n```\n~~~~",
            "[docs][1]\n\n[1]: https://example.com",
        ] {
            assert_eq!(inert(text), text);
        }
    }

    #[test]
    fn what_is_active_or_reaches_out_is_text() {
        for (text, inactive) in [
            ("# Title\n\n## Part", "#### Title\n\n##### Part"),
            ("Title\n===", "Title\n\\==="),
            ("Part\n---", "Part\n\\---"),
            ("a <b>c</b>", "a &lt;b&gt;c&lt;/b&gt;"),
            (
                "<details>\n![x](http://h/y)",
                "&lt;details&gt;\n\\!\\[x\\](http://h/y)",
            ),
            ("![x](http://h/y)", "\\![x](http://h/y)"),
            ("![x]", "\\![x]"),
            ("[x](javascript:alert(1))", "\\[x](javascript:alert(1))"),
            ("[x](JAVA&#115;cript:1+1)", "\\[x](JAVA&#115;cript:1+1)"),
            ("<javascript:x>", "&lt;javascript:x>"),
            ("[x]: data:text/html,x", "\\[x]: data:text/html,x"),
            ("````sh\nls\n```", "````sh\nls\n```\n````"),
            ("~~~", "~~~\n~~~"),
            ("one\ntwo @you", "one  \ntwo &#64;you"),
        ] {
            assert_eq!(inert(text), inactive);
        }
    }
}
