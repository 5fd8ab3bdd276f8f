//! jq expressions over JSON from a run: the guard around the interpreter, which could run for ever or
//! use up the stack.

use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, ValT, Vars};
use jaq_json::{Val, read};
use std::sync::Arc;

/// Longer expressions are refused; the parser of jq recurses.
const LENGTH: usize = 2000;
/// How deep brackets may be nested, in expressions and in what they look at, for the same reason.
const DEPTH: usize = 100;
/// How many results of an expression are looked at: one without end would never answer.
const RESULTS: usize = 1000;
/// What can run for ever, or use up the stack, before it gives its first result. Nobody can stop it then.
const ENDLESS: [&str; 7] = [
    "def",
    "recurse",
    "repeat",
    "until",
    "while",
    "range",
    "combinations",
];

/// A jq expression, ready to run.
#[derive(Clone)]
pub struct Expression {
    text: String,
    filter: Arc<Filter<JustLut<Val>>>,
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

/// Why a text is no jq expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Something else was expected.
    #[error("jq: expected {expected} {place}")]
    Syntax { expected: String, place: String },
    /// A name that jq does not know.
    #[error("jq: no {what} is called `{name}`")]
    Undefined {
        /// A filter, a variable.
        what: &'static str,
        name: String,
    },
    /// It is too long or too deep.
    #[error("jq: the expression is too long or too deep")]
    TooLarge,
    /// A word that can make an expression run for ever.
    #[error("jq: `{0}` is not possible here, since it might never end")]
    Endless(&'static str),
    /// A text times a number of the run could be larger than the memory, which ends the program.
    #[error(
        "jq: `*` is not possible here, since it can write a text without measure; divide instead"
    )]
    Multiplies,
}

impl Expression {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LENGTH || depth(text.as_bytes()) > DEPTH {
            return Err(ExpressionError::TooLarge);
        }
        let code = outside_strings(text);
        if code.contains('*') {
            return Err(ExpressionError::Multiplies);
        }
        if let Some(word) = ENDLESS.into_iter().find(|word| uses(&code, word)) {
            return Err(ExpressionError::Endless(word));
        }
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let functions = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let file = File {
            code: text,
            path: (),
        };
        let modules = Loader::new(definitions)
            .load(&arena, file)
            .map_err(|errors| of_loading(&errors))?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|errors| of_compiling(&errors))?;
        Ok(Self {
            text: text.to_owned(),
            filter: Arc::new(filter),
        })
    }

    /// Whether one of the results for this JSON is neither `null` nor `false`. A failing expression, and what
    /// is no JSON or too deep, gives nothing true.
    pub fn is_true_of(&self, json: &[u8]) -> bool {
        if depth(json) > DEPTH {
            return false;
        }
        let Ok(value) = read::parse_single(json) else {
            return false;
        };
        let context = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        // Not `unwrap_valr`, which ends the process where the expression says `halt`.
        let results = self.filter.id.run((context, value));
        results
            .take(RESULTS)
            .take_while(Result::is_ok)
            .flatten()
            .any(|result| result.as_bool())
    }
}

/// How deep brackets are nested, those in strings left aside.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => {
                bytes.next();
            }
            b'"' => in_string = !in_string,
            b'[' | b'{' | b'(' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' | b')' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An expression without what is in its strings; as a whole where expressions stand in them.
fn outside_strings(text: &str) -> String {
    if text.contains("\\(") {
        return text.to_owned();
    }
    let (mut in_string, mut is_escaped) = (false, false);
    let is_code = |character: &char| {
        let was_in_string = in_string;
        match *character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        !was_in_string || !in_string
    };
    text.chars().filter(is_code).collect()
}

/// Whether a word is used, and not as a key, as in `.range`.
fn uses(code: &str, word: &str) -> bool {
    let continues = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        before.is_none_or(|character| !continues(character) && character != '.')
            && !after.is_some_and(continues)
    })
}

fn syntax(expected: &str, found: &str) -> ExpressionError {
    let found: String = found.chars().take(20).collect();
    ExpressionError::Syntax {
        expected: expected.to_owned(),
        place: if found.is_empty() {
            "at the end".to_owned()
        } else {
            format!("before `{found}`")
        },
    }
}

fn of_loading(errors: &load::Errors<&str, ()>) -> ExpressionError {
    let first = errors.first().map(|(_, error)| error);
    match first {
        Some(load::Error::Lex(errors)) => errors.first().map_or_else(
            || syntax("something else", ""),
            |(expected, found)| syntax(expected.as_str(), found),
        ),
        Some(load::Error::Parse(errors)) => errors.first().map_or_else(
            || syntax("something else", ""),
            |(expected, found)| syntax(expected.as_str(), found),
        ),
        _ => syntax("no module", ""),
    }
}

fn of_compiling(errors: &jaq_core::compile::Errors<&str, ()>) -> ExpressionError {
    let first = errors.first().and_then(|(_, errors)| errors.first());
    first.map_or(ExpressionError::TooLarge, |(name, undefined)| {
        ExpressionError::Undefined {
            what: undefined.as_str(),
            name: (*name).to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str, json: &str) -> bool {
        Expression::parse(expression)
            .unwrap()
            .is_true_of(json.as_bytes())
    }

    fn error(expression: &str) -> String {
        Expression::parse(expression).unwrap_err().to_string()
    }

    #[test]
    fn an_item_is_kept_where_some_result_is_true() {
        let call = r#"{"name":"search","arguments":"{\"city\":\"Oslo\"}","n":0}"#;
        assert!(holds(".name", call));
        assert!(holds(".n", call), "0 is true in jq");
        assert!(!holds(".missing", call));
        assert!(holds(".arguments | fromjson | .city == \"Oslo\"", call));
        assert!(holds("..|strings|select(test(\"osl\";\"i\"))", call));
        assert!(!holds(".name[0].x", call), "a failing expression");
        assert!(!holds(".name", "not json"));
    }

    #[test]
    fn errors_say_what_was_expected_and_where() {
        assert_eq!(error(".a["), "jq: expected closing bracket at the end");
        assert_eq!(
            error(".a | frobnicate"),
            "jq: no filter is called `frobnicate`"
        );
        assert_eq!(error(".a |"), "jq: expected term at the end");
        assert_eq!(error(". as $x | $y"), "jq: no variable is called `$y`");
    }

    #[test]
    fn nothing_that_is_written_can_end_or_stop_the_program() {
        assert!(!holds(".a | halt", "{}"));
        for endless in [
            ".a | def f: 1 + f; f",
            ". | [repeat(.)]",
            ". | until(false; .)",
            ".a, \"\\([range(1e15)])\"",
            "..|recurse(.)",
            r#""\"" | repeat(.)"#,
        ] {
            assert!(error(endless).contains("might never end"), "{endless}");
        }
        assert!(holds(
            ".def, .a_def, .range | . == \"def range \"",
            "{\"range\":\"def range \"}"
        ));
        assert_eq!(
            error(&format!(".{}", "(".repeat(500))),
            "jq: the expression is too long or too deep"
        );
        for large in [".a * .n", ".a*=9", r#""\(.a*9)""#, r#""\"" * .n"#] {
            assert!(error(large).contains("without measure"), "{large}");
        }
        assert!(holds(".a | test(\"^x*$\")", "{\"a\":\"xx\"}"));
        assert!(!holds("[] | .[100000000000] = 1", "{}"), "fails at once");
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(!holds(".[0]", &deep));
    }

    #[test]
    fn expressions_go_to_other_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Expression>();
    }
}
