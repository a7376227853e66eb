//! A trace in stretches, so that memory does not grow with it: each is so many messages one after the other, with some before
//! and behind them. What is inferred of a stretch is kept for its own messages, and those around it only let these be seen
//! with what they overlap (Project 5, section 8, does so for the nesting algorithm).

use std::ops::Range;

use message_trace::table::MessageReader;
use message_trace::{DataDir, Error, MessageTrace};

use crate::naming::Outline;

/// Messages before and behind a stretch, as a part of its length.
const AROUND: usize = 4;
/// So many messages at a time are added to an outline.
const PART: usize = 1 << 16;

/// The stretches of the trace of a data directory, one after the other.
pub(crate) struct Stretches {
    reader: MessageReader,
    length: usize,
    rows: u64,
    /// Whether there was a stretch already.
    is_begun: bool,
    stretch: Stretch,
}

/// A stretch of a trace with what is around it.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// The messages of the stretch and around it.
    pub(crate) trace: MessageTrace,
    /// The number that the first of these has in the whole trace.
    pub(crate) first: u64,
    /// Which of them are the stretch's own.
    pub(crate) own: Range<usize>,
}

impl Stretches {
    /// Those of `length` messages each, but the last, which may be longer by what is around one.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub(crate) fn of(data: &DataDir, length: usize) -> Result<Stretches, Error> {
        let reader = MessageReader::open(&data.messages(), &data.nodes())?;
        let (rows, trace) = (reader.rows(), MessageTrace::new(reader.nodes().clone()));
        let stretch = Stretch { trace, first: 0, own: 0..0 };
        Ok(Stretches { reader, length: length.max(1), rows, is_begun: false, stretch })
    }

    /// The next stretch; an empty trace has one, which is empty, and `None` is when all were taken.
    ///
    /// # Errors
    /// When the trace cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<&Stretch>, Error> {
        let Stretch { trace, first, own } = &mut self.stretch;
        let begin = *first + own.end as u64;
        if self.is_begun && begin >= self.rows {
            return Ok(None);
        }
        self.is_begun = true;
        let around = self.length / AROUND;
        let left = (self.rows - begin) as usize;
        let length = if left <= self.length + around { left } else { self.length };
        let before = around.min(begin as usize);
        if own.end > before {
            let mut rest = MessageTrace::new(trace.nodes.clone());
            rest.append_rows(trace, own.end - before..trace.len());
            *trace = rest;
            *first = begin - before as u64;
        }
        *own = before..before + length;
        let wanted = own.end + around;
        self.reader.read(trace, wanted.saturating_sub(trace.len()))?;
        Ok(Some(&self.stretch))
    }
}

/// The outline of the trace of `data`.
///
/// # Errors
/// When the trace cannot be read.
pub(crate) fn outline(data: &DataDir) -> Result<MessageTrace, Error> {
    let mut reader = MessageReader::open_ways(&data.messages(), &data.nodes())?;
    let mut outline = Outline::new(reader.nodes().clone());
    loop {
        let mut part = MessageTrace::new(reader.nodes().clone());
        reader.read(&mut part, PART)?;
        if part.is_empty() {
            return Ok(outline.into_trace());
        }
        outline.add(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::naming::{Namer, Naming};
    use crate::options::Options;

    /// A trace of `calls` calls from clients of two hosts to a server, one after the other, in a data directory.
    fn directory(calls: i64) -> (tempfile::TempDir, DataDir, MessageTrace) {
        let mut trace = Fixture::new();
        for call in 0..calls {
            let (client, port) = (["x", "y"][call as usize % 2], trace.ephemeral());
            trace.send(client, "s", 10 * call, 10 * call + 1).ports(port, 80);
            trace.send("s", client, 10 * call + 4, 10 * call + 5).ports(80, port).accepting();
        }
        let trace = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        trace.write(&data.messages(), &data.nodes()).unwrap();
        (directory, data, trace)
    }

    #[test]
    fn every_message_is_in_one_stretch_and_those_around_are_there() {
        for (calls, length) in
            [(0, 4), (1, 1), (1, 100), (10, 4), (10, 7), (10, 8), (11, 16), (50, 8), (50, 99)]
        {
            let (_directory, data, whole) = directory(calls);
            let mut stretches = Stretches::of(&data, length).unwrap();
            let (mut next, mut count) = (0, 0);
            while let Some(Stretch { trace, first, own }) = stretches.next().unwrap() {
                let first = *first as usize;
                assert_eq!(first + own.start, next);
                assert_eq!(own.start, (length / AROUND).min(next));
                next = first + own.end;
                assert_eq!(
                    trace.len() - own.end,
                    (length / AROUND).min(whole.len() - next),
                    "{calls} {length}"
                );
                for row in 0..trace.len() {
                    let (found, wanted) = (trace.message(row), whole.message(first + row));
                    assert_eq!((found.send_ts, found.src), (wanted.send_ts, wanted.src));
                    assert_eq!(trace.endpoint(found.src_endpoint), whole.endpoint(wanted.src_endpoint));
                    assert_eq!(trace.endpoint(found.dst_endpoint), whole.endpoint(wanted.dst_endpoint));
                }
                count += 1;
            }
            let is_one = whole.len() <= length + length / AROUND;
            assert_eq!((next, is_one), (whole.len(), count == 1), "{calls} {length}");
        }
    }

    #[test]
    fn names_by_the_outline_are_those_by_the_whole_trace() {
        let (_directory, data, whole) = directory(40);
        let outline = outline(&data).unwrap();
        assert_eq!(outline.len(), 4, "two clients, both ways");
        let options = Options::default();
        let all = Naming::new(&whole, &options);
        let mut namer = Namer::of(&outline, &options);
        let mut stretches = Stretches::of(&data, 8).unwrap();
        while let Some(Stretch { trace, first, .. }) = stretches.next().unwrap() {
            let naming = namer.name(trace);
            for row in 0..trace.len() {
                let text = |naming: &Naming, hop: u32| {
                    let hop = naming.hop_name(hop);
                    [hop.src, hop.dst, hop.src_port, hop.dst_port].map(|text| naming.text(text).to_owned())
                };
                let whole = *first as usize + row;
                assert_eq!(text(&naming, naming.hop(row)), text(&all, all.hop(whole)));
                assert_eq!(naming.src(row), all.src(whole), "numbers are the same in all stretches");
                assert_eq!(naming.hop(row), all.hop(whole));
            }
        }
    }
}
