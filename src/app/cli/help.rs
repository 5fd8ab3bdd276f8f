//! `help`: the topics of the reference, and clap's help of a command.

use super::arguments::{self, CompletionsArguments, HelpArguments, TOPICS};
use super::exit::{Exit, Failure};
use super::output::{Output, safe_line};
use super::style::Palette;
use clap_mangen::Man;
use retake_core::safe_text::SafeText;
use retake_core::suggest;
use std::io::{self, Write};

/// Width of the pages, as that of `explain`.
const WIDTH: usize = 88;
/// Widest first column of a table whose cells still stand on one line with the rest.
const KEY_WIDTH: usize = 32;

pub(super) fn run(arguments: &HelpArguments) -> Result<Exit, Failure> {
    let palette = Palette::of_stdout(arguments.color);
    let mut command = arguments::command();
    command.build();
    let Some(name) = &arguments.topic else {
        let mut output = Output::stdout();
        list(&mut output, &command, palette)?;
        output.finish()?;
        return Ok(Exit::Clean);
    };
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    let help = command
        .find_subcommand_mut(name)
        .map(clap::Command::render_long_help);
    if topic.is_none() && help.is_none() {
        return Err(unknown(name, &command));
    }
    let mut output = Output::stdout();
    if let Some(topic) = topic {
        page(&mut output, topic.text, palette)?;
    }
    match (topic, help) {
        (Some(_), Some(_)) => writeln!(output, "\nOptions: retake {name} --help")?,
        (None, Some(help)) => write!(output, "{help}")?,
        _ => {}
    }
    output.finish()?;
    Ok(Exit::Clean)
}

fn unknown(name: &str, command: &clap::Command) -> Failure {
    let topics = TOPICS.iter().map(|topic| topic.name);
    let commands = command.get_subcommands().map(clap::Command::get_name);
    let known = topics.chain(commands).collect::<Vec<_>>();
    let message = format!("unknown topic or command {}", safe_line(name));
    match suggest::nearest(name, &known).first() {
        Some(near) => Failure::with_hint(message, format!("did you mean {}?", near.name)),
        None => Failure::with_hint(message, "`retake help` lists them"),
    }
}

fn list(out: &mut impl Write, command: &clap::Command, palette: Palette) -> io::Result<()> {
    let commands = command.get_subcommands().map(|command| {
        let about = command.get_about().map(ToString::to_string);
        (command.get_name().to_owned(), about.unwrap_or_default())
    });
    writeln!(out, "{}", palette.bold("Topics: retake help TOPIC"))?;
    for topic in TOPICS {
        row(out, palette, topic.name, topic.title, 12)?;
    }
    writeln!(out, "\n{}", palette.bold("Commands: retake COMMAND --help"))?;
    for (name, about) in commands {
        row(out, palette, &name, &about, 12)?;
    }
    Ok(())
}

/// Prints Markdown as plain text: paragraphs wrapped, tables as lists, code unchanged.
fn page(out: &mut impl Write, text: &str, palette: Palette) -> io::Result<()> {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            for line in lines.by_ref().take_while(|line| !line.starts_with("```")) {
                writeln!(out, "{}", format!("  {line}").trim_end())?;
            }
        } else if let Some(heading) = line.strip_prefix('#') {
            writeln!(
                out,
                "{}",
                palette.bold(heading.trim_start_matches(['#', ' ']))
            )?;
        } else if line.starts_with('|') {
            let more = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('|')));
            let rows: Vec<Vec<String>> = std::iter::once(line).chain(more).map(cells).collect();
            table(out, &rows, palette)?;
        } else if line.starts_with("<!--") {
            // Marks of the generated tables are not for readers.
        } else if line.is_empty() {
            writeln!(out)?;
        } else {
            let mut paragraph = line.to_owned();
            while let Some(next) = lines.next_if(|next| continues(next)) {
                paragraph = format!("{paragraph} {}", next.trim_start());
            }
            let hanging = paragraph.len() - paragraph.trim_start_matches("- ").len();
            wrapped(out, &plain(&paragraph), hanging)?;
        }
    }
    Ok(())
}

/// Whether a line goes on with the paragraph above it.
fn continues(line: &str) -> bool {
    let starts = ["```", "#", "|", "<!--", "- "];
    let number = line
        .split_once(". ")
        .map(|(number, _)| number.parse::<u8>());
    !line.is_empty()
        && !starts.iter().any(|start| line.starts_with(start))
        && !matches!(number, Some(Ok(_)))
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim_matches('|').replace("\\|", "\u{0}");
    let cell = |cell: &str| plain(cell.trim()).replace('\u{0}', "|");
    line.split('|').map(cell).collect()
}

/// A table: its columns but the last as words, where they are narrow, and the rest beside them.
fn table(out: &mut impl Write, rows: &[Vec<String>], palette: Palette) -> io::Result<()> {
    let body = rows.get(2..).unwrap_or_default();
    let width = |column: usize| {
        let cells = body.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let columns = rows.first().map_or(1, Vec::len).max(2);
    let narrow: usize = (0..columns - 1).map(width).sum();
    let words = if narrow <= KEY_WIDTH + 8 {
        columns - 1
    } else {
        1
    };
    let margin = match words {
        1 => width(0).min(KEY_WIDTH),
        _ => narrow + 2 * (words - 1),
    };
    for row in body {
        let word = row.iter().take(words).enumerate();
        let word = word.map(|(column, cell)| format!("{cell:0$}", width(column)));
        let word = word.collect::<Vec<_>>().join("  ");
        let rest = row.iter().zip(&rows[0]).enumerate().skip(words);
        let rest = rest.filter(|(_, (cell, _))| !cell.is_empty());
        let rest = rest.map(
            |(column, (cell, title))| match column > words && !title.is_empty() {
                true => format!("{title}: {cell}"),
                false => cell.clone(),
            },
        );
        let rest = rest.collect::<Vec<_>>();
        let between = match rest.iter().any(|cell| cell.contains('\n')) {
            true => "\n",
            false => "; ",
        };
        self::row(out, palette, word.trim_end(), &rest.join(between), margin)?;
    }
    Ok(())
}

/// A word with its meaning beside it, wrapped at its own margin.
fn row(
    out: &mut impl Write,
    palette: Palette,
    word: &str,
    meaning: &str,
    width: usize,
) -> io::Result<()> {
    let margin = width + 4;
    let mut first = format!("  {}", palette.bold(format!("{word:width$}")));
    if word.chars().count() > width {
        writeln!(out, "{first}")?;
        first = " ".repeat(margin - 2);
    }
    for part in meaning.split('\n') {
        // A command stays on its line, so that it can be copied.
        let is_code = part.starts_with('`') && part.ends_with('`');
        let room = WIDTH - margin.min(WIDTH / 2);
        let room = if is_code { usize::MAX } else { room };
        for line in SafeText::from_str(part).wrapped(room) {
            writeln!(out, "{first}  {}", line.as_plain().trim_end())?;
            first = " ".repeat(margin - 2);
        }
    }
    Ok(())
}

fn wrapped(out: &mut impl Write, text: &str, hanging: usize) -> io::Result<()> {
    let mut margin = String::new();
    for line in SafeText::from_str(text).wrapped(WIDTH - hanging) {
        writeln!(out, "{margin}{}", line.as_plain().trim_end())?;
        margin = " ".repeat(hanging);
    }
    Ok(())
}

/// Text without the marks of emphasis, and with line breaks for theirs.
fn plain(text: &str) -> String {
    text.replace("**", "").replace("<br>", "\n")
}

// `man`: prints the manual page, one for the program and all its commands.

/// Prints the manual page.
pub(super) fn print_man() -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    output.write_all(&man_page()?)?;
    output.finish()?;
    Ok(Exit::Clean)
}

/// The manual page in roff: the program, then the arguments of each command.
fn man_page() -> io::Result<Vec<u8>> {
    let mut command = super::arguments::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for subcommand in command.get_subcommands() {
        let man = Man::new(subcommand.clone());
        writeln!(
            page,
            ".SH \"RETAKE {}\"",
            subcommand.get_name().to_uppercase()
        )?;
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let text = String::from_utf8_lossy(&section);
        page.extend_from_slice(text.replace(".SH ", ".SS ").as_bytes());
    }
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

// `completions`: prints the completions of a shell.

/// Prints the completions of a shell.
pub(super) fn print_completions(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut super::arguments::command(),
        "retake",
        &mut script,
    );
    let mut output = Output::stdout();
    output.write_all(&script)?;
    output.finish()?;
    Ok(Exit::Clean)
}
