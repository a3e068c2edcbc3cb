//! The batches of a capture, and what is retained during it.

use super::*;

#[test]
fn records_that_go_during_a_capture_are_freed_a_few_at_a_time() {
    let mut queue = Queue::new();
    queue.push(10, 0, 10);
    queue.records.begin_capture();
    for job in 1..=10 {
        queue.apply(Command::Delete { job: JobSelect::Id(JobId(job)) });
    }
    queue.records.end_capture();
    let mut left = Vec::new();
    while queue.records.has_forgotten() {
        left.push(queue.records.in_memory_count());
        queue.records.free_forgotten(4);
    }
    assert_eq!(left, [10, 6, 2]);
    assert_eq!(queue.records.in_memory_count(), 0);
}

#[test]
fn a_capture_that_nobody_wants_ends() {
    let mut queue = Queue::new();
    queue.push(300, 0, 10);
    queue.engine.begin_capture(|_| false);
    let mut captured = Vec::new();
    assert!(!queue.engine.capture(100, u64::MAX, |job| captured.push(job)));
    assert!(!queue.engine.capture(100, 50, |job| captured.push(job)));
    assert_eq!(captured.len(), 105, "a batch ends with the body that fills it");
    queue.engine.end_capture();
    assert!(queue.engine.capture(100, u64::MAX, |job| captured.push(job)), "there is none");
    assert_eq!(captured.len(), 105);
}
