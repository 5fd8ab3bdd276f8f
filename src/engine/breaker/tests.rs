use super::*;
use crate::session::ledger::Ask;

fn call(id: &str) -> CallKey {
    CallKey {
        ask: Ask(1),
        call_id: id.to_owned(),
    }
}

#[test]
fn a_tool_that_was_never_used_may_be_used() {
    let mut breakers = Breakers::default();
    assert_eq!(breakers.admit("pay", &call("a"), 0), Admission::Run);
}
