//! Connections that were open before they were recorded: they are matched from the positions where
//! their calls begin by the kernel's counts of bytes, or left out.

use clocks::ClockSamples;
use message_trace::PathError;

use super::ConnectionMatcher;
use crate::indices::{OptionalIndex, SocketIndex};
use crate::reconciliation::{Reconciliation, add_count};
use crate::rows::row_sink::RowSink;
use crate::socket_names::SocketNameId;
use crate::sockets::socket::KernelSocket;
use crate::streams::aligned::AlignedStreams;
use crate::streams::call_streams::CallStreams;
use crate::streams::counted_streams::CountedStreams;

/// Extracts one of the two names of a socket.
type NameOfSocket = fn(&KernelSocket) -> OptionalIndex<SocketNameId>;

impl ConnectionMatcher<'_> {
    /// Passes the messages of the connection to `rows`. Returns whether there are any.
    pub(super) fn write_connection(
        &self,
        streams: &impl CallStreams,
        counts: &mut Reconciliation,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        let ends =
            [self.connection.connecting, self.connection.accepting].map(|end| self.socket_at(end));
        if ends.iter().flatten().any(|socket| socket.aligned) {
            return self.write_aligned(ends, streams, counts, samples, rows);
        }
        if !ends.iter().flatten().any(|socket| socket.counted) {
            return self.write_messages(streams, counts, samples, rows);
        }
        let apart = match ends {
            [Some(one), Some(other)] => one.clock_apart(other),
            _ => None,
        };
        match CountedStreams::align_counts(streams, self.has_both_ends(), apart) {
            Some(streams) => self.write_messages(&streams, counts, samples, rows),
            None => self.count_left_out(streams, counts),
        }
    }

    /// Like [`write_connection`](Self::write_connection), for a unix stream.
    fn write_aligned(
        &self,
        ends: [Option<&KernelSocket>; 2],
        streams: &impl CallStreams,
        counts: &mut Reconciliation,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        let [Some(one), Some(other)] = ends else {
            return self.write_messages(
                &AlignedStreams::from_one_end(streams),
                counts,
                samples,
                rows,
            );
        };
        let apart = one.clock_apart(other);
        let aligned =
            apart.and_then(|apart| AlignedStreams::align(streams, [one.found, other.found], apart));
        let Some(aligned) = aligned else { return self.count_left_out(streams, counts) };
        match CountedStreams::align_counts(&aligned, true, apart) {
            Some(streams) => self.write_messages(&streams, counts, samples, rows),
            None => self.count_left_out(streams, counts),
        }
    }

    /// Counts a connection for which it is uncertain which calls belong together.
    fn count_left_out(
        &self,
        streams: &impl CallStreams,
        counts: &mut Reconciliation,
    ) -> Result<bool, PathError> {
        add_count(&mut counts.unplaced_streams, &self.server_name(), 1);
        streams.check()?;
        Ok(false)
    }

    /// The name of the accepting end; for a pair of sockets, which has no name, its program.
    fn server_name(&self) -> String {
        let names = &self.matcher.capture.names;
        let name = |end: OptionalIndex<SocketIndex>, name: NameOfSocket| {
            self.socket_at(end).and_then(|socket| names.to_endpoint(name(socket)))
        };
        let name = name(self.connection.accepting, |socket| socket.local)
            .or_else(|| name(self.connection.connecting, |socket| socket.peer));
        name.map_or_else(|| self.program_of_pair(), |name| name.to_string())
    }

    /// The program of a pair of sockets, which were made by one process.
    fn program_of_pair(&self) -> String {
        let processes = &self.matcher.capture.processes;
        let ends = [self.connection.accepting, self.connection.connecting];
        let makers = ends.into_iter().filter_map(|end| self.socket_at(end));
        let mut commands = makers
            .filter_map(|socket| processes.get(socket.maker.index()))
            .map(|process| &process.node.command);
        commands.find(|command| !command.is_empty()).cloned().unwrap_or_default()
    }
}
