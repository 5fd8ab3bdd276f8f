//! Secrets where people and programs write them, and what only looks like one.

use super::*;

/// Made up, and like no key of a known service.
const X: &str = "Zq7-vK2mPx9LwT4d";

/// As [`X`], without what ends a word.
const PLAIN: &str = "Zq7vK2mPx9LwT4dB8nR5";

/// Keys of services; put together so that no scanner takes them for keys.
fn service_keys() -> Vec<String> {
    let tail = "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6";
    let mut keys: Vec<String> = [
        "sk-proj-",
        "sk-ant-api03-",
        "sk-or-v1-",
        "gsk_",
        "xai-",
        "hf_",
        "ghp_",
        "github_pat_",
        "glpat-",
        "gldt-",
        "npm_",
        "pplx-",
        "vcp_",
        "xoxb-",
        "sk_live_",
        "nvapi-",
        "dckr_pat_",
    ]
    .iter()
    .map(|begins| format!("{begins}{tail}"))
    .collect();
    keys.push(format!("AIza{tail}"));
    keys.push(format!("SG.{}.{tail}", &tail[..22]));
    keys.push(format!("AKIA{}", &"ABCDEFGHIJKLMNOP2345"[..16]));
    keys.push(format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{tail}"));
    keys
}

/// Members of JSON whose text is a secret.
const MEMBERS: &[&str] = &[
    "token",
    "db_password",
    "auth",
    "bearer",
    "pwd",
    "pass",
    "ssh_key",
    "signing_key",
    "encryption_key",
    "webhook_secret",
    "connection_string",
    "DATABASE_URL",
    "password",
    "passwd",
    "passphrase",
    "api_key",
    "apiKey",
    "api-key",
    "secret",
    "client_secret",
    "access_token",
    "refresh_token",
    "auth_token",
    "authToken",
    "authorization",
    "cookie",
    "private_key",
    "GITHUB_TOKEN",
    "TOKEN",
    "PASSWORD",
    "PGPASSWORD",
    "github_token",
    "account_key",
    "credentials",
    "jwt",
];

/// Texts with `X` in them.
const TEXTS: &[&str] = &[
    "password: X",
    "password=X",
    "Password: X.",
    "PASSWORD=X",
    "DB_PASSWORD=X",
    "PGPASSWORD=X psql",
    "api_key: X",
    "api_key = X",
    "api_key = 'X'",
    "client_secret: \"X\"",
    "export TOKEN=X",
    "export GITHUB_TOKEN=X",
    "secret=\"X\"",
    "{\"token\":\"X\"}",
    "text {\"api_key\":\"X\"} text",
    "text {\\\"api_key\\\":\\\"X\\\"} text",
    "the answer was {\"user\": 1, \"password\": \"X\"}, so go on",
    "tool --api-key X --verbose",
    "tool --api-key=X",
    "tool --password 'X'",
    "curl -u admin:X https://h",
    "curl -s -X POST --user admin:X https://h",
    "<password>X</password>",
    "<apiKey>X</apiKey>",
    "machine h.example login me password X",
    "machine h.example\n  login me\n  password X\n",
    "//registry.npmjs.org/:_authToken=X",
    "mysql -h db -u root -pX shop",
    "sshpass -p X ssh me@h",
    "docker login -u me -p X h.example",
    "docker login --password X h.example",
    "os.environ[\"API_TOKEN\"] = \"X\"",
    "password: str = \"X\"",
    "  db_password: X\n  host: h",
    "Authorization: Bearer X",
    "Cookie: session=X",
    "https://h/v1?api_key=X",
    "postgres://me:X@h/db",
    "**password**: X",
];

/// What is not a secret.
const CLEAN: &[&str] = &[
    "max_tokens: 4096",
    "\"max_tokens\": 128000, \"token_count\": 12345678",
    "token_count=12345678",
    "author: Jane Doe-Smith 1985",
    "the password: is required",
    "Enter your password: it must have 8-64 letters.",
    "password = input()",
    "password = getpass.getpass(\"Password: \")",
    "token = tokens[0]",
    "token = tokens[index1]",
    "const token = await getToken1();",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "api_key=api_key2",
    "password = user.password2",
    "password: new_password,",
    "secret = self.secret_v2",
    "password: string;",
    "password: Optional[str] = None",
    "password: ********",
    "PASSWORD=${DB_PASSWORD_1}",
    "export TOKEN=$GITHUB_TOKEN",
    "--api-key $OPENAI_API_KEY",
    "--api-key <your key>",
    "docker login --password-stdin h.example",
    "mysql -u root -p shop",
    "token: <your-token-123>",
    "if token == tokens1234[0]: pass",
    "monkey=banana12345",
    "primary key: id_12345678",
    "next_page_token: abcdef123456",
    "the key: value123456 pairs",
    "curl -u $USER:$PASSWORD https://h",
    "curl -X POST https://h/a:b12345678",
    "<password></password><token>$TOKEN</token>",
    "machine learning needs no password here",
    "sk-learn and task-1 and risk-averse",
    "pin: GPIO13",
    "secret: https://h.example/docs/secrets1",
    "pwd: /home/me/project1",
    "tests: 12 passed, pass: 12 of 15",
    "token 12345678 of 20000000",
    "keyboard: qwerty123456",
];

/// Members of JSON whose text is none.
const CLEAN_MEMBERS: &[(&str, &str)] = &[
    ("next_page_token", "abcdefghijklmnop1234"),
    ("token", "Hello"),
    ("token", " 1234"),
    ("pwd", "/home/me/project1"),
    ("pass", "12 of 15"),
    ("auth", "none"),
    ("password", "string"),
    ("api_key", "${OPENAI_API_KEY}"),
    ("pin", "GPIO13"),
    ("author", "Jane Doe 1985"),
    ("forgot_password", "Forgot your password? 2 steps help."),
    ("max_tokens", "128000"),
    ("DATABASE_URL", "sqlite:///data1.db"),
];

fn text_of(text: &str) -> String {
    Redactor::default()
        .text(text, &mut Vault::default())
        .into_owned()
}

fn json_of(json: &serde_json::Value) -> String {
    let redacted = Redactor::default();
    let redacted = redacted
        .json(json.to_string().as_bytes(), &mut Vault::default())
        .into_owned();
    let redacted = String::from_utf8(redacted).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok());
    redacted
}

/// A text as users say it, as tools answer it, and as arguments hold it: as a string and as an object.
fn bodies(text: &str) -> Vec<serde_json::Value> {
    let arguments = serde_json::json!({"command": text}).to_string();
    vec![
        serde_json::json!({"messages": [{"role": "user", "content": text}]}),
        serde_json::json!({"input": [{"type": "function_call_output", "call_id": "c", "output": text}]}),
        serde_json::json!({"function": {"name": "f", "arguments": arguments}}),
        serde_json::json!({"type": "tool_use", "input": {"data": text}}),
    ]
}

#[test]
fn planted_secrets_are_found_wherever_people_write_them() {
    let mut left = Vec::new();
    for text in TEXTS {
        for secret in [X, PLAIN] {
            let planted = text
                .replace('X', secret)
                .replace(&format!("-{secret} POST"), "-X POST");
            let redacted = text_of(&planted);
            if redacted.contains(secret) {
                left.push(redacted);
            }
            for body in bodies(&planted) {
                let redacted = json_of(&body);
                if redacted.contains(secret) {
                    left.push(redacted);
                }
            }
        }
    }
    for name in MEMBERS {
        let arguments = serde_json::json!({*name: X, "q": 1});
        for body in [
            serde_json::json!({"arguments": arguments.to_string()}),
            serde_json::json!({"type": "tool_use", "input": arguments}),
        ] {
            let redacted = json_of(&body);
            if redacted.contains(X) {
                left.push(redacted);
            }
        }
    }
    for (name, code) in [("pin", "4711"), ("otp", "123456")] {
        let redacted = json_of(&serde_json::json!({"input": {name: code}}));
        if redacted.contains(code) {
            left.push(redacted);
        }
    }
    assert!(left.is_empty(), "{}:\n{}", left.len(), left.join("\n"));
}

#[test]
fn a_password_with_a_number_may_be_made_of_the_words_for_one() {
    for secret in ["hunter2secret", "mypassword123"] {
        for text in [
            "password: X",
            "password = \"X\"",
            "{\"password\": \"X\"}",
            "--password X",
            "passwd=X",
        ] {
            let text = text.replace('X', secret);
            assert!(!text_of(&text).contains(secret), "{text}");
            for body in bodies(&text) {
                assert!(!json_of(&body).contains(secret), "{body}");
            }
        }
    }
}

#[test]
fn keys_of_services_are_found_under_every_name() {
    for key in service_keys() {
        assert!(!text_of(&format!("use {key} now")).contains(&key), "{key}");
        for name in ["data", "signature", "b64_json", "encrypted_content", "x"] {
            for body in [
                serde_json::json!({"type": "tool_use", "input": {name: format!("key {key}")}}),
                serde_json::json!({"type": "tool_use", "input": {name: key}}),
                serde_json::json!({"type": "tool_use", "input": {"type": "thinking", name: key}}),
                serde_json::json!({name: key}),
            ] {
                assert!(!json_of(&body).contains(&key), "{body}");
            }
        }
    }
}

#[test]
fn prose_and_code_hold_no_secret() {
    let mut wrong = Vec::new();
    for text in CLEAN {
        let redacted = text_of(text);
        if redacted != *text {
            wrong.push(format!("{text} -> {redacted}"));
        }
        for body in bodies(text) {
            let redacted = json_of(&body);
            if redacted.as_str() != body.to_string().as_str() {
                wrong.push(format!("{body} -> {redacted}"));
            }
        }
    }
    for (name, text) in CLEAN_MEMBERS {
        let body = serde_json::json!({"input": {*name: text}});
        let redacted = json_of(&body);
        if redacted.as_str() != body.to_string().as_str() {
            wrong.push(format!("{body} -> {redacted}"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_known_value_is_found_in_every_spelling_and_in_what_a_provider_checks() {
    let secret = "gateway/key+without=shape 77";
    let redactor = Redactor::new([("KEY".to_owned(), secret.to_owned())]);
    let whole = |text: &str| redactor.text(text, &mut Vault::default()).into_owned();
    let in_url = "gateway%2Fkey%2Bwithout%3Dshape%2077";
    assert!(!whole(&format!("?k={in_url}")).contains("without"));
    assert!(!whole(&in_url.to_ascii_lowercase()).contains("without"));
    for user in ["", "u:", "me:", "you:", "some:"] {
        for behind in ["", "a", "ab"] {
            let plain = format!("{user}{secret}{behind}");
            for spelled in [STANDARD.encode(&plain), URL_SAFE_NO_PAD.encode(&plain)] {
                let redacted = whole(&format!("Basis {spelled}."));
                assert!(redacted.starts_with("Basis "), "{redacted}");
                // Nothing is left but what spells the user and what follows.
                let left = redacted.len() - "Basis [redacted KEY 00000000].".len();
                assert!(
                    redacted.contains("[redacted KEY ") && left <= 12,
                    "{redacted}"
                );
            }
        }
    }
    let thinks = serde_json::json!({"type": "thinking", "signature": format!("AAAA{secret}")});
    let redacted = redactor
        .json(thinks.to_string().as_bytes(), &mut Vault::default())
        .into_owned();
    assert!(!String::from_utf8(redacted).unwrap().contains("gateway"));
}

#[test]
fn a_value_that_stands_in_the_name_of_a_tool_is_no_secret() {
    let secrets = [
        ("A".to_owned(), "search_v2024".to_owned()),
        ("B".to_owned(), "weather1234".to_owned()),
        ("C".to_owned(), "function".to_owned()),
    ];
    let redactor = Redactor::sparing(secrets, ["search_v2024_web"]);
    let text = r#"{"type":"function","name":"search_v2024_web","x":"weather1234"}"#;
    let redacted = redactor
        .json(text.as_bytes(), &mut Vault::default())
        .into_owned();
    let redacted = String::from_utf8(redacted).unwrap();
    assert!(
        redacted.starts_with(r#"{"type":"function","name":"search_v2024_web","x":"[redacted B "#)
    );
}

#[test]
fn what_has_come_to_a_text_shows_no_secret_that_began_before() {
    let key = format!("sk-proj-{}", "Ab3dE6gH".repeat(5));
    for text in [
        format!("my key is {key}, keep it"),
        "password: Zq7vK2mPx9LwT4d and more".to_owned(),
        r#"{"password":"Zq7vK2mPx9LwT4d","q":1}"#.to_owned(),
    ] {
        for piece in 1..12 {
            let (mut said, mut told) = (String::new(), String::new());
            let letters: Vec<char> = text.chars().collect();
            for delta in letters.chunks(piece) {
                let before = said.len();
                said.extend(delta);
                told.push_str(&Redactor::default().grown(&said, before));
            }
            let shown = without_placeholders(&told);
            assert!(
                !shown.contains("Ab3dE6gH") && !shown.contains("Zq7v"),
                "{piece}: {told}"
            );
            assert!(!shown.contains("LwT4d"), "{piece}: {told}");
            assert!(
                told.ends_with("more") || told.contains("keep it") || told.ends_with("1}"),
                "{told}"
            );
        }
    }
}

/// A text with nothing in place of what was taken out of it, so that pieces between placeholders stand together.
fn without_placeholders(text: &str) -> String {
    let mut parts = text.split("[redacted ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + part.split_once(']').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn what_was_taken_out_is_not_found_again() {
    for text in TEXTS {
        let clean = shareable(&text.replace("-X POST", "-s").replace('X', X));
        assert!(clean.contains("[redacted "), "{clean}");
        let body = serde_json::json!({"content": clean}).to_string();
        assert!(kinds_in_json(body.as_bytes()).is_empty(), "{clean}");
    }
    let body =
        serde_json::json!({"content": "mine is [redacted], password: Zq7-vK2mPx9"}).to_string();
    assert_eq!(kinds_in_json(body.as_bytes()), ["password"]);
}
