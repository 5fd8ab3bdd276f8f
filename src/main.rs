//! retake: arguments, then a command, then an exit code.
fn main() {}
