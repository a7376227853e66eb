//! Matching of the datagrams of one partition: which receive belongs to which send.
//!
//! Both sides are sorted by a key that they share (destination, size, checksum), and each group of
//! equals is matched in order. Addresses are not part of the key, as a socket bound to all of a
//! host's addresses does not know which one its peer used; they must only not contradict each
//! other.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::calls::DatagramCall;
use crate::datagrams::comparison::DatagramComparison;
use crate::datagrams::copies::match_second_copies;
use crate::datagrams::datagram_matches::DatagramMatches;
use crate::datagrams::fifo_matching::{SelectedTimes, TimeSequence, match_fifo};
use crate::datagrams::pass::MatchingPass;
use crate::datagrams::sides::{
    DatagramSide, DatagramSides, PeerClass, SideRanges, SideTimes, all_done, class_ranges,
    find_run_end,
};
use crate::datagrams::translations::DatagramTranslations;
use crate::sockets::routing::DatagramRouting;
use crate::tuning::{MAX_COMPARED_DATAGRAMS, MAX_PAIRS_OF_A_CONTENT};

/// Matches `datagrams` in these passes.
pub(crate) fn match_all(
    routing: DatagramRouting,
    datagrams: &SpillableVec<DatagramCall>,
    passes: &[MatchingPass],
) -> Result<DatagramMatches, PathError> {
    match_passes(routing, None, datagrams, unmatched_datagrams(routing, datagrams)?, passes)
}

/// Continues matching the remaining datagrams in `matches`.
pub(crate) fn match_remaining(
    routing: DatagramRouting,
    datagrams: &SpillableVec<DatagramCall>,
    matches: DatagramMatches,
    passes: &[MatchingPass],
) -> Result<DatagramMatches, PathError> {
    match_passes(routing, None, datagrams, matches, passes)
}

/// Matches `datagrams` with translated names.
pub(crate) fn match_translated(
    routing: DatagramRouting,
    translations: &DatagramTranslations,
    datagrams: &SpillableVec<DatagramCall>,
) -> Result<DatagramMatches, PathError> {
    let passes = [MatchingPass::TranslatedBothWays, MatchingPass::Translated];
    match_passes(
        routing,
        Some(translations),
        datagrams,
        unmatched_datagrams(routing, datagrams)?,
        &passes,
    )
}

/// All datagrams as unmatched.
fn unmatched_datagrams(
    routing: DatagramRouting,
    datagrams: &SpillableVec<DatagramCall>,
) -> Result<DatagramMatches, PathError> {
    let pool = &routing.capture.pool;
    let places = |sent: bool| {
        let selected =
            (0..).zip(datagrams.iter()).filter(move |(_, datagram)| datagram.is_sent() == sent);
        SpillableVec::collect(pool, selected.map(|(at, _)| at))
    };
    Ok(DatagramMatches {
        sends: places(true)?,
        receives: places(false)?,
        ..DatagramMatches::new(pool)
    })
}

/// Matches the remaining datagrams in `matches` in these passes.
fn match_passes(
    routing: DatagramRouting,
    translations: Option<&DatagramTranslations>,
    datagrams: &SpillableVec<DatagramCall>,
    mut matches: DatagramMatches,
    passes: &[MatchingPass],
) -> Result<DatagramMatches, PathError> {
    let pool = &routing.capture.pool;
    let comparison = DatagramComparison { routing, pool, translations, datagrams };
    let none = SpillableVec::new(pool);
    let mut sends = std::mem::replace(&mut matches.sends, none);
    let mut receives = std::mem::replace(&mut matches.receives, SpillableVec::new(pool));
    let mut matcher = PassMatcher { comparison, pool, matches };
    for pass in passes {
        matcher.run_pass(*pass, &mut sends, &mut receives)?;
    }
    Ok(DatagramMatches { sends, receives, ..matcher.matches })
}

struct PassMatcher<'a> {
    comparison: DatagramComparison<'a>,
    pool: &'a MemoryPool,
    matches: DatagramMatches,
}

impl PassMatcher<'_> {
    /// Matches `sends` and `receives` in one pass, and removes those that are matched.
    fn run_pass(
        &mut self,
        pass: MatchingPass,
        sends: &mut SpillableVec<u32>,
        receives: &mut SpillableVec<u32>,
    ) -> Result<(), PathError> {
        if sends.is_empty() || receives.is_empty() {
            return Ok(());
        }
        let sorted = |places: &SpillableVec<u32>| self.comparison.collect_sides(pass, places);
        let mut sides = [sorted(sends)?, sorted(receives)?];
        let (mut s, mut r) = (0, 0);
        while let (Some(send), Some(receive)) = (sides[0].get(s), sides[1].get(r)) {
            let key = send.key.max(receive.key);
            s = find_run_end(&sides[0], s, |side| side.key < key);
            r = find_run_end(&sides[1], r, |side| side.key < key);
            let ends = [
                find_run_end(&sides[0], s, |side| side.key == key),
                find_run_end(&sides[1], r, |side| side.key == key),
            ];
            if s < ends[0] && r < ends[1] {
                self.match_group(pass, &mut sides, [s..ends[0], r..ends[1]])?;
            }
            [s, r] = ends;
        }
        // Only datagrams with a key took part; the others wait for the next pass.
        let mut done = SpillableVec::filled(self.pool, self.comparison.datagrams.len(), false)?;
        let of_both = sides.iter().flat_map(SpillableVec::iter);
        of_both.filter(|side| side.done).for_each(|side| done[side.at as usize] = true);
        sends.retain(|at| !done[*at as usize]);
        receives.retain(|at| !done[*at as usize]);
        Ok(())
    }

    /// Matches the sends and receives of one key, class by class.
    fn match_group(
        &mut self,
        pass: MatchingPass,
        sides: &mut DatagramSides,
        group: SideRanges,
    ) -> Result<(), PathError> {
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
            if self.comparison.can_reach(pass, &sides[0][sends.start], &sides[1][receives.start]) {
                self.match_classes(sides, group.clone())?;
            }
        } else {
            self.match_by_class(pass, sides, &group)?;
        }
        if pass.matches_copies() && !all_done(&sides[1], receives) {
            match_second_copies(&self.comparison, pass, sides, &group, &mut self.matches)?;
        }
        Ok(())
    }

    /// Matches the classes of sends and receives that can belong together: classes of one machine
    /// first, and then those with the fewest leftovers and the shortest average time. Sockets that
    /// have equal names one after another, or each in a container of its own, are distinguished by
    /// that alone.
    fn match_by_class(
        &mut self,
        pass: MatchingPass,
        sides: &mut DatagramSides,
        [sends, receives]: &SideRanges,
    ) -> Result<(), PathError> {
        let send_classes = SpillableVec::collect(
            self.pool,
            class_ranges(&sides[0], sends).map(PeerClass::from_range),
        )?;
        let receive_classes = SpillableVec::collect(
            self.pool,
            class_ranges(&sides[1], receives).map(PeerClass::from_range),
        )?;
        if send_classes.len().saturating_mul(receive_classes.len()) > MAX_PAIRS_OF_A_CONTENT {
            for elsewhere in [false, true] {
                for receives in receive_classes.iter().map(|class| class.to_range()) {
                    for sends in send_classes.iter().map(|class| class.to_range()) {
                        if all_done(&sides[1], &receives) {
                            break;
                        }
                        let (send, receive) = (&sides[0][sends.start], &sides[1][receives.start]);
                        if self.comparison.crosses_machines(send, receive) == elsewhere
                            && self.comparison.can_reach(pass, send, receive)
                        {
                            self.match_classes(sides, [sends, receives.clone()])?;
                        }
                    }
                }
            }
            return Ok(());
        }
        let mut pairs: Vec<SideRanges> = Vec::new();
        for receives in receive_classes.iter().map(|class| class.to_range()) {
            for sends in send_classes.iter().map(|class| class.to_range()) {
                if self.comparison.can_reach(
                    pass,
                    &sides[0][sends.start],
                    &sides[1][receives.start],
                ) {
                    pairs.push([sends, receives.clone()]);
                }
            }
        }
        if pairs.len() > 1 {
            let compared: usize = pairs.iter().flatten().map(Range::len).sum();
            let mut keyed = Vec::with_capacity(pairs.len());
            for pair in pairs {
                let distance = if compared <= MAX_COMPARED_DATAGRAMS {
                    self.class_distance(sides, &pair)?
                } else {
                    (0, 0)
                };
                let (send, receive) = (&sides[0][pair[0].start], &sides[1][pair[1].start]);
                keyed.push(((self.comparison.crosses_machines(send, receive), distance), pair));
            }
            keyed.sort_by_key(|(key, _)| *key);
            pairs = keyed.into_iter().map(|(_, pair)| pair).collect();
        }
        let mut full = usize::MAX;
        for [sends, receives] in pairs {
            // Several senders may have sent to one receiver.
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

    /// The number of leftovers on both sides if these receives are of these sends, and the average
    /// time of the others in nanoseconds; the maximum if their clocks differ.
    fn class_distance(
        &self,
        sides: &DatagramSides,
        [sends, receives]: &SideRanges,
    ) -> Result<(usize, i64), PathError> {
        // None before it was sent: a match that only the slack between clocks allows is no
        // evidence.
        let clocks = self.comparison.clocks_apart(sides, [sends, receives]).map(|_| 0);
        let (to, from) =
            (SideTimes(&sides[0], sends.clone()), SideTimes(&sides[1], receives.clone()));
        let matched = match_fifo(self.pool, &to, &from, clocks)?;
        let (mut count, mut total) = (0usize, 0i128);
        for (receive, send) in matched.iter().enumerate() {
            let Some(send) = send.get() else { continue };
            count += 1;
            total += i128::from(from.time(receive)) - i128::from(to.time(send as usize));
        }
        let mean = total.checked_div(count as i128).filter(|_| clocks.is_some());
        Ok((sends.len() + receives.len() - 2 * count, mean.map_or(i64::MAX, |mean| mean as i64)))
    }

    /// Matches the remainder of two classes in order.
    fn match_classes(
        &mut self,
        sides: &mut DatagramSides,
        [sends, receives]: SideRanges,
    ) -> Result<(), PathError> {
        let apart = self.comparison.clocks_apart(sides, [&sends, &receives]);
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
        let left = |sides: &SpillableVec<DatagramSide>, range: &Range<usize>| {
            let open = (0..).zip(sides.range(range.clone())).filter(|(_, side)| !side.done);
            SpillableVec::collect(self.pool, open.map(|(at, _)| at))
        };
        let (open_sends, open_receives) = (left(to, &sends)?, left(from, &receives)?);
        if open_sends.is_empty() || open_receives.is_empty() {
            return Ok(());
        }
        let matched = {
            let (to, from) = (SideTimes(to, sends.clone()), SideTimes(from, receives.clone()));
            let to = SelectedTimes { of: &to, places: &open_sends };
            match_fifo(self.pool, &to, &SelectedTimes { of: &from, places: &open_receives }, apart)?
        };
        for (receive, send) in open_receives.iter().zip(matched.iter()) {
            if let Some(send) = send.get().and_then(|send| open_sends.get(send as usize)) {
                let send = &mut to[sends.start + *send as usize];
                let receive = &mut from[receives.start + *receive as usize];
                (send.done, receive.done) = (true, true);
                self.matches.pairs.push((send.at, receive.at))?;
            }
        }
        Ok(())
    }
}
