//! How a stream ended.

/// How a stream ended, as far as its bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With its end mark.
    Whole,
    /// Everything was said (Chat: a `finish_reason` has come), but the end mark is missing.
    Unmarked,
    /// Before the reply was complete. SDKs take this for a success (openai-python 3.52, openai-node 6.49).
    Short,
    InEvent,
    InCharacter,
    /// The provider reported a failure in it.
    Failed,
    /// It is no stream of events: a page of HTML, a JSON document.
    Foreign,
    /// It was too long to be looked at to its end.
    Unseen,
}

impl End {
    /// What the operator should know of it; `None` for an end as it should be.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Whole | Self::Unseen => None,
            Self::Unmarked => Some("the stream ended without its end mark; everything was said"),
            Self::Short => Some("the stream ended before the reply was complete"),
            Self::InEvent => Some("the stream ended within an event"),
            Self::InCharacter => Some("the stream ended within a character"),
            Self::Failed => Some("the provider reported a failure in the stream"),
            Self::Foreign => Some("a stream of events was announced, and something else came"),
        }
    }
}

/// What was odd about a stream; it passed all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oddities {
    /// Events whose data is no JSON.
    pub malformed: u32,
    /// Events behind the end mark.
    pub late: u32,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Course {
    pub(crate) events: u64,
    pub(crate) is_said: bool,
    pub(crate) is_marked: bool,
    pub(crate) has_failed: bool,
    /// Whether the model says that it refuses.
    pub(crate) refuses: bool,
    /// Whether its end waits for a check: it was cut off or refused.
    pub(crate) is_early: bool,
    pub(crate) oddities: Oddities,
}

impl Course {
    /// How a stream ends with these bytes behind its last whole event.
    pub(crate) fn end(&self, tail: &[u8]) -> End {
        let is_cut = tail.iter().any(|byte| !byte.is_ascii_whitespace());
        if self.has_failed {
            End::Failed
        } else if self.is_marked {
            End::Whole
        } else if is_cut && is_cut_character(tail) {
            End::InCharacter
        } else if self.events == 0 && is_cut {
            End::Foreign
        } else if is_cut {
            End::InEvent
        } else if self.is_said {
            End::Unmarked
        } else {
            End::Short
        }
    }
}

fn is_cut_character(tail: &[u8]) -> bool {
    // No character is longer than four bytes; what stands before is none of this end's business.
    let last = &tail[tail.len().saturating_sub(3)..];
    (0..last.len()).any(|at| {
        let fault = std::str::from_utf8(&last[at..]).err();
        fault.is_some_and(|fault| fault.valid_up_to() == 0 && fault.error_len().is_none())
    })
}
