//! What a replay says: a line for each request, as text or as one JSON object.

use crate::cli::arguments::LineFormat;
use crate::cli::exit::{Why, print_error};
use crate::cli::output::{counted, safe_line};
use crate::cli::report::write_line;
use retake_core::formats::convert::LossKind;
use retake_core::replay::{Differences, Place, Tape};
use retake_core::session::Dialect;
use retake_live::proxy::News;
use retake_live::replay::Event;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The lines as JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Listening {
        address: &'a str,
        sessions: usize,
        turns: usize,
    },
    Served {
        #[serde(flatten)]
        turn: Turn,
        dialect: &'a str,
        streams: bool,
        lenient: bool,
        #[serde(flatten)]
        differences: &'a Differences,
    },
    Refused {
        dialect: &'a str,
        code: &'a str,
        message: &'a str,
        nearest: Option<Turn>,
        #[serde(flatten)]
        differences: &'a Differences,
    },
    End {
        #[serde(flatten)]
        why: Why,
        served: usize,
        lenient: usize,
        refused: usize,
        never: Vec<Turn>,
    },
}

/// A turn by its numbers, from 1.
#[derive(Serialize)]
struct Turn {
    session: usize,
    turn: usize,
}

/// Where nothing differs.
const NONE: &Differences = &Differences {
    told: Vec::new(),
    more: 0,
};

/// Says what happens, and counts it.
pub(super) struct Teller<'a, W> {
    out: W,
    format: LineFormat,
    tape: &'a Tape,
    served: usize,
    lenient: usize,
    refused: usize,
    asked_for: BTreeSet<Place>,
    left_out: BTreeSet<LossKind>,
}

impl<'a, W: Write> Teller<'a, W> {
    pub(super) fn new(out: W, format: LineFormat, tape: &'a Tape) -> Self {
        Self {
            out,
            format,
            tape,
            served: 0,
            lenient: 0,
            refused: 0,
            asked_for: BTreeSet::new(),
            left_out: BTreeSet::new(),
        }
    }

    /// How many requests were refused.
    pub(super) fn refused(&self) -> usize {
        self.refused
    }

    /// Says where it listens.
    pub(super) fn begin(&mut self, address: &str) -> io::Result<()> {
        let (sessions, turns) = (self.tape.sessions().count(), self.tape.places().count());
        match self.format {
            LineFormat::Text => writeln!(self.out, "{address}")?,
            LineFormat::Json => self.write(&Line::Listening {
                address,
                sessions,
                turns,
            })?,
        }
        self.out.flush()
    }

    /// Says what became of a request.
    pub(super) fn asked(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Served {
                place,
                dialect,
                streams,
                differences,
                left_out,
                ..
            } => {
                self.served += 1;
                self.lenient += usize::from(differences.is_some());
                self.asked_for.insert(*place);
                for one in left_out {
                    if self.left_out.insert(one.clone()) {
                        print_error(&safe_line(&one.to_string()), None);
                    }
                }
                self.tell_served(*place, (*dialect, *streams), differences.as_ref())?;
            }
            Event::Refused {
                dialect,
                code,
                why,
                nearest,
            } => {
                self.refused += 1;
                self.tell_refused(*dialect, (code, why), nearest.as_ref())?;
            }
        }
        self.out.flush()
    }

    fn tell_served(
        &mut self,
        place: Place,
        (dialect, streams): (Dialect, bool),
        differences: Option<&Differences>,
    ) -> io::Result<()> {
        let dialect = dialect.word();
        if self.format == LineFormat::Json {
            return self.write(&Line::Served {
                turn: self.turn(place),
                dialect,
                streams,
                lenient: differences.is_some(),
                differences: differences.unwrap_or(NONE),
            });
        }
        let turn = self.tape.words(place);
        let how = if streams { "streamed" } else { "whole" };
        match differences {
            None => writeln!(self.out, "{turn}  {dialect}, {how}"),
            Some(differences) => {
                writeln!(self.out, "{turn}  {dialect}, {how}, the nearest:")?;
                self.lines(&differences.to_string())
            }
        }
    }

    fn tell_refused(
        &mut self,
        dialect: Dialect,
        (code, why): (&str, &str),
        nearest: Option<&(Place, Differences)>,
    ) -> io::Result<()> {
        let dialect = dialect.word();
        if self.format == LineFormat::Json {
            return self.write(&Line::Refused {
                dialect,
                code,
                message: why,
                nearest: nearest.map(|(place, _)| self.turn(*place)),
                differences: nearest.map_or(NONE, |(_, all)| all),
            });
        }
        let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
        writeln!(self.out, "refused  {dialect}: {}", safe_line(first))?;
        self.lines(rest)
    }

    /// Says a line of the agent that was started.
    pub(super) fn output(&mut self, news: &News) -> io::Result<()> {
        match (self.format, news) {
            (LineFormat::Text, News::Output { text, .. }) => {
                writeln!(self.out, "| {}", safe_line(text))?;
            }
            _ => write_line(&mut self.out, news)?,
        }
        self.out.flush()
    }

    /// Says how it ended, and which turns nobody asked for.
    pub(super) fn end(&mut self, why: Why) -> io::Result<()> {
        let never = self.tape.places();
        let never = never.filter(|place| !self.asked_for.contains(place));
        let never = never.collect::<Vec<_>>();
        let (served, lenient, refused) = (self.served, self.lenient, self.refused);
        if self.format == LineFormat::Json {
            let never = never.iter().map(|place| self.turn(*place)).collect();
            self.write(&Line::End {
                why,
                served,
                lenient,
                refused,
                never,
            })?;
            return self.out.flush();
        }
        let nearest = match lenient {
            0 => String::new(),
            count => format!(" ({count} by the nearest turn)"),
        };
        let served = counted(served, "request");
        writeln!(self.out, "{served} served{nearest}, {refused} refused")?;
        if !never.is_empty() {
            let turns = never.iter().map(|place| self.tape.words(*place));
            let turns = turns.collect::<Vec<_>>().join(", ");
            writeln!(self.out, "never asked for: {}", safe_line(&turns))?;
        }
        self.out.flush()
    }

    fn turn(&self, place: Place) -> Turn {
        Turn {
            session: place.session + 1,
            turn: self.tape.turn(place),
        }
    }

    /// Further lines of a request, indented.
    fn lines(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            writeln!(self.out, "  {}", safe_line(line))?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        write_line(&mut self.out, line)
    }
}
