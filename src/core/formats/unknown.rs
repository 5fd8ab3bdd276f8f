//! What a file holds that its format does not have: reported as problems, and where it is most of the file, the
//! file is of another format.

use super::format::{Format, Reading};
use crate::session::{Flags, Item, Kind, Problem, ProblemKind, Session, SourceResult};
use crate::wire::unknown_in;
use std::collections::HashMap;

/// How many items are read to name the types that are not known, and to count the parts of a file that
/// looks like another format.
const NAMED: usize = 4096;

/// How many types are reported one by one.
const TYPES: usize = 8;

/// The unknown types of a file, one problem for each, at the first item that has it.
pub fn unknown_types(sessions: &[Session]) -> SourceResult<Vec<Problem>> {
    let mut types: Vec<(String, u64, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let unknown = items(sessions).filter(|(_, item)| item.flags.has(Flags::UNKNOWN));
    let (mut read, mut rest) = (0, None);
    for (session, item) in unknown {
        if read == NAMED {
            let (_, count) = rest.get_or_insert((item.span.start, 0));
            *count += 1;
            continue;
        }
        read += 1;
        let (words, _) = unknown_in(item, &session.bytes(item)?);
        for words in words {
            let place = *places.entry(words).or_insert_with_key(|words| {
                types.push((words.clone(), item.span.start, 0));
                types.len() - 1
            });
            types[place].2 += 1;
        }
    }
    if types.len() > TYPES {
        let others = types.split_off(TYPES);
        let count: usize = others.iter().map(|(_, _, count)| count).sum();
        let first = others.first().map_or(0, |(_, at, _)| *at);
        rest = Some((first, count + rest.map_or(0, |(_, count)| count)));
    }
    let problems = types
        .into_iter()
        .map(|(words, at, count)| Problem::new(at, ProblemKind::UnknownType { words, count }));
    let more = rest.map(|(at, count)| Problem {
        at,
        kind: ProblemKind::UnknownType {
            words: "further types".to_owned(),
            count,
        },
    });
    Ok(problems.chain(more).collect())
}

/// Why what was read shows that the text is none of this format, although it looked like it;
/// `None` where it is.
///
/// That is so where no message, call or output of the format was read; where calls and outputs were found and
/// none of them is one of the format; and where most parts are of unknown types.
pub fn another_format(
    format: &Format,
    sessions: &[Session],
    has_problems: bool,
) -> SourceResult<Option<String>> {
    let claims_by_shape = [
        super::openai_chat::FORMAT.id,
        super::openai_responses::FORMAT.id,
        super::anthropic_messages::FORMAT.id,
    ];
    let is_empty = sessions.is_empty() && !has_problems;
    let nothing_read =
        || is_empty.then(|| "no message, call or output of it could be read".to_owned());
    if !claims_by_shape.contains(&format.id) {
        let holds_messages = matches!(format.reading, Reading::Whole(_))
            && format.id != super::retake_journal::FORMAT.id;
        return Ok(nothing_read().filter(|_| holds_messages));
    }
    let is_unknown = |item: &Item| item.flags.has(Flags::UNKNOWN);
    let count = |condition: &dyn Fn(&Item) -> bool| {
        items(sessions).filter(|(_, item)| condition(item)).count()
    };
    let unknown = count(&is_unknown);
    if unknown == 0 {
        return Ok(nothing_read());
    }
    let is_of_pair = |item: &Item| matches!(item.kind, Kind::Call | Kind::Output);
    let [pairs, known_pairs] = [
        count(&is_of_pair),
        count(&|item| is_of_pair(item) && !is_unknown(item)),
    ];
    let known = count(&|item| {
        !is_unknown(item) && !matches!(item.kind, Kind::System | Kind::Other | Kind::Unreadable)
    });
    let (mut known_parts, mut unknown_parts, mut first) = (0, 0, None);
    if known > 0 && known_pairs == pairs && unknown <= known {
        return Ok(None);
    }
    for (session, item) in items(sessions).take(NAMED) {
        if matches!(item.kind, Kind::System | Kind::Unreadable) && !is_unknown(item) {
            continue;
        }
        let (words, known) = match is_unknown(item) {
            true => unknown_in(item, &session.bytes(item)?),
            false => (Vec::new(), 1),
        };
        known_parts += known;
        unknown_parts += words.len();
        first = first.or(words.into_iter().next());
    }
    let is_another = known == 0 && known_parts == 0
        || pairs > 0 && known_pairs == 0
        || unknown_parts > known_parts;
    Ok(is_another.then(|| {
        let first = first.map(|first| format!(" ({first})")).unwrap_or_default();
        let parts = known_parts + unknown_parts;
        format!("{unknown_parts} of its {parts} parts are of types that it does not have{first}")
    }))
}

fn items(sessions: &[Session]) -> impl Iterator<Item = (&Session, &Item)> {
    sessions
        .iter()
        .flat_map(|session| session.items.iter().map(move |item| (session, item)))
}
