//! Limits of a port on unauthenticated connections. There are few slots, and no address can keep another one from
//! connecting.
//!
//! When all slots are taken, the address with the most slots loses its oldest: at once to a connection from another
//! address, to its own only after a while. So a client that opens many connections and sends nothing blocks only itself. A
//! crowd that reconnects at once is not blocked: clients without a slot try again.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The slots of a port.
#[derive(Debug)]
pub(super) struct UnauthenticatedLimits {
    places_max: usize,
    /// An address does not take a slot from itself before it has had the slot for this long.
    patience: Duration,
    places: Mutex<TakenSlots>,
}

#[derive(Debug, Default)]
struct TakenSlots {
    taken: usize,
    next: u64,
    /// The taken slots by address, the oldest first.
    by_address: BTreeMap<IpAddr, VecDeque<Taken>>,
}

#[derive(Debug)]
struct Taken {
    number: u64,
    since: Instant,
    given_up: CancellationToken,
}

/// How many connections each address has.
#[derive(Debug)]
pub(super) struct Addresses {
    most: usize,
    count: Mutex<BTreeMap<IpAddr, usize>>,
}

/// One connection of an address, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    addresses: Arc<Addresses>,
    address: IpAddr,
}

/// A slot, until it is dropped or lost.
#[derive(Debug)]
pub(super) struct UnauthenticatedSlot {
    limits: Arc<UnauthenticatedLimits>,
    address: IpAddr,
    number: u64,
    given_up: CancellationToken,
}

impl UnauthenticatedLimits {
    /// Limits with all slots free.
    pub(super) fn new(places_max: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self { places_max, patience, places: Mutex::default() })
    }

    /// A slot for a connection from this address; `None` if there is none for it now.
    pub(super) fn enter(self: &Arc<Self>, from: IpAddr) -> Option<UnauthenticatedSlot> {
        let address = network(from);
        let mut places = self.lock();
        if places.taken >= self.places_max && !places.make_room(address, self.patience) {
            return None;
        }
        places.next += 1;
        let (number, given_up) = (places.next, CancellationToken::new());
        let taken = Taken { number, since: Instant::now(), given_up: given_up.clone() };
        places.by_address.entry(address).or_default().push_back(taken);
        places.taken += 1;
        Some(UnauthenticatedSlot { limits: Arc::clone(self), address, number, given_up })
    }

    fn lock(&self) -> MutexGuard<'_, TakenSlots> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenSlots {
    /// Takes a slot from the address with the most, if it has more than the new connection's address would have. Otherwise
    /// takes one that was held for long: from the connection's own address if it has any, else the oldest of all.
    fn make_room(&mut self, coming: IpAddr, patience: Duration) -> bool {
        let own = self.by_address.get(&coming).map_or(0, VecDeque::len);
        let fullest = self.by_address.iter().max_by_key(|(_, taken)| taken.len());
        let (address, must_be_old) = match fullest {
            Some((address, taken)) if taken.len() > own + 1 => (*address, false),
            _ if own > 0 => (coming, true),
            _ => {
                match self.by_address.iter().min_by_key(|(_, taken)| taken.front().map(|oldest| oldest.since))
                {
                    Some((address, _)) => (*address, true),
                    None => return false,
                }
            }
        };
        let Some(taken) = self.by_address.get_mut(&address) else { return false };
        if must_be_old && taken.front().is_some_and(|oldest| oldest.since.elapsed() < patience) {
            return false;
        }
        if let Some(oldest) = taken.pop_front() {
            oldest.given_up.cancel();
            self.taken -= 1;
        }
        if taken.is_empty() {
            self.by_address.remove(&address);
        }
        true
    }

    fn leave(&mut self, address: IpAddr, number: u64) {
        let Some(taken) = self.by_address.get_mut(&address) else { return };
        if let Some(at) = taken.iter().position(|place| place.number == number) {
            taken.remove(at);
            self.taken -= 1;
        }
        if taken.is_empty() {
            self.by_address.remove(&address);
        }
    }
}

impl UnauthenticatedSlot {
    /// Cancelled when another connection has taken this slot.
    pub(super) fn loss(&self) -> CancellationToken {
        self.given_up.clone()
    }
}

impl Drop for UnauthenticatedSlot {
    fn drop(&mut self) {
        self.limits.lock().leave(self.address, self.number);
    }
}

impl Addresses {
    /// Each address may have `most` connections; 0 for no limit.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: if most == 0 { usize::MAX } else { most }, count: Mutex::default() })
    }

    /// Counts a connection from this address; `None` if it has its maximum.
    pub(super) fn count(self: &Arc<Self>, from: IpAddr) -> Option<Counted> {
        let address = network(from);
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let own = count.entry(address).or_default();
        if *own >= self.most {
            return None;
        }
        *own += 1;
        Some(Counted { addresses: Arc::clone(self), address })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut count = self.addresses.count.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = count.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                count.remove(&self.address);
            }
        }
    }
}

/// The range of addresses that one party can have for free: of IPv6, a network of 64 bits.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn is_given_up(place: &UnauthenticatedSlot) -> bool {
        place.given_up.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_the_most_places_makes_room_for_others() {
        let limits = UnauthenticatedLimits::new(4, PATIENCE);
        let silent: Vec<UnauthenticatedSlot> = (0..4).filter_map(|_| limits.enter(ip("10.0.0.1"))).collect();
        assert_eq!(silent.len(), 4);
        let first = limits.enter(ip("10.0.0.2")).expect("a place");
        let second = limits.enter(ip("10.0.0.3")).expect("a place");
        assert_eq!(silent.iter().map(is_given_up).collect::<Vec<_>>(), [true, true, false, false]);
        assert!(!is_given_up(&first) && !is_given_up(&second));
        // It has its maximum of slots, and all of them are recent.
        assert!(limits.enter(ip("10.0.0.1")).is_none());
        drop(silent);
        let again: Vec<UnauthenticatedSlot> = (0..9).filter_map(|_| limits.enter(ip("10.0.0.1"))).collect();
        assert_eq!(again.len(), 2, "those that were given up are not counted twice");
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_takes_its_own_oldest_place_after_a_while() {
        let limits = UnauthenticatedLimits::new(2, PATIENCE);
        let [first, second] = [(); 2].map(|()| limits.enter(ip("10.0.0.1")).expect("a place"));
        assert!(limits.enter(ip("10.0.0.1")).is_none());
        tokio::time::advance(PATIENCE).await;
        let third = limits.enter(ip("10.0.0.1")).expect("a place");
        assert_eq!([is_given_up(&first), is_given_up(&second), is_given_up(&third)], [true, false, false]);
        first.loss().cancelled().await;
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_crowd_of_many_addresses_nobody_loses_a_young_place() {
        let limits = UnauthenticatedLimits::new(2, PATIENCE);
        let first = limits.enter(ip("10.0.0.1")).expect("a place");
        tokio::time::advance(PATIENCE / 2).await;
        let second = limits.enter(ip("10.0.0.2")).expect("a place");
        assert!(limits.enter(ip("10.0.0.3")).is_none());
        tokio::time::advance(PATIENCE / 2).await;
        assert!(limits.enter(ip("10.0.0.3")).is_some());
        assert_eq!([is_given_up(&first), is_given_up(&second)], [true, false]);
    }

    #[test]
    fn an_address_has_no_more_connections_than_it_may() {
        let addresses = Addresses::new(2);
        let first = addresses.count(ip("10.0.0.1")).expect("the first");
        let _second = addresses.count(ip("10.0.0.1")).expect("the second");
        assert!(addresses.count(ip("10.0.0.1")).is_none() && addresses.count(ip("10.0.0.2")).is_some());
        drop(first);
        assert!(addresses.count(ip("10.0.0.1")).is_some());
        let open = Addresses::new(0);
        assert_eq!((0..5000).filter_map(|_| open.count(ip("10.0.0.1"))).count(), 5000);
    }

    #[tokio::test(start_paused = true)]
    async fn all_addresses_of_a_network_are_one() {
        let limits = UnauthenticatedLimits::new(2, PATIENCE);
        let _one = limits.enter(ip("2001:db8::1")).expect("a place");
        let _two = limits.enter(ip("2001:db8::2:0:0:1")).expect("a place");
        assert!(limits.enter(ip("2001:db8::ffff")).is_none());
        assert!(limits.enter(ip("2001:db8:0:1::1")).is_some());
        assert_eq!(network(ip("::ffff:10.0.0.1")), ip("10.0.0.1"));
    }
}
