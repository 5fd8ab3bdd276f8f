use super::*;

/// The example of the design, word for word.
const EXAMPLE: &str = r#"max_turns = 10
[on.unknown-tool]
do = "inject"              # inject | suggest | repair | retry | fallback | drop | release | raise | ask
wording = "nearest"        # a name from the library, or a template of one's own
times = 2                  # then `otherwise`
otherwise = "raise"
[on.invalid-final-output]
do = "fallback"
value = { answer = "unknown" }
include_in_history = true
[breaker]
threshold = 3
cooldown = "30s"
webhook = "http://127.0.0.1:9000/hook"
[retry]                    # tool execution, recoverable failures only
attempts = 3
backoff = "1s"             # doubles
"#;

#[test]
fn the_example_of_the_design_is_read_word_for_word() {
    let policy = Policy::parse(EXAMPLE).unwrap();
    assert_eq!(policy.max_turns(), Some(10));
}
