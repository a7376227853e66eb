//! Connections that have not identified themselves yet. Their number is limited per network and in
//! all, and a new one that exceeds a limit evicts another: so silent connections do not keep others
//! out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::network::ClientNetwork;

/// Waiting connections, with a maximum for each [`ClientNetwork`] and one for all.
///
/// ```
/// use http_server::WaitingConnections;
///
/// let mut waiting = WaitingConnections::new(10, 2);
/// let [silent, other] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(std::net::IpAddr::from);
/// let (first, _) = waiting.add(silent, "first");
/// waiting.add(silent, "second");
/// assert_eq!(waiting.add(other, "another network").1, None);
/// assert_eq!(waiting.add(silent, "third").1, Some("first"));
/// assert_eq!(waiting.remove(first), None);
/// ```
#[derive(Debug)]
pub struct WaitingConnections<T> {
    /// By number, the oldest first.
    guests: BTreeMap<u64, (ClientNetwork, T)>,
    counts: HashMap<ClientNetwork, usize>,
    next: u64,
    all: usize,
    of_network: usize,
}

impl<T> WaitingConnections<T> {
    /// Room for `all` connections, and for `of_network` of each network.
    pub fn new(all: usize, of_network: usize) -> WaitingConnections<T> {
        let (guests, counts) = Default::default();
        WaitingConnections { guests, counts, next: 0, all, of_network }
    }

    /// Adds a connection from `address` and numbers it. If a limit is reached, another connection
    /// is evicted and returned: the oldest of the same network if that network is at its limit,
    /// otherwise the connection that [`evict`](WaitingConnections::evict_oldest) chooses.
    pub fn add(&mut self, address: IpAddr, guest: T) -> (u64, Option<T>) {
        let network = ClientNetwork::from(address);
        let of_network = self.counts.get(&network).copied().unwrap_or(0);
        let evicted = if of_network >= self.of_network {
            self.evict_oldest_of(|of, _| of == network)
        } else if self.guests.len() >= self.all {
            self.evict_oldest()
        } else {
            None
        };
        let number = self.next;
        self.next += 1;
        self.guests.insert(number, (network, guest));
        *self.counts.entry(network).or_default() += 1;
        (number, evicted)
    }

    /// Removes the oldest connection of a network with the largest number.
    pub fn evict_oldest(&mut self) -> Option<T> {
        let most = self.counts.values().copied().max()?;
        self.evict_oldest_of(|_, count| count == most)
    }

    /// Removes the oldest connection of a network for which `chosen` returns true, given the
    /// network and its number of connections.
    fn evict_oldest_of(&mut self, chosen: impl Fn(ClientNetwork, usize) -> bool) -> Option<T> {
        let count = |network| self.counts.get(network).copied().unwrap_or(0);
        let mut guests = self.guests.iter();
        let (number, _) = guests.find(|(_, (network, _))| chosen(*network, count(network)))?;
        self.remove(*number)
    }

    /// Removes the connection with this number, and returns its value.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let (network, guest) = self.guests.remove(&number)?;
        if let Some(count) = self.counts.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&network);
            }
        }
        Some(guest)
    }

    /// The connections with their numbers, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.guests.iter().map(|(number, (_, guest))| (*number, guest))
    }

    /// The value of the connection with this number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.guests.get_mut(&number).map(|(_, guest)| guest)
    }

    /// Number of waiting connections.
    pub fn len(&self) -> usize {
        self.guests.len()
    }

    /// Whether no connection is waiting.
    pub fn is_empty(&self) -> bool {
        self.guests.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn ipv4_address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn the_oldest_of_a_network_over_its_limit_is_evicted() {
        let mut waiting = WaitingConnections::new(100, 3);
        let other = waiting.add(ipv4_address(2), 100).0;
        let evicted: Vec<_> = (0..6).map(|guest| waiting.add(ipv4_address(1), guest).1).collect();
        assert_eq!(evicted, [None, None, None, Some(0), Some(1), Some(2)]);
        assert_eq!((waiting.len(), waiting.remove(other)), (4, Some(100)));
    }

    #[test]
    fn over_the_total_limit_the_largest_network_loses_one() {
        let mut waiting = WaitingConnections::new(4, 3);
        waiting.add(ipv4_address(1), "alone");
        let first = waiting.add(ipv4_address(2), "first").0;
        for guest in ["second", "third"] {
            waiting.add(ipv4_address(2), guest);
        }
        assert_eq!(waiting.add(ipv4_address(3), "new").1, Some("first"));
        assert_eq!(waiting.remove(first), None, "it is counted once");
        assert_eq!(waiting.add(ipv4_address(4), "newer").1, Some("second"));
        // Now each network has one.
        assert_eq!(waiting.add(ipv4_address(5), "newest").1, Some("alone"));
    }

    #[test]
    fn a_customer_with_many_addresses_of_ipv6_is_one_network() {
        let mut waiting = WaitingConnections::new(1000, 2);
        let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, last, 0, 0, 1).into();
        let evicted = (0..100).filter(|last| waiting.add(address(*last), ()).1.is_some()).count();
        assert_eq!((evicted, waiting.len()), (98, 2));
    }

    #[test]
    fn a_network_without_connections_is_forgotten() {
        let mut waiting = WaitingConnections::new(10, 1);
        for last in 0..200 {
            let number = waiting.add(ipv4_address(last), last).0;
            assert_eq!(waiting.remove(number), Some(last));
        }
        assert!(
            waiting.is_empty() && waiting.counts.is_empty() && waiting.evict_oldest().is_none()
        );
    }
}
