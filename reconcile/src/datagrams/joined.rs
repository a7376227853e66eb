//! Joined datagrams of UDP segmentation offload, which one side saw joined and the other did not.
//!
//! A send may pass several datagrams to the kernel in one call, and a receive may return several.
//! If the recorder of the call could not see the size of the datagrams (strace does not print it, a
//! packet on its way to the network card does not contain it), the other side has it. CRC-32 of
//! consecutive bytes can be computed from the checksums of the parts, so equal sums of sizes and
//! equal checksums are proof: some consecutive sends and some consecutive receives have the same
//! bytes. Both are cut wherever either side has a boundary, and the parts are pairs.

use std::ops::Range;

use crc32fast::Hasher;
use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;

use crate::calls::DatagramCall;
use crate::datagrams::datagram_matches::DatagramMatches;
use crate::datagrams::sides::{
    DatagramSide, DatagramSides, SideRanges, class_ranges, find_run_end,
};
use crate::sockets::routing::DatagramRouting;
use crate::tuning::{JOINED_REACH, MAX_JOINED, MAX_PAIRS_OF_A_CONTENT};

/// BlockProof that consecutive sends and receives have the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockProof {
    /// Their sizes and checksums.
    Checksums,
    /// Their sizes alone, if a checksum is missing: one side has a single joined datagram, and the
    /// other side has datagrams of equal size except for a smaller last one.
    Sizes,
    /// No proof, because some of the joined datagrams were lost: the largest remaining receive has
    /// the size of all but the last. The parts have no checksum and are still to be matched.
    Lost,
}

/// Number of sends and of receives that were added by cutting.
pub(crate) type AddedParts = [u64; 2];

/// Cuts joined datagrams among the remaining ones in `matches`, and pairs the parts, which are
/// added to `datagrams`.
pub(crate) fn cut_joined(
    routing: DatagramRouting,
    datagrams: &mut SpillableVec<DatagramCall>,
    matches: &mut DatagramMatches,
    proof: BlockProof,
) -> Result<AddedParts, PathError> {
    let mut added = [0; 2];
    for with_source in [true, false] {
        let left = [&matches.sends, &matches.receives];
        let joined = left.iter().flat_map(|side| side.iter());
        if !joined.into_iter().any(|at| datagrams[*at as usize].is_joined()) {
            break;
        }
        let side = |left| collect_sides(routing, datagrams, left, with_source);
        let sides = [side(&matches.sends)?, side(&matches.receives)?];
        let parts = SpillableVec::new(matches.sends.pool());
        let mut cutter = JoinedCutter { routing, datagrams, sides, proof, parts, added: [0; 2] };
        cutter.cut_all(&mut matches.pairs)?;
        let JoinedCutter { sides: [sends, receives], parts, added: more, .. } = cutter;
        for ((left, sides), (sum, more)) in [&mut matches.sends, &mut matches.receives]
            .into_iter()
            .zip([sends, receives])
            .zip(added.iter_mut().zip(more))
        {
            *sum += more;
            let mut done = SpillableVec::filled(sides.pool(), datagrams.len(), false)?;
            let of_side = sides.iter().filter(|side| side.done);
            of_side.for_each(|side| done[side.at as usize] = true);
            left.retain(|at| !done[*at as usize]);
        }
        matches.sends.extend(parts.iter().copied())?;
    }
    Ok(added)
}

/// The remaining UDP datagrams of one side, sorted by destination, by socket and peer, and by time.
fn collect_sides(
    routing: DatagramRouting,
    datagrams: &SpillableVec<DatagramCall>,
    left: &SpillableVec<u32>,
    with_source: bool,
) -> Result<SpillableVec<DatagramSide>, PathError> {
    let side = |at: &u32| {
        let datagram = datagrams.get(*at as usize)?;
        let is_udp = routing.sockets[datagram.socket.index()].protocol == TransportProtocol::Udp;
        let place = routing.routing_place(datagram, with_source).filter(|_| is_udp)?;
        Some(DatagramSide {
            key: (place, 0, 0),
            time: datagram.time,
            class: (datagram.socket, datagram.peer, 0),
            at: *at,
            done: false,
        })
    };
    let mut sides = SpillableVec::collect(left.pool(), left.iter().filter_map(side))?;
    sides.sort_by_key(|side| (side.key, side.class, side.time, side.at))?;
    Ok(sides)
}

struct JoinedCutter<'a> {
    routing: DatagramRouting<'a>,
    datagrams: &'a mut SpillableVec<DatagramCall>,
    sides: DatagramSides,
    proof: BlockProof,
    /// Sends to be matched, by their indices among the datagrams.
    parts: SpillableVec<u32>,
    added: AddedParts,
}

/// Sends and receives with the same bytes, by their indices among the sides.
#[derive(Debug, Default)]
struct EqualBlock([Vec<usize>; 2]);

impl JoinedCutter<'_> {
    /// Processes the destinations for which both sides have datagrams.
    fn cut_all(&mut self, pairs: &mut SpillableVec<(u32, u32)>) -> Result<(), PathError> {
        let (mut s, mut r) = (0, 0);
        while let (Some(send), Some(receive)) = (self.sides[0].get(s), self.sides[1].get(r)) {
            let key = send.key.max(receive.key);
            s = find_run_end(&self.sides[0], s, |side| side.key < key);
            r = find_run_end(&self.sides[1], r, |side| side.key < key);
            let ends = [
                find_run_end(&self.sides[0], s, |side| side.key == key),
                find_run_end(&self.sides[1], r, |side| side.key == key),
            ];
            if s < ends[0] && r < ends[1] {
                self.cut_destination([s..ends[0], r..ends[1]], pairs)?;
            }
            [s, r] = ends;
        }
        Ok(())
    }

    /// Processes every two classes of one destination that can belong together.
    fn cut_destination(
        &mut self,
        ranges: SideRanges,
        pairs: &mut SpillableVec<(u32, u32)>,
    ) -> Result<(), PathError> {
        let classes = [0, 1].map(|side| class_ranges(&self.sides[side], &ranges[side]).count());
        if classes[0].saturating_mul(classes[1]) > MAX_PAIRS_OF_A_CONTENT {
            return Ok(());
        }
        let [sends, receives]: [Vec<Range<usize>>; 2] =
            [0, 1].map(|side| class_ranges(&self.sides[side], &ranges[side]).collect());
        for receives in &receives {
            for sends in &sends {
                let [send, receive] =
                    [self.datagram(0, sends.start), self.datagram(1, receives.start)];
                let ranges = [sends.clone(), receives.clone()];
                match self.proof {
                    _ if !self.routing.can_reach(&send, &receive) => {}
                    BlockProof::Checksums | BlockProof::Sizes => self.cut_classes(ranges, pairs)?,
                    BlockProof::Lost => self.cut_lost(ranges)?,
                }
            }
        }
        Ok(())
    }

    /// The datagram of a side (0: send, 1: receive), by its index among the sides.
    fn datagram(&self, side: usize, place: usize) -> DatagramCall {
        self.datagrams[self.sides[side][place].at as usize]
    }

    /// Processes two classes: for each send, finds the first receives that have the same bytes,
    /// possibly together with the sends that follow. They come in order, except for some that
    /// another thread sent meanwhile.
    fn cut_classes(
        &mut self,
        [sends, receives]: SideRanges,
        pairs: &mut SpillableVec<(u32, u32)>,
    ) -> Result<(), PathError> {
        let (mut first, mut latest) = (receives.start, receives.start);
        for send in sends.clone() {
            if self.sides[0][send].done {
                continue;
            }
            first = first.max(latest.saturating_sub(JOINED_REACH));
            while first < receives.end && self.sides[1][first].done {
                first += 1;
            }
            let reach = first.max(latest).saturating_add(JOINED_REACH).min(receives.end);
            let block = (first..reach)
                .filter(|receive| !self.sides[1][*receive].done)
                .find_map(|receive| self.find_block([send..sends.end, receive..receives.end]));
            let Some(block) = block else { continue };
            latest = block.0[1].last().map_or(latest, |last| last + 1);
            self.pair_parts(&block, pairs)?;
        }
        Ok(())
    }

    /// Cuts the remaining joined sends by the size of the largest remaining receive.
    fn cut_lost(&mut self, [sends, receives]: SideRanges) -> Result<(), PathError> {
        let (mut size, mut latest, mut arrived) = (0, i64::MIN, 0);
        let socket = self.datagram(1, receives.start).socket;
        for receive in receives.filter(|receive| !self.sides[1][*receive].done) {
            let receive = self.datagram(1, receive);
            (size, latest) = (size.max(receive.bytes), latest.max(receive.time));
            arrived += 1;
        }
        for send in sends {
            let datagram = self.datagram(0, send);
            let apart = self.routing.clock_apart(datagram.socket, socket);
            if apart.is_some_and(|apart| datagram.time > latest.saturating_add(apart)) {
                break;
            }
            let count = datagram.bytes.checked_div(size).map_or(0, |count| count as usize);
            // Most arrive: a few remaining ones may belong to anything.
            let is_cut = datagram.is_joined()
                && datagram.bytes > size
                && count < MAX_JOINED.min(2 * arrived);
            if size == 0 || !is_cut || self.sides[0][send].done {
                continue;
            }
            self.sides[0][send].done = true;
            let mut part = DatagramCall {
                flags: DatagramCall::pack_flags(true, false, true),
                checksum: 0,
                ..datagram
            };
            for at in (0..datagram.bytes).step_by(size as usize) {
                part.bytes = size.min(datagram.bytes - at);
                self.parts.push(self.datagrams.len() as u32)?;
                self.datagrams.push(part)?;
                part.operation = 0;
                self.added[0] += u64::from(at > 0);
            }
        }
        Ok(())
    }

    /// The block that begins with the first send and the first receive of `ranges`, if there is
    /// one: the side with fewer bytes takes its next datagram.
    fn find_block(&self, ranges: SideRanges) -> Option<EqualBlock> {
        let starts = [0, 1].map(|side| self.datagram(side, ranges[side].start));
        let apart = self.routing.clock_apart(starts[0].socket, starts[1].socket);
        if apart.is_some_and(|apart| starts[0].time > starts[1].time.saturating_add(apart)) {
            return None;
        }
        let (mut block, mut sums) = (EqualBlock::default(), [0u64; 2]);
        let mut next = [ranges[0].start, ranges[1].start];
        loop {
            let side = usize::from(sums[0] > sums[1]);
            while next[side] < ranges[side].end && self.sides[side][next[side]].done {
                next[side] += 1;
            }
            if next[side] >= ranges[side].end || block.0[0].len() + block.0[1].len() > MAX_JOINED {
                return None;
            }
            let datagram = self.datagram(side, next[side]);
            if datagram.bytes == 0
                || (self.proof == BlockProof::Checksums && datagram.is_unchecked())
            {
                return None;
            }
            block.0[side].push(next[side]);
            next[side] += 1;
            sums[side] += u64::from(datagram.bytes);
            if sums[0] == sums[1] {
                return self.is_proven(&block).then_some(block);
            }
        }
    }

    /// Whether the sends and receives of a block are proven to have the same bytes.
    fn is_proven(&self, EqualBlock(members): &EqualBlock) -> bool {
        let of = |side: usize| members[side].iter().map(move |place| self.datagram(side, *place));
        let joined = |side: usize| of(side).any(|datagram| datagram.is_joined());
        match self.proof {
            BlockProof::Checksums => {
                let checksum = |side: usize| {
                    let mut all = Hasher::new();
                    for datagram in of(side) {
                        let (crc, bytes) = (datagram.checksum, u64::from(datagram.bytes));
                        all.combine(&Hasher::new_with_initial_len(crc, bytes));
                    }
                    all.finalize()
                };
                (joined(0) || joined(1)) && checksum(0) == checksum(1)
            }
            BlockProof::Sizes => {
                let (one, many) = if members[0].len() == 1 { (0, 1) } else { (1, 0) };
                let sizes: Vec<u32> = of(many).map(|datagram| datagram.bytes).collect();
                let is_part = |sizes: &[u32]| match sizes {
                    [first, .., last] => {
                        last <= first && sizes[..sizes.len() - 1].iter().all(|size| size == first)
                    }
                    _ => false,
                };
                let is_unknown = |side| {
                    of(side).any(|datagram| datagram.is_unchecked() || datagram.is_truncated())
                };
                members[one].len() == 1
                    && joined(one)
                    && is_part(&sizes)
                    && (is_unknown(0) || is_unknown(1))
            }
            BlockProof::Lost => false,
        }
    }

    /// Pairs the parts of a block.
    fn pair_parts(
        &mut self,
        EqualBlock(members): &EqualBlock,
        pairs: &mut SpillableVec<(u32, u32)>,
    ) -> Result<(), PathError> {
        let mut at = [0, 0];
        let mut left: [Option<DatagramCall>; 2] = [None, None];
        let mut parts = 0;
        loop {
            for side in [0, 1] {
                if left[side].is_none() {
                    let Some(place) = members[side].get(at[side]) else { break };
                    left[side] = Some(self.datagram(side, *place));
                    self.sides[side][*place].done = true;
                    at[side] += 1;
                }
            }
            let [Some(send), Some(receive)] = &mut left else { break };
            let bytes = send.bytes.min(receive.bytes);
            for datagram in [*send, *receive] {
                self.datagrams.push(DatagramCall { bytes, ..datagram })?;
            }
            let count = self.datagrams.len() as u32;
            pairs.push((count - 2, count - 1))?;
            parts += 1;
            for side in &mut left {
                let rest = side.map(|datagram| DatagramCall {
                    bytes: datagram.bytes - bytes,
                    // The operation begins with the first part.
                    operation: 0,
                    ..datagram
                });
                *side = rest.filter(|rest| rest.bytes > 0);
            }
        }
        for side in [0, 1] {
            self.added[side] += parts - members[side].len() as u64;
        }
        Ok(())
    }
}
