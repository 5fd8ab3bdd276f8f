//! Rounds of mending.

use super::*;
use crate::{ReadOptions, read_path};

#[test]
fn any_number_of_further_outputs_goes_in_one_round() {
    let output = r#"{"role":"tool","tool_call_id":"c","content":"1"},"#;
    let text = format!(
        r#"[{{"role":"user","content":"hi"}},
{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},
{}{{"role":"user","content":"thanks"}}]"#,
        output.repeat(21)
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, text).unwrap();
    let recording = read_path(&path, &ReadOptions::default()).unwrap();
    let base = Base::new(Arc::new(recording), Some(&path)).unwrap();
    let mending = FixRun {
        base: &base,
        wants: &|_| true,
        up_to: Safety::Safe,
        target: None,
        complete: &|_| (),
        progress: &|_, _| (),
        before_check: &|_| (),
        cuts_torn_line: false,
        names_format: false,
    };
    let mended = mending.run().unwrap();
    assert_eq!(mended.applied.len(), 20);
    assert!(mended.applied.iter().all(|one| one.round == 1));
    assert!(mended.refused.is_empty() && errors_of(&mended.found[1]) == 0);
}

fn errors_of(tally: &Tally) -> usize {
    let errors = tally.iter().filter(|((of, _), _)| *of == Severity::Error);
    errors.map(|(_, count)| count).sum()
}
