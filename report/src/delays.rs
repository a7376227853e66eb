//! Delays by node and by hop for reports: a row for each node or hop over all paths, ranked like
//! patterns.

use analyze::paths::{DelayStatistics, DelayTable, HopDelays, NodeDelays};
use message_trace::units::{shorten_middle, to_printable};

use crate::hop_endpoints::HopEndpoints;
use crate::label::{HopLabel, LabelSigns};
use crate::options::Options;
use crate::summary::{TraceMeta, share_of_whole};
/// A report of delays.
#[derive(Clone, Debug)]
pub struct DelayReport<'a> {
    /// The delays by node or by hop.
    pub table: &'a DelaysBy,
    /// The trace that the delays were found in.
    pub meta: TraceMeta,
}

/// The delays of nodes or of hops.
#[derive(Clone, Debug, PartialEq)]
pub enum DelaysBy {
    /// Node latency, by node.
    Node(DelayTable<NodeDelays>),
    /// Network latency, by sender, receiver, ports and protocol.
    Hop(DelayTable<HopDelays>),
}

/// A row of the report.
pub(crate) struct DelayRow<'a> {
    /// The node or hop that has the delays.
    pub(crate) subject: DelaySubject<'a>,
    /// Statistics of the row's delays.
    pub(crate) delays: &'a DelayStatistics,
    /// The share of the total time of all paths. It is at most 1, unless branches of a path run
    /// concurrently.
    pub(crate) share: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DelaySubject<'a> {
    Node(&'a NodeDelays),
    Hop(&'a HopDelays),
}

impl<'a> DelayReport<'a> {
    /// The number of rows.
    pub(crate) fn row_count(&self) -> usize {
        match self.table {
            DelaysBy::Node(table) => table.rows.len(),
            DelaysBy::Hop(table) => table.rows.len(),
        }
    }

    /// Sums over the instances with the delays: their number, the expected number of real ones, and
    /// the sum of duration times probability in nanoseconds.
    pub(crate) fn instance_sums(&self) -> (u64, f64, f64) {
        match self.table {
            DelaysBy::Node(table) => (table.instances, table.expected, table.total_time),
            DelaysBy::Hop(table) => (table.instances, table.expected, table.total_time),
        }
    }

    /// The rows in the order of `options`, up to its limit. Equal rows keep the order of the table.
    pub(crate) fn ranked_rows(&self, options: &Options) -> Vec<DelayRow<'a>> {
        let (.., total_time) = self.instance_sums();
        let rows: Vec<DelaySubject<'a>> = match self.table {
            DelaysBy::Node(table) => table.rows.iter().map(DelaySubject::Node).collect(),
            DelaysBy::Hop(table) => table.rows.iter().map(DelaySubject::Hop).collect(),
        };
        let row = |subject: DelaySubject<'a>| {
            let delays = subject.delays();
            DelayRow {
                subject,
                delays,
                share: share_of_whole(delays.total_time.max(0.0), total_time),
            }
        };
        let mut rows: Vec<DelayRow<'a>> = rows.into_iter().map(row).collect();
        rows.sort_by(|one, other| options.sort.compare_delays(one.delays, other.delays));
        rows.truncate(options.limit.unwrap_or(usize::MAX));
        rows
    }
}

impl<'a> DelaySubject<'a> {
    fn delays(self) -> &'a DelayStatistics {
        match self {
            DelaySubject::Node(node) => &node.delays,
            DelaySubject::Hop(hop) => &hop.delays,
        }
    }

    /// The name of the row, in at most `width` characters, without control characters.
    pub(crate) fn row_label(self, signs: LabelSigns, width: usize) -> String {
        match self {
            DelaySubject::Node(node) => {
                let mark = if node.traced { "" } else { signs.untraced };
                shorten_middle(
                    &format!("{mark}{}", to_printable(&node.node)),
                    width,
                    signs.ellipsis,
                )
            }
            DelaySubject::Hop(hop) => {
                let src = &with_port(hop);
                HopLabel::from_ends(HopEndpoints { src, ..HopEndpoints::from(hop) }, signs)
                    .fit_width(width)
            }
        }
    }

    /// Whether the node or an end of the hop was not traced.
    pub(crate) fn is_untraced(self) -> bool {
        match self {
            DelaySubject::Node(node) => !node.traced,
            DelaySubject::Hop(hop) => !hop.src_traced || !hop.dst_traced,
        }
    }
}

/// The name of the sender with its port. Responses are distinguished by their source port, so the
/// port is part of the name.
fn with_port(hop: &HopDelays) -> String {
    match hop.src_port.as_str() {
        "" | "*" => hop.src.clone(),
        port if hop.src.strip_suffix(port).is_some_and(|name| name.ends_with(':')) => {
            hop.src.clone()
        }
        port if port.bytes().all(|byte| byte.is_ascii_digit()) => format!("{}:{port}", hop.src),
        port => format!("{} {port}", hop.src),
    }
}
