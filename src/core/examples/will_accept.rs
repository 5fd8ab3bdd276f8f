//! Will this provider take this request?
//!
//! `cargo run -p retake-core --example will_accept -- anthropic < request.json`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use retake_core::formats::read_request;
use retake_core::rules::{Run, Severity, check};
use retake_core::session::Dialect;
use retake_core::wire::provider_errors::Fault;
use std::error::Error;
use std::io::{self, Read};

fn main() -> Result<(), Box<dyn Error>> {
    let dialect = std::env::args().nth(1);
    let dialect = dialect.as_deref().and_then(Dialect::named);
    let dialect =
        dialect.ok_or("name a dialect: responses, chat, anthropic, gemini or converse")?;
    let mut body = Vec::new();
    io::stdin().read_to_end(&mut body)?;

    let (_, session) = read_request(dialect, &body).map_err(|error| error.to_string())?;
    let mut findings = check(&mut Run::new(&session, None))?;
    // Rules also find what a provider takes, such as a tool that failed.
    findings.retain(|it| it.severity == Severity::Error && Fault::is_refused(it.rule.id));

    for finding in &findings {
        let item = finding.item.map_or(0, |item| item + 1);
        println!("item {item}: {} [{}]", finding.message(), finding.rule.id);
    }
    if !findings.is_empty() {
        return Err(format!("{} refuses it", dialect.word()).into());
    }
    println!("{} takes it", dialect.word());
    Ok(())
}
