//! Files that take the place of others.

use super::*;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn folder_with(content: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn with(path: &Path, backup: Backup, content: &str) -> Result<Replaced, ReplaceError> {
    replace(path, backup, |file| file.write_all(content.as_bytes()))
}

#[test]
fn the_new_content_takes_the_place_and_the_mode_of_the_old() {
    let (folder, path) = folder_with("old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let replaced = with(&path, Backup::None, "new").unwrap();
    assert_eq!((replaced.path, replaced.backup), (path.clone(), None));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    with(&folder.path().join("fresh.json"), Backup::Numbered, "1").unwrap();
    assert_eq!(names(&folder), ["fresh.json", "run.json"]);
}

#[test]
fn backups_are_numbered_and_never_overwritten() {
    let (folder, path) = folder_with("1");
    for content in ["2", "3", "4"] {
        with(&path, Backup::Numbered, content).unwrap();
    }
    assert_eq!(
        names(&folder),
        [
            "run.json",
            "run.json.bak",
            "run.json.bak.2",
            "run.json.bak.3"
        ]
    );
    let content = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(content("run.json"), "4");
    assert_eq!(content("run.json.bak"), "1");
    assert_eq!(content("run.json.bak.3"), "3");
}

#[test]
fn a_copy_is_a_backup_where_a_second_name_is_not_to_be_had() {
    let (folder, path) = folder_with("1");
    let backup = folder.path().join("copy");
    copy(&path, &backup).unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), "1");
    let again = copy(&path, &backup).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_writer_that_fails_midway_leaves_everything_as_it_was() {
    let (folder, path) = folder_with("old");
    let full = |file: &mut NewFile<'_>| {
        file.write_all(&vec![b'x'; 3 * BLOCK])?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let error = replace(&path, Backup::Numbered, full).unwrap_err();
    assert_eq!(error.step, ReplaceStep::Write);
    let message = error.to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert!(message.ends_with("nothing was changed"), "{message}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(&folder), ["run.json"]);
}

#[test]
fn behind_a_link_the_file_is_replaced_and_the_link_stays() {
    let (folder, path) = folder_with("old");
    let link = folder.path().join("link.json");
    symlink("run.json", &link).unwrap();
    let replaced = with(&link, Backup::None, "new").unwrap();
    assert_eq!(replaced.path, fs::canonicalize(&path).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("run.json"));
    let dead = folder.path().join("dead.json");
    symlink("nowhere", &dead).unwrap();
    assert_eq!(
        with(&dead, Backup::None, "").unwrap_err().step,
        ReplaceStep::Look
    );
}

#[test]
fn what_is_no_file_is_left_alone() {
    let (folder, path) = folder_with("old");
    for no_file in [folder.path(), Path::new("/dev/null"), Path::new("/")] {
        let error = with(no_file, Backup::None, "").unwrap_err();
        assert_eq!(error.step, ReplaceStep::Look, "{error}");
    }
    let error = with(&path.join("below"), Backup::None, "").unwrap_err();
    assert_eq!(error.step, ReplaceStep::Look, "{error}");
    let error = with(&folder.path().join("no/file"), Backup::None, "").unwrap_err();
    assert_eq!(error.step, ReplaceStep::Create, "{error}");
}

#[test]
fn what_a_killed_process_left_behind_does_no_harm() {
    let (folder, path) = folder_with("old");
    let left = |number| format!(".run.json.{}-{number}.tmp", std::process::id());
    for number in 0..200 {
        fs::write(folder.path().join(left(number)), "half").unwrap();
    }
    with(&path, Backup::None, "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    let half = fs::read_to_string(folder.path().join(left(7))).unwrap();
    assert_eq!((half.as_str(), names(&folder).len()), ("half", 201));
}

#[test]
fn every_moment_shows_the_old_file_or_the_new_one() {
    let (_folder, path) = folder_with("old");
    replace(&path, Backup::None, |file| {
        file.write_all(b"ne")?;
        assert_eq!(fs::read_to_string(&path)?, "old");
        file.write_all(b"w")
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}
