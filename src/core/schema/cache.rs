//! Schemas that stay compiled from one session to the next: an agent offers the same tools again and again.

use super::{SchemaError, Validator};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes of schemas that stay compiled.
const MOST: usize = 256 * 1024;
/// Most bytes of one of them.
const LONGEST: usize = 16 * 1024;

/// Validators by the texts of their schemas.
#[derive(Debug, Default)]
pub struct SchemaCache(Mutex<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    validators: HashMap<String, Arc<Result<Validator, SchemaError>>>,
    bytes: usize,
}

impl SchemaCache {
    /// The validator of a schema in either spelling, as [`Validator::compile_either`] compiles it.
    pub fn validator(&self, schema: &Value) -> Arc<Result<Validator, SchemaError>> {
        let text = schema.to_string();
        // A pattern of a few bytes may take a megabyte.
        if text.len() > LONGEST || text.contains("\"pattern") {
            return Arc::new(Validator::compile_either(schema));
        }
        if let Some(known) = self.lock().validators.get(&text) {
            return known.clone();
        }
        let validator = Arc::new(Validator::compile_either(schema));
        self.lock().keep(text, &validator);
        validator
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CacheEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheEntries {
    fn keep(&mut self, text: String, validator: &Arc<Result<Validator, SchemaError>>) {
        if self.bytes + text.len() > MOST {
            self.validators.clear();
            self.bytes = 0;
        }
        let length = text.len();
        // Another thread may have compiled it as well.
        if self.validators.insert(text, validator.clone()).is_none() {
            self.bytes += length;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_schema_is_compiled_once_and_another_one_anew() {
        let compiled = SchemaCache::default();
        let schema = json!({"type": "object", "required": ["date"]});
        let first = compiled.validator(&schema);
        assert!(Arc::ptr_eq(&first, &compiled.validator(&schema)));
        let other = compiled.validator(&json!({"type": "object", "required": ["seats"]}));
        let value = json!({"date": 1});
        assert!(first.as_ref().as_ref().unwrap().is_valid(&value).unwrap());
        assert!(!other.as_ref().as_ref().unwrap().is_valid(&value).unwrap());
        let unusable = json!({"type": "nothing"});
        assert!(compiled.validator(&unusable).is_err());
        assert!(compiled.validator(&unusable).is_err());
    }

    #[test]
    fn what_stays_compiled_is_bounded() {
        let compiled = SchemaCache::default();
        for number in 0..200 {
            let long = "x".repeat(10_000);
            compiled.validator(&json!({"description": long, "minimum": number}));
            let kept = compiled.lock();
            let bytes: usize = kept.validators.keys().map(String::len).sum();
            assert!(bytes == kept.bytes && bytes <= MOST);
        }
        let before = compiled.lock().bytes;
        compiled.validator(&json!({"pattern": "a{500}"}));
        compiled.validator(&json!({"description": "x".repeat(LONGEST)}));
        assert_eq!(compiled.lock().bytes, before);
    }
}
