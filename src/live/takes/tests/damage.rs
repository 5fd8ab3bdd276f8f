//! Journals that were cut, changed or written by another version.

use super::*;
use crate::journal::Scan;

/// The events that can be read from a journal, by the number of their line.
fn events_of(scan: &Scan) -> Vec<(u64, TakeEvent)> {
    let lines = scan.lines.iter();
    let event = |entry: &str| serde_json::from_str(entry).unwrap();
    lines.map(|line| (line.seq, event(&line.entry))).collect()
}

#[test]
fn a_torn_tail_at_any_byte_costs_nothing_but_itself() {
    let home = Home::new();
    let events = twenty(&home);
    let path = home.journal();
    let whole = fs::read(&path).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in 0..whole.len() {
        fs::remove_dir_all(Subfolder::Takes.path(&home.root())).unwrap();
        let mut opened = home.open();
        assert!(keep_take(&mut opened));
        drop(opened);
        fs::write(&path, &whole[..cut]).unwrap();

        let mut opened = home.open();
        // The line feed may be all that is missing.
        let is_end = |end: usize| whole[..end].ends_with(b"}") && whole[end] == b'\n';
        let ends = (0..=cut).filter(|end| is_end(*end)).collect::<Vec<_>>();
        let kept = ends.len().saturating_sub(1);
        assert_eq!(opened.journal.entries.len(), kept, "cut at {cut}");
        let clean = ends.last().map_or(0, |end| (end + 1).min(cut));
        assert_eq!(opened.damages.is_empty(), clean == cut, "cut at {cut}");

        assert!(keep_take(&mut opened), "cut at {cut}");
        let takes = opened.takes.clone();
        drop(opened);
        let again = home.open();
        assert_eq!(again.takes, takes, "cut at {cut}");
        assert_eq!(again.damages, [], "cut at {cut}");
        let torn = path.with_extension("torn");
        let tail = fs::read(torn).unwrap_or_default();
        assert_eq!(tail, &whole[clean..cut], "cut at {cut}");
        if cut > first_line {
            let mut now = fs::read(&path).unwrap();
            now.truncate(clean);
            assert_eq!(now, &whole[..clean], "cut at {cut}");
        }
    }
    assert_eq!(events.len(), 20);
}

#[test]
fn a_changed_byte_costs_its_line_and_is_told() {
    let home = Home::new();
    let events = twenty(&home);
    let mut bytes = fs::read(home.journal()).unwrap();
    for at in 0..bytes.len() {
        for mask in [1 << (at % 8), 0xff] {
            bytes[at] ^= mask;
            let scan = Scan::of(&bytes);
            let read = events_of(&scan);
            assert!(read.len() >= 19, "byte {at} changed by {mask}");
            for (seq, event) in &read {
                assert_eq!(*event, events[*seq as usize - 1], "byte {at}");
            }
            assert!(!scan.damages.is_empty(), "byte {at} changed by {mask}");
            assert!(scan.next > scan.lines.last().unwrap().seq);
            bytes[at] ^= mask;
        }
    }
}

#[test]
fn a_changed_byte_on_the_disk_lets_the_neighbours_load_and_the_journal_go_on() {
    let home = Home::new();
    twenty(&home);
    let path = home.journal();
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x04;
        fs::write(&path, bytes).unwrap();
        let mut opened = home.open();
        assert!(opened.journal.not_recording().is_none(), "byte {at}");
        assert!(!opened.damages.is_empty(), "byte {at}");
        assert!(keep_take(&mut opened), "byte {at}");
        let takes = opened.takes.clone();
        drop(opened);
        assert_eq!(home.open().takes.branches(), takes.branches(), "byte {at}");
        for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn a_page_of_nul_bytes_costs_what_it_covers() {
    let home = Home::new();
    twenty(&home);
    let path = home.journal();
    let mut bytes = fs::read(&path).unwrap();
    let (start, end) = (bytes.len() / 3, bytes.len() / 2);
    bytes[start..end].fill(0);
    fs::write(&path, &bytes).unwrap();
    let opened = home.open();
    assert!(matches!(opened.damages[0], Damage::Line { .. }));
    let numbers = Scan::of(&bytes)
        .lines
        .iter()
        .map(|line| line.seq)
        .collect::<Vec<_>>();
    assert!(numbers.contains(&1) && numbers.contains(&20), "{numbers:?}");
    drop(opened);

    let torn = bytes.len() - 30;
    bytes[torn..].fill(0);
    fs::write(&path, &bytes).unwrap();
    let mut opened = home.open();
    assert!(matches!(opened.damages.last(), Some(Damage::Torn { .. })));
    assert!(keep_take(&mut opened));
    assert!(
        fs::read(path.with_extension("torn"))
            .unwrap()
            .ends_with(&[0; 30])
    );
}

#[test]
fn what_depends_on_a_lost_take_is_told_and_not_invented() {
    let home = Home::new();
    let mut opened = home.open();
    for _ in 0..3 {
        assert!(keep_take(&mut opened));
    }
    drop(opened);
    let path = home.journal();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("take 2", "take X")).unwrap();
    let mut opened = home.open();
    assert_eq!(opened.takes.count(), 2);
    let told: Vec<_> = opened.damages.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("a damaged line at byte"), "{told:?}");
    assert!(
        told[1].contains("take 3 branches off take 2, which does not exist"),
        "{told:?}"
    );
    assert!(keep_take(&mut opened));
    assert_eq!(opened.takes.current(), TakeId(4));
}

#[test]
fn lines_that_are_missing_or_stand_twice_are_told() {
    let home = Home::new();
    twenty(&home);
    let text = fs::read_to_string(home.journal()).unwrap();
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.remove(6);
    lines.insert(9, lines[8]);
    let scan = Scan::of(lines.concat().as_bytes());
    assert_eq!(scan.lines.len(), 19);
    assert!(matches!(
        scan.damages[0],
        Damage::Missing { from: 6, to: 6, .. }
    ));
    assert!(matches!(scan.damages[1], Damage::Repeated { seq: 9, .. }));
}

/// The journal of another version: its first line says so, and its checksum fits.
fn of_version(home: &Home, version: &str) {
    let path = home.journal();
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let body = &first[..first.rfind(",\"crc\"").unwrap()];
    let body = body.replace("\"version\":1", &format!("\"version\":{version}"));
    let crc = crc32fast::hash(body.as_bytes());
    fs::write(&path, format!("{body},\"crc\":\"{crc:08x}\"}}\n{rest}")).unwrap();
}

#[test]
fn an_older_version_goes_on_in_a_copy() {
    let home = Home::new();
    twenty(&home);
    of_version(&home, "0");
    let old = fs::read(home.journal()).unwrap();
    let mut opened = home.open();
    assert_eq!(opened.journal.entries.len(), 20);
    assert_eq!(fs::read(opened.journal.path().unwrap()).unwrap(), old);
    assert!(keep_take(&mut opened));
    drop(opened);
    assert_eq!(home.names(), ["run_1.jsonl.jsonl", "run_1.jsonl.v0"]);
    assert_eq!(fs::read(home.journal().with_extension("v0")).unwrap(), old);
    let again = home.open();
    assert_eq!((again.journal.entries.len(), again.damages.len()), (21, 0));
}

#[test]
fn a_newer_version_is_left_alone() {
    let home = Home::new();
    twenty(&home);
    of_version(&home, "99");
    let newer = fs::read(home.journal()).unwrap();
    let mut opened = home.open();
    assert_eq!((opened.takes.count(), opened.damages.len()), (1, 0));
    let banner = opened.journal.not_recording().unwrap().to_string();
    assert!(
        banner.contains("version 99: open it with a newer retake"),
        "{banner}"
    );
    assert!(!keep_take(&mut opened));
    assert_eq!(fs::read(home.journal()).unwrap(), newer);
}
