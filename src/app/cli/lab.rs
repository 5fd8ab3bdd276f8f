//! `lab`: wordings compared on a model, without a screen.

mod bar;
mod conduct;
mod csv;
mod html;
mod json;
mod order;
mod plan;
mod results;
mod text;
mod watching;
mod winning;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::arguments::{LabArguments, LabFormat};
use super::exit::{Exit, Failure, print_error};
use super::output::{Output, safe_line};
use super::run::refused;
use super::style::Palette;
use crate::tui::theme::{Theme, Wish};
use conduct::{Conducted, conduct};
use order::{Order, folder_name, order};
use results::{Results, left_out};
use retake_core::lab::{Board, Claim, Judged, Spec, Verdict, judge, words};
use retake_live::lab::{Lab, LabContext, News, PreparedLab, labs_folder, prepare};
use retake_live::takes::usual_root;
use retake_live::wordings::{Wordings, usual_files};
use rustix::termios::tcgetwinsize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use text::Looks;
use watching::Watching;

/// Cells of a line where no terminal says how many it has.
const USUAL_WIDTH: usize = 80;

/// Runs the experiment and reports it.
pub(super) fn run(arguments: &LabArguments) -> Result<Exit, Failure> {
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    let Order {
        spec,
        folder,
        confirmations,
    } = order(arguments, &wordings)?;
    let journals = journals_of(arguments, &spec)?;
    let beside = LabContext {
        folder: &folder,
        wordings: &wordings,
        journals: &journals,
        is_fresh: arguments.fresh,
    };
    let prepared = prepare(&spec, beside).map_err(refused)?;
    let board = Board::new(Arc::new(prepared.experiment.clone()), Vec::new());
    // Before anything is spent: what the assertions and `--trial` name has to be there.
    judge(&board, &spec.assertions).map_err(refused)?;
    let trial = arguments.trial_number as usize - 1;
    if arguments.winner.is_some() {
        winning::is_there(&board.experiment, trial)?;
    }
    if arguments.dry_run {
        // A real run tells them itself.
        for note in &prepared.notes {
            print_error(&safe_line(note), None);
        }
        let plan = plan::plan(&Results::of(&board), looks(arguments));
        return write(Exit::Clean, |out| out.write_all(plan.as_bytes()));
    }
    for confirmation in &confirmations {
        confirmation.ask(arguments.trust)?;
    }
    let conducted = experiment(prepared)?;
    let mut results = Results::of(&conducted.board);
    results.assertions = judge(&conducted.board, &spec.assertions).map_err(refused)?;
    let fails = arguments.assert && assertions_fail(&results, arguments.strict);
    let exit = conducted.exit(fails);
    if let Some(form) = arguments.winner {
        let won = winning::winning(&conducted.board, &spec, form, trial)?;
        return write(exit, |out| out.write_all(won.as_bytes()));
    }
    write(exit, |out| report(out, arguments, &results))
}

/// Whether the assertions fail, or nothing can be asserted of what the spec names; tells what is not
/// seen from their verdicts.
fn assertions_fail(results: &Results<'_>, is_strict: bool) -> bool {
    if let Some(earlier) = words::earlier(results.earlier()) {
        print_error(&earlier, Some("--fresh asks anew"));
    }
    let left_out = &results.experiment().left_out;
    let all = left_out.iter().filter(|one| one.is_all);
    let counts = all.chain(left_out.iter().filter(|one| is_strict && !one.is_all));
    let mut fails = false;
    for one in counts {
        fails = true;
        let one = self::left_out(one);
        print_error(&safe_line(&format!("nothing is asserted of {one}")), None);
    }
    fails || { results.assertions.iter() }.any(|judged| is_failure(judged, is_strict))
}

/// Whether what came of a claim makes the command fail: what is undecided does where the figures do not even
/// reach it, or the operator is strict.
fn is_failure(judged: &Judged, is_strict: bool) -> bool {
    let reaches = match &judged.claim {
        Claim::AtLeast(rate) => judged
            .corrected
            .rate()
            .is_some_and(|counted| counted >= *rate),
        Claim::BetterThan { difference, .. } => difference.is_some_and(|one| one.value > 0.0),
    };
    match judged.verdict {
        Verdict::Holds => false,
        Verdict::Undecided => is_strict || !reaches,
        Verdict::Fails => true,
    }
}

/// Where the journals go: where the operator says, or among the operator's own data.
fn journals_of(arguments: &LabArguments, spec: &Spec) -> Result<PathBuf, Failure> {
    if let Some(folder) = &arguments.journals {
        return Ok(folder.clone());
    }
    let root = usual_root().ok_or_else(|| {
        let message = "there is no home folder to keep journals in";
        Failure::with_hint(message, "--journals FOLDER names one")
    })?;
    Ok(labs_folder(&root).join(folder_name(&spec.name)))
}

/// Runs it to its end.
fn experiment(prepared: PreparedLab) -> Result<Conducted, Failure> {
    let interrupted = retake_live::note_interrupts();
    let (sender, news) = channel::<News>();
    let report = Arc::new(move |news| {
        // Nobody hears it when the experiment is over.
        let _unheard = sender.send(news);
    });
    let lab = Lab::start(prepared, report).map_err(refused)?;
    conduct(
        &news,
        interrupted,
        |command| lab.command(command),
        Watching::new(),
    )
}

fn looks(arguments: &LabArguments) -> Looks {
    let wish = Wish {
        variant: None,
        ascii: arguments.ascii,
    };
    let theme = Theme::choose(wish, &|name| std::env::var(name).ok());
    let width = tcgetwinsize(std::io::stdout()).map(|size| usize::from(size.ws_col));
    Looks {
        width: width.ok().filter(|width| *width > 0).unwrap_or(USUAL_WIDTH),
        palette: Palette::of_stdout(arguments.color),
        ascii: theme.glyphs.ascii,
    }
}

fn report(
    out: &mut dyn Write,
    arguments: &LabArguments,
    results: &Results<'_>,
) -> std::io::Result<()> {
    match arguments.format {
        LabFormat::Text => out.write_all(text::text(results, looks(arguments)).as_bytes()),
        LabFormat::Json => json::json(out, results),
        LabFormat::Csv => out.write_all(csv::csv(results).as_bytes()),
        LabFormat::Html => out.write_all(html::html(results).as_bytes()),
    }
}

/// Writes to stdout; how the command stood decides its end where that fails.
fn write(
    exit: Exit,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    match write(&mut output).and_then(|()| output.finish()) {
        Ok(()) => Ok(exit),
        Err(error) => Err(Failure::Output {
            error,
            so_far: exit,
        }),
    }
}
