//! From histories to the faces: an item as the comparison of two takes reads it.

use super::comparison::ItemText;
use crate::json::complete;
use crate::session::Session;
use crate::tui::state::preview::tool_of;

/// Bytes of an item that are read; what stands behind them is not compared.
const LOOK: u64 = 256 * 1024;
/// An item of a session as it is compared.
pub fn item_text(session: &Session, index: usize) -> Option<ItemText> {
    let item = session.items.get(index)?;
    let head = item.span.head(LOOK);
    let text = match session.source.read(head) {
        Ok(bytes) if head.len() < item.span.len() => complete(&bytes),
        Ok(bytes) => bytes,
        // A text that says why stands where the item cannot be read.
        Err(error) => error.to_string().into_bytes(),
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    Some(ItemText {
        kind: item.kind,
        tool: tool_of(session, index).to_owned(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Kind;
    use crate::tui::state::testing::session;

    #[test]
    fn an_output_is_told_with_the_tool_of_its_call_and_a_giant_one_with_its_beginning() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"serch","arguments":"{}"}}]}"#;
        let long = "x".repeat(2 * LOOK as usize);
        let output = format!(r#"{{"role":"tool","tool_call_id":"c1","content":"{long}"}}"#);
        let session = session(&format!("[{call},{output}]"));
        let told = item_text(&session, 1).unwrap();
        assert_eq!((told.kind, &told.tool[..]), (Kind::Output, "serch"));
        assert!(told.text.len() < LOOK as usize + 10);
        assert!(told.text.ends_with("x\"}"), "what was cut is closed");
        assert!(item_text(&session, 2).is_none());
    }
}
