//! What an importer of messages writes: `imports/NAME/messages.parquet` and `nodes.parquet`, in the
//! format of the message trace but for two things that reconcile sees to:
//!
//! - The messages are in the order of the files they came from, not of time.
//! - `send_ts` and `recv_ts` say what the file says of the common clock. Where they are null and
//!   `send_first` or `recv_last` is not, the time is on the clock of the host that read it, and
//!   reconcile corrects it.
//!
//! Messages are written as they come; only the names of nodes and threads and the conversations are
//! held in memory. What all rows have to tell, such as which side connected, is known in the end:
//! then the messages are read and written once more ([`Settled`]).

use std::path::{Path, PathBuf};

use message_trace::table::MessageWriter;
use message_trace::{DataDir, Endpoint, Message, Node, NodeId, Nodes};
use rustc_hash::FxHashMap;

use crate::conversations::{Conversations, Key, Scope, Side};
use crate::copies::{FileRuns, way_of};
use crate::error::Error;
use crate::settle::{Open, Settled};
use crate::summary::{At, Summary};
use crate::tuning::{MAX_CONVERSATIONS, MAX_NAMES};
use crate::unfinished::{Unfinished, nothing};

/// An import in the making. It takes the place of an earlier one of its name when it is finished,
/// and leaves nothing behind when it is not.
pub(crate) struct Target {
    /// Where the messages go, and the directory. `None`: what would be written is only counted.
    place: Option<(MessageWriter, Unfinished)>,
    messages: u64,
    nodes: Nodes,
    /// Nodes by command and host.
    names: FxHashMap<Box<str>, FxHashMap<Box<str>, NodeId>>,
    /// The earliest time of each node's messages, and whether it received that one.
    begins: Vec<(i64, bool)>,
    threads: FxHashMap<Box<str>, i32>,
    conversations: Conversations,
    /// The number behind all flows that the table names.
    next_flow: i64,
    /// What each file has, where there are several.
    runs: Option<FileRuns>,
    /// The number of the first message of each file.
    files: Vec<u64>,
}

/// What a table tells of the connection that a message is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// The sender connected or accepted, as the direction says, for a call between both nodes.
    OfCalls(i8),
    /// The flow and the direction, as far as the table tells them.
    Of(Option<i64>, Option<i8>),
}

const MESSAGES: &str = "messages.parquet";
/// The messages before they are settled.
const UNSETTLED: &str = "unsettled.parquet";

impl Target {
    /// Begins the import `name` in `data`.
    pub(crate) fn create(data: &DataDir, name: &str) -> Result<Target, Error> {
        let unfinished = Unfinished::create(data, name)?;
        let writer = MessageWriter::create(unfinished.path().join(UNSETTLED))?;
        let mut target = Target::dry();
        target.place = Some((writer, unfinished));
        Ok(target)
    }

    /// A target that writes nothing.
    pub(crate) fn dry() -> Target {
        Target {
            place: None,
            messages: 0,
            nodes: Nodes::default(),
            names: FxHashMap::default(),
            begins: Vec::new(),
            threads: FxHashMap::default(),
            conversations: Conversations::default(),
            next_flow: 0,
            runs: None,
            files: Vec::new(),
        }
    }

    /// A file begins, of `files` in all.
    pub(crate) fn begin_file(&mut self, files: usize) {
        self.files.push(self.messages);
        if files > 1 && self.runs.is_none() {
            self.runs = Some(FileRuns::default());
        }
    }

    /// The node of that name: `command` on `host`, or on a host of its own name.
    pub(crate) fn node(
        &mut self,
        file: &Path,
        host: Option<&str>,
        command: &str,
    ) -> Result<NodeId, Error> {
        let host = host.unwrap_or(command);
        if let Some(node) = self.names.get(command).and_then(|hosts| hosts.get(host)) {
            return Ok(*node);
        }
        let node = Node { host: host.to_owned(), command: command.to_owned(), ..Node::default() };
        let node = self.add(file, node)?;
        self.names.entry(command.into()).or_default().insert(host.into(), node);
        Ok(node)
    }

    /// Adds a node with more than a name.
    pub(crate) fn add(&mut self, file: &Path, node: Node) -> Result<NodeId, Error> {
        few(file, self.nodes.len(), "nodes")?;
        Ok(self.nodes.push(node))
    }

    /// The thread of that name: its number, or for another text a number below 0, which no thread
    /// has of itself.
    pub(crate) fn thread(&mut self, file: &Path, text: Option<&str>) -> Result<Option<i32>, Error> {
        let Some(text) = text else { return Ok(None) };
        if let Some(number) = text.parse::<i32>().ok().filter(|number| *number != i32::MIN) {
            return Ok(Some(number));
        }
        let next = -1 - self.threads.len() as i32;
        if let Some(number) = self.threads.get(text) {
            return Ok(Some(*number));
        }
        few(file, self.threads.len(), "threads")?;
        self.threads.insert(text.into(), next);
        Ok(Some(next))
    }

    /// The number of an endpoint, for the next message only.
    pub(crate) fn endpoint(&mut self, endpoint: &Endpoint) -> u32 {
        self.place.as_mut().map_or(0, |(writer, _)| writer.intern(endpoint))
    }

    /// The number of an unknown endpoint, for the next message only.
    pub(crate) fn nameless(&mut self) -> u32 {
        self.place.as_mut().map_or(0, |(writer, _)| writer.nameless())
    }

    /// Writes a message whose ends have these endpoints. What `connection` does not tell of its
    /// flow and direction all messages tell in the end. A node that read a time of it was traced.
    pub(crate) fn message(
        &mut self,
        file: &Path,
        mut message: Message,
        endpoints: [&Endpoint; 2],
        connection: Connection,
        call_id: Option<&str>,
    ) -> Result<(), Error> {
        let sent = message.send_ts.or(message.send_first);
        let received = message.recv_ts.or(message.recv_last);
        self.begins.resize(self.nodes.len(), (i64::MAX, true));
        let mut begins = |node: NodeId, time: Option<i64>, receives: bool| {
            if let (Some(begin), Some(time)) = (self.begins.get_mut(node as usize), time) {
                *begin = (*begin).min((time, receives));
            }
        };
        begins(message.src, sent.or(received), false);
        begins(message.dst, received.or(sent), true);
        let mut traced = |node: NodeId, times: [Option<i64>; 3]| {
            if times.iter().any(Option::is_some)
                && let Some(node) = self.nodes.0.get_mut(node as usize)
            {
                node.traced = true;
            }
        };
        traced(message.src, [message.send_first, message.send_last, message.send_ts]);
        traced(message.dst, [message.recv_first, message.recv_last, message.recv_ts]);
        if let Some(runs) = &mut self.runs {
            let file = self.files.len().saturating_sub(1) as u32;
            runs.add(way_of(&message, endpoints), file, &message, call_id);
        }
        self.messages += 1;
        let sides = [Side::of(message.src, endpoints[0]), Side::of(message.dst, endpoints[1])];
        let between = Scope::Between(message.protocol);
        let open = match connection {
            Connection::Of(Some(flow), Some(direction)) => {
                message.flow = flow;
                Open::nothing(direction)
            }
            Connection::OfCalls(direction) => {
                let [from, to] = if direction == 0 { sides } else { [sides[1], sides[0]] };
                let (key, _) = Key::of(Scope::Calls, from, to);
                let side = usize::from(direction != 0);
                message.flow = self.converse(file, key, side, &message)?;
                Open::flow(direction)
            }
            Connection::Of(None, Some(direction)) => {
                let (key, side) = Key::of(between, sides[0], sides[1]);
                message.flow = self.converse(file, key, side, &message)?;
                Open::flow(direction)
            }
            Connection::Of(None, None) => {
                let (key, side) = Key::of(between, sides[0], sides[1]);
                message.flow = self.converse(file, key, side, &message)?;
                Open::flow_and_direction(side)
            }
            Connection::Of(Some(flow), None) => {
                let (key, side) = Key::of(Scope::Flow(flow), sides[0], sides[1]);
                self.converse(file, key, side, &message)?;
                message.flow = flow;
                Open::direction(side)
            }
        };
        if let Connection::Of(Some(flow), _) = connection {
            self.next_flow = self.next_flow.max(flow.saturating_add(1));
        }
        message.direction = open.code();
        match &mut self.place {
            Some((writer, _)) => Ok(writer.push(&message, call_id)?),
            None => Ok(()),
        }
    }

    /// Takes the times of a message of a conversation, and gives that a number.
    fn converse(
        &mut self,
        file: &Path,
        key: Key,
        side: usize,
        message: &Message,
    ) -> Result<i64, Error> {
        let place = self.conversations.place(key);
        if self.conversations.len() > MAX_CONVERSATIONS {
            let why = format!(
                "it has more than {MAX_CONVERSATIONS} connections; give 'flow' and 'direction' of \
                 each in columns"
            );
            return Err(Error::malformed(file, At::File, why));
        }
        self.conversations.add(place, side, message);
        Ok(i64::from(place))
    }

    /// How many messages there are.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Ends the import, of `files`; `summary` is told. One without any message replaces nothing.
    pub(crate) fn finish(mut self, files: &[PathBuf], summary: &mut Summary) -> Result<(), Error> {
        summary.made = self.messages;
        if self.messages == 0 {
            return Err(nothing(files, "there is no row with a message or a call", summary));
        }
        let Some((writer, unfinished)) = self.place.take() else { return Ok(()) };
        writer.finish()?;
        let settled = self.settled();
        let copied = settled.copies.messages;
        if copied > 0 {
            summary.made -= copied;
            let note = format!("messages that several files have, and count once: {copied}");
            summary.notes.push(note);
        }
        let doubtful = settled.copies.doubtful;
        if doubtful > 0 {
            summary.notes.push(format!(
                "messages that another file seems to have too, and that count twice: {doubtful}; \
                 import one file of each kind, or tables with endpoints or call ids"
            ));
        }
        let [from, to] = [UNSETTLED, MESSAGES].map(|name| unfinished.path().join(name));
        if settled.is_as_written() {
            from.rename_to(&to).map_err(|error| Error::io(&to, error))?;
        } else {
            settled.write(&from, &to)?;
            from.remove_file().map_err(|error| Error::io(&from, error))?;
        }
        let ranks = self.ranks();
        let mut nodes: Vec<(NodeId, Node)> = ranks.into_iter().zip(self.nodes.0).collect();
        nodes.sort_by_key(|(number, _)| *number);
        let nodes = Nodes(nodes.into_iter().map(|(_, node)| node).collect());
        nodes.write(unfinished.path().join("nodes.parquet"))?;
        unfinished.finish(summary)
    }

    /// What all rows told.
    fn settled(&self) -> Settled<'_> {
        let nodes = self.ranks();
        let mut threads: Vec<(&str, i32)> =
            self.threads.iter().map(|(name, number)| (&**name, *number)).collect();
        threads.sort_unstable();
        let mut numbers = vec![0; threads.len()];
        for ((_, number), new) in threads.into_iter().zip(1..) {
            if let Some(place) = numbers.get_mut((-1 - number) as usize) {
                *place = -new;
            }
        }
        Settled {
            copies: self.runs.as_ref().map(FileRuns::copies).unwrap_or_default(),
            files: &self.files,
            outcomes: self.conversations.outcomes(&nodes),
            nodes,
            threads: numbers,
            conversations: &self.conversations,
            first_flow: self.next_flow,
        }
    }

    /// A number for each node: those of a table of nodes keep theirs, and the others follow by
    /// the time of their first message, and by name.
    fn ranks(&self) -> Vec<NodeId> {
        let never = (i64::MAX, true);
        let begin = |node: NodeId| self.begins.get(node as usize).copied().unwrap_or(never);
        let mut named: Vec<_> = Vec::new();
        for (command, hosts) in &self.names {
            let of_hosts = hosts.iter();
            named.extend(of_hosts.map(|(host, node)| (begin(*node), command, host, *node)));
        }
        named.sort_unstable();
        // A table of nodes was read before all rows.
        let first = self.nodes.len().saturating_sub(named.len()) as NodeId;
        let mut ranks: Vec<NodeId> = (0..self.nodes.len() as NodeId).collect();
        for ((.., node), rank) in named.into_iter().zip(first..) {
            if let Some(place) = ranks.get_mut(node as usize) {
                *place = rank;
            }
        }
        ranks
    }
}

fn few(file: &Path, number: usize, what: &str) -> Result<(), Error> {
    if number < MAX_NAMES {
        return Ok(());
    }
    let why = format!(
        "it names more than {MAX_NAMES} {what}; are the columns what their names say? A node is a host, a process or a command; ports belong to its endpoints"
    );
    Err(Error::malformed(file, At::File, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_no_numbers_get_some_that_no_thread_has() {
        let mut target = Target::dry();
        let mut thread = |text| target.thread(Path::new("x"), Some(text)).unwrap();
        assert_eq!(thread("12"), Some(12));
        assert_eq!(thread("worker-1"), Some(-1));
        assert_eq!(thread("140213000000000"), Some(-2));
        assert_eq!(thread("worker-1"), Some(-1));
        assert_eq!(target.thread(Path::new("x"), None).unwrap(), None);
    }

    #[test]
    fn a_node_is_a_name_on_a_host() {
        let mut target = Target::dry();
        let mut node = |host, name| target.node(Path::new("x"), host, name).unwrap();
        let alone = node(None, "web");
        assert_eq!(node(Some("web"), "web"), alone);
        let on_a = node(Some("a"), "web");
        assert_ne!(on_a, alone);
        assert_ne!(node(Some("b"), "web"), on_a);
        assert_eq!(node(Some("a"), "web"), on_a);
    }
}
