//! Arguments of what counts and measures: `split`, `health`.

use super::{ReadingArguments, formats};
use crate::cli::style::Color;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Form of what `split` and `health` print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum LineFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Arguments of `split`.
#[derive(Debug, Args)]
pub struct SplitArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What is asked.
    #[command(flatten)]
    pub wish: SplitWish,
    /// Form of the answer (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// What `split` is asked: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SplitWish {
    /// Keep at least the last N items
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Keep at least the last N turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_turns: Option<u32>,
    /// Judge the cut before this item, counted from 1, which would be the first that is kept
    #[arg(long, value_name = "ITEM", value_parser = clap::value_parser!(u32).range(1..))]
    pub at: Option<u32>,
    /// Judge the cut that made this recording out of PATH
    #[arg(long, value_name = "AFTER")]
    pub against: Option<PathBuf>,
}

/// Arguments of `health`.
#[derive(Debug, Args)]
pub struct HealthArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Form of the table (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}
