//! A recording as the model of an agent that gets faults.

/// A recording that is served, as far as trials know it.
pub(in crate::cli) trait Recording {
    /// An agent begins anew.
    fn rewind(&self);

    /// How far the requests since then differ from the recorded ones.
    fn strayed(&self) -> Strayed;
}

/// Requests that are not as they were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(in crate::cli) struct Strayed {
    /// How many the nearest turn answered.
    pub(in crate::cli) nearest: usize,
    /// How many were refused.
    pub(in crate::cli) refused: usize,
    /// What differs in the first of them. May hold text from outside.
    pub(in crate::cli) first: Option<String>,
}

impl Strayed {
    /// It in words; `None` where nothing differs.
    pub(super) fn words(&self) -> Option<String> {
        let first = self.first.as_deref()?;
        let count = |count: usize, what: &str| match count {
            0 => None,
            count => Some(format!("{count} {what}")),
        };
        let counts = [
            count(self.nearest, "answered by the nearest turn"),
            count(self.refused, "refused"),
        ];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Some(format!(
            "its requests differ from the recording: {counts}; the first: {first}"
        ))
    }
}
