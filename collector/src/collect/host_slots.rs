//! Host slots: each host has one, for its newest connection. A shipper that connects again after a
//! network failure must not wait until the collector notices that the previous connection is dead.
//! The previous connection must be finished with the host's files before the new one begins.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::CertificateDer;

use crate::tuning::SLOT_TIMEOUT;

/// Slots of the connected hosts.
#[derive(Debug, Default)]
pub(super) struct HostSlots {
    state: Mutex<SlotsState>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct SlotsState {
    taken: HashMap<String, SlotHolder>,
    /// Number of the newest connection of each host that holds its slot or waits for it.
    newest: HashMap<String, u64>,
}

/// Connection that holds its host's slot.
#[derive(Debug)]
struct SlotHolder {
    stream: TcpStream,
    /// Certificate that the connection has shown, if one was required.
    certificate: Option<CertificateDer<'static>>,
    revoked: Arc<AtomicBool>,
}

/// Slot of a host, released on drop.
#[derive(Debug)]
pub(super) struct HostSlot<'slots> {
    slots: &'slots HostSlots,
    host: String,
    number: u64,
    revoked: Arc<AtomicBool>,
}

impl HostSlots {
    /// Claims the slot of `host` for a connection, and ends the connection that holds it. `None` if
    /// the previous connection does not end, or a still newer one has come.
    pub(super) fn claim_slot(
        &self,
        host: &str,
        stream: TcpStream,
        certificate: Option<CertificateDer<'static>>,
    ) -> Option<HostSlot<'_>> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Relaxed);
        let mut state = self.lock_state();
        state.newest.insert(host.to_owned(), number);
        if let Some(taken) = state.taken.get(host) {
            let _ = taken.stream.shutdown(Shutdown::Both);
        }
        // Connections that waited so far see that a newer one has come.
        self.released.notify_all();
        let waits = |state: &mut SlotsState| {
            state.taken.contains_key(host) && state.newest.get(host) == Some(&number)
        };
        let waited = self.released.wait_timeout_while(state, SLOT_TIMEOUT, waits);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.newest.get(host) != Some(&number) {
            return None;
        }
        if state.taken.contains_key(host) {
            state.newest.remove(host);
            return None;
        }
        let revoked = Arc::new(AtomicBool::new(false));
        let taken = SlotHolder { stream, certificate, revoked: Arc::clone(&revoked) };
        state.taken.insert(host.to_owned(), taken);
        Some(HostSlot { slots: self, host: host.to_owned(), number, revoked })
    }

    /// Ends the connections with certificates that are revoked now. Nothing more is read from them.
    pub(super) fn close_revoked(&self, is_revoked: impl Fn(&CertificateDer<'_>) -> bool) {
        for taken in self.lock_state().taken.values() {
            if taken.certificate.as_ref().is_some_and(&is_revoked) {
                taken.revoked.store(true, Relaxed);
                // The session waits for something to read, and must still be able to send the
                // reason.
                let _ = taken.stream.shutdown(Shutdown::Read);
            }
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, SlotsState> {
        // The maps stay consistent even if a thread panicked while it held the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostSlot<'_> {
    /// Whether the key of this connection was revoked.
    pub(super) fn is_revoked(&self) -> bool {
        self.revoked.load(Relaxed)
    }
}

impl Drop for HostSlot<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.lock_state();
        state.taken.remove(&self.host);
        if state.newest.get(&self.host) == Some(&self.number) {
            state.newest.remove(&self.host);
        }
        drop(state);
        self.slots.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::socket_pair;
    use std::io::Read;

    #[test]
    fn the_newest_connection_ends_the_previous_one_and_waits_for_it() {
        let slots = HostSlots::default();
        let (_one, first) = socket_pair();
        let (_two, second) = socket_pair();
        let (_other, other) = socket_pair();
        std::thread::scope(|scope| {
            let slot = slots.claim_slot("a", first.try_clone().unwrap(), None).unwrap();
            let _others = slots.claim_slot("b", other, None).unwrap();
            let slots = &slots;
            let next = scope.spawn(move || slots.claim_slot("a", second, None).is_some());
            // Ended by the waiting connection.
            assert_eq!((&first).read(&mut [0; 1]).unwrap(), 0);
            assert!(!next.is_finished());
            drop(slot);
            assert!(next.join().unwrap());
        });
        assert!(slots.lock_state().taken.is_empty() && slots.lock_state().newest.is_empty());
    }

    #[test]
    fn the_newest_waiting_connection_gets_the_slot() {
        let slots = HostSlots::default();
        let pairs: Vec<_> = (0..4).map(|_| socket_pair()).collect();
        let stream = |of: usize| pairs[of].1.try_clone().unwrap();
        std::thread::scope(|scope| {
            let slot = slots.claim_slot("a", stream(0), None).unwrap();
            let mut waiting = Vec::new();
            for of in 1..4 {
                let (slots, stream) = (&slots, stream(of));
                let before = slots.lock_state().newest["a"];
                waiting.push(scope.spawn(move || slots.claim_slot("a", stream, None).is_some()));
                while slots.lock_state().newest["a"] == before {
                    std::thread::yield_now();
                }
            }
            drop(slot);
            let outcomes: Vec<bool> =
                waiting.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert_eq!(outcomes, [false, false, true]);
        });
        assert!(slots.lock_state().taken.is_empty() && slots.lock_state().newest.is_empty());
    }
}
