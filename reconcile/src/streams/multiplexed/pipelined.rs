//! Pipelined connections: requests are sent one after the other before the first is answered, and
//! answered in order. A client that does so occasionally, like one that writes everything that has
//! accumulated since its last iteration, mostly has one call open. So its connection looks as if
//! the sides took turns, and in some turns the request and the answer are longer than usual.
//!
//! The evidence is that both are longer by whole messages, and by equally many ([`is_pipelined`]):
//! if a request is as long as three usual ones, the answer is as long as three usual ones, too. If
//! calls have several sizes, a request that is as long as two others has an answer of its own size.

use crate::streams::multiplexed::usual_sizes::UsualSizes;
use crate::tuning::{
    MAX_MESSAGES_OF_A_PIECE, MAX_PIPELINED_BYTES, MIN_PIPELINED_TURNS, SEVERAL_A_MISMATCH,
};

/// The turns of one direction, with their sizes in bytes.
#[derive(Debug, Default)]
pub(crate) struct TurnSizes {
    /// The size of each turn, in bytes.
    pub(crate) bytes: Vec<u64>,
    /// The sizes of the first fragments of each turn, in bytes.
    parts: Vec<[u64; MAX_MESSAGES_OF_A_PIECE]>,
}

impl TurnSizes {
    /// Begins a turn.
    pub(crate) fn begin_turn(&mut self) {
        self.bytes.push(0);
        self.parts.push([0; MAX_MESSAGES_OF_A_PIECE]);
    }

    /// Adds the next fragment of the latest turn.
    pub(crate) fn add_bytes(&mut self, bytes: u64) {
        let (Some(turn), Some(parts)) = (self.bytes.last_mut(), self.parts.last_mut()) else {
            return;
        };
        *turn += bytes;
        if let Some(free) = parts.iter_mut().find(|part| **part == 0) {
            *free = bytes;
        }
    }

    /// Whether a turn came in several fragments that are whole messages each.
    fn is_apart(&self, turn: usize, units: &UsualSizes) -> bool {
        let parts = || self.parts[turn].iter().filter(|part| **part > 0);
        parts().count() > 1 && parts().all(|part| units.are_whole(*part))
    }
}

/// Whether several requests together are answered by equally many answers, in these turns there and
/// back, with these usual sizes. A batch is longer by whole entries, too; but at least one turn
/// must have been written message by message.
pub(crate) fn is_pipelined(turns: &[TurnSizes; 2], units: &[UsualSizes; 2]) -> bool {
    if units.iter().any(|units| units.largest_size() > MAX_PIPELINED_BYTES) {
        return false;
    }
    let (mut several, mut equal, mut apart) = (0, 0, 0);
    for (turn, sizes) in turns[0].bytes.iter().zip(&turns[1].bytes).enumerate() {
        let counts = units[0].count_messages(*sizes.0).zip(units[1].count_messages(*sizes.1));
        let Some((there, back)) = counts.filter(|(there, back)| there.max(back) > &1) else {
            continue;
        };
        several += 1;
        equal += usize::from(there == back);
        let is_apart = (0..2).any(|side| turns[side].is_apart(turn, &units[side]));
        apart += usize::from(there == back && is_apart);
    }
    equal >= MIN_PIPELINED_TURNS && (several - equal) * SEVERAL_A_MISMATCH <= several && apart > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether turns with these fragments there and back are pipelined.
    fn are_pipelined(turns: &[(&[u64], &[u64])]) -> bool {
        let mut sides: [TurnSizes; 2] = Default::default();
        for (there, back) in turns {
            for (side, parts) in sides.iter_mut().zip([there, back]) {
                side.begin_turn();
                parts.iter().for_each(|part| side.add_bytes(*part));
            }
        }
        let units = [0, 1].map(|side: usize| UsualSizes::from_turns(&sides[side].bytes));
        is_pipelined(&sides, &units)
    }

    /// A hundred turns of one call, followed by `others`.
    fn with<'a>(others: &[(&'a [u64], &'a [u64], usize)]) -> Vec<(&'a [u64], &'a [u64])> {
        let others = others.iter().flat_map(|(there, back, count)| vec![(*there, *back); *count]);
        vec![(&[64_u64] as &[u64], &[5_u64] as &[u64]); 100].into_iter().chain(others).collect()
    }

    #[test]
    fn several_requests_with_as_many_answers_are_pipelined() {
        let some: [(&[u64], &[u64], usize); 3] =
            [(&[128], &[10], 8), (&[64, 64], &[10], 1), (&[192], &[15], 2)];
        assert!(are_pipelined(&with(&some)));
        assert!(!are_pipelined(&with(&some[1..])), "too few");
        assert!(!are_pipelined(&with(&[some[0], some[2]])), "a batch has one more entry");
    }

    #[test]
    fn calls_of_several_sizes_are_not_pipelined() {
        assert!(!are_pipelined(&with(&[
            (&[128], &[10], 8),
            (&[64, 64], &[10], 2),
            (&[128], &[5], 30)
        ])));
        assert!(!are_pipelined(&with(&[(&[128], &[7], 30), (&[64, 64], &[5], 30)])));
    }

    #[test]
    fn buffers_of_bodies_are_not_pipelined() {
        let buffers = |count| vec![4_096; count];
        let (one, two) = (buffers(1), buffers(2));
        let turns = [(&one[..], &one[..]), (&two[..], &two[..])].repeat(50);
        assert!(!are_pipelined(&turns));
    }
}
