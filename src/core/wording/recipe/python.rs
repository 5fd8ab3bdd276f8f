//! Templates as Python that needs no package: what the library uses, and a little more.
//!
//! Grammar of an expression:
//! ```text
//! either   = both ("or" both)*
//! both     = negation ("and" negation)*
//! negation = "not" negation | compared
//! compared = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//! sum      = part ("-" part)*
//! part     = (name | number | text | "(" either ")") ("|" filter | "." name | "[" slice "]")*
//! ```

use crate::wording::VARIABLES;
use crate::wording::grammar::{Piece, Tag, Token};

/// What a translated expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    /// A list of texts.
    Texts,
    Violations,
    Violation,
    Number,
    /// Good for a condition only: what `and` and `or` give is shown differently by the two languages.
    Truth,
    /// A JSON value, or none.
    Json,
}

struct Code {
    python: String,
    gives: Type,
}

/// The lines of a function body that give the text; `None` where the template uses more than this file knows.
pub(super) fn body(pieces: &[Piece<'_>]) -> Option<Vec<String>> {
    let mut writer = Writer {
        lines: vec!["    text = []".to_owned()],
        blocks: Vec::new(),
        loops: Vec::new(),
    };
    for piece in pieces {
        match piece {
            Piece::Text(text) => writer.line(&format!("text.append({})", quoted(text))),
            Piece::Value(tag) => writer.value(tag)?,
            Piece::Statement(tag) => writer.statement(tag)?,
        }
    }
    writer.lines.push("    return \"\".join(text)".to_owned());
    writer.blocks.is_empty().then_some(writer.lines)
}

/// A text as a literal of Python. What is neither ASCII nor a letter or digit is escaped, so that nothing in it
/// can hide in an editor.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(character),
            _ if character.is_alphanumeric() => literal.push(character),
            _ => literal.push_str(&escaped(character)),
        }
    }
    literal.push('"');
    literal
}

fn escaped(character: char) -> String {
    match u32::from(character) {
        number @ ..=0xffff => format!("\\u{number:04x}"),
        number => format!("\\U{number:08x}"),
    }
}

/// A JSON value as a literal of Python.
pub(super) fn literal(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items = items.iter().map(literal).collect::<Vec<_>>();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), literal(value));
            let members = members.iter().map(member).collect::<Vec<_>>();
            format!("{{{}}}", members.join(", "))
        }
    }
}

#[derive(PartialEq)]
enum Block {
    If,
    Else,
    For,
}

struct Writer<'a> {
    lines: Vec<String>,
    blocks: Vec<Block>,
    /// The variables of the loops around, with what they hold.
    loops: Vec<(&'a str, Type)>,
}

impl<'a> Writer<'a> {
    fn line(&mut self, code: &str) {
        let indent = "    ".repeat(self.blocks.len() + 1);
        self.lines.push(format!("{indent}{code}"));
    }

    fn open(&mut self, block: Block, code: &str) {
        self.line(code);
        self.blocks.push(block);
    }

    fn value(&mut self, tag: &Tag<'a>) -> Option<()> {
        let code = self.whole(&tag.tokens)?;
        let python = code.python;
        let shown = match code.gives {
            Type::Text => python,
            Type::Texts => format!("\", \".join({python})"),
            Type::Number => format!("str({python})"),
            Type::Json => {
                format!("compact({python}) if {python} is not None else \"\"")
            }
            Type::Violations => format!("compact({python}) if {python} else \"\""),
            Type::Violation => format!("compact({python})"),
            Type::Truth => return None,
        };
        self.line(&format!("text.append({shown})"));
        Some(())
    }

    fn statement(&mut self, tag: &Tag<'a>) -> Option<()> {
        let (word, rest) = tag.tokens.split_first()?;
        let Token::Name(word, _) = word else {
            return None;
        };
        match *word {
            "if" => {
                let condition = self.whole(rest)?.python;
                self.open(Block::If, &format!("if {condition}:"));
            }
            "elif" => {
                let condition = self.whole(rest)?.python;
                self.close(Block::If)?;
                self.open(Block::If, &format!("elif {condition}:"));
            }
            "else" => {
                self.close(Block::If)?;
                self.open(Block::Else, "else:");
            }
            "endif" => {
                let block = self.end()?;
                (block != Block::For).then_some(())?;
            }
            "for" => {
                let [Token::Name(name, _), Token::Name("in", _), list @ ..] = rest else {
                    return None;
                };
                let list = self.whole(list)?;
                let each = element(list.gives)?;
                self.open(Block::For, &format!("for each_{name} in {}:", list.python));
                self.loops.push((*name, each));
            }
            _ => {
                self.close(Block::For)?;
                self.loops.pop();
            }
        }
        Some(())
    }

    fn close(&mut self, block: Block) -> Option<()> {
        (self.end()? == block).then_some(())
    }

    /// Ends a block; one that stayed empty gets a `pass`.
    fn end(&mut self) -> Option<Block> {
        if self.lines.last()?.ends_with(':') {
            self.line("pass");
        }
        self.blocks.pop()
    }

    fn whole(&self, tokens: &[Token<'a>]) -> Option<Code> {
        let mut parser = Parser {
            tokens,
            loops: &self.loops,
        };
        let code = parser.either()?;
        parser.tokens.is_empty().then_some(code)
    }
}

fn element(list: Type) -> Option<Type> {
    match list {
        Type::Texts => Some(Type::Text),
        Type::Violations => Some(Type::Violation),
        _ => None,
    }
}

/// What the variables hold.
fn variable(name: &str) -> Option<Type> {
    let known = VARIABLES.iter().any(|variable| variable.name == name);
    known.then_some(match name {
        "tools" | "nearest" => Type::Texts,
        "violations" => Type::Violations,
        "schema" => Type::Json,
        _ => Type::Text,
    })
}

struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    loops: &'t [(&'a str, Type)],
}

impl<'a> Parser<'_, 'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.tokens.first(), Some(Token::Name(name, _)) if *name == word);
        if is_it {
            self.tokens = &self.tokens[1..];
        }
        is_it
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is_it = self.tokens.first() == Some(&Token::Sign(sign));
        if is_it {
            self.tokens = &self.tokens[1..];
        }
        is_it
    }

    fn either(&mut self) -> Option<Code> {
        let mut code = self.both()?;
        while self.word("or") {
            code = joined(&code, "or", &self.both()?);
        }
        Some(code)
    }

    fn both(&mut self) -> Option<Code> {
        let mut code = self.negation()?;
        while self.word("and") {
            code = joined(&code, "and", &self.negation()?);
        }
        Some(code)
    }

    fn negation(&mut self) -> Option<Code> {
        if self.word("not") {
            return Some(truth(format!("(not {})", self.negation()?.python)));
        }
        self.compared()
    }

    fn compared(&mut self) -> Option<Code> {
        let code = self.sum()?;
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if self.sign(sign) {
                return Some(truth(format!(
                    "{} {sign} {}",
                    code.python,
                    self.sum()?.python
                )));
            }
        }
        Some(code)
    }

    fn sum(&mut self) -> Option<Code> {
        let mut code = self.part()?;
        while self.sign("-") {
            let other = self.part()?;
            (code.gives == Type::Number && other.gives == Type::Number).then_some(())?;
            code = number(format!("({} - {})", code.python, other.python));
        }
        Some(code)
    }

    fn part(&mut self) -> Option<Code> {
        let mut code = match self.next()? {
            Token::Name(name, _) => self.name(name)?,
            Token::Number(digits) => number(plain_number(digits)?),
            Token::Literal(literal) => text(plain_literal(literal)?),
            Token::Sign("(") => {
                let inner = self.either()?;
                self.sign(")").then_some(inner)?
            }
            Token::Sign(_) => return None,
        };
        loop {
            code = if self.sign("|") {
                self.filter(code)?
            } else if self.sign(".") {
                self.member(&code)?
            } else if self.sign("[") {
                self.slice(code)?
            } else {
                return Some(code);
            };
        }
    }

    fn name(&self, name: &str) -> Option<Code> {
        let mut loops = self.loops.iter().rev();
        if let Some((_, gives)) = loops.find(|(known, _)| *known == name) {
            let python = format!("each_{name}");
            return Some(Code {
                python,
                gives: *gives,
            });
        }
        let gives = variable(name)?;
        let python = name.to_owned();
        Some(Code { python, gives })
    }

    fn filter(&mut self, code: Code) -> Option<Code> {
        let Token::Name(filter, _) = self.next()? else {
            return None;
        };
        let Code { python, gives } = code;
        match (filter, gives) {
            ("length", Type::Text | Type::Texts | Type::Violations) => {
                Some(number(format!("len({python})")))
            }
            ("join", Type::Texts) => {
                let separator = if self.sign("(") {
                    let Some(Token::Literal(literal)) = self.next() else {
                        return None;
                    };
                    self.sign(")").then_some(())?;
                    plain_literal(literal)?
                } else {
                    "\"\"".to_owned()
                };
                Some(text(format!("{separator}.join({python})")))
            }
            ("trim", Type::Text) => Some(text(format!("{python}.strip()"))),
            ("lower" | "upper", Type::Text) => Some(text(format!("{python}.{filter}()"))),
            ("tojson", _) => Some(text(format!("compact({python})"))),
            _ => None,
        }
    }

    fn member(&mut self, code: &Code) -> Option<Code> {
        let Token::Name(name @ ("pointer" | "message"), _) = self.next()? else {
            return None;
        };
        let Code { python, gives } = code;
        (*gives == Type::Violation).then(|| text(format!("{python}[{}]", quoted(name))))
    }

    fn slice(&mut self, code: Code) -> Option<Code> {
        let Code { python, gives } = code;
        matches!(gives, Type::Text | Type::Texts | Type::Violations).then_some(())?;
        let from = self.bound()?;
        if self.sign("]") {
            let gives = element(gives).unwrap_or(Type::Text);
            (!from.is_empty()).then_some(())?;
            let python = format!("{python}[{from}]");
            return Some(Code { python, gives });
        }
        self.sign(":").then_some(())?;
        let to = self.bound()?;
        self.sign("]").then_some(())?;
        let python = format!("{python}[{from}:{to}]");
        Some(Code { python, gives })
    }

    /// A number, or nothing.
    fn bound(&mut self) -> Option<String> {
        let minus = self.sign("-");
        match self.tokens.first() {
            Some(Token::Number(number)) => {
                self.tokens = &self.tokens[1..];
                let number = plain_number(number)?;
                Some(if minus { format!("-{number}") } else { number })
            }
            _ => (!minus).then(String::new),
        }
    }
}

/// Two values joined by `and` or `or`, which give one of them.
fn joined(left: &Code, word: &str, right: &Code) -> Code {
    let python = format!("({} {word} {})", left.python, right.python);
    if left.gives == Type::Text && right.gives == Type::Text {
        text(python)
    } else {
        truth(python)
    }
}

fn truth(python: String) -> Code {
    let gives = Type::Truth;
    Code { python, gives }
}

fn number(python: String) -> Code {
    let gives = Type::Number;
    Code { python, gives }
}

fn text(python: String) -> Code {
    let gives = Type::Text;
    Code { python, gives }
}

/// A decimal number without leading zeros.
fn plain_number(number: &str) -> Option<String> {
    let number = number.parse::<u32>().ok()?;
    Some(number.to_string())
}

/// A text without escapes, which the two languages read differently.
fn plain_literal(literal: &str) -> Option<String> {
    let inside = &literal[1..literal.len() - 1];
    (!inside.contains('\\')).then(|| quoted(inside))
}
