//! What is said, as a number: two sides say the same where their numbers are equal, however each spells it. The
//! numbers hold within this process.

use super::item::hash;
use serde_json::{Value, json};

/// What a text, an element of a history, or a whole conversation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Meaning(u64);

/// What of a JSON value says nothing, beside members that are null.
#[derive(Debug, Default)]
pub struct IgnoredParts {
    pub members: &'static [&'static str],
    /// Types of blocks that may be left away; thoughts may as well where there are any.
    pub blocks: &'static [&'static str],
    /// Members whose plain text is the same as a list of one text.
    pub texts: &'static [&'static str],
    /// Members in which everything counts.
    pub in_full: &'static [&'static str],
}

impl Meaning {
    /// Nothing said so far.
    pub const NOTHING: Self = Self(0);

    pub fn of(bytes: &[u8]) -> Self {
        Self(hash(bytes))
    }

    /// A JSON text: the same for another order of members, other white space and other escapes.
    pub fn of_json(text: &str, unsaid: &IgnoredParts) -> Self {
        match serde_json::from_str(text) {
            Ok(value) => Self::of_value(&value, unsaid),
            Err(_) => Self::of(text.as_bytes()),
        }
    }

    /// `serde_json` reads no deeper than 128 levels, so this does not go deeper either.
    fn of_value(value: &Value, unsaid: &IgnoredParts) -> Self {
        match value {
            Value::Object(members) => {
                let is_said = |key: &str| !unsaid.members.contains(&key);
                let hashes = members
                    .iter()
                    .filter(|(key, value)| is_said(key) && !value.is_null());
                let hashes = hashes.map(|(key, value)| {
                    let key_meaning = Self::of(key.as_bytes());
                    key_meaning.and(unsaid.member(key, value)).0
                });
                // The order of members says nothing, so their numbers are added up.
                Self(hashes.fold(1, u64::wrapping_add))
            }
            Value::Array(list) => {
                let hashes = list.iter().filter(|one| !unsaid.is_block(one));
                hashes.fold(Self(2), |before, one| {
                    before.and(Self::of_value(one, unsaid))
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Self::of(value.to_string().as_bytes())
            }
        }
    }

    /// This, and something more after it.
    pub fn and(self, more: impl Into<Self>) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..].copy_from_slice(&more.into().0.to_le_bytes());
        Self::of(&bytes)
    }
}

impl From<u64> for Meaning {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl IgnoredParts {
    /// Members that say nothing, where all else counts.
    pub const fn members(members: &'static [&'static str]) -> Self {
        Self {
            members,
            blocks: &[],
            texts: &[],
            in_full: &[],
        }
    }

    fn member(&self, key: &str, value: &Value) -> Meaning {
        match value {
            Value::String(text) if self.texts.contains(&key) => {
                Meaning::of_value(&json!([{ "text": text }]), self)
            }
            value if self.in_full.contains(&key) => Meaning::of_value(value, &Self::default()),
            value => Meaning::of_value(value, self),
        }
    }

    fn is_block(&self, block: &Value) -> bool {
        let kind = block.get("type").and_then(Value::as_str);
        let is_thought = block.get("thought").and_then(Value::as_bool) == Some(true);
        let is_unsaid = kind.is_some_and(|kind| self.blocks.contains(&kind));
        is_unsaid || (is_thought && !self.blocks.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_white_space_and_escapes_say_nothing_and_values_do() {
        let all = IgnoredParts::default();
        let of = |text: &str| Meaning::of_json(text, &all);
        let one = of(r#"{"a":[1,{"b":"\u0063"}],"n":null}"#);
        assert_eq!(one, of(r#"{ "a" : [1, {"b": "c"}] }"#));
        for other in [
            r#"{"a":[{"b":"c"},1]}"#,
            r#"{"a":[1,{"b":"d"}]}"#,
            r#"{"a":["1",{"b":"c"}]}"#,
            r#"{"a":[1,{"b":"c"}],"x":0}"#,
            r#"{"a":[1,{"b":"c"}]"#,
        ] {
            assert_ne!(one, of(other), "{other}");
        }
    }

    #[test]
    fn what_says_nothing_is_named_by_its_member_or_its_type() {
        let unsaid = IgnoredParts {
            members: &["id"],
            blocks: &["thinking"],
            texts: &["content"],
            in_full: &["input"],
        };
        let of = |text: &str| Meaning::of_json(text, &unsaid);
        let plain = of(r#"{"content":"hi","id":"a"}"#);
        let blocks = r#"{"content":[{"type":"thinking"},{"thought":true},{"text":"hi","id":"b"}]}"#;
        assert_eq!(plain, of(blocks));
        assert_ne!(of(r#"{"input":{"id":1}}"#), of(r#"{"input":{"id":2}}"#));
        let all = IgnoredParts::members(&["id"]);
        let thought = r#"[{"thought":true}]"#;
        assert_ne!(
            Meaning::of_json(thought, &all),
            Meaning::of_json("[]", &all)
        );
    }

    #[test]
    fn what_was_said_before_counts_in_its_order() {
        let [a, b] = ["a", "b"].map(|text| Meaning::of(text.as_bytes()));
        assert_ne!(a.and(b), b.and(a));
        assert_ne!(Meaning::NOTHING.and(a), a);
        assert_eq!(
            Meaning::NOTHING.and(a).and(b),
            Meaning::default().and(a).and(b)
        );
    }
}
