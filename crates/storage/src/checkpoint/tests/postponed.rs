//! Jobs that are postponed while a checkpoint that has their old records is written.

use super::*;
use adjourn_types::IfExists;

const KEY: &[u8] = b"k";

fn postponed(body: &[u8]) -> Command<'_> {
    let job = NewJob { key: Some(KEY), if_exists: IfExists::Postpone, ..new_job(60_000, body) };
    Command::Push { session: SessionId::NONE, sequence: 0, topic: "t", jobs: vec![job] }
}

fn body(queue: &mut Queue) -> Vec<u8> {
    let job = JobSelect::Key { topic: "t", key: KEY };
    let view = queue.engine.job(&job, &mut queue.records).expect("read").expect("it is there");
    queue.records.record(view.body).expect("read").body.to_vec()
}

#[test]
fn a_record_that_was_written_for_a_job_does_not_take_the_place_of_its_newer_one() {
    let mut queue = Queue::new();
    queue.apply(postponed(b"first"));
    let checkpoint = queue.write_checkpoint(Vec::new());
    // The second of these has its record where the first one was.
    queue.apply(postponed(b"second"));
    queue.apply(postponed(b"third"));
    queue.adopt(&checkpoint, 0..checkpoint.written.len());
    assert_eq!(body(&mut queue), b"third");
    queue.engine.verify(&mut queue.records);
    queue.checkpoint(Vec::new());
    assert_eq!(body(&mut queue), b"third");
}
