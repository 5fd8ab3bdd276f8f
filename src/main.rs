//! retake: arguments, then a command, then an exit code.
fn main() {
    let t = std::time::Instant::now();
    let p = std::env::args().nth(1).unwrap();
    let r = retake::runtime::read_path(std::path::Path::new(&p), &Default::default()).unwrap();
    eprintln!(
        "{:?} read {:?} sessions {} items {} problems {}",
        r.format.id,
        t.elapsed(),
        r.sessions.len(),
        r.sessions.iter().map(|s| s.items.len()).sum::<usize>(),
        r.problems.len()
    );
    for p in r.problems.iter().take(5) {
        eprintln!("{} {}", p.at, p.kind);
    }
    let mut rec = r;
    if let Some(tp) = std::env::args().nth(2) {
        let v: serde_json::Value = serde_json::from_slice(&std::fs::read(tp).unwrap()).unwrap();
        let (tools, _) = retake::dialects::tools::read_tools(&v);
        for s in &mut rec.sessions {
            retake::formats::with_tools(s, tools.clone());
        }
    }
    let f = retake::runtime::check_recording(&rec, None).unwrap();
    eprintln!(
        "checked {:?} findings {}",
        t.elapsed(),
        f.iter().map(Vec::len).sum::<usize>()
    );
    eprintln!(
        "{}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|l| l.starts_with("VmHWM"))
            .collect::<String>()
    );
    for f in f.iter().flatten().take(5) {
        eprintln!("{f:?}");
    }
}
