//! `export --to html|markdown`: a transcript that can be shared, in which nothing of the recording is more than text.

use super::{STORY, folder, told};
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

fn page(folder: &Path, form: &str, more: &[&str]) -> String {
    let arguments = [&["export", "run.json", "--to", form][..], more].concat();
    let (code, out, err) = told(folder, &arguments);
    assert_eq!((code, &err[..]), (0, ""));
    out
}

#[test]
fn a_page_has_an_anchor_for_each_turn_and_links_each_finding_to_its_item() {
    let here = folder(&[("run.json", STORY)]);
    let html = page(here.path(), "html", &[]);
    for part in [
        "<h3 class=turn id=\"turn-1\">",
        "<h3 class=turn id=\"turn-3\">",
        "<a href=\"#item-2\">",
        "id=\"item-2\"",
        "serch_flights",
        "KS 218 leaves at nine.",
        "Keys and passwords were replaced",
    ] {
        assert!(html.contains(part), "{part}:\n{html}");
    }
    let markdown = page(here.path(), "markdown", &[]);
    let markdown = markdown.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(markdown);
}

#[test]
fn the_markdown_of_messages_stays_and_what_is_active_in_it_is_text() {
    let said = "# Result\n\n| a | b |\n|---|--:|\n| `x` | **2** |\n\nSee [main.rs](src/main.rs#L3), [run](javascript:run) \
        and <b>this</b>.\n\n```rust\nfn f() -> Vec<u8> {}\n```\n\n```py\nopen";
    let messages = json!([
        {"role": "user", "content": "Look\nat *it*."},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "So?"},
        {"role": "assistant", "content": "{\"a\":[1,2]}"},
    ]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let markdown = page(here.path(), "markdown", &[]);
    for part in [
        "\nLook  \nat *it*.\n",
        "\n#### Result\n\n| a | b |\n|---|--:|\n| `x` | **2** |\n",
        "See [main.rs](src/main.rs#L3), \\[run](javascript:run) and &lt;b&gt;this&lt;/b&gt;.\n",
        "\n```rust\nfn f() -> Vec<u8> {}\n```\n",
        "\n```py\nopen\n```\n\n### ",
        "\n```text\n{\n  \"a\": [\n",
    ] {
        assert!(markdown.contains(part), "{part}:\n{markdown}");
    }
}

#[test]
fn thoughts_are_quoted_in_markdown_also_where_they_are_a_part_of_a_message() {
    let messages = json!([
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "It is 4.", "reasoning_content": "Easy.\n\nTwo and two."},
    ]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let markdown = page(here.path(), "markdown", &[]);
    let said = "\n> Easy.\n>\n> Two and two.\n\nIt is 4.\n";
    assert!(markdown.contains(said), "{markdown}");
}

#[test]
fn long_results_are_folded_and_whole() {
    let lines = (1..=40).map(|line| format!("line {line}\n"));
    let story = STORY.replace(
        "KS 218 at nine",
        &lines.collect::<String>().replace('\n', "\\n"),
    );
    let here = folder(&[("run.json", &story)]);
    let html = page(here.path(), "html", &[]);
    let (before, whole) = html.rsplit_once("</summary>").unwrap();
    assert!(before.contains("line 1<") && !before.contains("line 40<"));
    assert!(whole.contains("line 40<"));
    let markdown = page(here.path(), "markdown", &[]);
    assert!(markdown.contains("<details><summary>40 lines</summary>\n\n```text\nline 1\n"));
}

#[test]
fn an_empty_line_of_a_text_is_as_high_as_a_line() {
    let messages = json!([{"role": "user", "content": "One.\n\nTwo."}]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let html = page(here.path(), "html", &[]);
    assert!(html.contains("<span class=l></span></div>"), "{html}");
    let [row, line] = [
        r"\n\.row \{[^}]* min-height: ([\d.]+)em",
        r"font: 13px/([\d.]+) ",
    ]
    .map(|rule| Regex::new(rule).unwrap().captures(&html).unwrap()[1].to_owned());
    assert_eq!(row, line);
}

#[test]
fn the_contents_show_a_turn_in_one_plain_line_and_calls_as_in_the_transcript() {
    let call = |id: &str, name: &str, arguments: Value| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}}]})
    };
    let messages = json!([
        {"role": "user", "content": "Please write the **config loader**.\n\n- JSON\n- TOML"},
        call("a", "Edit", json!({"file_path": "loader.py", "old_string": "a", "new_string": "b"})),
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "user", "content": "And the data?"},
        call("b", "mcp__db__query", json!({"sql": "select 1"})),
        {"role": "tool", "tool_call_id": "b", "content": "1"},
    ]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let html = page(here.path(), "html", &[]);
    for line in [
        ">1  you: Please write the config loader. - JSON - TOML</a>",
        ">2  assistant: Edit(loader.py)</a>",
        ">4  assistant: db.query(select 1)</a>",
    ] {
        assert!(html.contains(line), "{line}:\n{html}");
    }
    let markdown = page(here.path(), "markdown", &[]);
    assert!(
        markdown.contains("[1 you: Please write the config loader. "),
        "{markdown}"
    );
}

#[test]
fn a_picture_is_in_the_column_of_the_text() {
    let picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let messages = json!([{"role": "user", "content": [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": picture}},
    ]}]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let html = page(here.path(), "html", &[]);
    assert!(html.contains("<img alt=picture "), "{html}");
    let text = Regex::new(r#"--i:(\d+)"><span class=l>Look"#).unwrap();
    let text = &text.captures(&html).unwrap()[1];
    let image = Regex::new(r"\nimg \{[^}]* margin: [\d.]+em 0 [\d.]+em (\d+)ch").unwrap();
    assert_eq!(&image.captures(&html).unwrap()[1], text);
}

#[test]
fn the_rows_of_what_is_folded_fit_into_the_page() {
    let line = (1..=60).map(|word| format!("word{word}"));
    let line = line.collect::<Vec<_>>().join(" ");
    let text = vec![line; 30].join("\n\n");
    let messages = json!([{"role": "user", "content": text}]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let html = page(here.path(), "html", &[]);
    let width = Regex::new(r"max-width: (\d+)ch").unwrap();
    let width: usize = width.captures(&html).unwrap()[1].parse().unwrap();
    let row = Regex::new(r#"row folded" style="--i:(\d+)"><span class=l>([^<]*)"#).unwrap();
    let rows: Vec<usize> = row
        .captures_iter(&html)
        .map(|row| row[1].parse::<usize>().unwrap() + row[2].chars().count())
        .collect();
    assert!(rows.len() > 8, "{html}");
    let padding = 6;
    assert!(rows.iter().all(|row| row + padding <= width), "{rows:?}");
}

#[test]
fn a_long_line_is_whole_whether_its_item_is_folded_or_not() {
    let words: Vec<String> = (1..=60).map(|word| format!("word{word}")).collect();
    let paragraphs = vec![words.join(" "); 30].join("\n\n");
    for text in [words.join(" "), paragraphs] {
        let messages = json!([{"role": "user", "content": text}]);
        let here = folder(&[("run.json", &messages.to_string())]);
        let html = page(here.path(), "html", &[]);
        // What is drawn of the item once it is opened.
        let open = html.rsplit_once("id=\"item-1\"").unwrap().1;
        let open: String = open
            .split("<div class=\"row")
            .filter(|row| !row.split('"').next().unwrap().contains("folded"))
            .collect();
        assert_eq!(
            open.matches("word60<").count(),
            text.matches("word60").count()
        );
        assert_eq!(
            open.matches("word1 ").count(),
            text.matches("word1 ").count(),
            "{html}"
        );
    }
}

#[test]
fn the_head_of_a_page_says_when_it_was_and_what_it_took() {
    let here = folder(&[]);
    let log = [
        json!({"type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s",
            "timestamp": "2026-03-02T14:00:00.000Z", "message": {"role": "user", "content": "Hi."}}),
        json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s",
            "timestamp": "2026-03-02T14:01:05.000Z", "message": {"id": "m", "role": "assistant",
            "model": "claude-sonnet-4-5-20250929", "content": [{"type": "text", "text": "Hello."}],
            "usage": {"input_tokens": 90000, "output_tokens": 10000}}}),
    ];
    let log = log.map(|line| line.to_string() + "\n").concat();
    std::fs::write(here.path().join("run.json"), log).unwrap();
    for form in ["html", "markdown"] {
        let page = page(here.path(), form, &[]);
        for fact in ["Mon 2 Mar 2026", "1m05s", "100k tok", "$0.42"] {
            assert!(page.contains(fact), "{fact}: {page}");
        }
    }
}

#[test]
fn a_short_result_is_on_the_page_once() {
    let here = folder(&[("run.json", STORY)]);
    let html = page(here.path(), "html", &[]);
    assert_eq!(html.matches("KS 218 at nine").count(), 1, "{html}");
}

#[test]
fn sessions_of_a_file_follow_one_another_with_anchors_of_their_own() {
    let session = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let two = format!("{}\n{}\n", session("first"), session("second"));
    let here = folder(&[("run.json", &two)]);
    let html = page(here.path(), "html", &[]);
    for part in [
        "id=\"turn-1\"",
        "id=\"s2-turn-1\"",
        "id=\"session-2\"",
        "2 sessions",
    ] {
        assert!(html.contains(part), "{part}:\n{html}");
    }
    let html = page(here.path(), "html", &["--session", "2"]);
    assert!(html.contains("second") && !html.contains("first"), "{html}");
}

#[test]
fn what_is_about_a_recovery_is_refused_for_a_page() {
    let here = folder(&[("run.json", STORY)]);
    let arguments = ["export", "run.json", "--to", "html", "--action", "retry"];
    let (code, out, err) = told(here.path(), &arguments);
    assert_eq!((code, &out[..]), (2, ""));
    assert_eq!(
        err,
        "retake: --action applies to a recovery, not to a transcript page\n  hint: --session chooses one of several sessions\n"
    );
    std::fs::write(here.path().join("page.html"), "mine").unwrap();
    let arguments = ["export", "run.json", "--to", "html", "-o", "page.html"];
    let (code, _, err) = told(here.path(), &arguments);
    assert_eq!(code, 2, "{err}");
    let text = std::fs::read_to_string(here.path().join("page.html")).unwrap();
    assert_eq!(text, "mine");
}

#[derive(Deserialize)]
struct Corpus {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: Option<String>,
}

/// What would be HTML, a link, an image or the end of something where it is taken for more than text.
const MARKUP: [&str; 16] = [
    "<script>document.title='owned'</script>",
    "<img src=http://127.0.0.1:9/x onerror=document.title='owned'>",
    "</style></head><script>document.title='owned'</script>",
    "\"><svg onload=document.title='owned'>",
    "' onmouseover='document.title=1",
    "<!--",
    "-->",
    "<![CDATA[",
    "&lt;script&gt;",
    "![x](http://127.0.0.1:9/x)",
    "[x](javascript:document.title='owned')",
    "[x]: http://127.0.0.1:9/x\n![x]",
    "```\n<b>after a fence</b>\n```",
    "~~~\n<b>after a fence</b>",
    "``<b>`` `<i>`",
    "</details></summary><h1>out</h1>",
];

/// A recording with a hostile text in each place that a page shows.
fn hostile() -> String {
    let corpus = include_str!("../hostile/escape_corpus.json");
    let corpus: Corpus = serde_json::from_str(corpus).unwrap();
    let texts = corpus.items.into_iter().filter_map(|item| item.text);
    let texts = texts.chain(MARKUP.map(str::to_owned));
    let mut messages = Vec::<Value>::new();
    for (number, text) in texts.enumerate() {
        let id = format!("call_{number}");
        let arguments = json!({"command": text, (text.clone()): "value"}).to_string();
        messages.extend([
            json!({"role": "user", "content": text}),
            json!({"role": "assistant", "content": text, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": text, "arguments": arguments}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": format!("{text}\n{text}")}),
        ]);
    }
    json!({"model": MARKUP[0], "messages": messages}).to_string()
}

#[test]
fn no_text_of_a_recording_becomes_a_tag_an_attribute_or_a_control() {
    let here = folder(&[("run.json", &hostile())]);
    let html = page(here.path(), "html", &["--keep-secrets"]);
    let tag = Regex::new(
        r#"^(?x:<!doctype\ html>|<html\ lang=en>|<meta\ [^<>]*>
        |</?(?:html|head|title|style|body|header|nav|footer|h[123]|ul|li|summary|details|span|div|a)>
        |<(?:header|span|div|summary|details|a|h2|h3)
          (?:\ class=(?:\w+|"[\w\ -]+")|\ id="[\w-]+"|\ href="\#[\w-]+"|\ style="--i:\d+")+>)"#,
    )
    .unwrap();
    for (at, _) in html.match_indices('<') {
        assert!(
            tag.is_match(&html[at..]),
            "{:?}",
            html[at..].chars().take(80).collect::<String>()
        );
    }
    assert_eq!(html.matches("<title>").count(), 1);
    let controls = html
        .chars()
        .filter(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'));
    assert_eq!(controls.count(), 0);
}

#[test]
fn no_text_of_a_recording_becomes_html_or_an_image_in_markdown() {
    let here = folder(&[("run.json", &hostile())]);
    let markdown = page(here.path(), "markdown", &["--keep-secrets"]);
    let own = Regex::new(
        r#"^(<a id="(s\d+-)?turn-\d+">|</a>|</?sub>|<details><summary>(\d+ lines|contents: \d+ turns)</summary>|</details>)\s*$"#,
    )
    .unwrap();
    let (mut tags, mut headings) = (0, 0);
    for event in Parser::new_ext(&markdown, Options::all()) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                tags += 1;
                assert!(own.is_match(&html), "{html:?}");
            }
            Event::Start(Tag::Image { dest_url, .. }) => panic!("an image of {dest_url}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert!(!dest_url.starts_with("javascript"), "{dest_url}");
            }
            Event::Start(Tag::Heading { .. }) => headings += 1,
            _ => {}
        }
    }
    assert!(tags > 1000 && headings > 500, "{tags} {headings}");
}

/// A log of Claude Code in which a sub-agent was called, whose work is in the same file.
fn with_sub_agent() -> String {
    let line = |uuid: &str, parent: Value, side: bool, kind: &str, content: Value| {
        let message = match kind {
            "assistant" if uuid == "4" => {
                json!({"role": kind, "model": "claude", "content": content,
                "id": "m4", "usage": {"input_tokens": 12000, "output_tokens": 300}})
            }
            "assistant" => json!({"role": kind, "model": "claude", "content": content}),
            _ => json!({"role": kind, "content": content}),
        };
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "isSidechain": side, "message": message})
        .to_string()
    };
    let task = json!([{"type": "tool_use", "id": "toolu_1", "name": "Task",
        "input": {"description": "count", "prompt": "Count the <files>."}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Three."}]);
    let text = |words: &str| json!([{"type": "text", "text": words}]);
    [
        line("1", Value::Null, false, "user", json!("How many?")),
        line("2", json!("1"), false, "assistant", task),
        line("a", Value::Null, true, "user", json!("Count the <files>.")),
        line("b", json!("a"), true, "assistant", text("There are three.")),
        line("3", json!("2"), false, "user", result),
        line("4", json!("3"), false, "assistant", text("Three *files*.")),
    ]
    .join("\n")
}

#[test]
fn a_page_lists_its_turns_and_a_sub_agent_is_linked_with_its_call_both_ways() {
    let here = folder(&[("run.json", &with_sub_agent())]);
    let html = page(here.path(), "html", &[]);
    for part in [
        "<nav class=contents>",
        "<li><a href=\"#session-2\">",
        "<li><a href=\"#turn-1\">1  you: How many?</a>",
        "<li><a href=\"#s2-turn-1\">1  you: Count the &lt;files&gt;.</a>",
        "<p class=agent><a href=\"#session-2\">sub-agent 1: Count the &lt;files&gt;.</a>",
        "<h2 id=\"session-2\">sub-agent 1: Count the &lt;files&gt;.</h2>",
        "<p class=agent><a href=\"#item-2\">called in turn 2 of main history</a>",
    ] {
        assert!(html.contains(part), "{part}:\n{html}");
    }
    let link = Regex::new("href=\"#([^\"]+)\"").unwrap();
    for found in link.captures_iter(&html) {
        let id = format!("id=\"{}\"", &found[1]);
        assert!(html.contains(&id), "{id}:\n{html}");
    }

    let markdown = page(here.path(), "markdown", &[]);
    for part in [
        "- [main history](#session-1) 3 turns · 12.3k tok\n- [sub-agent 1: Count the ",
        "](#session-2) 2 turns",
        "- [1 you: How many?](#turn-1)",
        "\n[sub-agent 1: Count the ",
        "## <a id=\"session-2\"></a>sub-agent 1: Count the ",
        "\n[called in turn 2 of main history",
        "](#turn-2)\n",
    ] {
        assert!(markdown.contains(part), "{part}:\n{markdown}");
    }
    let link = Regex::new(r"\]\(#([^)]+)\)").unwrap();
    for found in link.captures_iter(&markdown) {
        let id = format!("<a id=\"{}\"></a>", &found[1]);
        assert!(markdown.contains(&id), "{id}:\n{markdown}");
    }

    let (_, shown, _) = told(here.path(), &["show", "run.json"]);
    for part in [
        "run.json, main history  claude-code, ",
        "run.json, sub-agent 1: Count the <files>.  claude-code, ",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let (_, main, _) = told(
        here.path(),
        &["show", "run.json", "--session", "main history"],
    );
    assert!(
        main.contains("How many?") && !main.contains("There are three."),
        "{main}"
    );
}

#[test]
fn what_a_sub_agent_reports_is_rendered_and_what_a_program_prints_is_not() {
    let call = |id: &str, name: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": name, "arguments": "{\"prompt\":\"p\"}"}}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "# Head\n\nAn *odd* one."});
    let messages = json!([{"role": "user", "content": "Go."}, call("a", "Task"), result("a"),
        call("b", "shell"), result("b")]);
    let here = folder(&[("run.json", &messages.to_string())]);
    let html = page(here.path(), "html", &[]);
    let (task, shell) = html.split_once("\"k-call\">shell").unwrap();
    assert!(
        task.contains("<span class=\"heading\">Head</span>"),
        "{html}"
    );
    assert!(task.contains("<span class=\"em\">odd</span>"), "{html}");
    assert!(
        shell.contains("# Head<") && shell.contains("An *odd* one."),
        "{html}"
    );
}
