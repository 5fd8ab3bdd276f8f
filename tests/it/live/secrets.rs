//! A key is in the environment, in an argument and in what the model says: on the wire it is there, and nowhere else.

use super::wire::Wire;
use super::{Stage, Told};
use retake_core::session::Dialect;
use std::path::Path;

const SCRIPT: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "show_env", arguments = { word = "PUT", api_key = "ARGUMENT" } }]
[[rule]]
text = "Your environment says {{ last }}, and you gave me INPUT."
"#;

/// Made up here; put together at run time, so that the sources hold none either.
fn made_up(head: &str, letter: &str) -> String {
    format!("{head}{}", letter.repeat(12))
}

fn every_file(folder: &Path, found: &mut Vec<(std::path::PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => every_file(&path, found),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
}

#[test]
fn what_a_tool_prints_and_a_model_repeats_reaches_the_wire_and_nothing_else() {
    for (dialect, word, stream) in [
        (Dialect::Responses, "responses", true),
        (Dialect::Chat, "chat", true),
        (Dialect::Anthropic, "anthropic", false),
    ] {
        let environment = made_up("sk-proj-", "a1B2");
        let argument = made_up("sk-proj-", "c3D4");
        let input = made_up("sk-proj-", "e5F6");
        let plain = "made-up-and-shaped-like-nothing";
        let secrets = [
            environment.as_str(),
            argument.as_str(),
            input.as_str(),
            plain,
        ];
        let script = SCRIPT
            .replace("ARGUMENT", &argument)
            .replace("INPUT", &input);
        let wire = Wire::to(&script);
        let stage = Stage::new();
        let agent = format!(
            "name = \"secret\"\ninput = \"My key is {input}.\"\n\
             [model]\ndialect = \"{word}\"\nname = \"m\"\nmax_tokens = 99\nstream = {stream}\nbase_url = \"{}\"\nkey_env = \"MODEL_API_KEY\"\n\
             [[tools]]\nname = \"show_env\"\napproval = \"never\"\nenv = [\"OPENAI_API_KEY\"]\n\
             command = [\"sh\", \"-c\", \"cat > got; echo OPENAI_API_KEY=$OPENAI_API_KEY {plain}; echo $OPENAI_API_KEY >&2\"]\n\
             parameters = {{ type = \"object\", properties = {{ word = {{ type = \"string\" }}, api_key = {{ type = \"string\" }} }} }}\n",
            wire.base_url(dialect)
        );
        let agent = stage.write("agent.toml", &agent);
        let mut command = stage.run_command(&agent, &[]);
        command
            .env("OPENAI_API_KEY", &environment)
            .env("MODEL_API_KEY", plain);
        let told = Told::of(&mut command);
        assert_eq!(
            (told.code, told.how()),
            (0, "final"),
            "{}{}",
            told.out,
            told.err
        );
        for secret in secrets {
            assert!(!told.out.contains(secret), "stdout: {}", told.out);
            assert!(!told.err.contains(secret), "stderr: {}", told.err);
        }
        let mut files = Vec::new();
        every_file(&stage.path("state"), &mut files);
        assert!(!files.is_empty());
        for (path, bytes) in files {
            let text = String::from_utf8_lossy(&bytes);
            for secret in secrets {
                assert!(!text.contains(secret), "{} holds {secret}", path.display());
            }
        }
        // The tool and the model got the true ones.
        let got = std::fs::read_to_string(stage.path("got")).unwrap();
        assert!(got.contains(&argument), "{word}: {got}");
        let bodies = wire.bodies();
        assert_eq!(bodies.len(), 2, "{word}");
        assert!(
            bodies[0].to_string().contains(&input),
            "{word}: {}",
            bodies[0]
        );
        for secret in secrets {
            assert!(
                bodies[1].to_string().contains(secret),
                "{word}: {secret} in {}",
                bodies[1]
            );
        }
    }
}

#[test]
fn a_key_that_is_a_word_of_the_history_changes_nothing_of_it() {
    for (dialect, word) in [
        (Dialect::Responses, "responses"),
        (Dialect::Chat, "chat"),
        (Dialect::Anthropic, "anthropic"),
    ] {
        for key in ["function", "message", "content", "call_id", "look_up_2024"] {
            let script = "[[rule]]\nturn = 1\ncalls = [{ name = \"look_up_2024\", arguments = { word = \"message\" } }]\n\
                [[rule]]\ntext = \"The function says {{ last }}.\"\n";
            let wire = Wire::to(script);
            let stage = Stage::new();
            let agent = format!(
                "name = \"words\"\ninput = \"The content of the message?\"\n\
                 [model]\ndialect = \"{word}\"\nname = \"m\"\nmax_tokens = 99\nbase_url = \"{}\"\nkey_env = \"MODEL_API_KEY\"\n\
                 [[tools]]\nname = \"look_up_2024\"\napproval = \"never\"\ncommand = [\"sh\", \"-c\", \"cat > got; echo content\"]\n\
                 parameters = {{ type = \"object\", properties = {{ word = {{ type = \"string\", enum = [\"message\"] }} }} }}\n",
                wire.base_url(dialect)
            );
            let agent = stage.write("agent.toml", &agent);
            let mut command = stage.run_command(&agent, &[]);
            command.env("MODEL_API_KEY", key);
            let told = Told::of(&mut command);
            assert_eq!(
                (told.code, told.how()),
                (0, "final"),
                "{key}: {}{}",
                told.out,
                told.err
            );
            assert!(!told.out.contains("[redacted"), "{key}: {}", told.out);
            let got = std::fs::read_to_string(stage.path("got")).unwrap();
            assert!(got.contains("message"), "{key}: {got}");
            assert_eq!(wire.bodies().len(), 2, "{key}");
        }
    }
}
