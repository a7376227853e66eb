//! The path instances of `paths.parquet` with the times of their messages from `messages.parquet`,
//! piece by piece: what a report is made from that shows more than the patterns' summaries tell, or
//! only some of the instances.
//!
//! A piece is a group of rows of `paths.parquet`, so pieces can be read by several threads and in
//! any order. In memory are, for each piece that is being read, the messages of the instances that
//! are wanted, some 100 bytes each (of 131,072 rows, as analyze writes groups, about 13 MB), and a
//! batch of rows of either table. Of the messages' times no more is held than of these messages:
//! the rows of `messages.parquet` between the first and the last of them are read past, and only
//! the columns of times and sizes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use message_trace::table::Groups;
use message_trace::table::columns::Columns;
use message_trace::{DataDir, Error, arrival};

use crate::receipt::Receipt;

/// The tables of paths and messages, open for being read together.
pub struct TimedInstances {
    paths: PathBuf,
    groups: Groups,
    messages: MessageTimes,
}

/// An instance of the table of paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WhichInstance {
    /// Its number, from 0, in the order of the roots.
    pub path: i64,
    /// The number of its pattern ([`PathPattern::id`](crate::paths::PathPattern::id)).
    pub pattern: i64,
    /// How likely it happened so.
    pub probability: f64,
}

/// An instance with the times of its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedInstance<'piece> {
    /// Which one it is.
    pub which: WhichInstance,
    /// Its messages in depth-first order, that of [`PathPattern::hops`](crate::paths::PathPattern::hops);
    /// at least one, the root.
    pub hops: &'piece [TimedHop],
}

/// A message of an instance. Times are nanoseconds since the Unix epoch on the common clock, that
/// is corrected for what the hosts' clocks are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedHop {
    /// The message that caused it, as an index of the instance's hops; `None` for the root.
    pub parent: Option<u32>,
    /// How many causes lie before it: 0 for the root.
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
    /// For so many nanoseconds its sender waited for the connection, between the receipt of the
    /// cause and the sending.
    pub connecting: i64,
}

impl TimedInstances {
    /// Opens the tables of `dir`, which an analysis has written.
    ///
    /// # Errors
    /// When a table cannot be opened.
    pub fn open(dir: &DataDir) -> Result<TimedInstances, Error> {
        const COLUMNS: [&str; 6] =
            ["path", "pattern", "probability", "depth", "message", "connecting"];
        let groups = Groups::open(&dir.paths(), &COLUMNS)?;
        Ok(TimedInstances {
            paths: dir.paths(),
            groups,
            messages: MessageTimes::open(&dir.messages())?,
        })
    }

    /// How many pieces there are.
    pub fn pieces(&self) -> usize {
        self.groups.count()
    }

    /// Hands the instances of a piece to `each`, those that are `wanted`, by number. The pieces one
    /// after the other have all instances by number.
    ///
    /// # Errors
    /// When a table cannot be read, or the two do not fit each other; and what `each` gives, which
    /// ends it.
    pub fn read(
        &self,
        piece: usize,
        wanted: impl Fn(&WhichInstance) -> bool,
        mut each: impl FnMut(&TimedInstance<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Piece { instances, mut hops } = self.untimed(piece, wanted)?;
        let mut receipts = self.messages.fill(&mut hops).map_err(|error| match error {
            Unfilled::Table(error) => error,
            Unfilled::NoMessage(message) => Error::malformed(
                &self.paths,
                format!("there is no message {message}; run 'sockcap analyze' again"),
            ),
        })?;
        for (which, range) in instances {
            let (hops, receipts) = (&mut hops[range.clone()], &mut receipts[range]);
            for hop in hops.iter() {
                if let Some(cause) = hop.parent {
                    receipts[cause as usize].caused(hop.sent);
                }
            }
            hops.iter_mut().zip(receipts).for_each(|(hop, receipt)| hop.received = receipt.at);
            each(&TimedInstance { which, hops })?;
        }
        Ok(())
    }

    /// The instances of a piece that are wanted, without times.
    fn untimed(
        &self,
        piece: usize,
        wanted: impl Fn(&WhichInstance) -> bool,
    ) -> Result<Piece, Error> {
        let mut read = Piece::default();
        let mut last: Option<(i64, bool)> = None;
        // The messages above the next one.
        let mut above: Vec<u32> = Vec::new();
        for batch in self.groups.read(piece)? {
            let batch = batch?;
            let table = Columns::new(&self.paths, &batch);
            let (paths, patterns) = (table.int64("path")?, table.int64("pattern")?);
            let (probabilities, depths) = (table.float64("probability")?, table.int32("depth")?);
            let (messages, connecting) =
                (table.int64("message")?, table.int64_if_any("connecting")?);
            for row in 0..batch.num_rows() {
                let path = table.some("path", paths[row])?;
                let depth = table.some("depth", depths[row])?;
                let is_wanted = match last.filter(|(last, _)| *last == path) {
                    Some((_, is_wanted)) => is_wanted,
                    None if depth != 0 => {
                        return Err(table.malformed(format!(
                            "path {path} does not begin with its root; run 'sockcap analyze' again"
                        )));
                    }
                    None => {
                        let which = WhichInstance {
                            path,
                            pattern: table.some("pattern", patterns[row])?,
                            probability: table.some("probability", probabilities[row])?,
                        };
                        let is_wanted = wanted(&which);
                        if is_wanted {
                            read.instances.push((which, read.hops.len()..read.hops.len()));
                        }
                        above.clear();
                        last = Some((path, is_wanted));
                        is_wanted
                    }
                };
                let Some((_, range)) = read.instances.last_mut().filter(|_| is_wanted) else {
                    continue;
                };
                let depth = u32::try_from(depth)
                    .map_err(|why| table.malformed(format!("its column 'depth': {why}")))?;
                above.truncate(depth as usize);
                let parent = above.last().copied();
                above.push(range.len() as u32);
                let message = table.some("message", messages[row])?;
                let connecting = connecting.as_ref().and_then(|all| all[row]).unwrap_or(0);
                let hop = TimedHop {
                    parent,
                    depth,
                    message,
                    sent: None,
                    received: None,
                    bytes: 0,
                    connecting,
                };
                read.hops.push(hop);
                range.end = read.hops.len();
            }
        }
        Ok(read)
    }
}

/// Instances without times yet, each with the range of its messages.
#[derive(Default)]
struct Piece {
    instances: Vec<(WhichInstance, Range<usize>)>,
    hops: Vec<TimedHop>,
}

impl TimedInstance<'_> {
    /// When it begins: the sending of its root or, where that is not known, its receipt.
    pub fn begin(&self) -> Option<i64> {
        let root = self.hops.first()?;
        root.sent.or(root.received)
    }

    /// From the beginning to the last event of the tree, in nanoseconds; 0 where no time is known.
    pub fn duration(&self) -> i64 {
        let last = self.hops.iter().map(|hop| hop.sent.max(hop.received)).max().flatten();
        since(last, self.begin()).unwrap_or(0)
    }

    /// The node latency of a message, in nanoseconds: from the receipt of its cause to its own
    /// sending, without the time for which it was connecting. `None` for the root, and where one of
    /// the two is not known.
    ///
    /// # Panics
    /// When it has no such message, as an index out of bounds does; as for the other delays.
    pub fn node_latency(&self, hop: usize) -> Option<i64> {
        let latency = since(self.hops[hop].sent, self.parent(hop)?.received)?;
        Some(latency.saturating_sub(self.hops[hop].connecting))
    }

    /// How long the sender of a message waited for the connection that it is the first message of,
    /// in nanoseconds; `None` where it did not.
    ///
    /// # Panics
    /// As for [`TimedInstance::node_latency`].
    pub fn connecting(&self, hop: usize) -> Option<i64> {
        Some(self.hops[hop].connecting).filter(|time| *time > 0)
    }

    /// The network latency of a message, in nanoseconds: from its sending to its receipt.
    pub fn network_latency(&self, hop: usize) -> Option<i64> {
        since(self.hops[hop].received, self.hops[hop].sent)
    }

    /// Where the sender of a message was not traced: from the sending of its cause to its own
    /// receipt, in nanoseconds, which is the time of that node and of its network on both ways
    /// (WAP5 section 6.1).
    pub fn untraced_latency(&self, hop: usize) -> Option<i64> {
        match self.hops[hop].sent {
            Some(_) => None,
            None => since(self.hops[hop].received, self.parent(hop)?.sent),
        }
    }

    fn parent(&self, hop: usize) -> Option<&TimedHop> {
        self.hops.get(self.hops[hop].parent? as usize)
    }
}

/// The time between two events, if both are known.
fn since(end: Option<i64>, begin: Option<i64>) -> Option<i64> {
    Some(end?.saturating_sub(begin?))
}

/// The columns of `messages.parquet` that times and sizes are in.
struct MessageTimes {
    path: PathBuf,
    groups: Groups,
}

/// Why messages could not be looked up.
enum Unfilled {
    Table(Error),
    NoMessage(i64),
}

impl From<Error> for Unfilled {
    fn from(error: Error) -> Unfilled {
        Unfilled::Table(error)
    }
}

impl MessageTimes {
    fn open(path: &Path) -> Result<MessageTimes, Error> {
        let groups =
            Groups::open(path, &["send_ts", "recv_first", "recv_last", "recv_ts", "bytes"])?;
        Ok(MessageTimes { path: path.to_owned(), groups })
    }

    /// Looks up when these messages were sent, and their sizes; and gives when each was received.
    fn fill(&self, hops: &mut [TimedHop]) -> Result<Vec<Receipt>, Unfilled> {
        let mut receipts = vec![Receipt::default(); hops.len()];
        // By message: that is nearly their order, which a stable sort makes use of.
        let mut order: Vec<u32> = (0..hops.len() as u32).collect();
        order.sort_by_key(|hop| hops[*hop as usize].message);
        let message = |hops: &[TimedHop], place: usize| {
            order.get(place).map(|hop| hops[*hop as usize].message)
        };
        let (Some(first), Some(last)) =
            (message(hops, 0), message(hops, order.len().saturating_sub(1)))
        else {
            return Ok(receipts);
        };
        let begin = u64::try_from(first).map_err(|_| Unfilled::NoMessage(first))?;
        let mut before = first;
        let mut place = 0;
        for batch in self.groups.rows(begin..(last as u64).saturating_add(1))? {
            let batch = batch?;
            let table = Columns::new(&self.path, &batch);
            let (sent, received) = (table.int64("send_ts")?, table.int64("recv_ts")?);
            let (own_first, own_last) = (table.int64("recv_first")?, table.int64("recv_last")?);
            let bytes = table.int64("bytes")?;
            let end = before + batch.num_rows() as i64;
            while let Some(message) = message(hops, place).filter(|message| *message < end) {
                let row = (message - before) as usize;
                let hop = &mut hops[order[place] as usize];
                hop.sent = sent[row];
                let arrival = arrival(received[row], own_first[row], own_last[row]);
                receipts[order[place] as usize] = Receipt::new(arrival, received[row]);
                hop.bytes = table.some("bytes", bytes[row])?;
                place += 1;
            }
            before = end;
        }
        match message(hops, place) {
            Some(missing) => Err(Unfilled::NoMessage(missing)),
            None => Ok(receipts),
        }
    }
}

#[cfg(test)]
#[path = "timed_instances_tests.rs"]
mod tests;
