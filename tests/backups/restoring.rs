//! From a backup to a queue that serves: every job is there, nothing that ended comes back, no id comes again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use adjourn_protocol::{JobRef, NewJob, PushResult, Request, Response};
use adjourn_storage::checkpoint;
use adjourn_storage::folder::DiskFolder;
use adjourn_storage::{Backup, DiskStorage, OpenOptions, RestoreOptions, StorageError, sync};
use adjourn_types::{JobId, JobState, Millis};
use bytes::Bytes;

use super::super::server::log::await_line;
use super::super::server_rig::{Node, Process, Raw, adjourn, push};
use super::{FAR_MS, create, finish, push_all, reserve, run, sample, text};

fn restore(file: &Path, data: &Path) {
    let said = run(&["restore", text(file), "--data", text(data)]).well();
    assert!(said.contains("adjourn serve --data"), "{said}");
}

/// The body of a job, if it lives.
fn body(client: &mut Raw, id: JobId) -> Option<Bytes> {
    match client.ask(Request::Get(JobRef::Id(id))) {
        Response::Job(report) => (report.state != Some(JobState::Finished)).then_some(report.body),
        Response::Error(error) => {
            assert_eq!(error.code.name(), "NOT_FOUND");
            None
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restored_queue_has_every_job_and_the_state_of_the_source() {
    let sample = sample();
    let data = sample.file.with_file_name("restored");
    restore(&sample.file, &data);
    let header = *Backup::open(&sample.file).expect("a backup").header();
    let restored = checkpoint::restore(&DiskFolder::existing(&data.join("chunks"))).expect("it reads");
    let restored = restored.expect("a checkpoint");
    assert_eq!((restored.base.index, restored.engine.state_hash()), (header.index, header.state_hash));
    assert_eq!(header.index, sample.stats.applied_index, "nothing was written behind the backup");
    assert_eq!(header.state_hash, sample.stats.state_hash);

    let node = Node::start(&data, |_| {});
    let mut client = Raw::greeted(node.address);
    for (id, expected) in &sample.live {
        assert_eq!(body(&mut client, *id).as_ref(), Some(expected), "{id:?}");
    }
    let stats = super::stats(&mut client);
    let lived = stats.totals.delayed + stats.totals.ready + stats.totals.reserved + stats.totals.buried;
    assert_eq!(lived, sample.live.len() as u64);
    drop(client);
    node.stop();
    // And once more: the first start changed nothing that the second one misses.
    let node = Node::start(&data, |_| {});
    let mut client = Raw::greeted(node.address);
    // Those that somebody held come back when its session's grace is over.
    let ready = reserve(&mut client, "ready", 1000).len() as u64;
    assert!((stats.totals.ready..=stats.totals.ready + stats.totals.reserved).contains(&ready), "{ready}");
    node.stop();
}

/// Ends the worker whatever happens, or a failure would wait for it.
struct StopAtDrop<'a>(&'a AtomicBool);

impl Drop for StopAtDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_backup_is_taken_while_the_queue_works() {
    let folder = tempfile::tempdir().expect("a directory");
    // Other checkpoints come and go meanwhile.
    let source = Node::start(&folder.path().join("data"), |config| config.checkpoint_log_bytes = 64 << 10);
    let mut client = Raw::greeted(source.address);
    let mut before: BTreeMap<JobId, Bytes> = super::fill(&mut client);
    let mut bodies = before.clone();
    let stopping = AtomicBool::new(false);
    let mut backups = Vec::new();
    let (mut finished, mut after) = (BTreeSet::new(), BTreeMap::new());
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut client = Raw::greeted(source.address);
            let (mut pushed, mut finished) = (BTreeMap::new(), BTreeSet::new());
            let mut round = 0_u64;
            while !stopping.load(Ordering::Relaxed) {
                round += 1;
                let body = Bytes::from(format!("round {round}").repeat(20));
                let delay_ms = [0, 5, 600_000, FAR_MS][usize::try_from(round % 4).expect("small")];
                let jobs = vec![NewJob::new(body.clone()).after(delay_ms); 8];
                pushed.extend(push_all(&mut client, "ready", jobs).into_iter().map(|id| (id, body.clone())));
                let leases: Vec<_> =
                    reserve(&mut client, "ready", 8).into_iter().map(|taken| taken.0).collect();
                if !leases.is_empty() {
                    finished.extend(leases.iter().map(|lease| lease.job));
                    finish(&mut client, leases);
                }
            }
            (pushed, finished)
        });
        let stop = StopAtDrop(&stopping);
        for number in 0..5 {
            let file = folder.path().join(format!("{number}.backup"));
            create(source.address, &file);
            backups.push(file);
        }
        drop(stop);
        (after, finished) = worker.join().expect("it worked");
    });
    bodies.extend(after);
    before.retain(|id, _| !finished.contains(id));
    drop(client);
    source.stop();
    for file in backups {
        let backup = Backup::open(&file).expect("a backup");
        backup.verify(|_| {}).expect("whole");
        let data = file.with_extension("restored");
        restore(&file, &data);
        let node = Node::start(&data, |_| {});
        let mut client = Raw::greeted(node.address);
        // Every job from before is there, and every job that is there was pushed, unchanged.
        assert!(before.iter().all(|(id, expected)| body(&mut client, *id).as_ref() == Some(expected)));
        let found = bodies.iter().filter(|(id, expected)| {
            let found = body(&mut client, **id);
            assert!(found.is_none() || found.as_ref() == Some(expected), "{id:?}");
            found.is_some()
        });
        assert_eq!(found.count() as u64, backup.header().jobs);
        drop(client);
        node.stop();
    }
}

#[test]
fn no_id_and_no_fence_comes_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let source = Node::start(&folder.path().join("data"), |_| {});
    let mut client = Raw::greeted(source.address);
    push_all(&mut client, "t", vec![NewJob::new("old"); 3]);
    let old = reserve(&mut client, "t", 1);
    let file = folder.path().join("queue.backup");
    create(source.address, &file);
    let later_ids = push_all(&mut client, "t", vec![NewJob::new("after the backup"); 100]);
    let later_fences = reserve(&mut client, "t", 100).into_iter().map(|(lease, _)| lease.fence).max();
    let later_session = Raw::connect(source.address).greet(super::super::server_rig::hello()).session;
    drop(client);
    source.stop();

    let data = folder.path().join("restored");
    restore(&file, &data);
    let node = Node::start(&data, |_| {});
    let mut client = Raw::connect(node.address);
    let welcome = client.greet(super::super::server_rig::hello());
    assert!(welcome.session > later_session, "sessions");
    let new_ids = push_all(&mut client, "new", [NewJob::new("new")]);
    assert!(new_ids.iter().min() > later_ids.iter().max(), "ids");
    let new_fence = reserve(&mut client, "new", 1).first().map(|(lease, _)| lease.fence);
    assert!(new_fence > later_fences, "fences");
    // A lease that was there when the backup was taken is still one.
    finish(&mut client, old.into_iter().map(|(lease, _)| lease).collect());
    drop(client);
    node.stop();

    // Nor does what another restoring of the same backup gave out.
    let again = folder.path().join("again");
    restore(&file, &again);
    let node = Node::start(&again, |_| {});
    let mut client = Raw::connect(node.address);
    let welcome_again = client.greet(super::super::server_rig::hello());
    assert!(welcome_again.session > welcome.session, "sessions");
    let ids_again = push_all(&mut client, "new", [NewJob::new("new")]);
    assert!(ids_again.iter().min() > new_ids.iter().max(), "ids");
    let fence_again = reserve(&mut client, "new", 1).first().map(|(lease, _)| lease.fence);
    assert!(fence_again > new_fence, "fences");
    node.stop();
}

#[test]
fn a_restored_queue_is_a_cluster_of_its_own() {
    let sample = sample();
    let [source, first, second] = ["data", "first", "second"].map(|name| sample.file.with_file_name(name));
    restore(&sample.file, &first);
    restore(&sample.file, &second);
    let told = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&run(arguments).well()).expect("JSON")
    };
    let found = [&source, &first, &second].map(|data| told(&["inspect", text(data), "--json"]));
    let backup = told(&["backup", "inspect", text(&sample.file), "--json"]);
    assert_eq!(backup["cluster_id"], found[0]["cluster_id"], "it says of which cluster it is");
    for id in ["cluster_id", "storage_id"] {
        let ids: BTreeSet<&str> = found.iter().map(|found| found[id].as_str().expect("an id")).collect();
        assert_eq!(ids.len(), found.len(), "{id}: {ids:?}");
    }
    for restored in &found[1..] {
        assert_eq!((&restored["voters"], &restored["founder"]), (&serde_json::json!([1]), &true.into()));
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_damaged_is_restored() {
    let sample = sample();
    let file = text(&sample.file);
    let foreign = sample.file.with_file_name("foreign");
    fs::create_dir(&foreign).expect("made");
    fs::write(foreign.join("letter"), "dear").expect("written");
    let refused = run(&["restore", file, "--data", text(&foreign)]).with(6);
    assert!(refused.contains("not empty") && refused.contains("letter"), "{refused}");
    assert_eq!(fs::read_dir(&foreign).expect("there").count(), 1);

    let data = sample.file.with_file_name("restored");
    restore(&sample.file, &data);
    let refused = run(&["restore", file, "--data", text(&data)]).with(6);
    assert!(refused.contains("not empty"), "{refused}");
    let running = Process::start(&data, &[]);
    run(&["restore", file, "--data", text(&data)]).with(6);
    running.kill();

    let mut bytes = fs::read(&sample.file).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&sample.file, bytes).expect("written");
    let target = sample.file.with_file_name("untouched");
    let refused = run(&["restore", file, "--data", text(&target)]).with(7);
    assert!(refused.contains("is damaged at byte") && !target.exists(), "{refused}");
}

#[test]
fn the_jump_of_ids_is_told_by_the_command_and_by_the_node() {
    let sample = sample();
    let data = sample.file.with_file_name("jumps");
    let said = run(&["restore", text(&sample.file), "--data", text(&data)]).well();
    let (_, rest) = said.split_once("New jobs get ids above ").expect("it is told");
    let floor: u64 = rest.split_once(':').expect("a reason").0.parse().expect("a number");
    let mut serve = adjourn(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let mut child = serve.arg("--data").arg(&data).stderr(Stdio::piped()).spawn().expect("the binary");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let told = await_line(&mut log, |event| event["ids_above"].is_u64());
    assert_eq!(told["ids_above"], floor);
    let listening = await_line(&mut log, |event| event["message"] == "listening");
    let address = listening["address"].as_str().and_then(|address| address.parse().ok()).expect("an address");
    let server = Process { child, address };
    let Response::Pushed(pushed) = Raw::greeted(server.address).ask(push("t", "job", 0)) else {
        panic!("pushed")
    };
    assert!(matches!(pushed.as_slice(), [PushResult::Pushed(id)] if id.0 > floor), "{pushed:?} {floor}");
    server.kill();
}

#[test]
fn a_restored_directory_is_the_named_nodes() {
    let sample = sample();
    let data = sample.file.with_file_name("third");
    run(&["restore", text(&sample.file), "--data", text(&data), "--node", "3"]).well();
    let (code, log) = Process::try_start(&data, &[]).err().expect("refused");
    assert!(code == Some(6) && log.contains("node 3"), "{log}");
    Process::start(&data, &["--node", "3"]).terminate();
}

/// Ends the restoring at the sync of this number. Whether it got so far.
fn interrupted(backup: &Backup, options: &RestoreOptions, syncs: usize) -> bool {
    let mut left = syncs;
    sync::watch(Some(Box::new(move |_, _| {
        assert!(left > 0, "the power fails here");
        left -= 1;
        Ok(())
    })));
    let ended = catch_unwind(AssertUnwindSafe(|| backup.restore(options, |_| {})));
    sync::watch(None);
    match ended {
        Ok(outcome) => {
            outcome.expect("restored");
            false
        }
        Err(_) => true,
    }
}

#[test]
fn ended_at_any_sync_it_is_refused_and_can_be_done_again() {
    let sample = sample();
    let backup = Backup::open(&sample.file).expect("a backup");
    let mut steps = 0;
    loop {
        let path = sample.file.with_file_name(format!("restored-{steps}"));
        let ids = ([7; 16], [8; 16]);
        let now = Millis(1_790_000_000_000);
        let options =
            RestoreOptions { path: path.clone(), node: 1, cluster_id: ids.0, storage_id: ids.1, now };
        let ended_early = interrupted(&backup, &options, steps);
        let open = || {
            let (cluster_id, storage_id) = ids;
            DiskStorage::open(&OpenOptions {
                path: path.clone(),
                node: 1,
                cluster_id,
                storage_id,
                founder: true,
            })
        };
        let is_decided = ["identity", "identity.next"].iter().any(|name| path.join(name).exists());
        if !is_decided && path.join("chunks.new").exists() {
            let refused = open().map(drop).expect_err("half of a queue").to_string();
            assert!(refused.contains("`adjourn restore` did not finish"), "{refused}");
            backup.restore(&options, |_| {}).expect("it can be done again");
        } else if !is_decided {
            let left = fs::read_dir(&path).map_or(0, Iterator::count);
            assert!(left <= 1, "nothing but the lock: {left}");
            backup.restore(&options, |_| {}).expect("it can be done again");
        }
        let mut storage = open().expect("a queue");
        let restored = storage.take_restored().expect("a checkpoint");
        assert_eq!(restored.engine.state_hash(), backup.header().state_hash);
        assert_eq!(storage.recovered().last_index, backup.header().index + 1);
        assert!(matches!(backup.restore(&options, |_| {}), Err(StorageError::NotEmpty { .. })));
        if !ended_early {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps} syncs");
}

#[test]
fn states_of_jobs_survive() {
    let sample = sample();
    let data = sample.file.with_file_name("restored");
    restore(&sample.file, &data);
    let node = Node::start(&data, |_| {});
    let mut client = Raw::greeted(node.address);
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for id in sample.live.keys() {
        let Response::Job(report) = client.ask(Request::Get(JobRef::Id(*id))) else { panic!("gone") };
        *states.entry(report.state.expect("a known one").to_string()).or_default() += 1;
    }
    assert_eq!(states.get(&JobState::Delayed.to_string()), Some(&241));
    assert_eq!(states.get(&JobState::Buried.to_string()), Some(&10));
    node.stop();
}
