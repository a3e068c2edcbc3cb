//! What the files of a checkpoint do by themselves: rows written per second, the index of a start, rows read at random.
//!
//! Prints one `NAME NUMBER` a line, for scripts.

#![expect(clippy::indexing_slicing, reason = "places are made from lengths")]

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use adjourn_storage::chunks::{BlockCache, Chunk, ChunkSummary, ChunkWriter, RowHead, TIMELINE_STAMP};
use adjourn_storage::folder::{DiskFolder, Folder as _};
use clap::Parser;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows that are read at random.
const READS: u64 = 200_000;

/// Rows of chunks per second: written, indexed, read and verified
#[derive(Parser)]
struct Load {
    /// Where; a folder of its own is made there, and removed
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// How many rows each chunk has
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// How many chunks are written
    #[arg(long, default_value_t = 1)]
    chunks: u32,
    /// Size of a row
    #[arg(long, default_value_t = 200)]
    bytes: usize,
    /// Give each row the hash of a key
    #[arg(long)]
    keys: bool,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Outcome<()> {
    let load = Load::parse();
    let path = load.folder.join("adjourn-bench-chunks");
    if path.exists() {
        return Err(format!("{} is in the way: remove it", path.display()).into());
    }
    let folder = DiskFolder::new(&path)?;
    let outcome = write(&folder, &load).and_then(|summaries| read(&folder, &load, &summaries));
    fs::remove_dir_all(&path)?;
    outcome
}

fn write(folder: &DiskFolder, load: &Load) -> Outcome<Vec<ChunkSummary>> {
    let mut row = vec![0; load.bytes];
    let mut summaries = Vec::new();
    let started = now();
    for number in 0..load.chunks {
        let mut writer = ChunkWriter::create(folder, number)?;
        for id in 0..load.rows {
            let bytes = mixed(id).to_le_bytes().into_iter().cycle();
            row.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
            let key_hash = load.keys.then(|| u128::from(mixed(id)) << 64 | u128::from(id));
            let head = RowHead { id, timeline: TIMELINE_STAMP, at: id / 10, topic: 1, key_hash };
            writer.push(head, &row)?;
        }
        summaries.push(writer.finish()?);
    }
    folder.sync()?;
    let took = seconds_since(started);
    let bytes: u64 = summaries.iter().map(|summary| summary.bytes).sum();
    println!("write_rows_per_second {:.0}", rows(load) / took);
    println!("write_megabytes_per_second {:.0}", megabytes(bytes) / took);
    println!("file_bytes_per_row {:.1}", megabytes(bytes) * 1e6 / rows(load));
    Ok(summaries)
}

fn read(folder: &DiskFolder, load: &Load, summaries: &[ChunkSummary]) -> Outcome<()> {
    let started = now();
    let open = |summary| Chunk::open(folder, summary);
    let chunks: Vec<Chunk> = summaries.iter().map(open).collect::<Result<_, _>>()?;
    println!("open_milliseconds {:.2}", seconds_since(started) * 1e3);

    let started = now();
    let mut sum = 0;
    for chunk in &chunks {
        chunk.for_each_index(|_, head| sum ^= head.id ^ head.at)?;
    }
    let took = seconds_since(started);
    println!("index_rows_per_second {:.0}", rows(load) / took);
    println!("index_seconds {took:.3}");

    let mut cache = BlockCache::default();
    // Twice, so that the second time the system has the file in memory.
    for name in ["first", "warm"] {
        let started = now();
        for nth in 0..READS {
            let chunk = &chunks[usize::try_from(mixed(nth) % u64::from(load.chunks))?];
            let row = u32::try_from(mixed(nth + READS) % load.rows)?;
            sum ^= u64::from(chunk.read_row(row, &mut cache)?[0]);
        }
        println!("{name}_random_row_microseconds {:.2}", seconds_since(started) * 1e6 / precise(READS));
    }
    let started = now();
    for chunk in &chunks {
        for row in 0..chunk.rows() {
            sum ^= u64::from(chunk.read_row(row, &mut cache)?[0]);
        }
    }
    println!("rows_in_order_per_second {:.0}", rows(load) / seconds_since(started));

    let started = now();
    for chunk in &chunks {
        chunk.verify(|_| {})?;
    }
    let bytes: u64 = summaries.iter().map(|summary| summary.bytes).sum();
    println!("verify_megabytes_per_second {:.0}", megabytes(bytes) / seconds_since(started));
    std::hint::black_box(sum);
    Ok(())
}

/// `SplitMix64`, after Steele, Lea and Flood (2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn rows(load: &Load) -> f64 {
    precise(load.rows) * f64::from(load.chunks)
}

fn megabytes(bytes: u64) -> f64 {
    precise(bytes) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
fn precise(count: u64) -> f64 {
    count as f64
}

fn seconds_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}
