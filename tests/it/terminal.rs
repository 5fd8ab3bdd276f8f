//! The debugger in a real pseudo-terminal: what a person sees, and what is left behind.

use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, MouseMode, Signal, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

fn bundled(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    folder.join(name).to_string_lossy().into_owned()
}

fn open(name: &str) -> Terminal {
    Terminal::builder()
        .size(120, 30)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .timeout(Duration::from_secs(20))
        .arg(bundled(name))
        .spawn(RETAKE)
        .unwrap()
}

fn shell(script: &str, folder: &Path) -> Terminal {
    Terminal::builder()
        .size(120, 30)
        .env("LANG", "C.UTF-8")
        .timeout(Duration::from_secs(20))
        .current_dir(folder)
        .args(["-c", script])
        .spawn("sh")
        .unwrap()
}

#[test]
fn a_session_opens_the_finding_is_jumped_to_and_the_terminal_is_left_as_it_was() {
    let folder = TempDir::new().unwrap();
    let script = format!(
        "stty -g > before; '{RETAKE}' '{}'; echo code=$? > code; stty -g > after; echo READY; read line",
        bundled("broken-json.json")
    );
    let mut terminal = shell(&script, folder.path());
    terminal
        .wait_until(|screen| screen.contains("2 warnings") && screen.contains("broken-json.json"))
        .unwrap();
    assert!(terminal.screen().alternate_screen());

    terminal.send(Key::Char('g'));
    terminal
        .wait_until(|screen| screen.contains("▌   Compare loans."))
        .unwrap();
    terminal.send(Key::Char(']'));
    terminal
        .wait_until(|screen| screen.contains("▌ ▲ monthly_payment("))
        .unwrap();
    terminal.send(Key::Char('%'));
    terminal
        .wait_until(|screen| screen.contains("▌   │ An error occurred"))
        .unwrap();
    terminal.send(Key::Char('|'));
    terminal
        .wait_until(|screen| screen.contains("Item 6  output"))
        .unwrap();
    terminal.send(Key::Char('['));
    terminal
        .wait_until(|screen| screen.contains("Item 5  call") && screen.contains("unexpected `/`"))
        .unwrap();

    terminal.send(Key::Char('q'));
    terminal
        .wait_until(|screen| screen.contains("READY"))
        .unwrap();
    let screen = terminal.screen();
    assert!(!screen.alternate_screen(), "the alternate screen was left");
    assert!(!screen.bracketed_paste(), "pastes are plain again");
    assert_eq!(screen.mouse_mode(), MouseMode::None, "the mouse is free");
    assert!(screen.cursor().2, "the cursor is shown");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "raw mode is off");
    assert_eq!(read("code").trim(), "code=0");
    terminal.send(Key::Enter);
}

/// Resizes until the text is shown. The harness tells the kernel before its own screen, so a quick answer may be drawn at the
/// old width; a terminal resizes itself first.
fn resize_until(terminal: &mut Terminal, (columns, rows): (u16, u16), text: &str) {
    let seen = (0..10).any(|more| {
        terminal.resize(columns + more, rows).unwrap();
        let wait = Duration::from_secs(2);
        terminal
            .wait_until_for(|screen| screen.contains(text), wait)
            .is_ok()
    });
    assert!(seen, "{}", terminal.screen());
}

#[test]
fn a_resize_is_followed_and_a_small_terminal_says_so() {
    let mut terminal = open("schema-break.json");
    terminal
        .wait_until(|screen| screen.contains("2 warnings"))
        .unwrap();
    terminal.send(Key::Char(']'));
    resize_until(&mut terminal, (30, 8), "too small");
    resize_until(&mut terminal, (80, 24), "create_shipment(");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_termination_restores_the_terminal_and_is_told_to_the_shell() {
    let mut terminal = open("broken-json.json");
    terminal
        .wait_until(|screen| screen.contains("2 warnings"))
        .unwrap();
    terminal.signal(Signal::Term).unwrap();
    assert_eq!(terminal.wait_exit().unwrap().code(), 143);
    assert!(!terminal.screen().alternate_screen());
}

#[test]
fn suspending_gives_the_terminal_to_the_shell_and_takes_it_again() {
    let path = bundled("broken-json.json");
    let script =
        format!("set -m; '{RETAKE}' '{path}'; echo STOPPED; read line; fg; echo READY; read line");
    let mut terminal = shell(&script, Path::new("."));
    terminal
        .wait_until(|screen| screen.contains("2 warnings"))
        .unwrap();
    terminal.send(Key::Ctrl('z'));
    terminal
        .wait_until(|screen| screen.contains("STOPPED") && !screen.alternate_screen())
        .unwrap();
    terminal.send(Key::Enter);
    terminal
        .wait_until(|screen| screen.alternate_screen() && screen.contains("2 warnings"))
        .unwrap();
    terminal.send(Key::Char('Q'));
    terminal
        .wait_until(|screen| screen.contains("READY") && !screen.alternate_screen())
        .unwrap();
    terminal.send(Key::Enter);
}

#[test]
fn without_a_path_the_bundled_sessions_are_offered() {
    let mut terminal = Terminal::builder()
        .size(120, 40)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", "/nonexistent")
        .timeout(Duration::from_secs(20))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .spawn(RETAKE)
        .unwrap();
    terminal
        .wait_until(|screen| screen.contains("enter open"))
        .unwrap();
    for letter in "/schema-br".chars() {
        terminal.send(Key::Char(letter));
    }
    terminal.send(Key::Enter);
    terminal.send(Key::Enter);
    terminal
        .wait_until(|screen| screen.contains("invalid-arguments"))
        .unwrap();
    terminal.send(Key::Char('q'));
    terminal
        .wait_until(|screen| screen.contains("enter open"))
        .unwrap();
    terminal.send(Key::Char('Q'));
    terminal.send(Key::Char('q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn the_picker_heads_its_columns_and_cuts_long_paths_in_their_middle() {
    let folder = TempDir::new().unwrap();
    let deep = folder.path().join("sessions").join("deep-".repeat(30));
    fs::create_dir_all(&deep).unwrap();
    fs::copy(bundled("broken-json.json"), deep.join("the-last.json")).unwrap();
    let mut terminal = Terminal::builder()
        .size(120, 30)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", folder.path().to_str().unwrap())
        .timeout(Duration::from_secs(20))
        .current_dir(folder.path())
        .spawn(RETAKE)
        .unwrap();
    let row = |screen: &termlens::Screen, end: &str| {
        let text = screen.to_string();
        text.lines()
            .find(|line| line.contains(end))
            .map(str::to_owned)
    };
    terminal
        .wait_until(|screen| row(screen, "the-last.json").is_some())
        .unwrap();
    let screen = terminal.screen();
    let heads = row(&screen, "title").unwrap();
    for head in ["when", "findings", "turns", "tokens", "agent"] {
        assert!(heads.contains(head), "{head}: {screen}");
    }
    let shown = row(&screen, "the-last.json").unwrap();
    let (start, _) = shown.split_once('…').unwrap();
    assert!(start.contains("deep-"), "{screen}");
    terminal.send(Key::Char('q'));
    assert!(terminal.wait_exit().unwrap().success());
}

/// A session of Claude Code in a project, with one user message.
fn claude_session(folder: &str, words: &str) -> String {
    let user = format!(
        r#"{{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"{folder}","message":{{"role":"user","content":"{words}"}}}}"#
    );
    let reply = r#"{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"All carts are fixed."}],"usage":{"input_tokens":1200,"output_tokens":34}}}"#;
    format!("{user}\n{reply}\n")
}

#[test]
fn the_picker_groups_projects_previews_filters_and_sorts() {
    let home = TempDir::new().unwrap();
    let projects = home.path().join(".claude/projects");
    let shop = projects.join("-src-shop");
    fs::create_dir_all(shop.join("one/subagents")).unwrap();
    fs::create_dir_all(projects.join("-src-desk")).unwrap();
    let caveat = "Caveat: The messages below were generated by the user";
    let files = [
        (
            shop.join("one.jsonl"),
            "/src/shop",
            "Checkout fails for gift cards",
        ),
        (
            shop.join("one/subagents/agent-7.jsonl"),
            "/src/shop",
            "Find every cart",
        ),
        (
            projects.join("-src-desk/two.jsonl"),
            "/src/desk",
            "Port the list widget",
        ),
        (projects.join("-src-desk/three.jsonl"), "/src/desk", caveat),
    ];
    for (path, folder, words) in files {
        fs::write(path, claude_session(folder, words)).unwrap();
    }
    let mut terminal = Terminal::builder()
        .size(100, 30)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", home.path().to_str().unwrap())
        .timeout(Duration::from_secs(20))
        .current_dir(home.path())
        .spawn(RETAKE)
        .unwrap();
    terminal
        .wait_until(|screen| {
            let text = screen.to_string();
            let known = ["/src/shop ──", "/src/desk ──", "└ Find every cart", "1.2k"];
            known.iter().all(|words| text.contains(words)) && !text.contains("to read")
        })
        .unwrap();
    for letter in "/gift model:claude-*".chars() {
        terminal.send(Key::Char(letter));
    }
    terminal
        .wait_until(|screen| {
            screen.contains("recordings 1 of 4") && screen.contains("All carts are fixed.")
        })
        .unwrap();
    terminal.send(Key::Esc);
    terminal
        .wait_until(|screen| screen.contains("recordings 4"))
        .unwrap();
    terminal.send(Key::Char('s'));
    terminal.send(Key::Tab);
    terminal
        .wait_until(|screen| screen.contains("sort: size  group: agent"))
        .unwrap();
    terminal.send(Key::Char('/'));
    for letter in "widget".chars() {
        terminal.send(Key::Char(letter));
    }
    terminal.send(Key::Enter);
    terminal
        .wait_until(|screen| screen.contains("filter: widget"))
        .unwrap();
    terminal.send(Key::Enter);
    terminal
        .wait_until(|screen| {
            screen.contains("Port the list widget") && screen.contains("two.jsonl")
        })
        .unwrap();
    terminal.send(Key::Char('q'));
    terminal
        .wait_until(|screen| screen.contains("enter open"))
        .unwrap();
    // What only the contents have is found there, and opened at its place.
    terminal.send(Key::Esc);
    terminal
        .wait_until(|screen| screen.contains("recordings 4"))
        .unwrap();
    for letter in "Fcarts are".chars() {
        terminal.send(Key::Char(letter));
    }
    terminal
        .wait_until(|screen| {
            screen.contains("All carts are fixed.") && screen.contains("all searched")
        })
        .unwrap();
    terminal.send(Key::Enter);
    // Each letter begins the search anew.
    terminal
        .wait_until(|screen| {
            screen.contains("contents: carts are")
                && screen.contains("enter open")
                && screen.contains("in contents: 4 items in 4 recordings, all searched")
        })
        .unwrap();
    terminal.send(Key::Enter);
    terminal
        .wait_until(|screen| screen.contains("assistant") && screen.contains("1/1"))
        .unwrap();
    terminal.send(Key::Char('q'));
    terminal
        .wait_until(|screen| screen.contains("all searched"))
        .unwrap();
    // Before the next key: escape and a letter at once are alt and the letter.
    terminal.send(Key::Esc);
    terminal
        .wait_until(|screen| !screen.contains("in contents"))
        .unwrap();
    terminal.send(Key::Char('q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_file_of_settings_gives_keys_columns_and_a_theme() {
    let home = TempDir::new().unwrap();
    let config = home.path().join(".config/retake");
    fs::create_dir_all(&config).unwrap();
    let settings = "theme = \"dark-contrast\"\n[picker]\ncolumns = [\"title\", \"size\"]\nsort = \"size\"\n\
        [keys.recordings]\nsort = \"F6 o\"\n[keys.program]\nclose = \"w\"\n";
    fs::write(config.join("config.toml"), settings).unwrap();
    let start = |home: &TempDir| {
        Terminal::builder()
            .size(100, 30)
            .env_clear()
            .env("LANG", "C.UTF-8")
            .env("COLORTERM", "truecolor")
            .env("HOME", home.path().to_str().unwrap())
            .timeout(Duration::from_secs(20))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .spawn(RETAKE)
            .unwrap()
    };
    let mut terminal = start(&home);
    // A key that cannot be given keeps its default, and what is wrong is said at once; the others hold.
    terminal
        .wait_until(|screen| {
            screen.contains("config.toml:8: `w` is the key of `save-as`")
                && screen.contains("sort: size")
        })
        .unwrap();
    terminal.send(Key::Char('q'));
    assert!(terminal.wait_exit().unwrap().success());
    fs::write(
        config.join("config.toml"),
        settings.replace("\"w\"", "\"^q\""),
    )
    .unwrap();
    let mut terminal = start(&home);
    terminal
        .wait_until(|screen| {
            let words = ["sort: size", "F6 sort", "^q quit", " title "];
            words.iter().all(|words| screen.contains(words)) && !screen.contains("findings ")
        })
        .unwrap();
    terminal.send(Key::Char('q'));
    terminal.send(Key::Char('o'));
    terminal
        .wait_until(|screen| screen.contains("sort: findings"))
        .unwrap();
    terminal.send_str("\u{11}");
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_transcript_goes_through_the_pager_and_leaving_it_early_is_no_error() {
    let shown = |pager: &str, arguments: &str| {
        let path = bundled("broken-json.json");
        let script = format!(
            "export PAGER='{pager}'; '{RETAKE}' show {arguments} '{path}'; echo code=$?; read line"
        );
        let mut terminal = shell(&script, Path::new("."));
        terminal
            .wait_until(|screen| screen.contains("code="))
            .unwrap();
        let screen = terminal.screen().to_string();
        terminal.send(Key::Enter);
        assert!(screen.contains("code=0"), "{screen}");
        screen
    };
    let early = shown("head -n 1", "--full");
    assert!(early.contains("broken-json.json") && !early.contains("turn 2"));
    assert!(shown("sed s/monthly_payment/PAGED/", "").contains("PAGED("));
    let direct = shown("sed s/monthly_payment/PAGED/", "--no-pager");
    assert!(direct.contains("monthly_payment("), "{direct}");
}
