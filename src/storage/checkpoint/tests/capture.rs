//! What a capture hands over, and what is kept for it.

use super::*;

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
