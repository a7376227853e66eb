//! Pairing of connecting and accepting sockets with compatible names.
//!
//! Names alone do not decide: a port is reused for a later connection to the same server, and all
//! unix connections of a client to one path look alike. Connections are accepted in the order in
//! which they were made, so order decides, and the bytes that they carried show where order was
//! misleading.

use out_of_core::SpillableVec;

use crate::indices::SocketIndex;
use crate::sockets::socket::KernelSocket;
use crate::tuning::PAIRING_REACH;

/// A socket to be paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairingCandidate {
    pub(crate) socket: SocketIndex,
    /// Time when the socket began to exist, in nanoseconds.
    pub(crate) opened: i64,
    /// Time when the socket was connected or accepted, in nanoseconds.
    pub(crate) named: i64,
    /// Number of bytes sent in all.
    pub(crate) sent: u64,
    /// Number of bytes received in all.
    pub(crate) received: u64,
}

/// Pairs sockets that can have only one connection at a time (the same two addresses and ports).
/// Both lists are sorted by `named`. `apart` is the maximum difference of their two clocks in
/// nanoseconds; if it is unknown, numbers of bytes decide instead of times.
pub(crate) fn pair_one_by_one(
    connecting: &[PairingCandidate],
    accepting: &[PairingCandidate],
    apart: Option<i64>,
) -> Vec<(SocketIndex, SocketIndex)> {
    if connecting.len() == accepting.len() {
        return connecting.iter().zip(accepting).map(|(c, a)| (c.socket, a.socket)).collect();
    }
    // Some are missing on one side. A connection is accepted after its socket was made and before
    // the next socket is made.
    let mut pairs = Vec::new();
    let mut next = 0;
    for accepted in accepting {
        let later = connecting.get(next..).unwrap_or(&[]);
        let found = if let Some(apart) = apart {
            let before = |time: i64| {
                later.iter().take_while(|made| made.opened <= time).count().checked_sub(1)
            };
            let latest = accepted.named.saturating_add(apart);
            let next = || later.first().filter(|made| made.opened <= latest).map(|_| 0);
            before(accepted.named).or_else(next)
        } else {
            later.iter().position(|made| are_compatible(made, accepted))
        };
        if let Some(made) = found.and_then(|found| later.get(found).map(|made| (found, made))) {
            pairs.push((made.1.socket, accepted.socket));
            next += made.0 + 1;
        }
    }
    pairs
}

/// Pairs sockets that can have several connections at the same time: the k-th made with the k-th
/// accepted, unless the bytes contradict: their number differs, or they would have arrived before
/// they were sent, which `possible` excludes. Both lists are sorted by `named`. Calls `pair` with
/// the sockets of each pair.
pub(crate) fn pair_in_order(
    connecting: SpillableVec<PairingCandidate>,
    accepting: &SpillableVec<PairingCandidate>,
    possible: impl Fn(SocketIndex, SocketIndex) -> bool,
    mut pair: impl FnMut(SocketIndex, SocketIndex),
) {
    let mut made = connecting;
    made.truncate(accepting.len());
    // Workers that accept at the same moment may be logged in another order: if the bytes do not
    // fit, swap with a nearby socket that does, provided that it fits as well afterwards or did not
    // fit before either.
    let fits = |one: &PairingCandidate, other: &PairingCandidate| {
        are_equal(one, other) && possible(one.socket, other.socket)
    };
    for at in 0..made.len() {
        // Without an alternative nothing need be compared.
        if made.len() == 1 || fits(&made[at], &accepting[at]) {
            continue;
        }
        let near = at.saturating_sub(PAIRING_REACH)..made.len().min(at + PAIRING_REACH);
        let better = near.filter(|other| *other != at).find(|other| {
            let (one, two) = (&made[at], &made[*other]);
            fits(two, &accepting[at])
                && (fits(one, &accepting[*other]) || !fits(two, &accepting[*other]))
        });
        if let Some(other) = better {
            (made[at], made[other]) = (made[other], made[at]);
        }
    }
    made.iter()
        .zip(accepting.iter())
        .for_each(|(made, accepted)| pair(made.socket, accepted.socket));
}

/// Whether neither side received more than the other sent.
fn are_compatible(one: &PairingCandidate, other: &PairingCandidate) -> bool {
    one.received <= other.sent && other.received <= one.sent
}

/// Whether each side received exactly the bytes that the other sent.
fn are_equal(one: &PairingCandidate, other: &PairingCandidate) -> bool {
    one.received == other.sent && other.received == one.sent
}

/// Pairing candidate of a socket.
pub(crate) fn make_candidate(place: SocketIndex, socket: &KernelSocket) -> PairingCandidate {
    let [sent, received] = socket.totals;
    PairingCandidate { socket: place, opened: socket.opened, named: socket.named, sent, received }
}

#[cfg(test)]
mod tests {
    use super::*;
    use out_of_core::MemoryPool;

    fn at(socket: usize, named: i64, sent: u64, received: u64) -> PairingCandidate {
        let socket = SocketIndex::from_index(socket);
        PairingCandidate { socket, opened: named - 1, named, sent, received }
    }

    #[test]
    fn equal_numbers_go_in_order_whatever_the_clocks() {
        let pairs = one_by_one(
            &[at(0, 10, 1, 2), at(1, 20, 3, 4)],
            &[at(5, 1_000_010, 2, 1), at(6, 1_000_020, 4, 3)],
            None,
        );
        assert_eq!(pairs, [(0, 5), (1, 6)]);
    }

    #[test]
    fn a_connection_that_was_never_accepted_is_left_out() {
        let made = [at(0, 10, 1, 0), at(1, 20, 3, 4), at(2, 30, 3, 4)];
        assert_eq!(
            one_by_one(&made, &[at(5, 21, 4, 3), at(6, 31, 4, 3)], Some(0)),
            [(1, 5), (2, 6)]
        );
        // The clocks were read 3 ns apart: the accepting side seems to be early.
        assert_eq!(
            one_by_one(&made, &[at(5, 7, 4, 3), at(6, 31, 4, 3)], Some(3)),
            [(0, 5), (2, 6)]
        );
        assert_eq!(one_by_one(&made, &[at(5, 5, 4, 3), at(6, 31, 4, 3)], Some(3)), [(2, 6)]);
        assert_eq!(
            one_by_one(&made, &[at(5, 1_021, 4, 3), at(6, 1_031, 4, 3)], None),
            [(1, 5), (2, 6)]
        );
    }

    /// The numbers of the sockets of the pairs.
    fn one_by_one(
        made: &[PairingCandidate],
        accepted: &[PairingCandidate],
        apart: Option<i64>,
    ) -> Vec<(usize, usize)> {
        let pairs = pair_one_by_one(made, accepted, apart).into_iter();
        pairs.map(|(one, other)| (one.index(), other.index())).collect()
    }

    fn in_order(
        made: &[PairingCandidate],
        accepted: &[PairingCandidate],
        possible: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, usize)> {
        let [made, accepted] = [made, accepted]
            .map(|all| SpillableVec::collect(&MemoryPool::default(), all.iter().copied()).unwrap());
        let mut pairs = Vec::new();
        let possible = |one: SocketIndex, other: SocketIndex| possible(one.index(), other.index());
        let pair = |one: SocketIndex, other: SocketIndex| pairs.push((one.index(), other.index()));
        super::pair_in_order(made, &accepted, possible, pair);
        pairs
    }

    #[test]
    fn bytes_decide_if_order_misleads() {
        let made = [at(0, 10, 100, 7), at(1, 11, 5, 8), at(2, 12, 9, 9)];
        let accepted = [at(5, 20, 8, 5), at(6, 21, 7, 100), at(7, 22, 9, 9)];
        assert_eq!(in_order(&made, &accepted, |_, _| true), [(1, 5), (0, 6), (2, 7)]);
    }

    #[test]
    fn times_decide_if_bytes_are_equal() {
        let (made, accepted) =
            ([at(0, 10, 5, 0), at(1, 11, 5, 0)], [at(5, 20, 0, 5), at(6, 21, 0, 5)]);
        assert_eq!(in_order(&made, &accepted, |_, _| true), [(0, 5), (1, 6)]);
        assert_eq!(in_order(&made, &accepted, |one, other| one + other == 6), [(1, 5), (0, 6)]);
        // If nothing is possible, as after a step of the clock, order is the best criterion.
        assert_eq!(in_order(&made, &accepted, |_, _| false), [(0, 5), (1, 6)]);
    }
}
