//! The datagrams of one partition, matched: which receive got which send.
//!
//! Both sides are sorted by a key that they share (where it goes to, size, checksum), and each group of equals is
//! matched in order. Addresses are not part of the key, as a socket bound to all of a host's addresses does not
//! know which one its peer used; they must only not contradict each other.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::calls::Datagram;
use crate::datagram_translation::DatagramTranslations;
use crate::datagrams::match_in_order;
use crate::reach::Reach;

/// Where no name limits who can have sent what, a content is passed over that so many pairs of sockets could have; and so
/// many pairs are put in order before they are matched.
const MOST_OF_A_CONTENT: usize = 1 << 20;

/// So many datagrams of one key are compared before they are matched, each as often as there are sockets that it can
/// belong to; of more, only the machines count.
const MOST_COMPARED: usize = 1 << 23;

/// What became of the datagrams of a partition, by their places in it.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Those seen by both ends.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Sends that another socket received as well: to many receivers at once.
    pub(crate) copies: Vec<(u32, u32)>,
    /// Receives of what the same socket had received already.
    pub(crate) duplicates: Vec<u32>,
    /// Sends that nobody was seen to receive.
    pub(crate) sends: Vec<u32>,
    /// Receives that nobody was seen to send.
    pub(crate) receives: Vec<u32>,
}

/// How exactly the two sides must agree. Each pass works on what the one before left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Both ports or the path, the size and the checksum.
    Exact,
    /// As `Exact`, but one side does not know the sender's port.
    UnknownSender,
    /// The sends without checksum: where it goes to and the size.
    UncheckedSend,
    /// The receives without checksum: likewise.
    UncheckedReceive,
    /// Only a part was received, so neither size nor checksum are the sender's.
    Truncated,
    /// Size and checksum, between names that lead to each other in both directions.
    TranslatedBothWays,
    /// The same, where it is known of one direction at least.
    Translated,
}

impl Pass {
    /// Those that do not go by the checksum.
    pub(crate) const LATE: &[Pass] = &[Pass::UncheckedSend, Pass::UncheckedReceive, Pass::Truncated];

    /// Whether a datagram takes part.
    fn takes(self, datagram: &Datagram) -> bool {
        match self {
            Pass::Exact | Pass::UnknownSender | Pass::TranslatedBothWays | Pass::Translated => {
                !datagram.unchecked()
            }
            Pass::UncheckedSend => !datagram.sent() || datagram.unchecked(),
            Pass::UncheckedReceive => datagram.sent() || datagram.unchecked(),
            Pass::Truncated => datagram.sent() || datagram.truncated(),
        }
    }

    /// Checksum and size, as far as both sides have them.
    fn content(self, datagram: &Datagram) -> (u32, u32) {
        match self {
            Pass::Exact | Pass::UnknownSender | Pass::TranslatedBothWays | Pass::Translated => {
                (datagram.checksum, datagram.bytes)
            }
            Pass::UncheckedSend | Pass::UncheckedReceive => (0, datagram.bytes),
            Pass::Truncated => (0, 0),
        }
    }

    /// Whether both sides know the sender's port. Where one does not, that which is known must not contradict.
    fn knows_source(self) -> bool {
        matches!(self, Pass::Exact | Pass::Truncated)
    }

    /// Whether the two sides have other names for where it goes.
    fn is_translated(self) -> bool {
        matches!(self, Pass::TranslatedBothWays | Pass::Translated)
    }

    /// Whether a datagram and its second copy can be told from two of one size.
    fn tells_copies(self) -> bool {
        matches!(self, Pass::Exact | Pass::UnknownSender)
    }
}

/// A datagram with what it is sorted by.
#[derive(Clone, Copy)]
struct Side {
    key: (u64, u32, u32),
    time: i64,
    /// What decides on whom it reaches: the socket, the peer, and the size.
    class: (u32, u32, u32),
    at: u32,
    done: bool,
}

/// Matches `datagrams` in these passes.
pub(crate) fn match_all(reach: Reach, datagrams: &[Datagram], passes: &[Pass]) -> Matches {
    matched(Matcher { reach, translations: None, datagrams, matches: Matches::default() }, passes)
}

/// Matches `datagrams` whose names were translated.
pub(crate) fn match_translated(
    reach: Reach,
    translations: &DatagramTranslations,
    datagrams: &[Datagram],
) -> Matches {
    let translations = Some(translations);
    matched(
        Matcher { reach, translations, datagrams, matches: Matches::default() },
        &[Pass::TranslatedBothWays, Pass::Translated],
    )
}

fn matched(mut matcher: Matcher, passes: &[Pass]) -> Matches {
    let datagrams = matcher.datagrams;
    let places = |sent: bool| {
        (0..datagrams.len() as u32)
            .filter(move |at| datagrams[*at as usize].sent() == sent)
            .collect::<Vec<_>>()
    };
    let (mut sends, mut receives) = (places(true), places(false));
    for pass in passes {
        matcher.pass(*pass, &mut sends, &mut receives);
    }
    Matches { sends, receives, ..matcher.matches }
}

struct Matcher<'a> {
    reach: Reach<'a>,
    translations: Option<&'a DatagramTranslations>,
    datagrams: &'a [Datagram],
    matches: Matches,
}

impl Matcher<'_> {
    fn datagram(&self, at: u32) -> &Datagram {
        &self.datagrams[at as usize]
    }

    /// Those of `places` that take part in the pass, sorted.
    fn sides(&self, pass: Pass, places: &[u32]) -> Vec<Side> {
        let side = |at: &u32| {
            let datagram = self.datagram(*at);
            if !pass.takes(datagram) {
                return None;
            }
            let place = match pass {
                // Both sides have other names for it.
                _ if pass.is_translated() => 0,
                _ => self.reach.place(datagram, pass.knows_source())?,
            };
            let content = pass.content(datagram);
            Some(Side {
                key: (place, content.0, content.1),
                time: datagram.time,
                class: (datagram.socket, datagram.peer, datagram.bytes),
                at: *at,
                done: false,
            })
        };
        // As large as it gets from the beginning: growing would take as much again.
        let mut sides: Vec<Side> = Vec::with_capacity(places.len());
        sides.extend(places.iter().filter_map(side));
        sides.sort_unstable_by_key(|side| (side.key, side.class, side.time, side.at));
        sides
    }

    fn pass(&mut self, pass: Pass, sends: &mut Vec<u32>, receives: &mut Vec<u32>) {
        if sends.is_empty() || receives.is_empty() {
            return;
        }
        let [mut keyed_sends, mut keyed_receives] =
            [&*sends, &*receives].map(|places| self.sides(pass, places));
        let (mut s, mut r) = (0, 0);
        while s < keyed_sends.len() && r < keyed_receives.len() {
            let key = keyed_sends[s].key.max(keyed_receives[r].key);
            s += run(&keyed_sends[s..], |side| side.key < key);
            r += run(&keyed_receives[r..], |side| side.key < key);
            let s_end = s + run(&keyed_sends[s..], |side| side.key == key);
            let r_end = r + run(&keyed_receives[r..], |side| side.key == key);
            if s < s_end && r < r_end {
                self.group(pass, &mut keyed_sends[s..s_end], &mut keyed_receives[r..r_end]);
            }
            (s, r) = (s_end, r_end);
        }
        // Only what had a key took part; the rest waits for the next pass.
        let mut done = vec![false; self.datagrams.len()];
        keyed_sends
            .iter()
            .chain(&keyed_receives)
            .filter(|side| side.done)
            .for_each(|side| done[side.at as usize] = true);
        sends.retain(|at| !done[*at as usize]);
        receives.retain(|at| !done[*at as usize]);
    }

    /// Matches the sends and receives of one key, class by class.
    fn group(&mut self, pass: Pass, sends: &mut [Side], receives: &mut [Side]) {
        if pass.is_translated() && classes(sends).saturating_mul(classes(receives)) > MOST_OF_A_CONTENT {
            return;
        }
        if let ([send], [receive]) = (&mut *sends, &mut *receives) {
            // Mostly there is one of each.
            if self.reaches(pass, send, receive) {
                self.match_classes(std::slice::from_mut(send), std::slice::from_mut(receive));
            }
        } else {
            self.match_each(pass, sends, receives);
        }
        if pass.tells_copies() && receives.iter().any(|side| !side.done) {
            self.second_copies(pass, sends, receives);
        }
    }

    /// Matches the classes of sends and receives that can belong together: those of one machine first, and then those that
    /// leave the least over and took the least time on average. Sockets that have equal names one after another, or each
    /// in a container of its own, are told apart by that alone.
    fn match_each(&mut self, pass: Pass, sends: &mut [Side], receives: &mut [Side]) {
        let (send_classes, receive_classes) = (class_ranges(sends), class_ranges(receives));
        if send_classes.len().saturating_mul(receive_classes.len()) > MOST_OF_A_CONTENT {
            for elsewhere in [false, true] {
                for receive_class in &receive_classes {
                    let receives = &mut receives[receive_class.clone()];
                    for send_class in &send_classes {
                        let sends = &mut sends[send_class.clone()];
                        if receives.iter().all(|side| side.done) {
                            break;
                        }
                        if self.is_elsewhere(sends, receives) == elsewhere
                            && self.reaches(pass, &sends[0], &receives[0])
                        {
                            self.match_classes(sends, receives);
                        }
                    }
                }
            }
            return;
        }
        let mut pairs = Vec::new();
        for receive_class in &receive_classes {
            for send_class in &send_classes {
                if self.reaches(pass, &sends[send_class.start], &receives[receive_class.start]) {
                    pairs.push((send_class.clone(), receive_class.clone()));
                }
            }
        }
        if pairs.len() > 1 {
            let compared: usize = pairs.iter().map(|(sends, receives)| sends.len() + receives.len()).sum();
            pairs.sort_by_cached_key(|(send_class, receive_class)| {
                let (sends, receives) = (&sends[send_class.clone()], &receives[receive_class.clone()]);
                let distance =
                    if compared <= MOST_COMPARED { self.distance(sends, receives) } else { (0, 0) };
                (self.is_elsewhere(sends, receives), distance)
            });
        }
        let mut full = usize::MAX;
        for (send_class, receive_class) in pairs {
            // Many may have sent what one received.
            if receive_class.start == full {
                continue;
            }
            let receives = &mut receives[receive_class.clone()];
            self.match_classes(&mut sends[send_class], receives);
            if receives.iter().all(|side| side.done) {
                full = receive_class.start;
            }
        }
    }

    /// Whether these sends and receives are of different machines.
    fn is_elsewhere(&self, sends: &[Side], receives: &[Side]) -> bool {
        !self.reach.same_machine(sends[0].class.0, receives[0].class.0)
    }

    /// If these receives are of these sends, how many are left over on both sides, and how many nanoseconds the others
    /// took on average; as many as can be where their clocks differ.
    fn distance(&self, sends: &[Side], receives: &[Side]) -> (usize, i64) {
        // None before it was sent: what only the slack between clocks allows is no sign.
        let clocks = self.reach.clock_apart(sends[0].class.0, receives[0].class.0).map(|_| 0);
        let times = |sides: &[Side]| sides.iter().map(|side| side.time).collect::<Vec<i64>>();
        let matched = match_in_order(&times(sends), &times(receives), clocks);
        let (mut count, mut total) = (0usize, 0i128);
        for (receive, send) in receives.iter().zip(matched) {
            if let Some(send) = send.and_then(|send| sends.get(send as usize)) {
                count += 1;
                total += i128::from(receive.time) - i128::from(send.time);
            }
        }
        let mean = total.checked_div(count as i128).filter(|_| clocks.is_some());
        (sends.len() + receives.len() - 2 * count, mean.map_or(i64::MAX, |mean| mean as i64))
    }

    /// Matches what is left of two classes in order.
    fn match_classes(&mut self, sends: &mut [Side], receives: &mut [Side]) {
        let apart = self.reach.clock_apart(sends[0].class.0, receives[0].class.0);
        if let ([send], [receive]) = (&mut *sends, &mut *receives) {
            let too_early = apart.is_some_and(|apart| send.time > receive.time.saturating_add(apart));
            if send.done || receive.done || too_early {
                return;
            }
            (send.done, receive.done) = (true, true);
            self.matches.pairs.push((send.at, receive.at));
            return;
        }
        let left = |sides: &[Side]| (0..sides.len()).filter(|at| !sides[*at].done).collect::<Vec<usize>>();
        let (to, from) = (left(sends), left(receives));
        if to.is_empty() || from.is_empty() {
            return;
        }
        let times =
            |sides: &[Side], chosen: &[usize]| chosen.iter().map(|at| sides[*at].time).collect::<Vec<i64>>();
        let matched = match_in_order(&times(sends, &to), &times(receives, &from), apart);
        for (receive, send) in from.iter().zip(matched) {
            if let Some(send) = send.and_then(|send| to.get(send as usize)) {
                (sends[*send].done, receives[*receive].done) = (true, true);
                self.matches.pairs.push((sends[*send].at, receives[*receive].at));
            }
        }
    }

    /// Receives for which no send is left, though there was one: second copies.
    fn second_copies(&mut self, pass: Pass, sends: &[Side], receives: &mut [Side]) {
        let mut received: FxHashSet<u32> =
            receives.iter().filter(|side| side.done).map(|side| side.class.0).collect();
        for receive_class in receives.chunk_by_mut(|one, next| one.class == next.class) {
            if receive_class.iter().all(|side| side.done) {
                continue;
            }
            let socket = receive_class[0].class.0;
            // The sends that arrived somewhere and could have arrived here as well, in the order of time.
            let mut origins: Vec<(i64, u32)> = Vec::new();
            for send_class in sends.chunk_by(|one, next| one.class == next.class) {
                if self.reaches(pass, &send_class[0], &receive_class[0]) {
                    // Those of another clock come before all.
                    let apart = self.reach.clock_apart(send_class[0].class.0, socket);
                    let arrived = send_class.iter().filter(|side| side.done);
                    let time = |side: &Side| apart.map_or(i64::MIN, |apart| side.time.saturating_sub(apart));
                    origins.extend(arrived.map(|side| (time(side), side.at)));
                }
            }
            origins.sort_unstable();
            for receive in receive_class.iter_mut().filter(|side| !side.done) {
                let before = origins.partition_point(|(time, _)| *time <= receive.time);
                let Some((_, origin)) = before.checked_sub(1).and_then(|last| origins.get(last)) else {
                    continue;
                };
                receive.done = true;
                if received.insert(socket) {
                    self.matches.copies.push((*origin, receive.at));
                } else {
                    self.matches.duplicates.push(receive.at);
                }
            }
        }
    }

    fn reaches(&self, pass: Pass, send: &Side, receive: &Side) -> bool {
        if let Some(translations) = self.translations {
            let both = pass == Pass::TranslatedBothWays;
            return translations.allow(self.reach, self.datagram(send.at), self.datagram(receive.at), both);
        }
        (pass != Pass::Truncated || send.class.2 >= receive.class.2)
            && self.reach.reaches(self.datagram(send.at), self.datagram(receive.at))
    }
}

/// Where the sides of each socket and peer are, of which `sides`, which are sorted, consist.
fn class_ranges(sides: &[Side]) -> Vec<Range<usize>> {
    let mut end = 0;
    let range = |class: &[Side]| {
        end += class.len();
        end - class.len()..end
    };
    sides.chunk_by(|one, next| one.class == next.class).map(range).collect()
}

/// How many sockets and peers `sides`, which are sorted, are of.
fn classes(sides: &[Side]) -> usize {
    sides.chunk_by(|one, next| one.class == next.class).count()
}

/// How many of the first of `sides` are so. Mostly very few: it looks further ahead step by step.
fn run(sides: &[Side], is: impl Fn(&Side) -> bool) -> usize {
    let mut reach = 1;
    while sides.get(reach).is_some_and(&is) {
        reach *= 2;
    }
    sides[..sides.len().min(reach + 1)].partition_point(is)
}
