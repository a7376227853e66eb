//! The parts of both directions of a connection in the order in which one end saw them.

use std::iter::Peekable;

use crate::calls::FlowMessage;

/// The parts of both directions in the order of time, with their directions.
pub(crate) struct OrderedFragments<A: Iterator<Item = FlowMessage>, B: Iterator<Item = FlowMessage>>
{
    there: Peekable<A>,
    back: Peekable<B>,
    end: usize,
}

impl<A: Iterator<Item = FlowMessage>, B: Iterator<Item = FlowMessage>> OrderedFragments<A, B> {
    /// The parts there and back as the end number `end` sees them: the one that connected (0) or
    /// accepted (1). What it did not see is passed over.
    pub(crate) fn new(there: A, back: B, end: usize) -> OrderedFragments<A, B> {
        OrderedFragments { there: there.peekable(), back: back.peekable(), end }
    }
}

/// When the end number `end` saw a part of that direction: when it began to send it, or had all.
fn time_at_end(direction: usize, part: &FlowMessage, end: usize) -> Option<i64> {
    match direction == end {
        true => part.sent.map(|seen| seen.first),
        false => part.received.map(|seen| seen.last),
    }
}

/// The time of the next part that was seen.
fn next_time(
    parts: &mut Peekable<impl Iterator<Item = FlowMessage>>,
    direction: usize,
    end: usize,
) -> Option<i64> {
    loop {
        let part = parts.peek()?;
        if let Some(time) = time_at_end(direction, part, end) {
            return Some(time);
        }
        parts.next();
    }
}

impl<A: Iterator<Item = FlowMessage>, B: Iterator<Item = FlowMessage>> Iterator
    for OrderedFragments<A, B>
{
    type Item = (usize, FlowMessage);

    fn next(&mut self) -> Option<(usize, FlowMessage)> {
        let there = next_time(&mut self.there, 0, self.end);
        let back = next_time(&mut self.back, 1, self.end);
        let is_back = match (there, back) {
            (Some(there), Some(back)) => back < there,
            (there, _) => there.is_none(),
        };
        let part = if is_back { self.back.next() } else { self.there.next() }?;
        Some((usize::from(is_back), part))
    }
}
