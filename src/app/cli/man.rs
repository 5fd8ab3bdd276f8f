//! `man`: prints the manual page, one for the program and all its commands.

use super::exit::{Exit, Failure};
use super::output::Output;
use clap_mangen::Man;
use std::io::{self, Write};

/// Prints the manual page.
pub(super) fn run() -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    output.write_all(&page()?)?;
    output.finish()?;
    Ok(Exit::Clean)
}

/// The manual page in roff: the program, then the arguments of each command.
fn page() -> io::Result<Vec<u8>> {
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
