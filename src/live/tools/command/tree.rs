//! The processes below this one: what a tool started, wherever it put it.
//!
//! On Linux a process can be made the one that orphans below it fall to (`PR_SET_CHILD_SUBREAPER`, prctl(2)),
//! so that neither `setsid` nor a double fork leads out of its tree, and the tree can be read from `/proc`.
//! Elsewhere only the group of the tool is known.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How many processes a report names.
const NAMED: usize = 16;

/// Makes orphans fall to this process, where the system can.
pub(super) fn adopt_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A process below this one that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Living {
    pid: Pid,
    group: i32,
    #[cfg(target_os = "linux")]
    session: i32,
    name: String,
}

/// Processes in a row, for a report.
pub(super) fn names(living: &[Living]) -> String {
    let named = living.iter().take(NAMED);
    let named = named.map(|one| format!("{} ({})", one.name, one.pid.as_raw_nonzero()));
    named.collect::<Vec<_>>().join(", ")
}

/// Every process below this one that has not ended. What has ended and fell to this process is buried; `own`,
/// the tool itself, is not: somebody else waits for it.
#[cfg(target_os = "linux")]
pub(super) fn living(own: Pid) -> Vec<Living> {
    use rustix::process::{WaitOptions, getpid, waitpid};
    let all = all_processes();
    let root = getpid().as_raw_nonzero().get();
    let mut below = vec![root];
    let mut living = Vec::new();
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        at += 1;
        for entry in all.iter().filter(|entry| entry.parent == parent) {
            let number = entry.living.pid.as_raw_nonzero().get();
            if !below.contains(&number) {
                below.push(number);
            }
            if !entry.has_ended {
                living.push(entry.living.clone());
            } else if parent == root && entry.living.pid != own {
                // Nothing is to be learnt from how an orphan ended.
                let _status = waitpid(Some(entry.living.pid), WaitOptions::NOHANG);
            }
        }
    }
    living
}

/// Elsewhere nothing is known of them.
#[cfg(not(target_os = "linux"))]
pub(super) fn living(_own: Pid) -> Vec<Living> {
    Vec::new()
}

/// Kills every process of the session that `leader` began, as far as they can be known, and tells how many
/// there were. The leader is a child that nobody waited for yet, so that its number cannot be another's.
#[cfg(target_os = "linux")]
pub(super) fn kill_session(leader: i32) -> usize {
    let all = all_processes();
    let members = all
        .iter()
        .filter(|entry| entry.living.session == leader && !entry.has_ended);
    let mut count = 0;
    for entry in members {
        // One that is gone meanwhile need not be killed.
        let _gone = kill_process(entry.living.pid, Signal::KILL);
        count += 1;
    }
    count
}

/// Elsewhere nothing is known of them.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_session(_leader: i32) -> usize {
    0
}

/// Sends a signal to the group of the tool, and to everything below that left it. `is_held` says that nobody
/// waited for the tool yet: its number, and so that of its group, cannot be another's by now.
pub(super) fn signal(group: Pid, is_held: bool, signal: Signal, living: &[Living]) {
    let number = group.as_raw_nonzero().get();
    let is_there = is_held || living.iter().any(|process| process.group == number);
    // A process that is gone, or that belongs to somebody else, is left: what still
    // lives afterwards is reported.
    if is_there || cfg!(not(target_os = "linux")) {
        let _gone = kill_process_group(group, signal);
    }
    for process in living.iter().filter(|process| process.group != number) {
        let _gone = kill_process(process.pid, signal);
    }
}

#[cfg(target_os = "linux")]
struct Entry {
    living: Living,
    parent: i32,
    has_ended: bool,
}

#[cfg(target_os = "linux")]
fn all_processes() -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let entries = numbers.filter_map(|number| {
        // One that went meanwhile is none.
        let stat = std::fs::read(format!("/proc/{number}/stat")).ok()?;
        entry(&String::from_utf8_lossy(&stat))
    });
    entries.collect()
}

/// Reads a line of `/proc/PID/stat` (proc_pid_stat(5)): `pid (name) state parent group session ...`; a
/// name may hold anything.
#[cfg(target_os = "linux")]
fn entry(stat: &str) -> Option<Entry> {
    let (number, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some(Entry {
        living: Living {
            pid: Pid::from_raw(number.parse().ok()?)?,
            group,
            session,
            name: name.to_owned(),
        },
        parent,
        has_ended: matches!(state, "Z" | "X"),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_call_itself_anything() {
        let entry = entry("12 (a) S 1 (b) R 7 12 11 0").unwrap();
        assert_eq!(entry.living.name, "a) S 1 (b");
        let Living { group, session, .. } = entry.living;
        assert_eq!((entry.parent, group, session), (7, 12, 11));
        assert!(!entry.has_ended);
    }
}
