//! Reading in parts gives what reading in one piece gives, whatever the parts.

use super::*;

/// Reads a text in parts of every small size and compares with reading it in one piece.
fn parts_change_nothing(text: &str) {
    let bytes = text.as_bytes().to_vec();
    let sample = Sample::new(&bytes, true);
    let format = formats::recognise(&sample).unwrap();
    let Reading::Records(records) = format.reading else {
        panic!("{}", format.id)
    };
    let whole = split::read_all(&records, &sample, &bytes);
    let told = |fragment: &Fragment| {
        let items = fragment
            .items
            .iter()
            .map(|item| (item.span, item.kind, item.record))
            .collect::<Vec<_>>();
        (
            items,
            fragment.records.clone(),
            fragment.problems.clone(),
            fragment.facts.clone(),
        )
    };
    for part in [17, 40, 64, 100, 333, 1000] {
        let mut file = File::new(&records, &bytes, bytes.len() as u64);
        (file.part, file.beyond, file.step) = (part, part / 2, 1 + part / 3);
        let read = file.read(&sample).unwrap();
        assert_eq!(told(&read), told(&whole), "parts of {part} bytes");
    }
}

#[test]
fn lines_read_in_parts_are_the_lines() {
    let line = |index: usize| {
        format!(
            "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
            "x".repeat(index * 7 % 90)
        )
    };
    parts_change_nothing(&(0..60).map(line).collect::<String>());
}

#[test]
fn broken_lines_and_shared_lines_stay_where_they_are() {
    let good = "{\"role\":\"user\",\"content\":\"a\"}";
    let text = format!(
        "{good}\n{{oops}}\n{good}{good}\n\n[1,\n{good}\n\"x\"\n{{\"role\":\"us\n{good}\n{{\"role\":\"user\",\"con"
    );
    parts_change_nothing(&text.repeat(3));
}

#[test]
fn an_array_on_one_line_is_read_like_lines() {
    // Contents hold arrays of objects and text that looks like a boundary: both invite wrong guesses.
    let message = |index: usize| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"a}},{{"}},{{"type":"text","text":"\"}},{{\"role\":{index}"}}],"tool_calls":[{{"id":"c{index}","function":{{"name":"f","arguments":"{{}}"}}}},{{"id":"d{index}","function":{{"name":"g"}}}}]}}"#
        )
    };
    let messages = (0..40).map(message).collect::<Vec<_>>().join(",");
    parts_change_nothing(&format!("[{messages}]"));
    parts_change_nothing(&format!(
        r#"{{"model":"m","messages":[{messages}],"tools":[{{"type":"function","function":{{"name":"f"}}}}]}}"#
    ));
}

#[test]
fn a_record_larger_than_a_part_is_one_record() {
    let long = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "},{\\\"a\\\":".repeat(300)
    );
    let short = "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"y\"}\n";
    parts_change_nothing(&[short, &long, short, &long, &long, short].concat());
}

#[test]
fn pretty_documents_are_read_across_their_lines() {
    let document = "{\n  \"role\": \"user\",\n  \"content\": \"hello\"\n}\n";
    parts_change_nothing(&document.repeat(40));
}
