//! An upstream that the operator has named as insecure is believed by everything that asks it.

use super::speech::{Agent, BAD, THEN, http, path, turn};
use super::stage::{PATIENCE, addresses, keeping, options};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::tls::unproven;
use retake_core::engine::Policy;
use retake_core::session::Dialect;
use retake_live::proxy::Proxy;

#[test]
fn a_hold_asks_an_insecure_upstream_again_as_its_exchange_did() {
    let way = (Dialect::Chat, false);
    let replies = [turn("1", "", &[BAD]), turn("2", "", &[THEN])];
    let replies = replies.iter().map(|reply| http(way.0, way.1, reply));
    let server = unproven(replies.collect());
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&[server.url()], folder.path().join("proxy.jsonl"));
    options.insecure = vec!["localhost".to_owned()];
    options.policy = Policy::parse("[on.unknown-tool]\ndo = \"inject\"\n").unwrap();
    let (report, news) = keeping();
    let _proxy = Proxy::start(options, report).unwrap();
    let address = addresses(&news)[0];
    let mut agent = Agent::new(way);
    let (path, body) = (path(way), agent.request());
    let mut client = Client::connect(address);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.send(format!("{head}{body}").as_bytes());
    let calls = agent.reads(&client.receive(PATIENCE));
    assert_eq!(calls, [(THEN.0.to_owned(), "search".to_owned())]);
}
