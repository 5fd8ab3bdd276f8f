//! Markdown as styled lines. The marks of headings and of bold, emphasized and linked words go, which say nothing beside
//! the look; where a link leads follows its words. The marks of code, quotes, lists and tables stay, so that these need no
//! colour.

use super::code::{Highlighter, language_of};
use super::look::{Look, StyledLine};
use super::table::table;

/// The lines of a Markdown text, with tables in at most `width` cells.
pub fn markdown_lines(text: &str, width: usize) -> Vec<StyledLine> {
    let mut fence: Option<(&str, Option<Highlighter>)> = None;
    let source: Vec<&str> = text.lines().collect();
    let (mut lines, mut at) = (Vec::with_capacity(source.len()), 0);
    while let Some(line) = source.get(at) {
        if let (None, Some((rows, taken))) = (&fence, table(&source[at..], width)) {
            lines.extend(rows);
            at += taken;
            continue;
        }
        at += 1;
        let start = line.trim_start();
        let styled = match &mut fence {
            Some((mark, _)) if start.starts_with(*mark) => {
                fence = None;
                StyledLine::new(Look::Faint, line)
            }
            Some((_, Some(highlighter))) => {
                let mut styled = StyledLine::default();
                for (look, text) in highlighter.line(line) {
                    styled.push(look, text);
                }
                styled
            }
            Some((_, None)) => StyledLine::new(Look::Code, line),
            None => {
                let mut marks = ["```", "~~~"].into_iter();
                fence = marks.find(|mark| start.starts_with(mark)).map(|mark| {
                    let name = start.trim_start_matches(['`', '~']);
                    let name = name.split([' ', ',', '{']).next().unwrap_or_default();
                    (mark, language_of(name).map(Highlighter::new))
                });
                match fence {
                    Some(_) => StyledLine::new(Look::Faint, line),
                    None => block(line, start),
                }
            }
        };
        lines.push(styled);
    }
    lines
}

fn block(line: &str, start: &str) -> StyledLine {
    let level = start.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && start[level..].starts_with(' ') {
        let title = start[level..].trim();
        // Marks may close it, too.
        let opened = title.trim_end_matches('#');
        let title = match opened.ends_with(' ') {
            true => opened.trim_end(),
            false => title,
        };
        return StyledLine::inline_in(Look::Heading, title);
    }
    if start.starts_with('>') {
        return StyledLine::inline_in(Look::Quote, line);
    }
    StyledLine::inline(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_looks() {
        use Look::{Code, Emphasis, Faint, Heading, Keyword, Link, Plain, Quote, Strong};
        let table: &[(&str, &[(Look, &str)])] = &[
            ("# Title", &[(Heading, "Title")]),
            ("## The *last* **C#** ##", &[(Heading, "The last C#")]),
            (
                "an *odd* one (*here*), **not [this](b.md)**",
                &[
                    (Plain, "an "),
                    (Emphasis, "odd"),
                    (Plain, " one ("),
                    (Emphasis, "here"),
                    (Plain, "), "),
                    (Strong, "not "),
                    (Link, "this"),
                    (Faint, " (b.md)"),
                ],
            ),
            (
                "[http://x](http://x) ![p](q.png) [a] (b) a[i](j k)",
                &[
                    (Link, "http://x"),
                    (Plain, " ![p](q.png) [a] (b) a[i](j k)"),
                ],
            ),
            (
                "2 * 3 * 4, a*b*c, *.rs and *.py, src/*/x*, *args, **kwargs, *a*/b",
                &[(
                    Plain,
                    "2 * 3 * 4, a*b*c, *.rs and *.py, src/*/x*, *args, **kwargs, *a*/b",
                )],
            ),
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
                "~~~\nlet x\n~~~",
                &[(Faint, "~~~"), (Code, "let x"), (Faint, "~~~")],
            ),
            (
                "```rust\nlet **x**;\n```\n- y",
                &[
                    (Faint, "```rust"),
                    (Keyword, "let"),
                    (Plain, " **x**;"),
                    (Faint, "```"),
                    (Plain, "- y"),
                ],
            ),
        ];
        for (text, expected) in table {
            let pieces: Vec<_> = markdown_lines(text, 80)
                .into_iter()
                .flat_map(|line| line.pieces)
                .collect();
            let expected: Vec<_> = expected.iter().map(|it| (it.0, it.1.to_owned())).collect();
            assert_eq!(pieces, expected, "{text}");
        }
    }
}
