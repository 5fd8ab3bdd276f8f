//! `skill`: what a coding agent has to know to debug with retake, as files that agents load.

use super::arguments::{SkillArguments, SkillForm};
use super::exit::{Exit, Failure};
use super::output::Output;
use std::io::Write;

/// Prints the skill, or lines for the instructions of a project.
pub(super) fn run(arguments: &SkillArguments) -> Result<Exit, Failure> {
    let text = match arguments.form {
        SkillForm::Skill => include_str!("skill/SKILL.md"),
        SkillForm::AgentsMd => include_str!("skill/AGENTS.md"),
    };
    let mut output = Output::stdout();
    output.write_all(text.as_bytes())?;
    output.finish()?;
    Ok(Exit::Clean)
}
