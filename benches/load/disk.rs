//! What a durable write costs on this disk, without any queue.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::{now, rate};

const WRITE_BYTES: usize = 4096;
const WRITES: usize = 4000;

/// Appends to a file and syncs its data, again and again, and prints how long that takes.
pub(crate) fn measure(folder: &Path) -> io::Result<()> {
    let path = folder.join("adjourn-bench-disk");
    let mut file = File::create(&path)?;
    let block = vec![0x5a; WRITE_BYTES];
    let mut took_us = Vec::with_capacity(WRITES);
    let started = now();
    for _ in 0..WRITES {
        let begun = now();
        file.write_all(&block)?;
        file.sync_data()?;
        took_us.push(begun.elapsed().as_micros());
    }
    let seconds = started.elapsed().as_secs_f64();
    fs::remove_file(&path)?;
    took_us.sort_unstable();
    let at = |percent: usize| took_us.get(WRITES * percent / 100).copied().unwrap_or_default();
    println!("per_second {:.0}", rate(WRITES, seconds));
    println!("p50_us {}\np99_us {}", at(50), at(99));
    Ok(())
}
