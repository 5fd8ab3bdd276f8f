//! Background work: on all cores, but after whatever the operator waits for.

use rayon::ThreadPoolBuilder;

/// How far threads step back: others that want the core have it within a millisecond, and an idle core is
/// used all the same.
const NICE: i32 = 10;

/// Does work whose parallel parts run on threads of low priority; call it on a thread of its own.
pub fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    step_back();
    let pool = ThreadPoolBuilder::new()
        .start_handler(|_| step_back())
        .build();
    match pool {
        Ok(pool) => pool.install(work),
        // Without threads of its own it runs on those of everybody.
        Err(_) => work(),
    }
}

fn step_back() {
    // Linux counts niceness by thread. A system that refuses runs the work as everything else.
    let _ = rustix::process::nice(NICE);
}
