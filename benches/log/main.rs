//! What the log does by itself: records made durable per second, and what reading them back takes.
//!
//! Writes entries of small records, a batch at a time, as the disk thread does, with a thread for chores beside it; then
//! opens the directory again and replays it. Prints one `NAME NUMBER` a line, for scripts; `disk_` is what the disk does
//! without a log. With `--cuts`, what it takes to cut the log at its beginning, and how large its files stay: a line each
//! time.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use adjourn_storage::{
    DiskStorage, EntryKind, JournalSize, LogEntry, OpenOptions, PersistBatch, Storage, StorageError,
};
use bytes::Bytes;
use clap::Parser;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const RECORD_BYTES: usize = 128;

/// Durable records per second of the log, and what a start costs
#[derive(Parser)]
struct Load {
    /// Where; a folder of its own is made there, and removed
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// How much is written
    #[arg(long, default_value_t = 640)]
    megabytes: usize,
    /// Size of an entry, in records of 128 bytes
    #[arg(long, default_value_t = 511)]
    records: usize,
    /// Entries that are made durable together
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// So many times, write all of it and cut it off again
    #[arg(long, default_value_t = 0)]
    cuts: usize,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

impl Load {
    fn entry_bytes(&self) -> usize {
        self.records * RECORD_BYTES
    }

    /// How many commits write all of it.
    fn commits(&self) -> usize {
        (self.megabytes << 20) / (self.entry_bytes() * self.batch)
    }
}

fn main() -> Outcome<()> {
    let load = Load::parse();
    let path = load.folder.join("adjourn-bench-log");
    if path.exists() {
        return Err(format!("{} is in the way: remove it", path.display()).into());
    }
    let options =
        OpenOptions { path: path.clone(), node: 1, cluster_id: [1; 16], storage_id: [2; 16], founder: true };
    let outcome = if load.cuts > 0 {
        cut(&options, &load)
    } else {
        write(&options, &load).and_then(|()| read(&options))
    };
    fs::remove_dir_all(&path)?;
    outcome
}

fn write(options: &OpenOptions, load: &Load) -> Outcome<()> {
    let (p50_us, p99_us) = percentiles(&mut write_alone(load)?);
    println!("disk_p50_us {p50_us}\ndisk_p99_us {p99_us}");
    let mut storage = DiskStorage::open(options)?;
    let started = now();
    let mut took_us = append(&mut storage, load, 0)?;
    let commits = took_us.len();
    println!("records_per_second {:.0}", rate(commits * load.batch * load.records, started));
    let (p50_us, p99_us) = percentiles(&mut took_us);
    println!("p50_us {p50_us}\np99_us {p99_us}");
    println!("log_megabytes {}", log_megabytes(options)?);
    println!("written_megabytes {}", written_bytes()? >> 20);
    println!("resident_megabytes_written {}", resident_megabytes()?);
    storage.write_watermark()?;
    Ok(())
}

/// What a log costs that is cut at its beginning after each checkpoint.
fn cut(options: &OpenOptions, load: &Load) -> Outcome<()> {
    let mut storage = DiskStorage::open(options)?;
    let mut last = 0;
    for time in 1..=load.cuts {
        let started = now();
        let mut took_us = append(&mut storage, load, last)?;
        last += (took_us.len() * load.batch) as u64;
        let append_ms = started.elapsed().as_millis();
        let (p50_us, p99_us) = percentiles(&mut took_us);
        let grown_megabytes = log_megabytes(options)?;
        let started = now();
        storage.cut(last)?;
        let cut_us = started.elapsed().as_micros();
        let started = now();
        while let Some(chore) = storage.chore() {
            storage.chore_done(chore.run())?;
        }
        println!(
            "time {time} append_ms {append_ms} p50_us {p50_us} p99_us {p99_us} cut_us {cut_us} chores_ms {} \
             grown_megabytes {grown_megabytes} log_megabytes {} written_megabytes {} resident_megabytes {}",
            started.elapsed().as_millis(),
            log_megabytes(options)?,
            written_bytes()? >> 20,
            resident_megabytes()?
        );
    }
    Ok(())
}

/// Appends entries behind `last`, beside a thread for chores. How long each commit took, in microseconds.
fn append(storage: &mut DiskStorage, load: &Load, last: u64) -> Outcome<Vec<u128>> {
    let data: Vec<u8> = (0..=u8::MAX).cycle().take(load.entry_bytes()).collect();
    let mut took_us = Vec::with_capacity(load.commits());
    let mut index = last;
    let mut chore = None;
    for _ in 0..load.commits() {
        let entries = (index + 1..).take(load.batch).map(|index| LogEntry {
            index,
            term: 1,
            kind: EntryKind::Normal,
            data: Bytes::from(data.clone()),
        });
        let batch = PersistBatch { vote: None, install: None, entries: entries.collect(), commit: index };
        index += load.batch as u64;
        let begun = now();
        storage.persist(&batch)?;
        took_us.push(begun.elapsed().as_micros());
        if chore.as_ref().is_some_and(JoinHandle::is_finished) {
            take(storage, chore.take())?;
        }
        if chore.is_none() {
            chore = storage.chore().map(|chore| thread::spawn(move || chore.run()));
        }
    }
    take(storage, chore)?;
    Ok(took_us)
}

/// Hands the result of a chore to the storage.
fn take(storage: &mut DiskStorage, chore: Option<JoinHandle<Result<(), StorageError>>>) -> Outcome<()> {
    let Some(chore) = chore else { return Ok(()) };
    let done = chore.join().map_err(|_| "a chore panicked")?;
    Ok(storage.chore_done(done)?)
}

/// What the disk does without a log: as many writes of as many bytes, into a file that is there, each with an
/// `fdatasync`. In microseconds each.
fn write_alone(load: &Load) -> Outcome<Vec<u128>> {
    let path = load.folder.join("adjourn-bench-alone");
    let outcome = overwrite(&path, load);
    fs::remove_file(&path)?;
    outcome
}

fn overwrite(path: &Path, load: &Load) -> Outcome<Vec<u128>> {
    let bytes = vec![7; load.entry_bytes() * load.batch];
    let file_bytes = JournalSize::default().file_bytes;
    let file = File::create_new(path)?;
    file.write_all_at(&vec![0; usize::try_from(file_bytes)? + bytes.len()], 0)?;
    file.sync_all()?;
    let mut took_us = Vec::with_capacity(load.commits());
    let mut at = 0;
    for _ in 0..load.commits() {
        let begun = now();
        file.write_all_at(&bytes, at)?;
        file.sync_data()?;
        took_us.push(begun.elapsed().as_micros());
        at = (at + bytes.len() as u64) % file_bytes;
    }
    Ok(took_us)
}

fn read(options: &OpenOptions) -> Outcome<()> {
    let started = now();
    let mut storage = DiskStorage::open(options)?;
    println!("open_ms {}\nresident_megabytes_open {}", started.elapsed().as_millis(), resident_megabytes()?);
    let started = now();
    let mut entries = 0_u64;
    storage.replay(1, &mut |_| {
        entries += 1;
        Ok(())
    })?;
    println!(
        "replay_ms {}\nresident_megabytes_replayed {}",
        started.elapsed().as_millis(),
        resident_megabytes()?
    );
    let last = storage.recovered().last_index;
    if entries == last { Ok(()) } else { Err(format!("{entries} of {last} entries came back").into()) }
}

fn percentiles(took_us: &mut [u128]) -> (u128, u128) {
    took_us.sort_unstable();
    let at = |percent: usize| took_us.get(took_us.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(99))
}

fn log_megabytes(options: &OpenOptions) -> Outcome<u64> {
    Ok(folder_bytes(&options.path.join("log"))? >> 20)
}

fn folder_bytes(path: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Memory that the process holds.
fn resident_megabytes() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(number_after(&status, "VmRSS:")? >> 10)
}

/// What the process has sent to the disk.
fn written_bytes() -> Outcome<u64> {
    number_after(&fs::read_to_string("/proc/self/io")?, "\nwrite_bytes:")
}

fn number_after(text: &str, name: &str) -> Outcome<u64> {
    let (_, after) = text.split_once(name).ok_or("the system does not say")?;
    Ok(after.split_whitespace().next().unwrap_or_default().parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
fn rate(count: usize, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}
