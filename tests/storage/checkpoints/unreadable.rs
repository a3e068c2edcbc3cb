//! What cannot be read of a checkpoint is told, job by job, and can be given up.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::cell::RefCell;
use std::process::Output;
use std::rc::Rc;

use adjourn_storage::{Salvage, sync};
use adjourn_types::{JobId, Millis};
use tempfile::TempDir;

use crate::server_rig::adjourn;
use crate::storage::checkpoints::*;

/// Jobs that are spilled, and as many that are not.
const EACH: u32 = 400;

fn some_job(number: u32) -> NewJob {
    let delay_ms = if number < EACH { 2 * DAY_MS } else { 600_000 };
    NewJob { key: Some(key(number)), ..NewJob::new(body(number)).after(delay_ms + u64::from(number)) }
}

/// Flips a bit in the midst of each chunk that is large enough.
fn spoil(data: &Path) {
    for chunk in chunks(data) {
        let file = fs::File::options().read(true).write(true).open(&chunk).expect("opened");
        let bytes = file.metadata().expect("its length").len();
        for at in [bytes / 4, 3 * bytes / 4] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).expect("read");
            file.write_all_at(&[byte[0] ^ 1], at).expect("written");
        }
    }
}

fn run(arguments: &[&str], data: &Path) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = adjourn(arguments).arg(data).output().expect("the binary");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// The ids of the jobs that `adjourn inspect` says cannot be read, and how much else it finds.
fn inspected(data: &Path) -> (BTreeSet<JobId>, usize) {
    let (_, said) = run(&["inspect", "--json"], data);
    let report = serde_json::Deserializer::from_str(&said).into_iter::<serde_json::Value>().next();
    let report = report.expect("a report").expect("JSON");
    let jobs = report["unreadable"].as_array().expect("a list").iter();
    let ids = jobs.map(|job| JobId(job["id"].as_u64().expect("an id")));
    (ids.collect(), report["damage"].as_array().expect("a list").len())
}

/// A directory with jobs in a checkpoint, and some entries behind it. Returns the ids of the jobs.
fn filled() -> (TempDir, BTreeMap<u32, JobId>) {
    let data = tempfile::tempdir().expect("a directory");
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let mut ids = BTreeMap::new();
    for first in (0..2 * EACH).step_by(100) {
        let results = push_all(&mut client, (first..first + 100).map(some_job).collect());
        for (number, result) in (first..).zip(results) {
            let PushResult::Pushed(id) = result else { panic!("{result:?}") };
            ids.insert(number, id);
        }
    }
    checkpoint(&mut client);
    // The entries after the checkpoint depend on its content.
    assert!(matches!(client.ask(Request::Delete(by_key(0))), Response::Changed { .. }));
    let [PushResult::Refused(ErrorCode::KeyExists, _), PushResult::Pushed(_)] =
        push_all(&mut client, vec![some_job(EACH / 2), NewJob::new("new").after(DAY_MS)])[..]
    else {
        panic!("a key that lives")
    };
    assert_eq!(server.terminate().code(), Some(0));
    (data, ids)
}

#[test]
fn jobs_that_cannot_be_read_are_listed_and_given_up() {
    let (data, ids) = filled();
    spoil(data.path());

    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    let is_unreadable = |client: &mut Raw, number| {
        get(client, by_key(number)).is_err_and(|error| error.code == ErrorCode::Unreadable)
    };
    let unreadable: BTreeSet<u32> =
        (1..2 * EACH).filter(|number| is_unreadable(&mut client, *number)).collect();
    let lost: BTreeSet<JobId> = unreadable.iter().map(|number| ids[number]).collect();
    for kind in [0..EACH, EACH..2 * EACH] {
        let some = unreadable.range(kind).count();
        assert!(some > 10 && some < EACH as usize, "{some}");
    }
    let needed = *unreadable.first().expect("some are");
    client.send(&[Request::RunNow(by_key(needed))]);
    while client.receive().is_some() {}
    assert_eq!(server.wait().code(), Some(7));
    let again = Process::try_start(data.path(), &[]).map(Process::kill).map_err(|(code, _)| code);
    assert_eq!(again, Err(Some(7)), "at every start");

    let (listed, damage) = inspected(data.path());
    assert_eq!((listed.difference(&lost).count(), lost.is_subset(&listed), damage > 0), (0, true, true));
    let (code, said) = run(&["recover", "--data"], data.path());
    assert_eq!((code, said.contains("--drop-unreadable")), (Some(0), true), "{said}");
    let (code, said) = run(&["recover", "--drop-unreadable", "--data"], data.path());
    assert_eq!(code, Some(7), "nothing was changed: {said}");
    for id in &lost {
        assert!(said.contains(&format!("job {id} of topic orders, due 20")), "{id}: {said}");
    }
    assert!(Process::try_start(data.path(), &[]).map(Process::kill).is_err(), "nothing was changed");

    let (code, said) = run(&["recover", "--drop-unreadable", "--yes", "--data"], data.path());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(inspected(data.path()), (BTreeSet::new(), 0));
    let server = Process::start(data.path(), &[]);
    let mut client = Raw::greeted(server.address);
    for number in 1..2 * EACH {
        match get(&mut client, by_key(number)) {
            Ok(report) => assert_eq!((report.id, report.body.to_vec()), (ids[&number], body(number))),
            Err(error) => {
                assert_eq!((error.code, unreadable.contains(&number)), (ErrorCode::NotFound, true));
            }
        }
    }
    let Totals { delayed, deleted, .. } = totals(&mut client);
    let kept = u64::from(2 * EACH) - unreadable.len() as u64;
    assert_eq!((delayed, deleted), (kept, unreadable.len() as u64 + 1), "one was deleted, one is new");
    let anew = unreadable.iter().map(|number| some_job(*number)).collect();
    assert!(push_all(&mut client, anew).iter().all(|result| matches!(result, PushResult::Pushed(_))));
    checkpoint(&mut client);
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(inspected(data.path()), (BTreeSet::new(), 0));
}

/// Gives up what cannot be read, or goes on with that. How many jobs that is.
fn give_up(data: &Path) -> usize {
    let mut salvage = Salvage::examine(data).expect("a directory");
    let lost = salvage.drop_unreadable().expect("it can be said").len();
    salvage.accept([9; 16], Millis(1_790_000_000_000)).expect("accepted");
    lost
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("made");
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copied");
        }
    }
}

#[test]
fn giving_up_can_be_cut_short_anywhere() {
    let (data, _) = filled();
    spoil(data.path());
    let images = Rc::new(RefCell::new(Vec::new()));
    let (directory, kept) = (data.path().to_owned(), Rc::clone(&images));
    sync::watch(Some(Box::new(move |_, _| {
        let image = TempDir::new().expect("a directory");
        copy(&directory, image.path());
        kept.borrow_mut().push(image);
        Ok(())
    })));
    let lost = give_up(data.path());
    sync::watch(None);
    let images = images.take();
    assert!(lost > 20 && images.len() > 10, "{lost} jobs, {} syncs", images.len());
    for image in images {
        let lost_now = give_up(image.path());
        // One that was begun is finished, with the loss that was accepted.
        assert!(lost_now == lost || lost_now == 0, "{lost_now}");
        assert_eq!(inspected(image.path()), (BTreeSet::new(), 0));
        let server = Process::start(image.path(), &[]);
        let left = totals(&mut Raw::greeted(server.address));
        assert_eq!((left.delayed, left.deleted), (u64::from(2 * EACH) - lost as u64, lost as u64 + 1));
        server.kill();
    }
}
