//! Who may see a journal, where it is, and what happens when something else is there.

use super::*;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn only_the_operator_can_read_a_journal() {
    let home = Home::new();
    let folder = Subfolder::Takes.path(&home.root());
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    assert_eq!(mode(&home.journal()), 0o600);
    assert_eq!(mode(&folder), 0o700);
}

#[test]
fn a_journal_behind_a_link_is_refused() {
    let home = Home::new();
    let path = home.journal();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let elsewhere = home.folder.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    symlink(&elsewhere, &path).unwrap();
    let mut opened = home.open();
    assert!(opened.journal.not_recording().is_some());
    assert!(!keep_take(&mut opened));
    fs::remove_file(&elsewhere).unwrap();
    assert!(!keep_take(&mut home.open()));
    assert!(!elsewhere.exists());
}

#[test]
fn a_folder_behind_a_link_is_refused() {
    let home = Home::new();
    let elsewhere = home.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(home.root().join("retake")).unwrap();
    symlink(&elsewhere, home.root().join("retake/takes")).unwrap();
    assert!(!keep_take(&mut home.open()));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_swapped_for_a_link_is_not_written_to() {
    let home = Home::new();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    let folder = Subfolder::Takes.path(&home.root());
    let aside = home.folder.path().join("aside");
    fs::rename(&folder, &aside).unwrap();
    symlink(&aside, &folder).unwrap();
    let path = aside.join(opened.journal.path().unwrap().file_name().unwrap());
    let before = fs::read(&path).unwrap();
    assert!(!keep_take(&mut opened));
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    assert!(keep_take(&mut opened));
}

#[test]
fn a_journal_that_was_removed_is_written_again_from_memory() {
    let home = Home::new();
    let mut opened = home.open();
    assert!(keep_take(&mut opened));
    fs::remove_file(opened.journal.path().unwrap()).unwrap();
    assert!(keep_take(&mut opened));
    fs::remove_dir_all(home.root()).unwrap();
    assert!(keep_take(&mut opened));
    let takes = opened.takes;
    drop(opened.journal);
    assert_eq!(home.open().takes, takes);
}

#[test]
fn a_journal_that_somebody_else_wrote_to_is_left_alone() {
    let home = Home::new();
    for replaced in [true, false] {
        let mut opened = home.open();
        assert!(keep_take(&mut opened));
        let path = opened.journal.path().unwrap();
        if replaced {
            let other = path.with_extension("other");
            fs::write(&other, "other").unwrap();
            fs::rename(&other, &path).unwrap();
        } else {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            file.write_all(b"other").unwrap();
        }
        let before = fs::read(&path).unwrap();
        assert!(!keep_take(&mut opened));
        let trouble = opened.journal.not_recording().unwrap();
        assert!(
            matches!(trouble.why, JournalError::Replaced { .. }),
            "{trouble}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn the_second_of_two_is_read_only_until_the_first_is_gone() {
    let home = Home::new();
    let (mut first, mut early) = (home.open(), home.open());
    assert!(keep_take(&mut first));
    // It looked before there was a journal.
    assert!(!keep_take(&mut early));
    let mut second = home.open();
    assert_eq!(second.takes, first.takes);
    for other in [&early, &second] {
        let trouble = other.journal.not_recording().unwrap();
        assert!(
            matches!(trouble.why, JournalError::OpenElsewhere { .. }),
            "{trouble}"
        );
        let words = trouble.to_string();
        assert!(
            words.starts_with("read-only (open in another retake): "),
            "{words}"
        );
        if cfg!(target_os = "linux") {
            let own = format!("process {}", std::process::id());
            assert!(trouble.to_string().contains(&own), "{trouble}");
        }
    }
    assert!(!keep_take(&mut second));
    assert!(keep_take(&mut first));
    let takes = first.takes;
    drop(first.journal);
    let mut third = home.open();
    assert_eq!(third.takes, takes);
    assert!(keep_take(&mut third));
}

#[test]
fn the_takes_of_a_file_that_grew_are_found() {
    let home = Home::new();
    assert!(keep_take(&mut home.open()));
    fs::write(&home.recording, lines_of("one", 99)).unwrap();
    let mut opened = home.open();
    assert_eq!((opened.takes.count(), opened.damages.len()), (2, 0));
    assert!(keep_take(&mut opened));
}

#[test]
fn the_takes_of_a_file_that_moved_and_grew_go_with_it() {
    let home = Home::new();
    assert!(keep_take(&mut home.open()));
    let old = home.journal();
    let moved = home.folder.path().join("moved.jsonl");
    fs::rename(&home.recording, &moved).unwrap();
    fs::write(&moved, lines_of("one", 60)).unwrap();
    let mut opened = home.open_as(&moved);
    assert_eq!(opened.takes.count(), 2);
    assert!(old.exists(), "nothing is written before something changes");
    assert!(keep_take(&mut opened));
    drop(opened);
    assert_eq!(home.names(), ["moved.jsonl.jsonl"]);
    let again = home.open_as(&moved);
    assert_eq!((again.takes.count(), again.damages.len()), (3, 0));
}

#[test]
fn a_copy_has_takes_of_its_own() {
    let home = Home::new();
    assert!(keep_take(&mut home.open()));
    let copy = home.folder.path().join("copy.jsonl");
    fs::copy(&home.recording, &copy).unwrap();
    assert_eq!(home.open_as(&copy).takes.count(), 1);
    let other = home.folder.path().join("other.jsonl");
    fs::write(&other, lines_of("two", 30)).unwrap();
    fs::remove_file(&home.recording).unwrap();
    assert_eq!(home.open_as(&other).takes.count(), 1);
}

#[test]
fn a_file_that_was_replaced_starts_anew_and_finds_its_takes_when_it_is_back() {
    let home = Home::new();
    assert!(keep_take(&mut home.open()));
    let aside = home.folder.path().join("aside");
    fs::rename(&home.recording, &aside).unwrap();
    fs::write(&home.recording, lines_of("two", 40)).unwrap();
    let mut opened = home.open();
    assert_eq!(opened.takes.count(), 1);
    assert_eq!(opened.damages, [Damage::OtherRecording]);
    assert!(keep_take(&mut opened) && keep_take(&mut opened));
    drop(opened);
    assert_eq!(home.names(), ["run_1.jsonl.2.jsonl", "run_1.jsonl.jsonl"]);
    assert_eq!(home.open().takes.count(), 3);
    fs::rename(&aside, &home.recording).unwrap();
    let mut opened = home.open();
    assert_eq!(opened.takes.count(), 2);
    assert!(keep_take(&mut opened));
    drop(opened);
    assert_eq!(home.open().takes.count(), 3);
}

/// The journal of a file from which a reader made this text.
fn open_made(home: &Home, made: &[u8]) -> OpenedTakes {
    let (root, path) = (home.root(), Some(&*home.recording));
    Journal::open(Some(&root), path, &made.to_vec(), clock)
}

#[test]
fn a_journal_is_known_by_its_file_whatever_text_is_made_from_it() {
    let home = Home::new();
    assert!(keep_take(&mut open_made(&home, &lines_of("made", 30))));
    let other = open_made(&home, &lines_of("made otherwise", 20));
    assert_eq!((other.takes.count(), other.damages.len()), (2, 0));
    drop(other);
    fs::write(&home.recording, lines_of("two", 40)).unwrap();
    let replaced = open_made(&home, &lines_of("made", 30));
    assert_eq!(replaced.damages, [Damage::OtherRecording]);
}

#[test]
fn a_journal_that_an_older_retake_knew_by_the_text_that_it_made_is_opened_and_known_by_its_file_from_then_on()
 {
    let home = Home::new();
    let made = lines_of("made", 30);
    assert!(keep_take(&mut open_made(&home, &made)));
    let journal = home.journal();
    let text = fs::read_to_string(&journal).unwrap();
    let path = fs::canonicalize(&home.recording).unwrap();
    let of = Some(Identity::of(&path, &made).unwrap());
    let header = JournalHeader::new(JournalSubject::Takes { of });
    let (_, entries) = text.split_once('\n').unwrap();
    fs::write(&journal, header.line().unwrap() + entries).unwrap();

    let mut opened = open_made(&home, &made);
    assert_eq!((opened.takes.count(), opened.damages.len()), (2, 0));
    assert!(keep_take(&mut opened));
    drop(opened);
    assert_eq!(home.names(), ["run_1.jsonl.jsonl"]);
    let again = open_made(&home, b"made otherwise");
    assert_eq!((again.takes.count(), again.damages.len()), (3, 0));
}
