//! What the log does by itself: records made durable per second, and what reading them back takes.
//!
//! Writes entries of small records, a batch at a time, as the disk thread does; then opens the directory again and
//! replays it. Prints one `NAME NUMBER` a line, for scripts. With `--cuts`, what it takes to cut the log at its beginning,
//! and how large its file stays: a line each time.

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
    /// So many times, write all of it and cut it off again
    #[arg(long, default_value_t = 0)]
    cuts: usize,
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
        last += (append(&mut storage, load, last)?.len() * load.batch) as u64;
        let append_ms = started.elapsed().as_millis();
        let grown_megabytes = log_megabytes(options)?;
        let mut rounds_us = Vec::new();
        let started = now();
        loop {
            let begun = now();
            let done = storage.cut(last)?;
            rounds_us.push(begun.elapsed().as_micros());
            if done {
                break;
            }
        }
        let cut_ms = started.elapsed().as_millis();
        let rounds = rounds_us.len();
        let (p50_us, p99_us) = percentiles(&mut rounds_us);
        println!(
            "time {time} append_ms {append_ms} cut_ms {cut_ms} rounds {rounds} p50_us {p50_us} p99_us {p99_us} \
             grown_megabytes {grown_megabytes} log_megabytes {} written_megabytes {} resident_megabytes {}",
            log_megabytes(options)?,
            written_bytes()? >> 20,
            resident_megabytes()?
        );
    }
    Ok(())
}

/// Appends entries behind `last`. How long each commit took, in microseconds.
fn append(storage: &mut DiskStorage, load: &Load, last: u64) -> Outcome<Vec<u128>> {
    let entry_bytes = load.records * RECORD_BYTES;
    let commits = (load.megabytes << 20) / (entry_bytes * load.batch);
    let data: Vec<u8> = (0..=u8::MAX).cycle().take(entry_bytes).collect();
    let mut took_us = Vec::with_capacity(commits);
    let mut index = last;
    for _ in 0..commits {
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
    Ok(fs::metadata(options.path.join("log").join("db"))?.len() >> 20)
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
