//! A path instance with the times of its messages, and the delays between them.

/// An instance of the table of paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceRow {
    /// The number of the instance, from 0, in the order of the roots.
    pub path: i64,
    /// The number of the instance's pattern ([`PathPattern::id`](crate::paths::PathPattern::id)).
    pub pattern: i64,
    /// Probability that the instance happened in this way.
    pub probability: f64,
}

/// An instance with the times of its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedInstance<'group> {
    /// The instance.
    pub which: InstanceRow,
    /// The messages of the instance in depth-first order, as in
    /// [`PathPattern::hops`](crate::paths::PathPattern::hops); at least one, the root.
    pub hops: &'group [TimedHop],
}

/// A message of an instance. Times are nanoseconds since the Unix epoch on the common clock,
/// corrected for the errors of the hosts' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedHop {
    /// The message that caused this one, as an index of the instance's hops; `None` for the root.
    pub parent: Option<u32>,
    /// Number of causes before the message: 0 for the root.
    pub depth: u32,
    /// The row of the message in the table of messages.
    pub message: i64,
    /// When the first byte of the message was sent; `None` if the sender was not traced.
    pub sent: Option<i64>,
    /// When the message was received: with its last byte or, if the receiver sent something because
    /// of the message before its last byte came, with its first. `None` if the receiver was not
    /// traced, or the message was lost.
    pub received: Option<i64>,
    /// Size of the payload, in bytes.
    pub bytes: i64,
    /// Time for which the sender waited for the connection, in nanoseconds. It lies between the
    /// receipt of the cause and the sending.
    pub connecting: i64,
    /// Whether the answering side failed, if the message is known to be a response.
    pub is_error: Option<bool>,
}

impl TimedInstance<'_> {
    /// Returns when the instance begins: the sending of its root or, if that is not known, the
    /// receipt.
    pub fn begin_time(&self) -> Option<i64> {
        let root = self.hops.first()?;
        root.sent.or(root.received)
    }

    /// Returns whether a message of the instance reports that the answering side failed.
    pub fn has_error(&self) -> bool {
        self.hops.iter().any(|hop| hop.is_error == Some(true))
    }

    /// Returns the time from the beginning to the last event of the tree, in nanoseconds; 0 if no
    /// time is known.
    pub fn duration(&self) -> i64 {
        let last = self.hops.iter().map(|hop| hop.sent.max(hop.received)).max().flatten();
        time_since(last, self.begin_time()).unwrap_or(0)
    }

    /// Returns the node latency of a message, in nanoseconds: from the receipt of its cause to its
    /// own sending, without the connect time. `None` for the root, and if one of the two is not
    /// known.
    ///
    /// # Panics
    /// If the instance has no message of this index; likewise for the other delays.
    pub fn node_latency(&self, hop: usize) -> Option<i64> {
        let latency = time_since(self.hops[hop].sent, self.parent_hop(hop)?.received)?;
        Some(latency.saturating_sub(self.hops[hop].connecting))
    }

    /// Returns the time for which the sender of a message waited for the connection that begins
    /// with it, in nanoseconds; `None` if it did not wait.
    ///
    /// # Panics
    ///
    /// As for [`TimedInstance::node_latency`].
    pub fn connect_time(&self, hop: usize) -> Option<i64> {
        Some(self.hops[hop].connecting).filter(|time| *time > 0)
    }

    /// Returns the network latency of a message, in nanoseconds: from its sending to its receipt.
    pub fn network_latency(&self, hop: usize) -> Option<i64> {
        time_since(self.hops[hop].received, self.hops[hop].sent)
    }

    /// Returns the time from the sending of the cause to the message's own receipt, in nanoseconds,
    /// if its sender was not traced: the time of that node and of its network in both directions
    /// (WAP5 section 6.1).
    pub fn untraced_latency(&self, hop: usize) -> Option<i64> {
        match self.hops[hop].sent {
            Some(_) => None,
            None => time_since(self.hops[hop].received, self.parent_hop(hop)?.sent),
        }
    }

    fn parent_hop(&self, hop: usize) -> Option<&TimedHop> {
        self.hops.get(self.hops[hop].parent? as usize)
    }
}

/// Returns the nanoseconds between two events, if the times of both are known.
fn time_since(end: Option<i64>, begin: Option<i64>) -> Option<i64> {
    Some(end?.saturating_sub(begin?))
}
