//! Names of tools that are not offered.

use super::inject::NotHere;
use super::reply::Reply;
use super::request::Request;
use crate::dice::Dice;
use crate::suggest::nearest;

/// The longest name that every provider takes.
const LONGEST: usize = 64;

/// Names that a model may come up with.
const PLAUSIBLE: &[&str] = &[
    "query_knowledge_base",
    "send_notification",
    "list_calendar_events",
    "translate_text",
    "create_ticket",
    "run_sql",
    "upload_attachment",
    "summarize_document",
    "convert_currency",
    "archive_project",
];

/// A call names a tool that is nearly the one that was meant.
pub(super) fn near(request: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(), NotHere> {
    let (place, name) = called(request, reply, dice)?;
    let mut edits = edits(&name, dice);
    dice.shuffle(&mut edits);
    let fits =
        |edit: &String| !edit.is_empty() && edit.len() <= LONGEST && !request.names.contains(edit);
    let edit = edits.into_iter().find(fits).ok_or(NotHere::NoName)?;
    reply.rename(place, &edit);
    Ok(())
}

/// A call names a tool that is like none that is offered.
pub(super) fn far(request: &Request, reply: &mut Reply, dice: &mut Dice) -> Result<(), NotHere> {
    let (place, _) = called(request, reply, dice)?;
    let offered: Vec<&str> = request.names.iter().map(String::as_str).collect();
    let names = PLAUSIBLE
        .iter()
        .filter(|name| nearest(name, &offered).is_empty());
    let names: Vec<&&str> = names.collect();
    let name = dice.pick(&names).ok_or(NotHere::NoName)?;
    reply.rename(place, name);
    Ok(())
}

/// A call of a tool that is offered: its place, and the tool.
pub(super) fn called(
    request: &Request,
    reply: &mut Reply,
    dice: &mut Dice,
) -> Result<(usize, String), NotHere> {
    let calls = reply.calls();
    if calls.is_empty() {
        return Err(NotHere::NoCall);
    }
    let calls = calls.into_iter().enumerate();
    let calls = calls.filter(|(_, call)| request.tool(&call.name).is_some());
    let calls: Vec<(usize, String)> = calls.map(|(place, call)| (place, call.name)).collect();
    dice.pick(&calls).cloned().ok_or(NotHere::BrokenAlready)
}

/// The name with one edit each: two letters swapped, one lost, one doubled, a plural, another case.
fn edits(name: &str, dice: &mut Dice) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut edits = Vec::new();
    if letters.len() > 2 {
        let differs = |at: &usize| letters[*at] != letters[at + 1];
        let places: Vec<usize> = (1..letters.len() - 1).filter(differs).collect();
        if let Some(at) = dice.pick(&places) {
            let mut swapped = letters.clone();
            swapped.swap(*at, at + 1);
            edits.push(swapped.iter().collect());
        }
        let at = 1 + dice.below(letters.len() - 1);
        let mut lost = letters.clone();
        lost.remove(at);
        edits.push(lost.iter().collect());
        let mut doubled = letters.clone();
        doubled.insert(at, letters[at]);
        edits.push(doubled.iter().collect());
    }
    edits.push(match name.strip_suffix('s') {
        Some(single) => single.to_owned(),
        None => format!("{name}s"),
    });
    edits.push(other_case(name));
    edits
}

/// `search_flights` as `searchFlights`, any other name with another first letter.
fn other_case(name: &str) -> String {
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    let camel = words.fold(first, |camel, word| camel + &capital(word));
    match camel == name {
        true => capital(name),
        false => camel,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| match first.is_uppercase() {
        true => first.to_ascii_lowercase(),
        false => first.to_ascii_uppercase(),
    });
    first.into_iter().chain(letters).collect()
}
