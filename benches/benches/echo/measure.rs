//! What Linux says of this process.

use core::time::Duration;
use std::fs;

fn run_time(schedstat: &str) -> Duration {
    let nanos = schedstat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// How long this thread has used a processor.
pub(crate) fn thread_time() -> Duration {
    run_time(&fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default())
}

/// How long the threads of this process have.
pub(crate) fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = threads.map(|thread| fs::read_to_string(thread.path().join("schedstat")));
    stats.map(|stat| run_time(&stat.unwrap_or_default())).sum()
}

/// The resident memory of this process in bytes.
pub(crate) fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1_024
}
