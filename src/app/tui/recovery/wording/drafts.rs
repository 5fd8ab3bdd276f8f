//! Words that were begun and left: the next time the editor opens for the same finding they stand there again.

use std::collections::HashMap;

/// What tells findings apart, also after the file was read again: the first byte of the item, and the rule.
pub type Subject = (u64, &'static str);

#[derive(Debug, Clone, Default)]
pub struct Drafts {
    texts: HashMap<Subject, String>,
}

impl Drafts {
    /// Keeps words; empty ones are forgotten.
    pub fn keep(&mut self, subject: Subject, text: String) {
        if text.is_empty() {
            self.texts.remove(&subject);
        } else {
            self.texts.insert(subject, text);
        }
    }

    /// The words that were kept.
    pub fn find(&self, subject: Subject) -> Option<&str> {
        self.texts.get(&subject).map(String::as_str)
    }
}
