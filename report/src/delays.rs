//! Delays by node and by hop as they are reported, whatever the paths: one row each, ranked like
//! patterns are.

use analyze::paths::{DelayTable, Delays, Hop, HopDelays, NodeDelays};

use crate::label::{Label, Signs};
use crate::summary::share;
use crate::{Meta, Options};
use message_trace::units::{printable, shorten};

/// Everything that is shown of delays.
#[derive(Clone, Debug)]
pub struct DelayReport<'a> {
    /// The delays.
    pub table: &'a DelaysBy,
    /// What they were found in.
    pub meta: Meta,
}

/// Delays, by what they are of.
#[derive(Clone, Debug, PartialEq)]
pub enum DelaysBy {
    /// Node latency, by node.
    Node(DelayTable<NodeDelays>),
    /// Network latency, by sender, receiver, ports and protocol.
    Hop(DelayTable<HopDelays>),
}

/// A row, of whichever kind.
pub(crate) struct DelayRow<'a> {
    /// What the delays are of.
    pub(crate) of: DelaysOf<'a>,
    /// The delays.
    pub(crate) delays: &'a Delays,
    /// Their part of the total time of all paths, from 0 to 1; more where branches go on at the
    /// same time.
    pub(crate) share: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DelaysOf<'a> {
    Node(&'a NodeDelays),
    Hop(&'a HopDelays),
}

impl<'a> DelayReport<'a> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self.table {
            DelaysBy::Node(table) => table.rows.len(),
            DelaysBy::Hop(table) => table.rows.len(),
        }
    }

    /// The instances that the delays are of: how many there are, how many of them are expected to
    /// be real, and the sum of duration times probability in nanoseconds.
    pub(crate) fn instances(&self) -> (u64, f64, f64) {
        match self.table {
            DelaysBy::Node(table) => (table.instances, table.expected, table.total_time),
            DelaysBy::Hop(table) => (table.instances, table.expected, table.total_time),
        }
    }

    /// The rows in the order of `options`, and no more than it allows; equal ones in the order of
    /// the table.
    pub(crate) fn ranked(&self, options: &Options) -> Vec<DelayRow<'a>> {
        let (.., total_time) = self.instances();
        let rows: Vec<DelaysOf<'a>> = match self.table {
            DelaysBy::Node(table) => table.rows.iter().map(DelaysOf::Node).collect(),
            DelaysBy::Hop(table) => table.rows.iter().map(DelaysOf::Hop).collect(),
        };
        let row = |of: DelaysOf<'a>| {
            let delays = of.delays();
            DelayRow { of, delays, share: share(delays.total_time.max(0.0), total_time) }
        };
        let mut rows: Vec<DelayRow<'a>> = rows.into_iter().map(row).collect();
        rows.sort_by(|one, other| options.sort.compare_delays(one.delays, other.delays));
        rows.truncate(options.limit.unwrap_or(usize::MAX));
        rows
    }
}

impl<'a> DelaysOf<'a> {
    fn delays(self) -> &'a Delays {
        match self {
            DelaysOf::Node(node) => &node.delays,
            DelaysOf::Hop(hop) => &hop.delays,
        }
    }

    /// What the row is called, in at most `width` characters; nothing in it can harm a terminal.
    pub(crate) fn label(self, signs: Signs, width: usize) -> String {
        match self {
            DelaysOf::Node(node) => {
                let mark = if node.traced { "" } else { signs.untraced };
                shorten(&format!("{mark}{}", printable(&node.node)), width, signs.ellipsis)
            }
            DelaysOf::Hop(hop) => Label::of(&as_hop(hop), signs).fitted(width),
        }
    }

    /// Whether something of it was not traced.
    pub(crate) fn is_untraced(self) -> bool {
        match self {
            DelaysOf::Node(node) => !node.traced,
            DelaysOf::Hop(hop) => !hop.src_traced || !hop.dst_traced,
        }
    }
}

/// The hop of a pattern with these labels. Answers are told apart by the port that they come from,
/// so it goes with the name.
fn as_hop(hop: &HopDelays) -> Hop {
    let src = match hop.src_port.as_str() {
        "" | "*" => hop.src.clone(),
        port if hop.src.strip_suffix(port).is_some_and(|name| name.ends_with(':')) => {
            hop.src.clone()
        }
        port if port.chars().all(|c| c.is_ascii_alphanumeric()) => format!("{}:{port}", hop.src),
        port => format!("{} {port}", hop.src),
    };
    Hop {
        parent: None,
        depth: 0,
        src,
        dst: hop.dst.clone(),
        src_port: hop.src_port.clone(),
        dst_port: hop.dst_port.clone(),
        protocol: hop.protocol,
        src_traced: hop.src_traced,
        dst_traced: hop.dst_traced,
        bytes: hop.delays.bytes,
        node: None,
        network: hop.delays.delay,
        untraced: None,
        connect: None,
    }
}
