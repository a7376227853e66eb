//! Connections that were open before they were recorded are matched from where the kernel's counts
//! of bytes say that their calls begin, or left out.

use clocks::Samples;
use message_trace::PathError;

use super::Matching;
use crate::names::NameId;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::row_sink::RowSink;
use crate::sockets::socket::Socket;
use crate::streams::aligned::AlignedWays;
use crate::streams::counted::CountedWays;
use crate::streams::ways::Ways;

impl Matching<'_> {
    /// Hands on the messages of the connection; whether it has any.
    pub(super) fn connection(
        &self,
        ways: &impl Ways,
        counts: &mut Reconciliation,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        let ends = [self.connection.connecting, self.connection.accepting].map(|end| self.end(end));
        if ends.iter().flatten().any(|socket| socket.aligned) {
            return self.aligned(ends, ways, counts, samples, rows);
        }
        if !ends.iter().flatten().any(|socket| socket.counted) {
            return self.messages(ways, counts, samples, rows);
        }
        let apart = match ends {
            [Some(one), Some(other)] => one.clock_apart(other),
            _ => None,
        };
        match CountedWays::of(ways, self.both(), apart) {
            Some(ways) => self.messages(&ways, counts, samples, rows),
            None => self.left_out(ways, counts),
        }
    }

    /// The same for a unix stream.
    fn aligned(
        &self,
        ends: [Option<&Socket>; 2],
        ways: &impl Ways,
        counts: &mut Reconciliation,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        let [Some(one), Some(other)] = ends else {
            return self.messages(&AlignedWays::of_one_end(ways), counts, samples, rows);
        };
        let apart = one.clock_apart(other);
        let aligned =
            apart.and_then(|apart| AlignedWays::of(ways, [one.found, other.found], apart));
        let Some(aligned) = aligned else { return self.left_out(ways, counts) };
        match CountedWays::of(&aligned, true, apart) {
            Some(ways) => self.messages(&ways, counts, samples, rows),
            None => self.left_out(ways, counts),
        }
    }

    /// Counts a connection of which it is not certain which calls belong together.
    fn left_out(&self, ways: &impl Ways, counts: &mut Reconciliation) -> Result<bool, PathError> {
        add(&mut counts.unplaced_streams, &self.server(), 1);
        ways.check()?;
        Ok(false)
    }

    /// The name of the end that accepted.
    fn server(&self) -> String {
        let names = &self.matcher.capture.names;
        let name = |end: u32, name: fn(&Socket) -> NameId| {
            self.end(end).and_then(|socket| names.endpoint(name(socket)))
        };
        let name = name(self.connection.accepting, |socket| socket.local)
            .or_else(|| name(self.connection.connecting, |socket| socket.peer));
        name.map_or_else(String::new, |name| name.to_string())
    }
}
