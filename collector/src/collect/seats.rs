//! One connection a host: the newest. A shipper that comes again after its network was cut must not wait until the collector
//! notices that its former connection is dead; and that one must be done with its files before the new one begins.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a connection waits for the one before it to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who is connected.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: Mutex<HashMap<String, Holder>>,
    left: Condvar,
}

#[derive(Debug)]
struct Holder {
    number: u64,
    stream: TcpStream,
}

/// A host's place, until this is dropped.
#[derive(Debug)]
pub(super) struct Seat<'seats> {
    seats: &'seats Seats,
    host: String,
}

impl Seats {
    /// Takes the place of `host` for a connection, ending the one that has it. `None` when that does not end, or a
    /// still newer one is first.
    pub(super) fn take(&self, host: &str, stream: TcpStream) -> Option<Seat<'_>> {
        let deadline = Instant::now() + PATIENCE;
        let mut taken = self.lock();
        while let Some(holder) = taken.get(host) {
            let number = holder.number;
            // One that has been told already has gone as well.
            let _ = holder.stream.shutdown(Shutdown::Both);
            let left = deadline.saturating_duration_since(Instant::now());
            let same = |taken: &mut HashMap<String, Holder>| {
                taken.get(host).is_some_and(|holder| holder.number == number)
            };
            let (now, time) =
                self.left.wait_timeout_while(taken, left, same).unwrap_or_else(PoisonError::into_inner);
            taken = now;
            if time.timed_out() {
                return None;
            }
        }
        static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        taken.insert(host.to_owned(), Holder { number, stream });
        Some(Seat { seats: self, host: host.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Holder>> {
        // A map is whole whatever a thread that held it did.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.seats.lock().remove(&self.host);
        self.seats.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn the_newest_connection_ends_the_one_before_and_waits_for_it() {
        let seats = Seats::default();
        let (_one, first) = pair();
        let (_two, second) = pair();
        let (_other, other) = pair();
        std::thread::scope(|scope| {
            let seat = seats.take("a", first.try_clone().unwrap()).unwrap();
            let _others = seats.take("b", other).unwrap();
            let seats = &seats;
            let next = scope.spawn(move || seats.take("a", second).is_some());
            // Ended by the one that waits.
            assert_eq!((&first).read(&mut [0; 1]).unwrap(), 0);
            assert!(!next.is_finished());
            drop(seat);
            assert!(next.join().unwrap());
        });
        assert_eq!(seats.lock().len(), 0);
    }
}
