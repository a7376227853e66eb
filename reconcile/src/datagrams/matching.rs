//! The datagrams of one partition, matched: which receive got which send.
//!
//! Both sides are sorted by a key that they share (where it goes to, size, checksum), and each
//! group of equals is matched in order. Addresses are not part of the key, as a socket bound to all
//! of a host's addresses does not know which one its peer used; they must only not contradict each
//! other.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};
use rustc_hash::FxHashSet;

use crate::absent::NONE;
use crate::calls::Datagram;
use crate::datagrams::in_order::{Chosen, Times, match_in_order};
use crate::datagrams::matches::Matches;
use crate::datagrams::translations::DatagramTranslations;
use crate::sockets::reach::Reach;
use crate::tuning::{MAX_COMPARED, MAX_PAIRS_OF_A_CONTENT};

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
    /// The passes that do not go by the checksum.
    pub(crate) const LATE: &[Pass] =
        &[Pass::UncheckedSend, Pass::UncheckedReceive, Pass::Truncated];

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

    /// Whether both sides know the sender's port. Where one does not, that which is known must not
    /// contradict.
    fn knows_source(self) -> bool {
        matches!(self, Pass::Exact | Pass::Truncated)
    }

    /// Whether the two sides have other names for where it goes.
    fn is_translated(self) -> bool {
        matches!(self, Pass::TranslatedBothWays | Pass::Translated)
    }

    /// Whether equal keys mean equal content, so that one receive too many is a second copy.
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

/// The sends and the receives that take part in a pass, sorted.
type Sides = [SpillableVec<Side>; 2];
/// Some that follow each other, of the sends and of the receives.
type Ranges = [Range<usize>; 2];

/// The times of some sides that follow each other.
struct TimesOf<'a>(&'a SpillableVec<Side>, Range<usize>);

impl Times for TimesOf<'_> {
    fn len(&self) -> usize {
        self.1.len()
    }

    fn time(&self, at: usize) -> i64 {
        self.0[self.1.start + at].time
    }
}

/// Matches `datagrams` in these passes.
pub(crate) fn match_all(
    reach: Reach,
    datagrams: &SpillableVec<Datagram>,
    passes: &[Pass],
) -> Result<Matches, PathError> {
    matched(reach, None, datagrams, passes)
}

/// Matches `datagrams` whose names were translated.
pub(crate) fn match_translated(
    reach: Reach,
    translations: &DatagramTranslations,
    datagrams: &SpillableVec<Datagram>,
) -> Result<Matches, PathError> {
    matched(reach, Some(translations), datagrams, &[Pass::TranslatedBothWays, Pass::Translated])
}

fn matched(
    reach: Reach,
    translations: Option<&DatagramTranslations>,
    datagrams: &SpillableVec<Datagram>,
    passes: &[Pass],
) -> Result<Matches, PathError> {
    let pool = &reach.capture.pool;
    let mut matcher = Matcher { reach, pool, translations, datagrams, matches: Matches::new(pool) };
    let places = |sent: bool| {
        let those =
            (0..).zip(datagrams.iter()).filter(move |(_, datagram)| datagram.sent() == sent);
        SpillableVec::collect(pool, those.map(|(at, _)| at))
    };
    let (mut sends, mut receives) = (places(true)?, places(false)?);
    for pass in passes {
        matcher.pass(*pass, &mut sends, &mut receives)?;
    }
    Ok(Matches { sends, receives, ..matcher.matches })
}

struct Matcher<'a> {
    reach: Reach<'a>,
    pool: &'a MemoryPool,
    translations: Option<&'a DatagramTranslations>,
    datagrams: &'a SpillableVec<Datagram>,
    matches: Matches,
}

impl Matcher<'_> {
    fn datagram(&self, at: u32) -> &Datagram {
        &self.datagrams[at as usize]
    }

    /// The sides of the datagrams of `places` that take part in the pass, sorted.
    fn sides(
        &self,
        pass: Pass,
        places: &SpillableVec<u32>,
    ) -> Result<SpillableVec<Side>, PathError> {
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
        let mut sides = SpillableVec::collect(self.pool, places.iter().filter_map(side))?;
        sides.sort_by_key(|side| (side.key, side.class, side.time, side.at))?;
        Ok(sides)
    }

    fn pass(
        &mut self,
        pass: Pass,
        sends: &mut SpillableVec<u32>,
        receives: &mut SpillableVec<u32>,
    ) -> Result<(), PathError> {
        if sends.is_empty() || receives.is_empty() {
            return Ok(());
        }
        let mut sides = [self.sides(pass, sends)?, self.sides(pass, receives)?];
        let (mut s, mut r) = (0, 0);
        while let (Some(send), Some(receive)) = (sides[0].get(s), sides[1].get(r)) {
            let key = send.key.max(receive.key);
            s = run(&sides[0], s, |side| side.key < key);
            r = run(&sides[1], r, |side| side.key < key);
            let ends = [
                run(&sides[0], s, |side| side.key == key),
                run(&sides[1], r, |side| side.key == key),
            ];
            if s < ends[0] && r < ends[1] {
                self.group(pass, &mut sides, [s..ends[0], r..ends[1]])?;
            }
            [s, r] = ends;
        }
        // Only what had a key took part; the rest waits for the next pass.
        let mut done = SpillableVec::filled(self.pool, self.datagrams.len(), false)?;
        let of_both = sides.iter().flat_map(SpillableVec::iter);
        of_both.filter(|side| side.done).for_each(|side| done[side.at as usize] = true);
        sends.retain(|at| !done[*at as usize]);
        receives.retain(|at| !done[*at as usize]);
        Ok(())
    }

    /// Matches the sends and receives of one key, class by class.
    fn group(&mut self, pass: Pass, sides: &mut Sides, group: Ranges) -> Result<(), PathError> {
        let [sends, receives] = &group;
        if pass.is_translated() {
            let [to, from] = [class_ranges(&sides[0], sends), class_ranges(&sides[1], receives)]
                .map(Iterator::count);
            if to.saturating_mul(from) > MAX_PAIRS_OF_A_CONTENT {
                return Ok(());
            }
        }
        if sends.len() == 1 && receives.len() == 1 {
            // Mostly there is one of each.
            if self.reaches(pass, &sides[0][sends.start], &sides[1][receives.start]) {
                self.match_classes(sides, group.clone())?;
            }
        } else {
            self.match_each(pass, sides, &group)?;
        }
        if pass.tells_copies() && !all_done(&sides[1], receives) {
            self.second_copies(pass, sides, &group)?;
        }
        Ok(())
    }

    /// Matches the classes of sends and receives that can belong together: those of one machine
    /// first, and then those that leave the least over and took the least time on average. Sockets
    /// that have equal names one after another, or each in a container of its own, are told apart
    /// by that alone.
    fn match_each(
        &mut self,
        pass: Pass,
        sides: &mut Sides,
        [sends, receives]: &Ranges,
    ) -> Result<(), PathError> {
        let send_classes =
            SpillableVec::collect(self.pool, class_ranges(&sides[0], sends).map(Class::of))?;
        let receive_classes =
            SpillableVec::collect(self.pool, class_ranges(&sides[1], receives).map(Class::of))?;
        if send_classes.len().saturating_mul(receive_classes.len()) > MAX_PAIRS_OF_A_CONTENT {
            for elsewhere in [false, true] {
                for receives in receive_classes.iter().map(|class| class.range()) {
                    for sends in send_classes.iter().map(|class| class.range()) {
                        if all_done(&sides[1], &receives) {
                            break;
                        }
                        let (send, receive) = (&sides[0][sends.start], &sides[1][receives.start]);
                        if self.is_elsewhere(send, receive) == elsewhere
                            && self.reaches(pass, send, receive)
                        {
                            self.match_classes(sides, [sends, receives.clone()])?;
                        }
                    }
                }
            }
            return Ok(());
        }
        let mut pairs: Vec<Ranges> = Vec::new();
        for receives in receive_classes.iter().map(|class| class.range()) {
            for sends in send_classes.iter().map(|class| class.range()) {
                if self.reaches(pass, &sides[0][sends.start], &sides[1][receives.start]) {
                    pairs.push([sends, receives.clone()]);
                }
            }
        }
        if pairs.len() > 1 {
            let compared: usize = pairs.iter().flatten().map(Range::len).sum();
            let mut keyed = Vec::with_capacity(pairs.len());
            for pair in pairs {
                let distance =
                    if compared <= MAX_COMPARED { self.distance(sides, &pair)? } else { (0, 0) };
                let (send, receive) = (&sides[0][pair[0].start], &sides[1][pair[1].start]);
                keyed.push(((self.is_elsewhere(send, receive), distance), pair));
            }
            keyed.sort_by_key(|(key, _)| *key);
            pairs = keyed.into_iter().map(|(_, pair)| pair).collect();
        }
        let mut full = usize::MAX;
        for [sends, receives] in pairs {
            // Many may have sent what one received.
            if receives.start == full {
                continue;
            }
            self.match_classes(sides, [sends, receives.clone()])?;
            if all_done(&sides[1], &receives) {
                full = receives.start;
            }
        }
        Ok(())
    }

    /// Whether the two are of different machines.
    fn is_elsewhere(&self, send: &Side, receive: &Side) -> bool {
        !self.reach.same_machine(send.class.0, receive.class.0)
    }

    /// If these receives are of these sends, how many are left over on both sides, and how many
    /// nanoseconds the others took on average; as many as can be where their clocks differ.
    fn distance(
        &self,
        sides: &Sides,
        [sends, receives]: &Ranges,
    ) -> Result<(usize, i64), PathError> {
        // None before it was sent: what only the slack between clocks allows is no sign.
        let clocks = self.apart(sides, [sends, receives]).map(|_| 0);
        let (to, from) = (TimesOf(&sides[0], sends.clone()), TimesOf(&sides[1], receives.clone()));
        let matched = match_in_order(self.pool, &to, &from, clocks)?;
        let (mut count, mut total) = (0usize, 0i128);
        for (receive, send) in matched.iter().enumerate().filter(|(_, send)| **send != NONE) {
            count += 1;
            total += i128::from(from.time(receive)) - i128::from(to.time(*send as usize));
        }
        let mean = total.checked_div(count as i128).filter(|_| clocks.is_some());
        Ok((sends.len() + receives.len() - 2 * count, mean.map_or(i64::MAX, |mean| mean as i64)))
    }

    /// How far apart the clocks of two classes are, as [`Reach::clock_apart`] says.
    fn apart(&self, sides: &Sides, [sends, receives]: [&Range<usize>; 2]) -> Option<i64> {
        self.reach.clock_apart(sides[0][sends.start].class.0, sides[1][receives.start].class.0)
    }

    /// Matches what is left of two classes in order.
    fn match_classes(
        &mut self,
        sides: &mut Sides,
        [sends, receives]: Ranges,
    ) -> Result<(), PathError> {
        let apart = self.apart(sides, [&sends, &receives]);
        let [to, from] = sides;
        if sends.len() == 1 && receives.len() == 1 {
            let (send, receive) = (&mut to[sends.start], &mut from[receives.start]);
            let too_early =
                apart.is_some_and(|apart| send.time > receive.time.saturating_add(apart));
            if send.done || receive.done || too_early {
                return Ok(());
            }
            (send.done, receive.done) = (true, true);
            return self.matches.pairs.push((send.at, receive.at));
        }
        let left = |sides: &SpillableVec<Side>, range: &Range<usize>| {
            let open = (0..).zip(sides.range(range.clone())).filter(|(_, side)| !side.done);
            SpillableVec::collect(self.pool, open.map(|(at, _)| at))
        };
        let (open_sends, open_receives) = (left(to, &sends)?, left(from, &receives)?);
        if open_sends.is_empty() || open_receives.is_empty() {
            return Ok(());
        }
        let matched = {
            let (to, from) = (TimesOf(to, sends.clone()), TimesOf(from, receives.clone()));
            let to = Chosen { of: &to, places: &open_sends };
            match_in_order(self.pool, &to, &Chosen { of: &from, places: &open_receives }, apart)?
        };
        for (receive, send) in open_receives.iter().zip(matched.iter()) {
            if let Some(send) = open_sends.get(*send as usize) {
                let send = &mut to[sends.start + *send as usize];
                let receive = &mut from[receives.start + *receive as usize];
                (send.done, receive.done) = (true, true);
                self.matches.pairs.push((send.at, receive.at))?;
            }
        }
        Ok(())
    }

    /// Receives for which no send is left, though there was one: second copies.
    fn second_copies(
        &mut self,
        pass: Pass,
        sides: &mut Sides,
        [sends, receives]: &Ranges,
    ) -> Result<(), PathError> {
        let [to, from] = sides;
        let done = from.range(receives.clone()).filter(|side| side.done);
        let mut received: FxHashSet<u32> = done.map(|side| side.class.0).collect();
        let receive_classes =
            SpillableVec::collect(self.pool, class_ranges(from, receives).map(Class::of))?;
        for receives in receive_classes.iter().map(|class| class.range()) {
            if all_done(from, &receives) {
                continue;
            }
            let first = from[receives.start];
            let socket = first.class.0;
            // The sends that arrived somewhere and could have arrived here as well, in the order of
            // time.
            let mut origins: SpillableVec<(i64, u32)> = SpillableVec::new(self.pool);
            for sends in class_ranges(to, sends) {
                let send = to[sends.start];
                if self.reaches(pass, &send, &first) {
                    // Those of another clock come before all.
                    let apart = self.reach.clock_apart(send.class.0, socket);
                    let arrived = to.range(sends).filter(|side| side.done);
                    let time = |side: &Side| {
                        apart.map_or(i64::MIN, |apart| side.time.saturating_sub(apart))
                    };
                    origins.extend(arrived.map(|side| (time(side), side.at)))?;
                }
            }
            origins.sort_by_key(|origin| *origin)?;
            // Receives are in the order of time, too.
            let mut before = 0;
            for at in receives {
                let receive = &mut from[at];
                if receive.done {
                    continue;
                }
                before = origins.end(before, |(time, _)| *time <= receive.time);
                let Some((_, origin)) = before.checked_sub(1).and_then(|last| origins.get(last))
                else {
                    continue;
                };
                receive.done = true;
                if received.insert(socket) {
                    self.matches.copies.push((*origin, receive.at))?;
                } else {
                    self.matches.duplicates.push(receive.at)?;
                }
            }
        }
        Ok(())
    }

    fn reaches(&self, pass: Pass, send: &Side, receive: &Side) -> bool {
        if let Some(translations) = self.translations {
            let both = pass == Pass::TranslatedBothWays;
            return translations.allow(
                self.reach,
                self.datagram(send.at),
                self.datagram(receive.at),
                both,
            );
        }
        (pass != Pass::Truncated || send.class.2 >= receive.class.2)
            && self.reach.reaches(self.datagram(send.at), self.datagram(receive.at))
    }
}

/// The sides of one socket and peer.
#[derive(Clone, Copy)]
struct Class {
    start: u32,
    end: u32,
}

impl Class {
    fn of(range: Range<usize>) -> Class {
        Class { start: range.start as u32, end: range.end as u32 }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The parts of `range` with the sides of each socket and peer. `sides` are sorted by them.
fn class_ranges(
    sides: &SpillableVec<Side>,
    range: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = range.clone();
    std::iter::from_fn(move || {
        let one = *sides.get(start).filter(|_| start < end)?;
        let first = start;
        start = run(sides, start, |side| (side.key, side.class) == (one.key, one.class)).min(end);
        Some(first..start)
    })
}

fn all_done(sides: &SpillableVec<Side>, range: &Range<usize>) -> bool {
    sides.range(range.clone()).all(|side| side.done)
}

/// First place, from `from` on, whose side does not satisfy `is`. Runs are mostly short, so the
/// step doubles.
fn run(sides: &SpillableVec<Side>, from: usize, is: impl Fn(&Side) -> bool) -> usize {
    let mut reach = 1;
    while sides.get(from + reach).is_some_and(&is) {
        reach *= 2;
    }
    sides.partition_point(from..from + reach + 1, is)
}
