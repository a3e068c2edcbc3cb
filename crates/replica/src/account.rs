//! The account of the memory that clients cause beside the state: answers that are not written yet, and HTTP requests and
//! answers. Holders have a [`HeldMemory`], and return the memory by dropping it.
//!
//! There is a share for each token, or for each address if there are no tokens. A share may never take more than it leaves
//! to all others: the first can take half, the second a quarter. A part of the account is reserved for shares that hold
//! nothing: each of them may take one item of any size.
//!
//! Without room, a caller waits or is refused. A waiting caller registers with [`MemoryShare::want`] and is notified.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use adjourn_types::Access;

/// The account is one part in this number of a memory limit, within the bounds below.
const MEMORY_PART: u64 = 8;
/// The bounds of the account, in bytes.
const BYTES_MIN: usize = 24 << 20;
const BYTES_MAX: usize = 256 << 20;
/// The account has room for at least this many of the largest bodies.
const BODIES_MIN: usize = 8;
/// One part in this number of the account is reserved for shares that hold nothing.
const KEPT_PART: usize = 4;

/// The memory account of a node.
#[derive(Clone, Debug)]
pub struct MemoryAccount(Arc<Totals>);

/// The share of one token or address.
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
    /// Set while a caller waits for room.
    is_wanted: AtomicBool,
    /// Called when memory came back while a caller waits for it.
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
    /// An account of this size.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Totals {
            bytes_max,
            taken: AtomicUsize::new(0),
            by_name: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            given_back: OnceLock::new(),
        }))
    }

    /// The account of a node with this memory limit (0 for none) and bodies of at most this size.
    pub fn within(memory_max_bytes: u64, body_bytes_max: usize) -> Self {
        let part = match memory_max_bytes {
            0 => BYTES_MAX,
            max => usize::try_from(max / MEMORY_PART).unwrap_or(usize::MAX).clamp(BYTES_MIN, BYTES_MAX),
        };
        Self::new(part.max(body_bytes_max.saturating_mul(BODIES_MIN)))
    }

    /// Sets the function that is called when memory came back while a caller [waits](MemoryShare::want). Only the first
    /// call counts.
    pub fn when_given_back(&self, call: impl Fn() + Send + Sync + 'static) {
        // A second call would mean that two nodes use one account.
        let _ = self.0.given_back.set(Box::new(call));
    }

    /// The share of a client with this access and address.
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

    /// The size of the account, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// The bytes taken.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }
}

impl MemoryShare {
    /// How many more bytes it may take. A single item may exceed this if there is any room.
    pub fn room(&self) -> usize {
        let Totals { bytes_max, .. } = &*self.0.account.0;
        let (own, all) = (self.0.taken.load(Ordering::Relaxed), self.0.account.taken());
        let free = (bytes_max - bytes_max / KEPT_PART).saturating_sub(all);
        match free.saturating_sub(own) / 2 {
            0 if own == 0 && all < *bytes_max => 1,
            room => room,
        }
    }

    /// Takes memory if there is room, or if the share holds nothing and there is any room at all.
    pub fn take(&self, bytes: usize) -> Option<HeldMemory> {
        let room = self.room();
        let has_nothing = self.0.taken.load(Ordering::Relaxed) == 0;
        (bytes <= room || (has_nothing && room > 0)).then(|| {
            let mut held = self.nothing();
            held.add(bytes);
            held
        })
    }

    /// An empty holding, to which memory can be added.
    pub fn nothing(&self) -> HeldMemory {
        HeldMemory { share: self.clone(), bytes: 0 }
    }

    /// Requests a notification when memory comes back: one for all waiting callers.
    pub fn want(&self) {
        let account = &self.0.account.0;
        account.is_wanted.store(true, Ordering::SeqCst);
        if self.room() > 0 {
            // Memory came back in the meantime.
            account.tell();
        }
    }

    /// True if both are the same share.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl HeldMemory {
    /// Adds memory, even without room.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.share.0.taken.fetch_add(bytes, Ordering::Relaxed);
        self.share.0.account.0.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds memory if there is room.
    pub fn try_add(&mut self, bytes: usize) -> bool {
        self.share.take(bytes).is_some_and(|mut more| {
            self.bytes += std::mem::take(&mut more.bytes);
            true
        })
    }

    /// Grows to this size if it is smaller, even without room.
    pub fn add_up_to(&mut self, bytes: usize) {
        self.add(bytes.saturating_sub(self.bytes));
    }

    /// Changes the size. Returns `false`, and changes nothing, if there is no room to grow.
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.try_add(bytes - self.bytes);
        }
        let mut less = self.share.nothing();
        (less.bytes, self.bytes) = (self.bytes - bytes, bytes);
        true
    }

    /// The share that it belongs to.
    pub fn share(&self) -> &MemoryShare {
        &self.share
    }

    /// True if its share holds nothing else.
    pub fn is_all(&self) -> bool {
        self.bytes == self.share.0.taken.load(Ordering::Relaxed)
    }

    /// Moves all of it into a new holding.
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
    /// Notifies waiting callers that memory came back.
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

    /// Takes as much as possible, in pieces.
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
