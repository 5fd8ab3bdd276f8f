//! Which turn answers a request.
//!
//! Strict: the turn before which the same was spoken, under the same terms; of several each once, in their order,
//! then the last again and again. Lenient: the nearest one, by these rules, the first of which decides: the
//! session whose history begins like the request; as many replies before the turn as the request holds; the
//! most that is the same, counted from the end; the earliest.

use super::history::HistoryEntry;
use super::tape::{ReplayRequest, Tape, TapePlace};
use super::terms::{Differing, differing, listed};
use crate::session::{SourceError, SourceResult};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// How a request is matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Matching {
    /// Whether the nearest turn answers where none is the same.
    pub is_lenient: bool,
    /// Whether the last turn is the nearest of what was never recorded, too: of requests that go on after it.
    /// Only where matching is lenient.
    pub repeats_last: bool,
    /// The only session that answers, from 0; without it the request chooses.
    pub session: Option<usize>,
}

/// The turn that answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub place: TapePlace,
    /// What differs from the recorded request, where the turn is only the nearest.
    pub differences: Option<Differences>,
}

/// What differs between a request and the history before a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// The first of them.
    #[serde(rename = "differences")]
    pub listed: Vec<Differing>,
    /// How many more there are.
    pub more: usize,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, one) in self.listed.iter().enumerate() {
            let between = if number == 0 { "" } else { "\n" };
            write!(f, "{between}{one}")?;
        }
        if self.more > 0 {
            write!(f, "\n… and {} more", self.more)?;
        }
        Ok(())
    }
}

/// Why no turn answers a request.
#[derive(Debug, Clone, PartialEq)]
pub enum NotFound {
    /// Its history is in no recording.
    Differs {
        nearest: TapePlace,
        differences: Differences,
    },
    /// The recording has no such turn: it ends before.
    AfterTheLast { last: TapePlace },
    /// There are no turns.
    Nothing,
    /// The recording cannot be read.
    Unreadable(String),
}

impl From<SourceError> for NotFound {
    fn from(error: SourceError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl NotFound {
    /// The reason in words, over several lines where something differs.
    pub fn words(&self, tape: &Tape) -> String {
        match self {
            Self::Differs {
                nearest,
                differences,
            } => {
                let nearest = tape.words(*nearest);
                format!(
                    "the request differs from every recorded history; the nearest is that of {nearest}, \
                    where\n{differences}"
                )
            }
            Self::AfterTheLast { last } => format!(
                "the recording ends with {}: nothing was recorded after it",
                tape.words(*last)
            ),
            Self::Nothing => "the recording holds no turn of a model".to_owned(),
            Self::Unreadable(why) => format!("the recording cannot be read: {why}"),
        }
    }
}

impl Tape {
    /// The turn that answers the first request of a run.
    pub fn find(&self, request: &ReplayRequest, matching: Matching) -> Result<Found, NotFound> {
        self.find_next(request, matching, &BTreeSet::new())
    }

    /// The turn that answers a request of a run that got these turns already.
    pub fn find_next(
        &self,
        request: &ReplayRequest,
        matching: Matching,
        served: &BTreeSet<TapePlace>,
    ) -> Result<Found, NotFound> {
        if let Some(place) = self.same(request, matching, served)? {
            let differences = None;
            return Ok(Found { place, differences });
        }
        let Some(session) = self.nearest_session(request, matching)? else {
            return Err(NotFound::Nothing);
        };
        let Some((place, is_after)) = self.nearest_turn(session, request)? else {
            return Err(NotFound::Nothing);
        };
        let is_end = match matching.is_lenient {
            true => !matching.repeats_last,
            false => self.goes_on_from(place, request)?,
        };
        if is_after && is_end {
            return Err(NotFound::AfterTheLast { last: place });
        }
        let differences = self.differences(place, request)?;
        if matching.is_lenient {
            let differences = Some(differences);
            return Ok(Found { place, differences });
        }
        Err(NotFound::Differs {
            nearest: place,
            differences,
        })
    }

    /// The first turn after the same history that was not served; where all were, the last.
    fn same(
        &self,
        request: &ReplayRequest,
        matching: Matching,
        served: &BTreeSet<TapePlace>,
    ) -> SourceResult<Option<TapePlace>> {
        let mut last = None;
        for place in self.with_words(request.words) {
            let may_answer = matching.session.is_none_or(|only| place.session == only);
            if may_answer && self.is_same(*place, request)? {
                last = Some(*place);
                if !served.contains(place) {
                    break;
                }
            }
        }
        Ok(last)
    }

    fn is_same(&self, place: TapePlace, request: &ReplayRequest) -> SourceResult<bool> {
        let recorded = self.history(place)?;
        let is_same = pairs(&recorded, request).any(|(one, other)| {
            one.len() == other.len() && alike(one, other, request) == one.len()
        });
        Ok(is_same && self.terms(place)?.differing(&request.terms).is_empty())
    }

    /// The session whose history begins like that of the request: first by what is before its first turn,
    /// then by all of it.
    fn nearest_session(
        &self,
        request: &ReplayRequest,
        matching: Matching,
    ) -> SourceResult<Option<usize>> {
        let sessions = (0..self.reels.len()).filter(|session| {
            let is_chosen = matching.session.is_none_or(|only| only == *session);
            is_chosen && !self.reels[*session].turns.is_empty()
        });
        let mut nearest: Vec<usize> = Vec::new();
        let mut best = 0;
        for session in sessions {
            let first = TapePlace { session, number: 0 };
            let history = self.history(first)?;
            let terms = self.terms(first)?;
            let is_alike = terms.differing(&request.terms).is_empty();
            let score = 2 * begins_alike(&history, request) + usize::from(is_alike);
            if score > best {
                nearest.clear();
                best = score;
            }
            nearest.extend((score == best).then_some(session));
        }
        if nearest.len() < 2 {
            return Ok(nearest.first().copied());
        }
        let mut chosen = (0, nearest.first().copied());
        for session in nearest {
            let number = self.reels[session].turns.len() - 1;
            let history = self.history(TapePlace { session, number })?;
            let count = begins_alike(&history, request);
            if count > chosen.0 {
                chosen = (count, Some(session));
            }
        }
        Ok(chosen.1)
    }

    /// The nearest turn of a session, and whether the request asks for one after the last.
    fn nearest_turn(
        &self,
        session: usize,
        request: &ReplayRequest,
    ) -> SourceResult<Option<(TapePlace, bool)>> {
        let turns = &self.reels[session].turns;
        let away = |replies: usize| replies.abs_diff(request.replies);
        let Some(least) = turns.iter().map(|turn| away(turn.replies)).min() else {
            return Ok(None);
        };
        let last = turns.len() - 1;
        if turns.iter().all(|turn| turn.replies < request.replies) {
            let place = TapePlace {
                session,
                number: last,
            };
            return Ok(Some((place, true)));
        }
        let candidates = turns.iter().enumerate();
        let candidates = candidates.filter(|(_, turn)| away(turn.replies) == least);
        let places = candidates.map(|(number, _)| TapePlace { session, number });
        let mut nearest: Option<(usize, TapePlace)> = None;
        let places = places.collect::<Vec<_>>();
        if let [place] = places[..] {
            return Ok(Some((place, false)));
        }
        for place in places {
            let same = ends_alike(&self.history(place)?, request);
            if nearest.is_none_or(|(most, _)| same > most) {
                nearest = Some((same, place));
            }
        }
        Ok(nearest.map(|(_, place)| (place, false)))
    }

    /// Whether the request goes on from the end of this turn.
    fn goes_on_from(&self, place: TapePlace, request: &ReplayRequest) -> SourceResult<bool> {
        let history = self.history_through(place)?;
        let whole = history.iter().map(Vec::len).max().unwrap_or_default();
        // Outputs of its calls may not be recorded, or a message joins one that is.
        Ok(begins_alike(&history, request) + 1 >= whole)
    }

    fn differences(&self, place: TapePlace, request: &ReplayRequest) -> SourceResult<Differences> {
        let mut all = self.terms(place)?.differing(&request.terms);
        let recorded = self.history(place)?;
        let differing = pairs(&recorded, request).map(|(one, other)| differing(one, other));
        all.extend(differing.min_by_key(Vec::len).unwrap_or_default());
        let (listed, more) = listed(all);
        Ok(Differences { listed, more })
    }
}

/// How much of two histories is the same from the beginning.
fn alike<'s>(
    recorded: impl IntoIterator<Item = &'s HistoryEntry>,
    request: impl IntoIterator<Item = &'s HistoryEntry>,
    by: &ReplayRequest,
) -> usize {
    let takes_objects_only = by.dialect.facts().object_arguments;
    let pairs = recorded.into_iter().zip(request);
    pairs
        .take_while(|(one, other)| one.is_repeated_by(other, takes_objects_only))
        .count()
}

/// The forms of a recorded history beside those of a request.
fn pairs<'p>(
    forms: &'p [Vec<HistoryEntry>],
    request: &'p ReplayRequest,
) -> impl Iterator<Item = (&'p Vec<HistoryEntry>, &'p Vec<HistoryEntry>)> {
    let pairs = forms.iter();
    pairs.flat_map(|one| request.history.iter().map(move |other| (one, other)))
}

fn begins_alike(forms: &[Vec<HistoryEntry>], request: &ReplayRequest) -> usize {
    let counts = pairs(forms, request).map(|(one, other)| alike(one, other, request));
    counts.max().unwrap_or_default()
}

/// How much of a history is the same as in the request, counted from the end.
fn ends_alike(forms: &[Vec<HistoryEntry>], request: &ReplayRequest) -> usize {
    let counts = pairs(forms, request);
    let counts = counts.map(|(one, other)| alike(one.iter().rev(), other.iter().rev(), request));
    counts.max().unwrap_or_default()
}
