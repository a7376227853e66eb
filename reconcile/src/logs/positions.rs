//! Stream positions of transfers in a flight-recorder log with its oldest records overwritten.
//!
//! A log of this kind has a position before the first transfer of each direction of a flow in a
//! chunk, and again after another chunk came in between; a transfer without a position begins where
//! the previous one in the chunk ended, or is the stream's first. Between the remaining transfers
//! there are gaps, which matching has to skip.

use rustc_hash::FxHashMap;
use socket_log::encode::Direction;
use socket_log::layout::NO_POSITION;
use socket_log::{LogRecord, SocketLog};

use crate::calls::{MAX_TRANSFER_BYTES, StreamTransfer};

/// A flow of a log and a direction.
type FlowDirection = (u32, Direction);

/// Current position of each direction of each flow in the chunk that is being read; `None` if
/// unknown.
#[derive(Debug, Default)]
pub(crate) struct StreamPositions(FxHashMap<FlowDirection, Option<u64>>);

impl StreamPositions {
    /// Begins another chunk.
    pub(crate) fn next_chunk(&mut self) {
        self.0.clear();
    }

    /// Sets the position of the next transfer of the flow in that direction.
    pub(crate) fn set_position(&mut self, flow: u32, direction: Direction, before: u64) {
        let known = before != NO_POSITION && before <= MAX_STREAM_BYTES;
        self.0.insert((flow, direction), known.then_some(before));
    }

    /// Advances past a transfer, and returns the position at which it begins; `None` if unknown.
    pub(crate) fn advance_by(
        &mut self,
        flow: u32,
        direction: Direction,
        bytes: u64,
    ) -> Option<u64> {
        let next = self.0.entry((flow, direction)).or_insert(Some(0));
        let begin = *next;
        *next = begin.map(|begin| begin.saturating_add(bytes));
        begin
    }
}

/// The gaps of a log, by the transfer after each.
#[derive(Debug, Default)]
pub(crate) struct PositionGaps(FxHashMap<(FlowDirection, u64), u64>);

/// Maximum length of a stream: 256 TiB. A position beyond it is damage.
const MAX_STREAM_BYTES: u64 = 1 << 48;

impl PositionGaps {
    /// Finds the gaps of `log`. A log without positions has no gaps.
    pub(crate) fn from_log(log: &SocketLog) -> PositionGaps {
        if !log.header().has_positions {
            return PositionGaps::default();
        }
        // The known ranges of each direction: their beginnings and ends.
        let mut pieces: FxHashMap<FlowDirection, Vec<(u64, u64)>> = FxHashMap::default();
        let mut positions = StreamPositions::default();
        for chunk in log.chunks() {
            positions.next_chunk();
            chunk.for_each(|entry| match entry.record {
                LogRecord::Position { flow, direction, before } => {
                    positions.set_position(flow, direction, before)
                }
                LogRecord::Transfer { direction, flow, bytes, .. }
                    if bytes <= MAX_TRANSFER_BYTES =>
                {
                    if let Some(begin) = positions.advance_by(flow, direction, bytes) {
                        let pieces = pieces.entry((flow, direction)).or_default();
                        let end = begin.saturating_add(bytes);
                        match pieces.last_mut() {
                            Some(last) if last.1 == begin => last.1 = end,
                            _ => pieces.push((begin, end)),
                        }
                    }
                }
                _ => {}
            });
        }
        let mut gaps = PositionGaps::default();
        for (direction, mut pieces) in pieces {
            pieces.sort_unstable();
            let mut known = 0;
            for (begin, end) in pieces {
                if begin > known {
                    gaps.0.insert((direction, begin), begin - known);
                }
                known = known.max(end);
            }
        }
        gaps
    }

    /// Number of missing bytes before the transfer that begins at `begin`;
    /// `StreamTransfer::UNKNOWN` if its position is unknown.
    pub(crate) fn gap_before(&self, flow: u32, direction: Direction, begin: Option<u64>) -> u64 {
        begin.map_or(StreamTransfer::UNKNOWN, |begin| {
            self.0.get(&((flow, direction), begin)).copied().unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: FlowDirection = (7, Direction::Send);

    #[test]
    fn positions_continue_within_a_chunk() {
        let mut positions = StreamPositions::default();
        let moved =
            |positions: &mut StreamPositions, bytes| positions.advance_by(WAY.0, WAY.1, bytes);
        assert_eq!([moved(&mut positions, 5), moved(&mut positions, 6)], [Some(0), Some(5)]);
        positions.next_chunk();
        positions.set_position(WAY.0, WAY.1, 100);
        assert_eq!([moved(&mut positions, 5), moved(&mut positions, 6)], [Some(100), Some(105)]);
    }

    #[test]
    fn a_damaged_position_is_ignored() {
        for before in [NO_POSITION, NO_POSITION - 1, MAX_STREAM_BYTES + 1] {
            let mut positions = StreamPositions::default();
            positions.set_position(WAY.0, WAY.1, before);
            assert_eq!(positions.advance_by(WAY.0, WAY.1, 5), None);
            assert_eq!(positions.advance_by(WAY.0, WAY.1, 5), None);
        }
        let gaps = PositionGaps([((WAY, 100), 60)].into_iter().collect());
        let before = |begin| gaps.gap_before(WAY.0, WAY.1, begin);
        assert_eq!(
            [before(Some(100)), before(Some(7)), before(None)],
            [60, 0, StreamTransfer::UNKNOWN]
        );
    }
}
