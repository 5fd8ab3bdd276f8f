//! `lab` sends a recording, and a key with it, to a server only where the operator has confirmed the file that says so.

use super::{STORY, folder, retake};
use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

/// A server that answers nobody, and a folder with a recording and what would send it there.
struct Stage {
    server: TcpListener,
    folder: TempDir,
}

impl Stage {
    fn new(recording: &str) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let model = format!(
            "dialect = \"chat\"\nname = \"m\"\nbase_url = \"http://{}/v1\"\nkey_env = \"PLANTED_KEY\"\n",
            server.local_addr().unwrap()
        );
        let spec = format!(
            "name = \"story\"\nsamples = 1\nmax_requests = 1\n[[finding]]\npath = {recording:?}\nrule = \"unknown-tool\"\n\
             [wordings]\nnamed = [\"bare\"]\n[[model]]\n{model}"
        );
        let agent = format!("name = \"a\"\ninput = \"hi\"\n[model]\n{model}");
        let files = [
            ("story.json", STORY),
            ("lab.toml", spec.as_str()),
            ("agent.toml", agent.as_str()),
        ];
        Self {
            server,
            folder: folder(&files),
        }
    }

    /// Exit code and stderr, and what reached the server meanwhile.
    fn lab(&self, arguments: &[&str]) -> (i32, String, String) {
        let here = self.folder.path();
        let mut command = std::process::Command::new(retake().get_program());
        command
            .current_dir(here)
            .env("HOME", here)
            .env("XDG_STATE_HOME", here.join("state"))
            .env("PLANTED_KEY", "planted-key-4711")
            .arg("lab")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut reached = String::new();
        let status = loop {
            match self.server.accept() {
                Ok((mut stream, _)) => {
                    stream.set_nonblocking(false).unwrap();
                    let mut bytes = [0; 4096];
                    let length = stream.read(&mut bytes).unwrap();
                    reached += &String::from_utf8_lossy(&bytes[..length]);
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        (status.code().unwrap(), err, reached)
    }
}

#[test]
fn nothing_is_sent_to_an_endpoint_that_was_not_confirmed() {
    let stage = Stage::new("story.json");
    let of_recording = ["story.json", "--model", "agent.toml", "--samples", "1"];
    for words in [&["lab.toml"][..], &of_recording] {
        let (code, err, reached) = stage.lab(words);
        assert_eq!((code, reached.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.contains("was not confirmed; it would:"), "{err}");
        assert!(
            err.contains("asks the model m at http://127.0.0.1:")
                && err.contains("$PLANTED_KEY without encryption"),
            "{err}"
        );
        assert!(err.contains("--trust"), "{err}");
    }
    // A plan asks nobody.
    let (code, err, reached) = stage.lab(&["lab.toml", "--dry-run"]);
    assert_eq!((code, reached.as_str()), (0, ""), "{err}");
}

#[test]
fn what_was_confirmed_once_is_sent_until_the_file_changes() {
    let stage = Stage::new("story.json");
    let (_, err, reached) = stage.lab(&["lab.toml", "--trust"]);
    assert!(reached.contains("Bearer planted-key-4711"), "{err}");
    let (_, err, reached) = stage.lab(&["lab.toml", "--fresh"]);
    assert!(reached.contains("Bearer planted-key-4711"), "{err}");
    let path = stage.folder.path().join("lab.toml");
    let changed = std::fs::read_to_string(&path).unwrap() + "# one more line\n";
    std::fs::write(&path, changed).unwrap();
    let (code, _, reached) = stage.lab(&["lab.toml", "--fresh"]);
    assert_eq!((code, reached.as_str()), (2, ""));
}

#[test]
fn a_recording_outside_the_folder_of_the_spec_is_named_before_it_is_sent() {
    let elsewhere = folder(&[("private.json", STORY)]);
    let outside = elsewhere.path().join("private.json");
    let stage = Stage::new(&outside.to_string_lossy());
    let (code, err, reached) = stage.lab(&["lab.toml"]);
    assert_eq!((code, reached.as_str()), (2, ""), "{err}");
    let expected = format!(
        "sends {}, which is outside the folder of this file",
        outside.display()
    );
    assert!(err.contains(&expected), "{err}");
    // A link does not make it a file of the folder.
    let here = stage.folder.path();
    std::os::unix::fs::symlink(&outside, here.join("link.json")).unwrap();
    let spec = std::fs::read_to_string(here.join("lab.toml")).unwrap();
    let spec = spec.replace(&*outside.to_string_lossy(), "link.json");
    std::fs::write(here.join("lab.toml"), spec).unwrap();
    let (_, err, _) = stage.lab(&["lab.toml"]);
    assert!(err.contains("sends link.json, which is outside"), "{err}");
    assert!(Path::new(&here.join("link.json")).exists());
}
