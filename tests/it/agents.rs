//! The bundled agents: each runs without a key, without a question, and begins with a request that nothing is wrong with.

use retake_core::engine::agent::{Agent, Beside, ModelEndpoint};
use retake_live::{ReadOptions, check_recording, read_path};
use std::path::{Path, PathBuf};

const FOLDER: &str = "sessions/agents";

/// The agents by the names of their files, without the scripts beside them.
fn bundled() -> Vec<(String, Agent)> {
    let names = std::fs::read_dir(FOLDER).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names = names
        .filter(|name| name.ends_with(".toml") && !name.ends_with(".script.toml"))
        .collect::<Vec<_>>();
    names.sort();
    let agents = names.into_iter().map(|name| (name.clone(), read(&name)));
    agents.collect()
}

fn read(name: &str) -> Agent {
    let text = std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    // What a script says is the scripted model's to judge.
    let mut file = |named: &str| Ok(format!("the text of {named}"));
    let beside = Beside {
        file: &mut file,
        wording: &|_, _| None,
    };
    Agent::parse(&text, beside).unwrap_or_else(|faults| panic!("{name}: {faults}"))
}

#[test]
fn each_bundled_agent_is_scripted_and_needs_no_confirmation() {
    let agents = bundled();
    assert!(agents.len() >= 3);
    for (name, agent) in agents {
        assert!(!agent.needs_confirmation(), "{name}: {:?}", agent.powers());
        assert_eq!(format!("{}.toml", agent.name), name);
        let ModelEndpoint::Script { file, .. } = &agent.model.at else {
            panic!("{name}: {:?}", agent.model.at);
        };
        assert_eq!(*file, format!("{}.script.toml", agent.name));
    }
}

#[test]
fn the_first_request_of_each_bundled_agent_is_read_without_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    for (name, agent) in bundled() {
        let path: PathBuf = folder.path().join(format!("{name}.json"));
        let body = agent.first_request(&agent.offered()).unwrap();
        std::fs::write(&path, agent.model.wire_request(&body).unwrap()).unwrap();
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        let [session] = &recording.sessions[..] else {
            panic!("{name}: {} sessions", recording.sessions.len());
        };
        assert_eq!(session.dialect, agent.model.dialect, "{name}");
        let tools = session.contract.tools_at(0).into_iter();
        let tools = tools.map(|tool| (&tool.name, &tool.parameters));
        let offered = agent.offered();
        let offered = offered.iter().map(|offered| &offered.tool);
        let offered = offered.map(|tool| (&tool.name, &tool.parameters));
        assert_eq!(
            tools.collect::<Vec<_>>(),
            offered.collect::<Vec<_>>(),
            "{name}"
        );
        let schema = |known: Option<&retake_core::session::OutputSchema>| {
            known.map(|known| known.schema.clone())
        };
        let known = schema(session.contract.output_schema.as_ref());
        assert_eq!(known, schema(agent.output_schema.as_ref()), "{name}");
        let findings = check_recording(&recording, None).unwrap();
        let messages = findings.iter().flatten().map(|finding| finding.message());
        assert_eq!(messages.collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_demo_offers_what_its_script_misspells() {
    let agent = read("flights.toml");
    let offered = agent.offered();
    let names = offered.iter().map(|offered| offered.tool.name.as_str());
    let names = names.collect::<Vec<_>>();
    assert!(names.contains(&"search_flights") && !names.contains(&"serch_flights"));
}
