//! One account of the memory that clients make a node take beside its state: answers that are not written yet, and requests and answers
//! of HTTP. Whoever has such memory holds a [`HeldMemory`] for it, and gives it back by dropping that.
//!
//! There is a share for each token, and for each address where there are no tokens. No share takes more than it leaves to all
//! others: one that takes what it can has half, and a second one still a quarter. Part of the account is kept for shares that have
//! nothing: each of them may take one thing, however large that is.
//!
//! Who finds no room waits, or is refused. One who waits says so, and is told when room was given back.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::types::Access;

/// The account takes this part of a limit of memory.
const MEMORY_PART: u64 = 8;
/// But no less than this, in bytes, and no more.
const BYTES_MIN: usize = 24 << 20;
const BYTES_MAX: usize = 256 << 20;
/// As many of the largest bodies have room in it, whatever the limit is.
const BODIES_MIN: usize = 8;
/// One part in this number is for shares that have nothing.
const KEPT_PART: usize = 4;

/// The account of a node.
#[derive(Clone, Debug)]
pub struct MemoryAccount(Arc<Totals>);

/// What one token, or one address, has of it.
#[derive(Clone, Debug)]
pub struct MemoryShare(Arc<Holder>);

/// Memory that is taken until this is dropped.
#[derive(Debug)]
pub struct HeldMemory {
    share: MemoryShare,
    bytes: usize,
}

struct Totals {
    bytes_max: usize,
    taken: AtomicUsize,
    by_name: Mutex<BTreeMap<Arc<str>, Weak<Holder>>>,
    /// Somebody waits for room.
    is_wanted: AtomicBool,
    /// Called when room was given back that somebody waits for.
    given_back: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Debug)]
struct Holder {
    account: MemoryAccount,
    taken: AtomicUsize,
}

impl Default for MemoryAccount {
    fn default() -> Self {
        Self::new(BYTES_MIN)
    }
}

impl MemoryAccount {
    /// An account of this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Totals {
            bytes_max,
            taken: AtomicUsize::new(0),
            by_name: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            given_back: OnceLock::new(),
        }))
    }

    /// The account of a node with this limit of memory, 0 for none, and bodies of at most this size.
    pub fn within(memory_max_bytes: u64, body_bytes_max: usize) -> Self {
        let part = match memory_max_bytes {
            0 => BYTES_MAX,
            max => usize::try_from(max / MEMORY_PART).unwrap_or(usize::MAX).clamp(BYTES_MIN, BYTES_MAX),
        };
        Self::new(part.max(body_bytes_max.saturating_mul(BODIES_MIN)))
    }

    /// Calls this whenever room was given back for which somebody [waits](MemoryShare::want). Only the first call counts.
    pub fn when_given_back(&self, call: impl Fn() + Send + Sync + 'static) {
        // Another call than the first would be an account with two nodes.
        let _ = self.0.given_back.set(Box::new(call));
    }

    /// The share of one that may do this and comes from this address.
    pub fn share(&self, access: &Access, address: &str) -> MemoryShare {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let name = if access.token.is_empty() { format!("@{host}") } else { access.token.clone() };
        let mut by_name = self.0.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = by_name.get(name.as_str()).and_then(Weak::upgrade) {
            return MemoryShare(share);
        }
        by_name.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Holder { account: self.clone(), taken: AtomicUsize::new(0) });
        by_name.insert(name.into(), Arc::downgrade(&share));
        MemoryShare(share)
    }

    /// Its size, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// What is taken of it.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }
}

impl MemoryShare {
    /// How much more it may take, in bytes. One thing may be larger than that, if there is any room.
    pub fn room(&self) -> usize {
        let Totals { bytes_max, .. } = &*self.0.account.0;
        let (own, all) = (self.0.taken.load(Ordering::Relaxed), self.0.account.taken());
        let free = (bytes_max - bytes_max / KEPT_PART).saturating_sub(all);
        match free.saturating_sub(own) / 2 {
            0 if own == 0 && all < *bytes_max => 1,
            room => room,
        }
    }

    /// Takes as much, if there is room for it, or if it has nothing and there is any.
    pub fn take(&self, bytes: usize) -> Option<HeldMemory> {
        let room = self.room();
        let has_nothing = self.0.taken.load(Ordering::Relaxed) == 0;
        (bytes <= room || (has_nothing && room > 0)).then(|| {
            let mut held = self.nothing();
            held.add(bytes);
            held
        })
    }

    /// Nothing, to which may be added.
    pub fn nothing(&self) -> HeldMemory {
        HeldMemory { share: self.clone(), bytes: 0 }
    }

    /// Has the account say when memory is given back: once, for all who wait for it.
    pub fn want(&self) {
        let account = &self.0.account.0;
        account.is_wanted.store(true, Ordering::SeqCst);
        if self.room() > 0 {
            // It came back at this very moment.
            account.tell();
        }
    }

    /// Whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl HeldMemory {
    /// Adds as much, whether there is room for it or not.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.share.0.taken.fetch_add(bytes, Ordering::Relaxed);
        self.share.0.account.0.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds as much, if there is room for it.
    pub fn try_add(&mut self, bytes: usize) -> bool {
        self.share.take(bytes).is_some_and(|mut more| {
            self.bytes += std::mem::take(&mut more.bytes);
            true
        })
    }

    /// Makes it this much at least, whether there is room for that or not.
    pub fn add_up_to(&mut self, bytes: usize) {
        self.add(bytes.saturating_sub(self.bytes));
    }

    /// Makes it this much. `false` if it would be more, and there is no room for that: then it stays as it was.
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.try_add(bytes - self.bytes);
        }
        let mut less = self.share.nothing();
        (less.bytes, self.bytes) = (self.bytes - bytes, bytes);
        true
    }

    /// Of what it is a part.
    pub fn share(&self) -> &MemoryShare {
        &self.share
    }

    /// Whether its share has nothing else.
    pub fn is_all(&self) -> bool {
        self.bytes == self.share.0.taken.load(Ordering::Relaxed)
    }

    /// All of it; nothing stays.
    #[must_use]
    pub fn take_all(&mut self) -> Self {
        let nothing = self.share.nothing();
        std::mem::replace(self, nothing)
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.share.0.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        self.share.0.account.0.taken.fetch_sub(self.bytes, Ordering::SeqCst);
        self.share.0.account.0.tell();
    }
}

impl Totals {
    /// Tells those who wait that memory was given back.
    fn tell(&self) {
        if self.is_wanted.swap(false, Ordering::SeqCst)
            && let Some(call) = self.given_back.get()
        {
            call();
        }
    }
}

impl fmt::Debug for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Totals")
            .field("bytes_max", &self.bytes_max)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(account: &MemoryAccount, token: &str) -> MemoryShare {
        account.share(&Access { token: token.to_owned(), ..Access::open() }, "10.0.0.1:5")
    }

    /// Takes what it can, in pieces.
    fn grab(share: &MemoryShare) -> Vec<HeldMemory> {
        std::iter::from_fn(|| share.take(10)).collect()
    }

    #[test]
    fn no_share_takes_more_than_it_leaves() {
        let account = MemoryAccount::new(4_000);
        let [a, b, c] = ["a", "b", "c"].map(|token| of(&account, token));
        let of_a = grab(&a);
        assert!((1_480..=1_500).contains(&account.taken()), "half of what may be shared: {account:?}");
        let of_b = grab(&b);
        assert!((2_220..=2_250).contains(&account.taken()), "and half of the rest: {account:?}");
        drop(of_a);
        assert!(grab(&b).len() > 30, "there is more");
        drop(of_b);
        assert!(account.taken() < 400 && c.room() > 1_200);
    }

    #[test]
    fn a_share_that_has_nothing_may_take_one_thing() {
        let account = MemoryAccount::new(4_000);
        let many: Vec<_> = (0..40).map(|n| grab(&of(&account, &n.to_string()))).collect();
        let taken = account.taken();
        assert!((2_950..4_000).contains(&taken), "{account:?}");
        let late = of(&account, "late");
        let one = late.take(500);
        assert!(one.is_some() && late.take(1).is_none());
        let last = of(&account, "last").take(1_000);
        assert!(last.is_some() && of(&account, "nobody").take(1).is_none(), "all is taken");
        drop((many, one, last));
        assert_eq!(account.taken(), 0);
    }

    #[test]
    fn a_share_is_that_of_the_token_or_of_the_address() {
        let account = MemoryAccount::default();
        let from = |address: &str| account.share(&Access::open(), address);
        assert!(from("10.0.0.1:5").is(&from("10.0.0.1:6")) && !from("10.0.0.2:5").is(&from("10.0.0.1:5")));
        assert!(from("[::1]:5").is(&from("[::1]:6")));
        let held = from("a:1").take(1).expect("room");
        assert!(held.share.is(&from("a:2")) && !of(&account, "a").is(&from("a:1")));
    }

    #[test]
    fn who_waits_for_room_is_told_once() {
        let account = MemoryAccount::new(100);
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        account.when_given_back(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let share = of(&account, "a");
        drop(share.take(1));
        assert_eq!(told.load(Ordering::Relaxed), 0, "nobody waits");
        let mut held = share.take(1).expect("room");
        assert!(held.try_add(30) && !held.try_add(30));
        held.add(30);
        let mut all = held.take_all();
        assert!(all.is_all() && all.resize(61) && !all.resize(62));
        share.want();
        drop(held);
        assert_eq!((told.load(Ordering::Relaxed), account.taken()), (0, 61), "nothing came back");
        drop(all);
        drop(share.take(1));
        assert_eq!((told.load(Ordering::Relaxed), account.taken()), (1, 0));
        share.want();
        assert_eq!(told.load(Ordering::Relaxed), 2, "there is room");
    }
}
