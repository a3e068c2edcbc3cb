//! Makes the allocator return memory to the system while the node is idle.
//!
//! mimalloc keeps freed pages for a second and purges them when it next frees a page. A node that has just emptied a
//! queue frees no more, so the memory that it freed last, all of a large slab, would stay resident while the node is
//! unused.

use std::hint::black_box;
use std::time::Duration;

use tokio::task::spawn_blocking;

/// Longer than mimalloc keeps a freed page (`purge_delay`, 1 s).
const EVERY: Duration = Duration::from_secs(2);

/// More than mimalloc serves from shared pages: such a piece has a page of its own, which is freed with it.
const PIECE_BYTES: usize = 8 << 20;

/// Frees a page every two seconds, as long as the process lives. The piece is never written, so it takes only address
/// space. Purging a gigabyte takes a tenth of a second: no connection must wait for that.
pub(crate) async fn give_back() {
    let mut interval = tokio::time::interval(EVERY);
    loop {
        interval.tick().await;
        if spawn_blocking(free_a_page).await.is_err() {
            return;
        }
    }
}

fn free_a_page() {
    drop(black_box(Vec::<u8>::with_capacity(PIECE_BYTES)));
}
