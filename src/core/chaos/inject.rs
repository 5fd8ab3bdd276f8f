//! One fault, made of one reply.

use super::faults::{Deed, Fault};
use super::reply::Reply;
use super::request::Request;
use crate::dice::Dice;

/// How a reply is told so that it has the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// As another whole reply of the dialect, told as the client asked: whole, or as a stream.
    Changed(String),
    /// The stream up to this byte, and then the connection is cut.
    CutAt(usize),
    /// The stream with a pause before each of these bytes.
    Paused(Vec<usize>),
}

/// Why a fault does not fit a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotHere {
    /// It needs a call of a function tool.
    #[error("the reply calls no tool")]
    NoCall,
    /// What is wrong already cannot be told from the fault.
    #[error("the reply is broken already")]
    BrokenAlready,
    /// No other name is left.
    #[error("every such name is offered")]
    NoName,
    /// Nothing breaks the schema, or it cannot be used.
    #[error("the tool has no schema that could be broken")]
    NoSchema,
    /// It needs a reply that ends the run.
    #[error("the reply does not end the run")]
    NotFinal,
    /// It needs a request that says what its final output must look like.
    #[error("the request asks for no JSON")]
    NoOutputSchema,
    /// A whole reply of this dialect has no room for it.
    #[error("a whole reply holds the arguments as an object")]
    HoldsObject,
    /// It needs a stream.
    #[error("the reply is no stream")]
    NoStream,
    /// The reply cannot be read.
    #[error("the reply cannot be read")]
    Unreadable,
}

/// Makes a fault of a reply. `whole` is the reply as one document of its dialect; `stream` are its bytes where
/// it came as a stream. A fault that is made without the upstream ([`Deed::Status`]) does not fit any reply.
pub fn inject(
    fault: &Fault,
    request: &Request,
    whole: Option<&str>,
    stream: Option<&[u8]>,
    dice: &mut Dice,
) -> Result<Told, NotHere> {
    match fault.deed {
        Deed::Change(change) => {
            let reply = whole.and_then(|whole| Reply::read(request.dialect, whole));
            let mut reply = reply.ok_or(NotHere::Unreadable)?;
            change(request, &mut reply, dice)?;
            Ok(Told::Changed(reply.into_json()))
        }
        Deed::Cut => {
            let ends = ends_of(stream.ok_or(NotHere::NoStream)?);
            // The first event is there, the last one is not, and one is torn.
            let [first, .., before_last, _] = ends[..] else {
                return Err(NotHere::NoStream);
            };
            let room = before_last - first;
            let at = first + 1 + dice.below(room.saturating_sub(1));
            let is_whole = ends.contains(&at);
            Ok(Told::CutAt(if is_whole { at - 3 } else { at }))
        }
        Deed::Slow => {
            let ends = ends_of(stream.ok_or(NotHere::NoStream)?);
            let middle = ends.get(ends.len() / 2).copied();
            let mut pauses = vec![0];
            pauses.extend(middle.filter(|at| Some(at) != ends.last()));
            Ok(Told::Paused(pauses))
        }
        Deed::Status(_) => Err(NotHere::Unreadable),
    }
}

/// Where each event of a stream ends.
fn ends_of(stream: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut blank = true;
    for (at, line) in lines(stream) {
        let is_blank = line.is_empty() || line == b"\r";
        if is_blank && !blank {
            ends.push(at);
        }
        blank = is_blank;
    }
    ends
}

/// The lines of a stream, each with where it ends.
fn lines(stream: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', stream).map(move |end| {
        let line = &stream[begin..end];
        begin = end + 1;
        (begin, line)
    })
}
