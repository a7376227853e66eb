//! Fragments of both directions of a connection in the order in which one end saw them. They go
//! there, from the connecting to the accepting end, or back.

use std::iter::Peekable;

use crate::calls::FlowMessage;

/// The fragments of both directions sorted by time, with their directions.
pub(crate) struct OrderedFragments<A: Iterator<Item = FlowMessage>, B: Iterator<Item = FlowMessage>>
{
    there: Peekable<A>,
    back: Peekable<B>,
    end: usize,
}

impl<A: Iterator<Item = FlowMessage>, B: Iterator<Item = FlowMessage>> OrderedFragments<A, B> {
    /// The fragments there and back in the view of end number `end`: the connecting (0) or the
    /// accepting one (1). Fragments that it did not see are skipped.
    pub(crate) fn new(there: A, back: B, end: usize) -> OrderedFragments<A, B> {
        OrderedFragments { there: there.peekable(), back: back.peekable(), end }
    }
}

/// Time when end number `end` saw a fragment: when it began to send the fragment, or had received
/// all of it. `direction` is 0 there, 1 back.
fn time_at_end(direction: usize, part: &FlowMessage, end: usize) -> Option<i64> {
    match direction == end {
        true => part.sent.map(|seen| seen.first),
        false => part.received.map(|seen| seen.last),
    }
}

/// The time of the next fragment that was seen.
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
