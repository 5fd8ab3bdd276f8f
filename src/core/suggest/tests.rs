//! Names that models wrote, and what was meant.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use super::*;

const TOOLS: [&str; 12] = [
    "get_weather",
    "get_current_weather",
    "search_flights",
    "book_flight",
    "cancel_reservation",
    "read_file",
    "write_file",
    "list_directory",
    "web_search",
    "send_email",
    "create_calendar_event",
    "get_user_details",
];

fn best(name: &str, offered: &[&str]) -> Option<(String, SuggestionReason)> {
    nearest(name, offered)
        .into_iter()
        .next()
        .map(|best| (best.name, best.why))
}

#[track_caller]
fn means(name: &str, offered: &[&str], expected: &str, why: SuggestionReason) {
    assert_eq!(
        best(name, offered),
        Some((expected.to_owned(), why)),
        "{name}"
    );
}

#[test]
fn prefixes_namespaces_case_and_separators_do_not_matter() {
    for name in [
        "functions.get_weather",
        "default_api:get_weather",
        "default_api.get_weather",
        "getWeather",
        "GetWeather",
        "get-weather",
        "GET_WEATHER",
        "get weather",
        "getweather",
        "mcp__weather__get_weather",
        "weather.get_weather",
        " get_weather ",
    ] {
        means(name, &TOOLS, "get_weather", SuggestionReason::SameTool);
        assert!((nearest(name, &TOOLS)[0].score - 1.0).abs() < f64::EPSILON);
    }
    let forms = ["mcp__a__b", "a.b", "b", "a__b", "a_b"];
    for name in forms {
        for offered in ["mcp__a__b", "a.b", "a__b"] {
            means(name, &[offered], offered, SuggestionReason::SameTool);
        }
    }
    means("mcp__a__b", &["b"], "b", SuggestionReason::SameTool);
}

#[test]
fn two_namespaces_are_two_tools() {
    let found = nearest("crm.search", &["wiki.search", "shop.search"]);
    assert!(
        found
            .iter()
            .all(|suggestion| suggestion.why == SuggestionReason::SameWords),
        "{found:?}"
    );
    let both: Vec<_> = nearest("search", &["wiki.search", "shop.search", "shop.order"])
        .into_iter()
        .map(|found| found.name)
        .collect();
    assert_eq!(both, ["wiki.search", "shop.search"]);
}

#[test]
fn the_same_words_in_another_order_are_found() {
    means(
        "searchWeb",
        &TOOLS,
        "web_search",
        SuggestionReason::SameWords,
    );
    means(
        "flight_book",
        &TOOLS,
        "book_flight",
        SuggestionReason::SameWords,
    );
    means(
        "get_details",
        &TOOLS,
        "get_user_details",
        SuggestionReason::SameWords,
    );
}

#[test]
fn ten_typos_of_each_of_twelve_tools_lead_back() {
    let mut missed = Vec::new();
    for tool in TOOLS {
        for typo in typos(tool) {
            if best(&typo, &TOOLS).map(|(name, _)| name).as_deref() != Some(tool) {
                missed.push(typo);
            }
        }
    }
    eprintln!("typos not led back: {missed:?} of {}", TOOLS.len() * 10);
    assert!(missed.is_empty(), "{missed:?}");
}

/// Swapped, lost, doubled and wrong letters, lost separators, other case, a lost end.
fn typos(tool: &str) -> [String; 10] {
    let letters: Vec<char> = tool.chars().collect();
    let middle = letters.len() / 2;
    let edit = |change: &dyn Fn(&mut Vec<char>)| {
        let mut letters = letters.clone();
        change(&mut letters);
        letters.into_iter().collect::<String>()
    };
    [
        edit(&|letters| letters.swap(1, 2)),
        edit(&|letters| {
            letters.remove(1);
        }),
        edit(&|letters| {
            letters.remove(middle);
        }),
        edit(&|letters| letters.insert(middle, letters[middle])),
        edit(&|letters| letters[0] = 'x'),
        edit(&|letters| {
            letters.pop();
        }),
        edit(&|letters| letters.push('s')),
        tool.replace('_', ""),
        tool.replace('_', "-").to_uppercase(),
        format!("functions.{}", edit(&|letters| letters.swap(2, 1))),
    ]
}

#[test]
fn other_words_for_the_same_thing_are_found() {
    means(
        "shell",
        &["terminal", "browser"],
        "terminal",
        SuggestionReason::Synonym,
    );
    means(
        "Bash",
        &["run_command", "get_weather"],
        "run_command",
        SuggestionReason::Synonym,
    );
    means("cat", &TOOLS, "read_file", SuggestionReason::Synonym);
    means("ls", &TOOLS, "list_directory", SuggestionReason::Synonym);
    means(
        "google_web_search",
        &["internet_search"],
        "internet_search",
        SuggestionReason::Synonym,
    );
    means(
        "grep",
        &["fs.search_files"],
        "fs.search_files",
        SuggestionReason::Synonym,
    );
}

#[test]
fn the_name_of_an_agent_leads_to_its_handoff() {
    let offered = [
        "transfer_to_billing_agent",
        "transfer_to_refund_agent",
        "lookup_order",
    ];
    for name in [
        "billing agent",
        "Billing Agent",
        "billing",
        "BillingAgent",
        "transfer_to_billing",
        "biling agent",
    ] {
        means(
            name,
            &offered,
            "transfer_to_billing_agent",
            SuggestionReason::Handoff,
        );
    }
}

#[test]
fn nothing_near_means_nothing_offered() {
    let weather = [
        "get_weather",
        "get_forecast",
        "get_current_weather",
        "search_city",
        "list_stations",
    ];
    for name in [
        "bash",
        "Read",
        "python",
        "multi_tool_use.parallel",
        "apply_patch",
        "x",
        "",
        "___",
        "transfer",
        "json_tool_call",
    ] {
        assert_eq!(nearest(name, &weather), [], "{name}");
    }
    assert_eq!(nearest("bash", &[]), []);
}

#[test]
fn at_most_three_come_best_first() {
    let offered: Vec<String> = (1..9)
        .map(|number| format!("get_weather_{number}"))
        .collect();
    let found = Catalogue::new(&offered).nearest("get_weather");
    assert_eq!(found.len(), 3);
    assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn tools_of_well_known_agents_are_named() {
    let homes = [
        ("Bash", Some("Claude Code")),
        ("AskUserQuestion", Some("Claude Code")),
        ("write_stdin", Some("Codex")),
        ("functions.apply_patch", Some("Codex")),
        ("run_shell_command", Some("Gemini CLI")),
        ("attempt_completion", Some("Cline")),
        ("execute_bash", Some("OpenHands")),
        ("python", Some("ChatGPT")),
        ("multi_tool_use.parallel", Some("ChatGPT")),
        ("get_weather", None),
        ("read_file", None),
    ];
    for (name, home) in homes {
        assert_eq!(home_of(name), home, "{name}");
    }
}

#[test]
fn hostile_names_are_cut_and_never_panic() {
    for name in [
        "a".repeat(1_000_000),
        "é_".repeat(1000),
        "..__::".to_owned(),
        "transfer_to_".to_owned(),
        "İ".repeat(50),
    ] {
        let _ = nearest(&name, &TOOLS);
        let _ = nearest("get_weather", &[name.as_str()]);
    }
}

#[test]
fn a_word_of_a_name_leads_to_its_tool() {
    let shop = ["get_weather", "search_products", "get_stock_price"];
    means(
        "search",
        &shop,
        "search_products",
        SuggestionReason::CommonWord,
    );
    means(
        "stock",
        &shop,
        "get_stock_price",
        SuggestionReason::CommonWord,
    );
    means(
        "prod",
        &shop,
        "search_products",
        SuggestionReason::CommonWord,
    );
    means(
        "order",
        &["lookup_order", "get_weather"],
        "lookup_order",
        SuggestionReason::CommonWord,
    );
    means(
        "issue",
        &["create_issue", "get_weather"],
        "create_issue",
        SuggestionReason::CommonWord,
    );
    means(
        "delete",
        &["delete_customer_account", "get_user"],
        "delete_customer_account",
        SuggestionReason::CommonWord,
    );
    // A noun alone says nothing of taking away.
    assert_eq!(nearest("order", &["cancel_order", "delete_order"]), []);
    assert_eq!(nearest("pro", &shop), []);
}

#[test]
fn a_verb_is_never_changed_into_another_kind() {
    for (name, offered) in [
        ("delete_user", &["get_user", "create_user"][..]),
        ("unlock_door", &["lock_door"]),
        ("disable_alarm", &["enable_alarm"]),
        ("get_invoice", &["set_invoice", "send_invoice"]),
        ("createUser", &["delete_user"]),
        ("updte_user", &["delete_user"]),
        ("user_delete", &["user_create"]),
        ("reject_request", &["accept_request"]),
    ] {
        assert_eq!(nearest(name, offered), [], "{name}");
    }
    means(
        "delet_user",
        &["get_user", "delete_user"],
        "delete_user",
        SuggestionReason::Spelling,
    );
    means(
        "find_user",
        &["find_users", "delete_user"],
        "find_users",
        SuggestionReason::Spelling,
    );
}

#[test]
fn a_suggestion_says_how_the_name_differs() {
    for (name, offered, because) in [
        ("serch_flights", "search_flights", "typo"),
        ("get_wether", "get_weather", "typo"),
        ("delet_user", "delete_user", "typo"),
        ("remove_user", "delete_user", "another verb"),
        ("delete_user", "remove_user", "another verb"),
        ("fetch_orders", "search_orders", "another verb"),
        (
            "create_invoice_draft",
            "create_invoice_graph",
            "word in common",
        ),
        ("BASH", "bash", "letter case"),
        ("getWeather", "get_weather", "separators"),
        ("get weather", "get_weather", "separators"),
        ("search", "finance.search", "namespace left out"),
        ("finance_search", "finance.search", "flattened namespace"),
        ("functions.get_weather", "get_weather", "prefix"),
        ("mcp__weather__get_weather", "get_weather", "prefix"),
        ("crm.search", "wiki.search", "another namespace"),
        ("web.google", "search.google", "another namespace"),
        ("google_google", "google", "a word twice"),
        ("billing", "transfer_to_billing_agent", "name of the agent"),
        ("weather_get", "get_weather", "same words in another order"),
        ("get_details", "get_user_details", "words in common"),
        ("get_weather", "get_current_weather", "words in common"),
        ("shell", "terminal", "another word for it"),
        ("google", "web_search", "another word for it"),
        ("search", "search_products", "word in common"),
        ("prod", "search_products", "beginning of a word"),
    ] {
        let found = nearest(name, &[offered]);
        let told = found.first().map(|found| found.because);
        assert_eq!(told, Some(because), "{name} for {offered}");
    }
}
