//! What the log does by itself: records made durable per second, and what reading them back takes.
//!
//! Writes entries of small records, a batch at a time, as the disk thread does; then opens the directory again and
//! replays it. Prints one `NAME NUMBER` a line, for scripts.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use adjourn::storage::{DiskStorage, EntryKind, LogEntry, OpenOptions, PersistBatch, Storage};
use bytes::Bytes;
use clap::Parser;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const RECORD_BYTES: usize = 128;

/// Durable records per second on sled, and what a start costs
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
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Outcome<()> {
    let load = Load::parse();
    let path = load.folder.join("adjourn-bench-log");
    if path.exists() {
        return Err(format!("{} is in the way: remove it", path.display()).into());
    }
    let options = OpenOptions { path: path.clone(), node: 1, cluster_id: [1; 16], storage_id: [2; 16] };
    let outcome = write(&options, &load).and_then(|()| read(&options));
    fs::remove_dir_all(&path)?;
    outcome
}

fn write(options: &OpenOptions, load: &Load) -> Outcome<()> {
    let mut storage = DiskStorage::open(options)?;
    let entry_bytes = load.records * RECORD_BYTES;
    let commits = (load.megabytes << 20) / (entry_bytes * load.batch);
    let data: Vec<u8> = (0..=u8::MAX).cycle().take(entry_bytes).collect();
    let mut took_us = Vec::with_capacity(commits);
    let mut index = 0;
    let started = now();
    for _ in 0..commits {
        let entries = (index + 1..).take(load.batch).map(|index| LogEntry {
            index,
            term: 1,
            kind: EntryKind::Normal,
            data: Bytes::from(data.clone()),
        });
        let batch = PersistBatch { vote: None, entries: entries.collect(), commit: index };
        index += load.batch as u64;
        let begun = now();
        storage.persist(&batch)?;
        took_us.push(begun.elapsed().as_micros());
    }
    println!("records_per_second {:.0}", rate(commits * load.batch * load.records, started));
    took_us.sort_unstable();
    let at = |percent: usize| took_us.get(commits * percent / 100).copied().unwrap_or_default();
    println!("p50_us {}\np99_us {}", at(50), at(99));
    println!("log_megabytes {}", fs::metadata(options.path.join("log").join("db"))?.len() >> 20);
    println!("written_megabytes {}", written_bytes()? >> 20);
    println!("resident_megabytes_written {}", resident_megabytes()?);
    storage.write_watermark()?;
    Ok(())
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
