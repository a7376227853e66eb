//! The datagrams of one partition, matched: which receive got which send.
//!
//! Both sides are sorted by a key that they share (where it goes to, size, checksum), and each
//! group of equals is matched in order. Addresses are not part of the key, as a socket bound to all
//! of a host's addresses does not know which one its peer used; they must only not contradict each
//! other.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::absent::NONE;
use crate::calls::Datagram;
use crate::datagrams::comparison::Comparison;
use crate::datagrams::copies::second_copies;
use crate::datagrams::in_order::{Chosen, Times, match_in_order};
use crate::datagrams::matches::Matches;
use crate::datagrams::pass::Pass;
use crate::datagrams::sides::{Class, Ranges, Side, Sides, TimesOf, all_done, class_ranges, run};
use crate::datagrams::translations::DatagramTranslations;
use crate::sockets::reach::Reach;
use crate::tuning::{MAX_COMPARED, MAX_PAIRS_OF_A_CONTENT};

/// Matches `datagrams` in these passes.
pub(crate) fn match_all(
    reach: Reach,
    datagrams: &SpillableVec<Datagram>,
    passes: &[Pass],
) -> Result<Matches, PathError> {
    matched(reach, None, datagrams, all(reach, datagrams)?, passes)
}

/// Goes on matching what is left in `matches`.
pub(crate) fn match_left(
    reach: Reach,
    datagrams: &SpillableVec<Datagram>,
    matches: Matches,
    passes: &[Pass],
) -> Result<Matches, PathError> {
    matched(reach, None, datagrams, matches, passes)
}

/// Matches `datagrams` whose names were translated.
pub(crate) fn match_translated(
    reach: Reach,
    translations: &DatagramTranslations,
    datagrams: &SpillableVec<Datagram>,
) -> Result<Matches, PathError> {
    let passes = [Pass::TranslatedBothWays, Pass::Translated];
    matched(reach, Some(translations), datagrams, all(reach, datagrams)?, &passes)
}

/// All of them, not matched yet.
fn all(reach: Reach, datagrams: &SpillableVec<Datagram>) -> Result<Matches, PathError> {
    let pool = &reach.capture.pool;
    let places = |sent: bool| {
        let those =
            (0..).zip(datagrams.iter()).filter(move |(_, datagram)| datagram.sent() == sent);
        SpillableVec::collect(pool, those.map(|(at, _)| at))
    };
    Ok(Matches { sends: places(true)?, receives: places(false)?, ..Matches::new(pool) })
}

fn matched(
    reach: Reach,
    translations: Option<&DatagramTranslations>,
    datagrams: &SpillableVec<Datagram>,
    mut matches: Matches,
    passes: &[Pass],
) -> Result<Matches, PathError> {
    let pool = &reach.capture.pool;
    let comparison = Comparison { reach, pool, translations, datagrams };
    let none = SpillableVec::new(pool);
    let mut sends = std::mem::replace(&mut matches.sends, none);
    let mut receives = std::mem::replace(&mut matches.receives, SpillableVec::new(pool));
    let mut matcher = Matcher { comparison, pool, matches };
    for pass in passes {
        matcher.pass(*pass, &mut sends, &mut receives)?;
    }
    Ok(Matches { sends, receives, ..matcher.matches })
}

struct Matcher<'a> {
    comparison: Comparison<'a>,
    pool: &'a MemoryPool,
    matches: Matches,
}

impl Matcher<'_> {
    fn pass(
        &mut self,
        pass: Pass,
        sends: &mut SpillableVec<u32>,
        receives: &mut SpillableVec<u32>,
    ) -> Result<(), PathError> {
        if sends.is_empty() || receives.is_empty() {
            return Ok(());
        }
        let sorted = |places: &SpillableVec<u32>| self.comparison.sides(pass, places);
        let mut sides = [sorted(sends)?, sorted(receives)?];
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
        let mut done = SpillableVec::filled(self.pool, self.comparison.datagrams.len(), false)?;
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
            if self.comparison.reaches(pass, &sides[0][sends.start], &sides[1][receives.start]) {
                self.match_classes(sides, group.clone())?;
            }
        } else {
            self.match_each(pass, sides, &group)?;
        }
        if pass.tells_copies() && !all_done(&sides[1], receives) {
            second_copies(&self.comparison, pass, sides, &group, &mut self.matches)?;
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
                        if self.comparison.is_elsewhere(send, receive) == elsewhere
                            && self.comparison.reaches(pass, send, receive)
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
                if self.comparison.reaches(pass, &sides[0][sends.start], &sides[1][receives.start])
                {
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
                keyed.push(((self.comparison.is_elsewhere(send, receive), distance), pair));
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

    /// If these receives are of these sends, how many are left over on both sides, and how many
    /// nanoseconds the others took on average; as many as can be where their clocks differ.
    fn distance(
        &self,
        sides: &Sides,
        [sends, receives]: &Ranges,
    ) -> Result<(usize, i64), PathError> {
        // None before it was sent: what only the slack between clocks allows is no sign.
        let clocks = self.comparison.apart(sides, [sends, receives]).map(|_| 0);
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

    /// Matches what is left of two classes in order.
    fn match_classes(
        &mut self,
        sides: &mut Sides,
        [sends, receives]: Ranges,
    ) -> Result<(), PathError> {
        let apart = self.comparison.apart(sides, [&sends, &receives]);
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
}
