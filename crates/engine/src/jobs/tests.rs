//! What a job takes.

use super::*;
use crate::job::JobExtras;

#[test]
fn a_job_takes_at_most_128_bytes_with_its_timer() {
    assert!(size_of::<Option<Job>>() <= 80, "{}", size_of::<Option<Job>>());
    assert!(size_of::<JobExtras>() <= 48, "{}", size_of::<JobExtras>());
}
