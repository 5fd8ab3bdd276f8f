//! `config`: the settings of the screen that hold, and where they came from.

use super::arguments::{ConfigArguments, LookArguments};
use super::exit::{Exit, Failure, print_error};
use super::output::{Output, name_of, safe_line};
use crate::tui::settings::Settings;
use retake_core::config::ConfigErrors;
use retake_core::usage::Prices;
use retake_live::wordings::config_folder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the file in the folder of retake's settings.
const NAME: &str = "config.toml";
/// Names another file.
const VARIABLE: &str = "RETAKE_CONFIG";

pub(super) fn run(arguments: &ConfigArguments) -> Result<Exit, Failure> {
    let (settings, faults) = read(arguments.config.as_deref())?;
    if let Some(faults) = faults {
        let hint =
            "`retake help config` lists what it can hold; `--config /dev/null` starts without it";
        return Err(Failure::with_hint(in_file(&faults, &settings), hint));
    }
    let mut output = Output::stdout();
    output.write_all(settings.effective().as_bytes())?;
    output.finish()?;
    Ok(Exit::Clean)
}

/// The settings of the screen: those of the file, unless the command line says something else; and what is wrong
/// with the file.
pub(super) fn settings(look: &LookArguments) -> Result<(Settings, Option<String>), Failure> {
    let (mut settings, faults) = read(look.config.as_deref())?;
    settings.theme = look.theme.map_or(settings.theme, |choice| choice.0);
    settings.view = look.view.or(settings.view);
    settings.ascii |= look.ascii;
    settings.without_mouse |= look.no_mouse;
    let name = settings.file.as_deref().and_then(Path::file_name);
    let name = name.unwrap_or_default().to_string_lossy();
    let fault = faults.and_then(|faults| {
        let first = faults.errors.first()?;
        let more = match faults.errors.len() - 1 + faults.more {
            0 => String::new(),
            more => format!(" (and {more} more: retake config)"),
        };
        Some(format!("{name}:{}: {}{more}", first.line, first.text))
    });
    Ok((settings, fault))
}

/// The prices of the program with those of the file that the command line names, else of that of the settings.
pub(super) fn prices(named: Option<&Path>, settings: &Settings) -> Result<Prices, Failure> {
    let folder = settings.file.as_deref().and_then(Path::parent);
    let set = settings.prices.as_deref();
    let set = set.map(|file| folder.unwrap_or(Path::new("")).join(file));
    let prices = Prices::built_in();
    let Some(path) = named.or(set.as_deref()) else {
        return Ok(prices);
    };
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::refused(format!("{}: {error}", name_of(path))))?;
    prices.overridden(&text).map_err(|error| {
        let message = format!("{}: {}", name_of(path), safe_line(&error.to_string()));
        Failure::with_hint(
            message,
            "[models] NAME = { window = 200000, input = 3, output = 15 }",
        )
    })
}

/// The settings for a command without a screen, which warns of what is wrong with the file.
pub(super) fn load(named: Option<&Path>) -> Result<Settings, Failure> {
    let (settings, faults) = read(named)?;
    if let Some(faults) = faults {
        let hint = "retake goes on with the defaults of these; `retake help config` lists what the file can hold";
        print_error(&in_file(&faults, &settings), Some(hint));
    }
    Ok(settings)
}

/// What is wrong with the file of these settings, a line each.
fn in_file(faults: &ConfigErrors, settings: &Settings) -> String {
    let file = settings.file.as_deref().unwrap_or(Path::new(NAME));
    let faults = faults.in_file(&file.to_string_lossy());
    faults.lines().map(safe_line).collect::<Vec<_>>().join("\n")
}

/// Reads the file that is named, else that of the environment, else the usual one, which need not be there; and says
/// what is wrong with it.
fn read(named: Option<&Path>) -> Result<(Settings, Option<ConfigErrors>), Failure> {
    let of_environment = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let named = named
        .map(Path::to_owned)
        .or_else(|| of_environment().map(PathBuf::from));
    let usual = || Some(config_folder()?.join(NAME));
    let Some(path) = named.clone().or_else(usual) else {
        return Ok((Settings::default(), None));
    };
    let name = path.to_string_lossy();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            return Ok((Settings::default(), None));
        }
        Err(error) => {
            return Err(Failure::refused(format!("{}: {error}", safe_line(&name))));
        }
    };
    let (mut settings, faults) = Settings::read_in_part(&text);
    settings.file = Some(path);
    Ok((settings, faults))
}
