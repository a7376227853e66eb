//! Admission: limits on connections that have not identified themselves yet, for each network and
//! in total. A further connection takes the place of the oldest, so that silent sockets keep no
//! host out. An identified connection no longer counts, because many hosts can share one address.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_server::WaitingConnections;

use crate::tuning::{MAX_CONNECTIONS, MAX_UNKNOWN_CONNECTIONS, MAX_UNKNOWN_OF_NETWORK};

/// Connections of a collector, with limits on their number.
#[derive(Debug)]
pub(super) struct Admission {
    unidentified: Mutex<WaitingConnections<UnidentifiedConnection>>,
    /// Connections that have a thread, including identified and evicted ones.
    open: AtomicUsize,
}

/// Connection that may be evicted.
#[derive(Debug)]
struct UnidentifiedConnection {
    stream: TcpStream,
    is_evicted: Arc<AtomicBool>,
}

/// Place of a connection among the admitted ones, released on drop.
#[derive(Debug)]
pub(super) struct AdmissionTicket<'a> {
    admission: &'a Admission,
    number: u64,
    is_evicted: Arc<AtomicBool>,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission::with_limits(MAX_UNKNOWN_CONNECTIONS, MAX_UNKNOWN_OF_NETWORK)
    }
}

impl Admission {
    fn with_limits(all: usize, of_network: usize) -> Admission {
        let unidentified = Mutex::new(WaitingConnections::new(all, of_network));
        Admission { unidentified, open: AtomicUsize::new(0) }
    }

    /// Admits a connection from `address`. `stream` is a second descriptor of it, by which it is
    /// ended if another connection takes its place. `None` if too many connections are open in
    /// total.
    pub(super) fn admit(&self, address: IpAddr, stream: TcpStream) -> Option<AdmissionTicket<'_>> {
        if self.open.fetch_add(1, Relaxed) >= MAX_CONNECTIONS {
            self.open.fetch_sub(1, Relaxed);
            return None;
        }
        let is_evicted = Arc::new(AtomicBool::new(false));
        let unidentified = UnidentifiedConnection { stream, is_evicted: Arc::clone(&is_evicted) };
        let (number, evicted) = self.lock_unidentified().add(address, unidentified);
        evicted.into_iter().for_each(close_evicted);
        Some(AdmissionTicket { admission: self, number, is_evicted })
    }

    /// Ends a connection that has not identified itself, to free its descriptors. Returns whether
    /// there was one.
    pub(super) fn evict_unidentified(&self) -> bool {
        let evicted = self.lock_unidentified().evict_oldest();
        let is_some = evicted.is_some();
        evicted.into_iter().for_each(close_evicted);
        is_some
    }

    fn lock_unidentified(&self) -> MutexGuard<'_, WaitingConnections<UnidentifiedConnection>> {
        // The state stays consistent even if a thread panicked while it held the lock.
        self.unidentified.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn close_evicted(unidentified: UnidentifiedConnection) {
    unidentified.is_evicted.store(true, Relaxed);
    let _ = unidentified.stream.shutdown(Shutdown::Both);
}

impl AdmissionTicket<'_> {
    /// Marks the connection as identified.
    pub(super) fn mark_identified(&self) {
        self.admission.lock_unidentified().remove(self.number);
    }

    /// Whether another connection has taken this place.
    pub(super) fn is_evicted(&self) -> bool {
        self.is_evicted.load(Relaxed)
    }
}

impl Drop for AdmissionTicket<'_> {
    fn drop(&mut self) {
        self.mark_identified();
        self.admission.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::link::socket_pair;

    #[test]
    fn the_oldest_unidentified_connection_is_evicted_and_identified_ones_stay() {
        let admission = Admission::with_limits(10, 2);
        let pairs: Vec<_> = (0..4).map(|_| socket_pair()).collect();
        let admit = |of: usize| {
            let stream = pairs[of].1.try_clone().unwrap();
            admission.admit([192, 0, 2, 1].into(), stream).unwrap()
        };
        let known = admit(0);
        known.mark_identified();
        let [first, second, third] = [1, 2, 3].map(admit);
        assert!(first.is_evicted());
        // Both its thread and the other side see the end.
        assert_eq!((&pairs[1].1).read(&mut [0]).unwrap(), 0);
        assert_eq!((&pairs[1].0).read(&mut [0]).unwrap(), 0);
        assert!(![&known, &second, &third].iter().any(|place| place.is_evicted()));
        assert!(admission.evict_unidentified() && second.is_evicted());
        drop(third);
        assert!(!admission.evict_unidentified());
        drop((known, first, second));
        assert_eq!(admission.open.load(Relaxed), 0);
    }
}
