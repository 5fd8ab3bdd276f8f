//! Who may ask the endpoints that serve recordings and scripts: agents, and no page of a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An endpoint as a process.
struct Endpoint {
    program: Child,
    address: String,
}

impl Endpoint {
    fn start(arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_retake"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.split("http://").nth(1).unwrap();
        let address = address.split(['"', '/', ' ']).next().unwrap().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { program, address }
    }

    /// The status line and the body that come back for these header lines.
    fn ask(&self, method: &str, path: &str, lines: &[String]) -> (String, String) {
        let body = r#"{"model":"m","input":"x"}"#;
        let lines = lines.concat();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{lines}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

/// Both endpoints, and a word that stands in every answer of theirs and in no refusal.
fn endpoints() -> [(Endpoint, &'static str); 2] {
    [
        (
            Endpoint::start(&["replay", "sessions/unknown-tool.json"]),
            "QX4R7T",
        ),
        (
            Endpoint::start(&["scripted", "sessions/agents/flights.script.toml"]),
            "serch_flights",
        ),
    ]
}

#[test]
fn pages_of_a_browser_and_foreign_names_get_nothing_of_a_recording_or_a_script() {
    for (endpoint, word) in endpoints() {
        let host = format!("host: {}\r\n", endpoint.address);
        let with = |line: &str| vec![host.clone(), format!("{line}\r\n")];
        let path = "/v1/responses";
        for (method, path, lines, status) in [
            (
                "POST",
                path,
                vec!["host: rebind.evil.example\r\n".to_owned()],
                "421",
            ),
            (
                "POST",
                path,
                vec!["host: 127.0.0.1:1\r\n".to_owned()],
                "421",
            ),
            ("POST", path, Vec::new(), "400"),
            (
                "POST",
                path,
                with("origin: http://rebind.evil.example"),
                "403",
            ),
            ("POST", path, with("origin: null"), "403"),
            ("POST", path, with("sec-fetch-site: cross-site"), "403"),
            (
                "OPTIONS",
                path,
                with("access-control-request-method: POST"),
                "403",
            ),
            ("POST", "/v1/../v1/responses", vec![host.clone()], "400"),
            (
                "POST",
                "http://evil.example/v1/responses",
                vec![host.clone()],
                "400",
            ),
            (
                "GET",
                "/v1/models",
                with("origin: http://rebind.evil.example"),
                "403",
            ),
        ] {
            let (head, body) = endpoint.ask(method, path, &lines);
            assert!(head.contains(status), "{method} {path} {lines:?}: {head}");
            assert!(!body.contains(word), "{method} {path} {lines:?}: {body}");
        }
        let port = endpoint.address.rsplit(':').next().unwrap();
        for host in [host, format!("host: localhost:{port}\r\n")] {
            let (_, body) = endpoint.ask("POST", path, &[host]);
            assert!(body.contains(word), "an agent is answered: {body}");
        }
    }
}

#[test]
fn five_hundred_clients_that_keep_their_connections_do_not_keep_the_next_one_out() {
    for (endpoint, word) in endpoints() {
        let connect = || TcpStream::connect(&endpoint.address).unwrap();
        // Half of them are in the middle of a request.
        let kept: Vec<TcpStream> = (0..500)
            .map(|number| {
                let mut stream = connect();
                if number % 2 == 0 {
                    stream.write_all(b"POST /v1/responses HT").unwrap();
                }
                stream
            })
            .collect();
        let host = format!("host: {}\r\n", endpoint.address);
        let (_, body) = endpoint.ask("POST", "/v1/responses", &[host]);
        assert!(body.contains(word), "{body}");
        drop(kept);
    }
}
