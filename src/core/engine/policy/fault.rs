//! What is wrong with a policy file.

use std::fmt;

/// One thing that is wrong. The message quotes the file: draw it through [`crate::safe_text::SafeText`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    pub line: usize,
    /// What is wrong, what is allowed, and what was probably meant.
    pub message: String,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// All that is wrong with a policy, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PolicyFaults(pub Vec<PolicyFault>);

impl fmt::Display for PolicyFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}
