//! Markdown as styled lines. The marks stay, so that no text is lost and no colour is needed; only the marks
//! of bold words go, which say nothing beside the look.

use super::look::{Look, StyledLine};

/// The lines of a Markdown text.
pub fn markdown_lines(text: &str) -> Vec<StyledLine> {
    let mut fence: Option<&str> = None;
    text.lines()
        .map(|line| {
            let start = line.trim_start();
            match fence {
                Some(mark) if start.starts_with(mark) => {
                    fence = None;
                    StyledLine::new(Look::Faint, line)
                }
                Some(_) => StyledLine::new(Look::Code, line),
                None => {
                    fence = ["```", "~~~"]
                        .into_iter()
                        .find(|mark| start.starts_with(mark));
                    match fence {
                        Some(_) => StyledLine::new(Look::Faint, line),
                        None => block(line, start),
                    }
                }
            }
        })
        .collect()
}

fn block(line: &str, start: &str) -> StyledLine {
    let level = start.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && start[level..].starts_with(' ') {
        return StyledLine::new(Look::Heading, &line.replace("**", ""));
    }
    if start.starts_with('>') {
        return StyledLine::new(Look::Quote, line);
    }
    inline(line)
}

/// Code and bold words of a line.
fn inline(line: &str) -> StyledLine {
    let mut styled = StyledLine::default();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*']) {
        let found = code(&rest[at..]).or_else(|| strong(&rest[at..]));
        let plain = match found {
            Some(_) => at,
            None => at + 1,
        };
        styled.push(Look::Plain, &rest[..plain]);
        rest = &rest[plain..];
        if let Some((look, shown, length)) = found {
            styled.push(look, shown);
            rest = &rest[length..];
        }
    }
    styled.push(Look::Plain, rest);
    styled
}

fn code(text: &str) -> Option<(Look, &str, usize)> {
    let inside = text.strip_prefix('`')?;
    let end = inside.find('`').filter(|end| *end > 0)? + 2;
    Some((Look::Code, &text[..end], end))
}

fn strong(text: &str) -> Option<(Look, &str, usize)> {
    let inside = text.strip_prefix("**")?;
    let end = inside.find("**")?;
    let words = &inside[..end];
    let is_word = !words.is_empty() && !words.starts_with(' ') && !words.ends_with(' ');
    is_word.then_some((Look::Strong, words, end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_looks() {
        use Look::{Code, Faint, Heading, Plain, Quote, Strong};
        let table: &[(&str, &[(Look, &str)])] = &[
            ("# Title", &[(Heading, "# Title")]),
            ("#hash", &[(Plain, "#hash")]),
            ("> said", &[(Quote, "> said")]),
            (
                "use `a*b*` and **this**.",
                &[
                    (Plain, "use "),
                    (Code, "`a*b*`"),
                    (Plain, " and "),
                    (Strong, "this"),
                    (Plain, "."),
                ],
            ),
            ("2 ** 3 ** 4 `", &[(Plain, "2 ** 3 ** 4 `")]),
            (
                "```rust\nlet **x**;\n```\n- y",
                &[
                    (Faint, "```rust"),
                    (Code, "let **x**;"),
                    (Faint, "```"),
                    (Plain, "- y"),
                ],
            ),
        ];
        for (text, expected) in table {
            let pieces: Vec<_> = markdown_lines(text)
                .into_iter()
                .flat_map(|line| line.pieces)
                .collect();
            let expected: Vec<_> = expected.iter().map(|it| (it.0, it.1.to_owned())).collect();
            assert_eq!(pieces, expected, "{text}");
        }
    }
}
