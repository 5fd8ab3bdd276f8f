//! Files as a disk holds them: kinds, names, sizes, packing, and changes while they are open. The letters are the cases of
//! `hostile/file_hostile.json`; those that are bytes alone are tested in `file_hostile.rs`.

use retake_core::formats::Format;
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, ProblemKind, Source, SourceError, Span};
use retake_live::{FileGrowth, InputError, OpenedInput, ReadOptions, Recording, check_recording};
use retake_live::{open, read_input, read_path};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

const USER: &str = r#"{"role":"user","content":"hello"}"#;
const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}"#;
const OUTPUT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"seen"}"#;

/// A folder with one file in it.
fn file_with(bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read(path: &Path) -> Result<Recording, InputError> {
    read_path(path, &ReadOptions::default())
}

fn begin(path: &Path) -> OpenedInput {
    OpenedInput::begin(open(path).unwrap(), &ReadOptions::default()).unwrap()
}

fn kinds(recording: &Recording) -> Vec<Kind> {
    let items = recording.sessions.iter().flat_map(|session| &session.items);
    items.map(|item| item.kind).collect()
}

fn problems(recording: &Recording) -> Vec<ProblemKind> {
    let kinds = recording
        .problems
        .iter()
        .map(|problem| problem.kind.clone());
    kinds.collect()
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Runs what must not hang.
fn within_seconds<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    waiting
        .recv_timeout(Duration::from_secs(seconds))
        .expect("it hangs")
}

fn is_long() -> bool {
    std::env::var_os("RETAKE_LONG").is_some_and(|value| value == "1")
}

/// F50: what is not a file is refused in one line, and nothing waits for a writer that never comes.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    symlink("pipe", at("link to a pipe")).unwrap();
    fs::write(at("file"), "x").unwrap();
    let told = |path: PathBuf| {
        let error = within_seconds(20, move || open(&path).unwrap_err());
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        error
    };
    for name in ["pipe", "link to a pipe", "socket"] {
        assert!(matches!(told(at(name)), InputError::NotAFile(_)), "{name}");
    }
    for device in ["/dev/zero", "/dev/null", "/dev/urandom"] {
        assert!(matches!(
            told(device.into()),
            InputError::NotAFile("a device")
        ));
    }
    assert!(matches!(
        told(folder.path().into()),
        InputError::EmptyFolder
    ));
    assert!(matches!(told(at("dangling")), InputError::Missing));
    assert!(matches!(told(at("none")), InputError::Missing));
    assert!(matches!(told(at("circle")), InputError::Refused(_)));
    assert!(matches!(told(at("file/below")), InputError::Refused(_)));
    assert!(matches!(told(at("a\0b")), InputError::Refused(_)));
}

#[test]
fn a_file_that_may_not_be_read_is_said_to_be_one() {
    let (_folder, path) = file_with(USER);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    assert!(matches!(open(&path), Err(InputError::Permission)));
}

#[test]
fn empty_and_binary_files_have_their_own_words() {
    for bytes in ["", " \n\t\r\n"] {
        let (_folder, path) = file_with(bytes);
        assert!(matches!(read(&path), Err(InputError::Empty)), "{bytes:?}");
    }
    let noise = (0..9000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    let (_folder, path) = file_with(noise.collect::<Vec<_>>());
    assert!(matches!(read(&path), Err(InputError::Binary)));
    // A hole of a gigabyte takes no memory and no time.
    File::create(&path).unwrap().set_len(1 << 30).unwrap();
    assert!(matches!(read(&path), Err(InputError::Binary)));
}

/// F51: the file that is opened is the one that was named, byte for byte; what is shown of its name can be drawn.
#[test]
fn hostile_names_are_opened_exactly_and_shown_safely() {
    let folder = tempfile::tempdir().unwrap();
    let longest = "n".repeat(255);
    let names: [&[u8]; 8] = [
        b"a\nb",
        b"a\x1b[2Jb",
        b"-rf",
        "\u{202e}gnp.txt".as_bytes(),
        b"\xff",
        b"\xfe.jsonl",
        b"%2e?mode=rw#",
        longest.as_bytes(),
    ];
    for (count, name) in names.iter().enumerate() {
        let path = folder.path().join(OsStr::from_bytes(name));
        fs::write(&path, format!("{USER}\n").repeat(count + 1)).unwrap();
    }
    for (count, name) in names.iter().enumerate() {
        let path = folder.path().join(OsStr::from_bytes(name));
        let input = open(&path).unwrap();
        assert_eq!(input.path.as_deref(), Some(&*path));
        let shown = SafeText::single_line(&input.name, 4096);
        let harmless = |character: char| !character.is_control() && character != '\u{202e}';
        assert!(shown.as_plain().chars().all(harmless), "{shown:?}");
        let recording = read_input(input, &ReadOptions::default()).unwrap();
        assert_eq!(kinds(&recording).len(), count + 1, "{name:?}");
    }
    let too_long = folder.path().join("n".repeat(256));
    assert!(matches!(open(&too_long), Err(InputError::Refused(_))));
}

/// F52: a link is followed once, when it is opened; turning it elsewhere afterwards changes nothing that is read.
#[test]
fn a_link_that_is_turned_elsewhere_changes_nothing_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("one"), format!("{USER}\n")).unwrap();
    fs::write(at("two"), format!("{CALL}\n{OUTPUT}\n")).unwrap();
    symlink("one", at("link")).unwrap();
    let input = open(&at("link")).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("two", at("link")).unwrap();
    let recording = read_input(input, &ReadOptions::default()).unwrap();
    assert_eq!(kinds(&recording), [Kind::User]);
    assert_eq!(
        fs::read_to_string(at("two")).unwrap(),
        format!("{CALL}\n{OUTPUT}\n")
    );
}

/// F46: whoever follows sees whole lines as they come.
#[test]
fn a_follower_sees_lines_as_they_are_appended() {
    let (_folder, path) = file_with(format!("{USER}\n"));
    let opening = begin(&path);
    let mut follower = opening.follow().unwrap().unwrap();
    let mut told = |text: &str| {
        append(&path, text);
        let growth = follower.advance().unwrap();
        (growth, kinds(&follower.recording().unwrap()).len())
    };
    assert_eq!(told(""), (FileGrowth::None, 1));
    assert_eq!(told(&format!("{CALL}\n")), (FileGrowth::Grown, 2));
    assert_eq!(
        told(&format!("{OUTPUT}\r\n{USER}\r\n")),
        (FileGrowth::Grown, 4)
    );
    let (half, rest) = CALL.split_at(40);
    assert_eq!(told(half), (FileGrowth::None, 4));
    assert_eq!(told(""), (FileGrowth::None, 4));
    assert_eq!(told(&format!("{rest}\n{USER}")), (FileGrowth::Grown, 5));
    assert_eq!(told("\n"), (FileGrowth::Grown, 6));
    assert_eq!(told(&format!("{USER}{USER}\n")), (FileGrowth::Grown, 8));
    assert_eq!(told("{oops}\n"), (FileGrowth::Grown, 9));
    let recording = follower.recording().unwrap();
    let whole = read(&path).unwrap();
    assert_eq!(kinds(&recording), kinds(&whole));
    assert_eq!(recording.problems, whole.problems);
    // The recording that was read before does not change.
    assert_eq!(kinds(&begin(&path).head().unwrap().unwrap()).len(), 9);
}

/// A line without its end is shown once the file rests, as reading the whole file shows it.
#[test]
fn a_last_line_without_its_end_is_read_when_the_file_rests() {
    let (_folder, path) = file_with(format!("{USER}\n{CALL}"));
    let opening = begin(&path);
    let mut follower = opening.follow().unwrap().unwrap();
    assert_eq!(kinds(&follower.recording().unwrap()).len(), 2);
    append(&path, &format!("{OUTPUT}\n"));
    assert_eq!(follower.advance().unwrap(), FileGrowth::Grown);
    append(&path, USER);
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    assert_eq!(follower.advance().unwrap(), FileGrowth::Grown);
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    append(&path, "\n");
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    append(&path, r#"{"role":"user","content":"to be co"#);
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    append(&path, "ntinued\"}\n");
    assert_eq!(follower.advance().unwrap(), FileGrowth::Grown);
    let recording = follower.recording().unwrap();
    let whole = read(&path).unwrap();
    assert_eq!(kinds(&recording), kinds(&whole));
    assert_eq!(problems(&recording), [ProblemKind::SharedLine]);
    assert_eq!(recording.problems, whole.problems);
}

#[test]
fn a_follower_takes_a_giant_line_and_characters_that_arrive_in_halves() {
    let (_folder, path) = file_with(format!("{USER}\n"));
    let opening = begin(&path);
    let mut follower = opening.follow().unwrap().unwrap();
    let giant = format!(
        "{{\"role\":\"user\",\"content\":\"{}é\"}}\n",
        "x".repeat(1 << 20)
    );
    append(&path, &giant);
    assert_eq!(follower.advance().unwrap(), FileGrowth::Grown);
    let cut = giant.len() - 5;
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    for half in [&giant.as_bytes()[..cut], &giant.as_bytes()[cut..]] {
        file.write_all(half).unwrap();
        follower.advance().unwrap();
    }
    let recording = follower.recording().unwrap();
    assert_eq!(kinds(&recording), [Kind::User; 3]);
    assert_eq!(recording.problems, []);
}

/// F47: a file that was cut says so, whoever reads it; nothing falls over.
#[test]
fn a_file_that_is_cut_while_open_says_so() {
    let (_folder, path) = file_with(format!("{USER}\n{CALL}\n{OUTPUT}\n").repeat(9));
    let recording = read(&path).unwrap();
    let opening = begin(&path);
    let mut follower = opening.follow().unwrap().unwrap();
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(60)
        .unwrap();
    let session = &recording.sessions[0];
    let last = session.items.last().unwrap();
    assert!(matches!(session.bytes(last), Err(SourceError::Gone { .. })));
    assert!(session.bytes(&session.items[0]).is_ok());
    // Rules read what they judge; they say that it is gone, or judge what is left.
    let _ = check_recording(&recording, None);
    assert_eq!(follower.advance().unwrap(), FileGrowth::Shrunk);
    assert_eq!(follower.advance().unwrap(), FileGrowth::Shrunk);
    let anew = opening.anew().unwrap();
    assert_eq!(kinds(&anew.read(&|_, _| ()).unwrap()).len(), 2);
    assert_eq!(kinds(&opening.read(&|_, _| ()).unwrap()).len(), 2);
    assert!(opening.tail().unwrap().is_some());
}

#[test]
fn a_file_that_is_replaced_while_open_is_noticed() {
    let text = format!("{USER}\n").repeat(4);
    // Another file takes the name, as most programs save; or the file is cut and written anew, as log rotation does.
    let renamed = |path: &Path| {
        let other = path.with_extension("new");
        fs::write(&other, format!("{CALL}\n{OUTPUT}\n").repeat(4)).unwrap();
        fs::rename(other, path).unwrap();
    };
    let rewritten = |path: &Path| fs::write(path, format!("{CALL}\n{OUTPUT}\n").repeat(4)).unwrap();
    for replace in [&renamed as &dyn Fn(&Path), &rewritten] {
        let (_folder, path) = file_with(&text);
        let opening = begin(&path);
        let mut follower = opening.follow().unwrap().unwrap();
        replace(&path);
        assert_eq!(follower.advance().unwrap(), FileGrowth::Shrunk);
        let anew = opening.anew().unwrap();
        assert_eq!(
            kinds(&anew.read(&|_, _| ()).unwrap())[..2],
            [Kind::Call, Kind::Output]
        );
    }
    // While the name leads nowhere, the open file counts.
    let (_folder, path) = file_with(&text);
    let opening = begin(&path);
    let mut follower = opening.follow().unwrap().unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(follower.advance().unwrap(), FileGrowth::None);
    assert!(matches!(opening.anew(), Err(InputError::Missing)));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// F48: packed files open as they are, in several members or frames too, and say where they are broken.
#[test]
fn packed_files_open_as_they_are() {
    let text = format!("{USER}\n{CALL}\n{OUTPUT}\n");
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let plain = vec![Kind::User, Kind::Call, Kind::Output];
    for packed in [
        gzip(text.as_bytes()),
        zstd(&text),
        [
            gzip(USER.as_bytes()),
            gzip(format!("\n{CALL}\n{OUTPUT}").as_bytes()),
        ]
        .concat(),
        [
            zstd(&format!("{USER}\n")),
            zstd(&format!("{CALL}\n{OUTPUT}")),
        ]
        .concat(),
    ] {
        let (_folder, path) = file_with(&packed);
        let recording = read(&path).unwrap();
        assert_eq!(
            (kinds(&recording), problems(&recording)),
            (plain.clone(), vec![])
        );
        assert!(begin(&path).follow().unwrap().is_none());
        let (_folder, path) = file_with([&packed[..], b"junk"].concat());
        let recording = read(&path).unwrap();
        assert_eq!(kinds(&recording), plain);
        assert!(matches!(
            problems(&recording)[..],
            [ProblemKind::BrokenPacking(_)]
        ));
        let (_folder, path) = file_with(&packed[..6]);
        let error = read(&path).unwrap_err();
        assert!(matches!(error, InputError::Compressed(_)), "{error}");
    }
    let long = format!("{text}{text}").repeat(20_000);
    let packed = gzip(long.as_bytes());
    let (_folder, path) = file_with(&packed[..packed.len() / 2]);
    let recording = read(&path).unwrap();
    assert!(kinds(&recording).len() > 1000);
    assert!(
        problems(&recording)
            .iter()
            .any(|kind| matches!(kind, ProblemKind::BrokenPacking(_)))
    );
}

/// F49: a bomb is refused before it fills the memory.
#[test]
fn bombs_are_refused() {
    let line = format!("{USER}\n");
    let bomb = [line.as_bytes(), &vec![b' '; 80 << 20]].concat();
    for packed in [gzip(&bomb), zstd::encode_all(&bomb[..], 1).unwrap()] {
        let (_folder, path) = file_with(packed);
        assert!(matches!(read(&path), Err(InputError::TooLarge { .. })));
    }
    // A packed file that is larger than the limit itself is not even read.
    let (_folder, path) = file_with(gzip(b""));
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    assert!(matches!(read(&path), Err(InputError::TooLarge { .. })));
}

#[test]
fn wide_text_is_read_and_said_to_be_wide() {
    let text = format!("{USER}\n{CALL}\n{OUTPUT}\n").replace("hello", "né 😀");
    let sixteen = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<_>>();
    let thirty_two: Vec<u8> = text
        .chars()
        .flat_map(|c| (c as u32).to_be_bytes())
        .collect();
    for (bytes, name) in [
        (
            [&[0xff, 0xfe][..], &sixteen(u16::to_le_bytes)].concat(),
            "UTF-16",
        ),
        (
            [&[0xfe, 0xff][..], &sixteen(u16::to_be_bytes)].concat(),
            "UTF-16",
        ),
        (sixteen(u16::to_le_bytes), "UTF-16"),
        ([&[0, 0, 0xfe, 0xff][..], &thirty_two].concat(), "UTF-32"),
    ] {
        let (_folder, path) = file_with(&bytes);
        let recording = read(&path).unwrap();
        assert_eq!(kinds(&recording), [Kind::User, Kind::Call, Kind::Output]);
        assert_eq!(problems(&recording), [ProblemKind::Transcoded(name)]);
        // Cut in the middle of a character.
        let (_folder, path) = file_with(&bytes[..bytes.len() - 3]);
        assert!(kinds(&read(&path).unwrap()).len() >= 3);
    }
    // Lone surrogates are replaced, not refused.
    let broken = [&b"{\0"[..], b"\"\0r\0o\0l\0e\0\"\0:\0\"\0u\0s\0e\0r\0\"\0,\0\"\0c\0o\0n\0t\0e\0n\0t\0\"\0:\0\"\0\x00\xd8\"\0}\0"].concat();
    let (_folder, path) = file_with(broken);
    assert_eq!(kinds(&read(&path).unwrap()), [Kind::User]);
}

/// F41: arguments of any depth are one item and are checked; what is deeper than 128 levels is not judged (`retake explain`).
#[test]
fn arguments_of_any_depth_are_checked() {
    for depth in [127, 128, 100_000] {
        let arguments = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let call = CALL.replace("\"{}\"", &format!("\"{arguments}\""));
        let (_folder, path) = file_with(format!("{USER}\n{call}\n{OUTPUT}\n"));
        let recording = read(&path).unwrap();
        assert_eq!(kinds(&recording), [Kind::User, Kind::Call, Kind::Output]);
        let findings = check_recording(&recording, None).unwrap();
        let is_told = findings[0]
            .iter()
            .any(|finding| finding.rule.id == "malformed-arguments");
        assert_eq!(is_told, depth < 128, "{depth}");
    }
}

/// F42: nesting costs no stack, in any thread.
#[test]
fn nesting_of_any_depth_is_read() {
    for depth in [127, 128, 10_000, 5_000_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let user = USER.replace("\"hello\"", &deep);
        let (_folder, path) = file_with(format!("{user}\n{CALL}\n{OUTPUT}\n"));
        let recording = read(&path).unwrap();
        assert_eq!(kinds(&recording), [Kind::User, Kind::Call, Kind::Output]);
        check_recording(&recording, None).unwrap();
    }
}

/// Where a child of the test process finds the file whose reading it measures.
const MEASURED: &str = "RETAKE_MEASURED_FILE";

/// Reads and checks a file in a process of its own; gives the number of items (0 if it was refused) and the peak memory in bytes.
fn measured(path: &Path) -> (u64, u64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::measured_child", "--nocapture"])
        .env(MEASURED, path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("measured "));
    let numbers = line.unwrap_or_else(|| panic!("{text}")).1.split(' ');
    let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
    (numbers[0], numbers[1])
}

#[test]
fn measured_child() {
    let Some(path) = std::env::var_os(MEASURED) else {
        return;
    };
    let count = read(Path::new(&path)).map_or(0, |recording| {
        check_recording(&recording, None).unwrap();
        kinds(&recording).len()
    });
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().split(' ').next()?.parse::<u64>().ok());
    println!("measured {count} {}", kib.unwrap_or(0) * 1024);
}

/// What a process needs that reads next to nothing.
fn baseline() -> u64 {
    let (_folder, path) = file_with(USER);
    measured(&path).1
}

/// F43: a giant line costs less than three times its size.
#[test]
fn a_giant_line_needs_less_than_three_times_its_size() {
    let size = if is_long() { 100 << 20 } else { 24 << 20 };
    let line = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "x".repeat(size)
    );
    let (_folder, path) = file_with(format!("{USER}\n{line}{CALL}\n{OUTPUT}\n"));
    let (items, peak) = measured(&path);
    assert_eq!(items, 4);
    let own = peak.saturating_sub(baseline());
    assert!(own < 3 * size as u64, "{own} bytes for {size}");
    let opening = begin(&path);
    assert!(opening.tail().unwrap().is_some());
}

/// F44: memory goes with the number of records, not with their size.
#[test]
fn many_records_need_a_fraction_of_the_file() {
    let count = if is_long() { 1_000_000 } else { 50_000 };
    let (_folder, path) = file_with("");
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    let filler = "x".repeat(900);
    for number in 0..count {
        writeln!(file, r#"{{"role":"user","content":"{number} {filler}"}}"#).unwrap();
    }
    file.flush().unwrap();
    let size = fs::metadata(&path).unwrap().len();
    let (items, peak) = measured(&path);
    assert_eq!(items, count);
    let own = peak.saturating_sub(baseline());
    let buffers = 24 << 20;
    assert!(own < size / 4 + buffers, "{own} bytes for {size}");
}

/// F45: an array of numbers is not a recording, and among records a run of them is one item.
#[test]
fn a_flood_of_numbers_is_refused_or_one_item() {
    let count = if is_long() { 20_000_000 } else { 500_000 };
    let numbers = "1,".repeat(count);
    let (_folder, path) = file_with(format!("[{numbers}1]"));
    let (items, peak) = measured(&path);
    assert_eq!(items, 0);
    assert!(matches!(read(&path), Err(InputError::Unrecognised)));
    let size = fs::metadata(&path).unwrap().len();
    let base = baseline();
    assert!(peak.saturating_sub(base) < 3 * size + (24 << 20));
    fs::write(&path, format!("[{USER},{numbers}{USER}]")).unwrap();
    let (items, peak) = measured(&path);
    assert_eq!(items, 3);
    assert!(peak.saturating_sub(base) < 3 * size + (24 << 20));
    assert_eq!(problems(&read(&path).unwrap()), [ProblemKind::NotARecord]);
}

/// The last items of a file are found from its end, whatever stands there.
#[test]
fn the_tail_begins_at_a_true_record() {
    let blocks = [r#"{"type":"text","text":"a},{\"b"}"#; 40].join(",");
    let message = format!(r#"{{"role":"user","content":[{blocks}]}}"#);
    let messages = vec![message; 400].join(",");
    let tool = r#"{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}"#;
    let tools = |count: usize| vec![tool; count].join(",");
    let lines = format!("{}\n", messages.replace("},{\"role\"", "}\n{\"role\""));
    let giant = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}",
        "},{".repeat(300_000)
    );
    for (name, text) in [
        ("lines", lines.clone()),
        ("an array", format!("[{messages}]")),
        (
            "a document",
            format!(r#"{{"model":"m","messages":[{messages}]}}"#),
        ),
        (
            "tools behind",
            format!(r#"{{"messages":[{messages}],"tools":[{}]}}"#, tools(50)),
        ),
        (
            "many tools behind",
            format!(r#"{{"messages":[{messages}],"tools":[{}]}}"#, tools(5000)),
        ),
        ("not closed", format!(r#"[{messages}"#)),
        ("a giant last line", format!("{lines}{giant}\n")),
        ("a giant last element", format!("[{messages},{giant}]")),
    ] {
        let (_folder, path) = file_with(&text);
        let opening = begin(&path);
        assert!(!opening.is_small(), "{name}");
        let tail = spans(&opening.tail().unwrap().unwrap());
        let whole = spans(&opening.read(&|_, _| ()).unwrap());
        assert!(!tail.is_empty() && tail.len() <= whole.len(), "{name}");
        assert!(
            whole.ends_with(&tail),
            "{name}: {} of {}",
            tail.len(),
            whole.len()
        );
    }
    let (_folder, path) = file_with(format!("{USER}\n{CALL}"));
    assert_eq!(spans(&begin(&path).tail().unwrap().unwrap()).len(), 2);
}

fn spans(recording: &Recording) -> Vec<(Span, Kind)> {
    let items = recording.sessions.iter().flat_map(|session| &session.items);
    items.map(|item| (item.span, item.kind)).collect()
}

/// Requests of more than a sample each, one a line, are all read, though the first looks like a document.
#[test]
fn giant_lines_of_requests_are_lines() {
    let long = USER.replace("hello", &"x".repeat(300_000));
    let body = format!(r#"{{"model":"m","messages":[{long},{CALL},{OUTPUT}],"tools":[]}}"#);
    let (_folder, path) = file_with(format!("{body}\n").repeat(16));
    assert!(fs::metadata(&path).unwrap().len() > 4 << 20);
    let small = format!("{body}\n").repeat(2);
    let count =
        |recording: &Recording| recording.sessions.iter().map(|one| one.records.len()).max();
    let recording = read(&path).unwrap();
    assert_eq!(recording.problems, []);
    assert_eq!(count(&recording), Some(16));
    let (_folder, path) = file_with(small);
    assert_eq!(count(&read(&path).unwrap()), Some(2));
}

/// A source that counts what is read of it.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    read: std::sync::atomic::AtomicU64,
}

impl Source for Counted {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        self.read
            .fetch_add(span.len(), std::sync::atomic::Ordering::Relaxed);
        self.bytes.read(span)
    }
}

/// How many times its length is read of a text until all its records are known.
fn work(text: &str, format: &Format) -> f64 {
    let length = text.len() as f64;
    let source = std::sync::Arc::new(Counted {
        bytes: text.as_bytes().to_vec(),
        read: Default::default(),
    });
    let input = retake_live::Input::of("counted", source.clone());
    let options = ReadOptions {
        format: Some(format.id.into()),
        ..ReadOptions::default()
    };
    read_input(input, &options).unwrap();
    source.read.load(std::sync::atomic::Ordering::Relaxed) as f64 / length
}

/// Texts whose records seem to go on for ever cost a fixed multiple of their length, not of its square. (How wrong guesses are
/// given up is tested with small parts, where files are read in parts.)
#[test]
fn records_that_never_end_are_read_in_linear_work() {
    if !is_long() {
        eprintln!("skipped: RETAKE_LONG=1 reads a hundred megabytes of hostile text");
        return;
    }
    let format = retake_core::formats::find("openai-chat").unwrap();
    for (first, flood) in [
        ("", "[\n"),
        ("", "{\"a\":\n"),
        ("", "{\"a\":[\n"),
        ("[{\"a\":[", "},{\"a\":[{\"b\":1"),
    ] {
        let text = |mib: usize| format!("{first}{}", flood.repeat((mib << 20) / flood.len()));
        let factor = work(&text(96), format);
        assert!(factor < 20.0, "{first}{flood}: {factor}");
    }
}

/// In memory there is nothing to count but time: four times the text may take eight times as long, and a little on top of that.
#[test]
fn hostile_texts_are_read_in_linear_time() {
    let format = retake_core::formats::find("openai-chat").unwrap();
    let seconds = |text: &str| {
        let source: std::sync::Arc<dyn Source> = std::sync::Arc::new(text.as_bytes().to_vec());
        let began = std::time::Instant::now();
        retake_core::formats::read_buffer(format, &source, text.as_bytes()).unwrap();
        began.elapsed().as_secs_f64()
    };
    for flood in [
        "[\n",
        "{\"a\":\n",
        "{\"a\":",
        "{\"a\":\"x\n",
        "},{",
        "[{\"a\":1},{",
        "\"\n",
        "\\\"",
        "{\"a\":\"\\\\\\",
        "\0\n",
        "'",
        "{'a':1}\n",
        "{\"role\":\"user\",\"content\":[\n",
        "\u{feff}",
        "\u{1e}",
        "{\"tool_calls\":[{",
    ] {
        let text = |bytes: usize| flood.repeat(bytes / flood.len());
        let (short, long) = (seconds(&text(1 << 19)), seconds(&text(1 << 21)));
        assert!(
            long < 8.0 * short + 4.0,
            "{flood:?}: {short} s, then {long} s"
        );
    }
}
