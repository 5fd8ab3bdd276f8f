//! How long a search takes from one end of a recording to the other, beside `rg -c` on the same file.
//!
//! `RETAKE_BENCH_FILE=recording.jsonl cargo bench --bench search`; the needle is taken from the end of the file. Without the
//! variable a file of 256 MB is written to the folder for temporary files.

#![allow(clippy::unwrap_used)]

use divan::Bencher;
use retake_core::session::Span;
use retake_live::search::{Needle, Search, SearchFrom};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

const NEEDLES: [&str; 3] = ["as written", "lower case", "escaped"];

fn main() {
    divan::main();
}

fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        if let Some(path) = std::env::var_os("RETAKE_BENCH_FILE") {
            return path.into();
        }
        let path = std::env::temp_dir().join("retake-bench-search.jsonl");
        let line = "{\"role\":\"tool\",\"content\":\"total 4\\ndrwxr-xr-x 2 user\"}\n";
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        for _ in 0..256_000_000 / line.len() {
            file.write_all(line.as_bytes()).unwrap();
        }
        let last = "{\"role\":\"assistant\",\"content\":\"Last Words: \\\"done\\\"\"}\n";
        file.write_all(last.as_bytes()).unwrap();
        path
    })
}

/// A text that stands at the end of the file only, or nearly so.
fn text(kind: &str) -> String {
    let source = retake_live::open(file()).unwrap().source;
    let end = source.len();
    let tail = source
        .read(Span {
            start: end.saturating_sub(300),
            end,
        })
        .unwrap();
    let tail = String::from_utf8_lossy(&tail);
    let words = tail
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '-')
        .filter(|word| word.chars().any(char::is_alphabetic));
    let word = words.max_by_key(|word| word.len()).unwrap();
    match kind {
        "as written" => format!("{}{}", &word[..word.len() - 1], "Q"),
        "lower case" => format!("{}q", word[..word.len() - 1].to_lowercase()),
        _ => format!("Absent: \"{word}\"\n"),
    }
}

#[divan::bench(args = NEEDLES, sample_count = 15, sample_size = 1)]
fn forward(bencher: Bencher<'_, '_>, kind: &str) {
    bench(bencher, kind, SearchFrom::AtOrAfter(0));
}

#[divan::bench(args = NEEDLES, sample_count = 15, sample_size = 1)]
fn backward(bencher: Bencher<'_, '_>, kind: &str) {
    bench(bencher, kind, SearchFrom::Before(u64::MAX));
}

fn bench(bencher: Bencher<'_, '_>, kind: &str, place: SearchFrom) {
    let source = retake_live::open(file()).unwrap().source;
    let needle = Needle::new(&text(kind)).unwrap();
    let cancel = AtomicBool::new(false);
    let search = Search {
        source: &*source,
        needle: &needle,
        cancel: &cancel,
    };
    bencher.bench_local(|| search.find(place).unwrap());
}

/// All hits of a frequent word, on all cores.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn count_frequent(bencher: Bencher<'_, '_>) {
    let source = retake_live::open(file()).unwrap().source;
    let needle = Needle::new("content").unwrap();
    let cancel = AtomicBool::new(false);
    let search = Search {
        source: &*source,
        needle: &needle,
        cancel: &cancel,
    };
    bencher.bench_local(|| {
        let mut count = 0;
        search.each(2, &mut |hits, _| count += hits.len()).unwrap();
        count
    });
}

#[divan::bench(args = ["as written", "lower case"], sample_count = 15, sample_size = 1)]
fn ripgrep(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let mut command = Command::new("rg");
    command
        .args(["--count", "--smart-case", "--fixed-strings", &text])
        .arg(file());
    if command.output().is_err() {
        return;
    }
    bencher.bench_local(|| command.output());
}
