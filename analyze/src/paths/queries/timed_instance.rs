//! A path instance with the times of its messages, and the delays that follow from them.

/// An instance of the table of paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceRow {
    /// Its number, from 0, in the order of the roots.
    pub path: i64,
    /// The number of its pattern ([`PathPattern::id`](crate::paths::PathPattern::id)).
    pub pattern: i64,
    /// Probability that it happened so.
    pub probability: f64,
}

/// An instance with the times of its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedInstance<'piece> {
    /// The instance.
    pub which: InstanceRow,
    /// Its messages in depth-first order, as in
    /// [`PathPattern::hops`](crate::paths::PathPattern::hops); at least one, the root.
    pub hops: &'piece [TimedHop],
}

/// A message of an instance. Times are nanoseconds since the Unix epoch on the common clock, that
/// is corrected for what the hosts' clocks are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedHop {
    /// The message that caused it, as an index of the instance's hops; `None` for the root.
    pub parent: Option<u32>,
    /// Number of causes before it: 0 for the root.
    pub depth: u32,
    /// Its row in the table of messages.
    pub message: i64,
    /// When its first byte was sent; `None` where the sender was not traced.
    pub sent: Option<i64>,
    /// When it was received: with its last byte or, where its receiver sent something because of it
    /// before that came, its first. `None` where the receiver was not traced, or it was lost.
    pub received: Option<i64>,
    /// The payload's size.
    pub bytes: i64,
    /// Time for which the sender waited for the connection, in nanoseconds. It lies between the
    /// receipt of the cause and the sending.
    pub connecting: i64,
    /// Whether the answering side failed, where the message is told to be an answer.
    pub is_error: Option<bool>,
}

impl TimedInstance<'_> {
    /// When it begins: the sending of its root or, where that is not known, its receipt.
    pub fn begin_time(&self) -> Option<i64> {
        let root = self.hops.first()?;
        root.sent.or(root.received)
    }

    /// Whether one of its messages tells that the answering side failed.
    pub fn has_error(&self) -> bool {
        self.hops.iter().any(|hop| hop.is_error == Some(true))
    }

    /// From the beginning to the last event of the tree, in nanoseconds; 0 where no time is known.
    pub fn duration(&self) -> i64 {
        let last = self.hops.iter().map(|hop| hop.sent.max(hop.received)).max().flatten();
        time_since(last, self.begin_time()).unwrap_or(0)
    }

    /// The node latency of a message, in nanoseconds: from the receipt of its cause to its own
    /// sending, without the time for which it was connecting. `None` for the root, and where one of
    /// the two is not known.
    ///
    /// # Panics
    /// When it has no such message, as an index out of bounds does; as for the other delays.
    pub fn node_latency(&self, hop: usize) -> Option<i64> {
        let latency = time_since(self.hops[hop].sent, self.parent_hop(hop)?.received)?;
        Some(latency.saturating_sub(self.hops[hop].connecting))
    }

    /// Time for which the sender of a message waited for the connection that it is the first
    /// message of, in nanoseconds; `None` where it did not.
    ///
    /// # Panics
    ///
    /// As for [`TimedInstance::node_latency`].
    pub fn connect_time(&self, hop: usize) -> Option<i64> {
        Some(self.hops[hop].connecting).filter(|time| *time > 0)
    }

    /// The network latency of a message, in nanoseconds: from its sending to its receipt.
    pub fn network_latency(&self, hop: usize) -> Option<i64> {
        time_since(self.hops[hop].received, self.hops[hop].sent)
    }

    /// Time from the sending of the cause to the message's own receipt, in nanoseconds, where its
    /// sender was not traced: the time of that node and of its network on both ways (WAP5 section
    /// 6.1).
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

/// The time between two events, if both are known.
fn time_since(end: Option<i64>, begin: Option<i64>) -> Option<i64> {
    Some(end?.saturating_sub(begin?))
}
