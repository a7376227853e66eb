//! Output of an importer of messages: `imports/NAME/messages.parquet` and `nodes.parquet`, in the
//! format of the message trace with two differences that reconcile handles:
//!
//! - The messages are in the order of their files, not of time.
//! - `send_ts` and `recv_ts` are times on the common clock, if the file has any. If they are null
//!   and `send_first` or `recv_last` is not, the time is on the clock of the host that read it, and
//!   reconcile corrects it.
//!
//! Messages are written as they come; only the names of nodes and threads and the conversations are
//! held in memory. Values that depend on all rows, such as the connecting side, are known at the
//! end: then the messages are read and written once more ([`RowResolver`]).

use std::path::{Path, PathBuf};

use message_trace::table::MessageWriter;
use message_trace::{DataDir, Endpoint, EndpointId, FlowId, Message, Node, NodeId, NodeList};
use rustc_hash::FxHashMap;

use crate::conversations::{ConversationEnd, ConversationKey, ConversationScope, Conversations};
use crate::copies::{DirectionRuns, direction_of_message};
use crate::error::Error;
use crate::row_resolution::{RowResolver, UnresolvedDirection};
use crate::summary::{FilePosition, ImportSummary};
use crate::tuning::{MAX_CONVERSATIONS, MAX_NAMES};
use crate::unfinished::{UnfinishedImport, nothing_imported};

/// Unfinished import. It replaces an earlier import of its name when it is finished, and otherwise
/// leaves no files.
pub(crate) struct MessageTarget {
    /// Writer of the messages, and the directory. `None` to only count them.
    output: Option<(MessageWriter, UnfinishedImport)>,
    messages: u64,
    nodes: NodeList,
    /// Nodes by command and host.
    names: FxHashMap<Box<str>, FxHashMap<Box<str>, NodeId>>,
    /// Earliest time of each node's messages in nanoseconds, and whether the node received the
    /// message at this time.
    begins: Vec<(i64, bool)>,
    threads: FxHashMap<Box<str>, i32>,
    conversations: Conversations,
    /// Number after all flow numbers of the table.
    next_flow: FlowId,
    /// Runs of messages of each file, if there are several files.
    runs: Option<DirectionRuns>,
    /// Number of the first message of each file.
    files: Vec<u64>,
}

/// Facts from a table on the connection of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionHint {
    /// A call between both nodes, in which the sender connected or accepted, according to the
    /// direction.
    Call(i8),
    /// Flow and direction, as far as the table has them.
    FlowAndDirection(Option<FlowId>, Option<i8>),
}

const MESSAGES: &str = "messages.parquet";
/// File for messages before row resolution.
const UNRESOLVED_MESSAGES: &str = "unsettled.parquet";

impl MessageTarget {
    /// Begins the import `name` in `data`.
    pub(crate) fn create(data: &DataDir, name: &str) -> Result<MessageTarget, Error> {
        let unfinished = UnfinishedImport::create(data, name)?;
        let writer = MessageWriter::create(unfinished.path().join(UNRESOLVED_MESSAGES))?;
        let mut target = MessageTarget::without_output();
        target.output = Some((writer, unfinished));
        Ok(target)
    }

    /// Creates a target that writes nothing.
    pub(crate) fn without_output() -> MessageTarget {
        MessageTarget {
            output: None,
            messages: 0,
            nodes: NodeList::default(),
            names: FxHashMap::default(),
            begins: Vec::new(),
            threads: FxHashMap::default(),
            conversations: Conversations::default(),
            next_flow: FlowId::default(),
            runs: None,
            files: Vec::new(),
        }
    }

    /// Begins one file of an import of `files` files.
    pub(crate) fn begin_file(&mut self, files: usize) {
        self.files.push(self.messages);
        if files > 1 && self.runs.is_none() {
            self.runs = Some(DirectionRuns::default());
        }
    }

    /// Node with this name: `command` on `host`, or on a host of the same name.
    pub(crate) fn node_of_command(
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
        let node = self.add_node(file, node)?;
        self.names.entry(command.into()).or_default().insert(host.into(), node);
        Ok(node)
    }

    /// Adds a node with further facts than its name.
    pub(crate) fn add_node(&mut self, file: &Path, node: Node) -> Result<NodeId, Error> {
        check_count(file, self.nodes.len(), "nodes")?;
        Ok(self.nodes.push(node))
    }

    /// Number of the thread with this name: its id, or a negative number for another text, which
    /// cannot be a real thread id.
    pub(crate) fn thread_number(
        &mut self,
        file: &Path,
        text: Option<&str>,
    ) -> Result<Option<i32>, Error> {
        let Some(text) = text else { return Ok(None) };
        if let Some(number) = text.parse::<i32>().ok().filter(|number| *number != i32::MIN) {
            return Ok(Some(number));
        }
        let next = -1 - self.threads.len() as i32;
        if let Some(number) = self.threads.get(text) {
            return Ok(Some(*number));
        }
        check_count(file, self.threads.len(), "threads")?;
        self.threads.insert(text.into(), next);
        Ok(Some(next))
    }

    /// Number of an endpoint, valid for the next message only.
    pub(crate) fn endpoint_number(&mut self, endpoint: &Endpoint) -> EndpointId {
        self.output.as_mut().map(|(writer, _)| writer.intern(endpoint)).unwrap_or_default()
    }

    /// Number of an unknown endpoint, valid for the next message only.
    pub(crate) fn unknown_endpoint(&mut self) -> EndpointId {
        self.output.as_mut().map(|(writer, _)| writer.unnamed_endpoint()).unwrap_or_default()
    }

    /// Writes a message with these endpoints. If `connection` lacks the flow or direction, it is
    /// inferred from all messages at the end. A node that read a time of the message was traced.
    pub(crate) fn write_message(
        &mut self,
        file: &Path,
        mut message: Message,
        endpoints: [&Endpoint; 2],
        connection: ConnectionHint,
        call_id: Option<&str>,
    ) -> Result<(), Error> {
        let sent = message.send_ts.or(message.send_first);
        let received = message.recv_ts.or(message.recv_last);
        self.begins.resize(self.nodes.len(), (i64::MAX, true));
        let mut begins = |node: NodeId, time: Option<i64>, receives: bool| {
            if let (Some(begin), Some(time)) = (self.begins.get_mut(node.index()), time) {
                *begin = (*begin).min((time, receives));
            }
        };
        begins(message.src, sent.or(received), false);
        begins(message.dst, received.or(sent), true);
        let mut traced = |node: NodeId, times: [Option<i64>; 3]| {
            if times.iter().any(Option::is_some)
                && let Some(node) = self.nodes.0.get_mut(node.index())
            {
                node.traced = true;
            }
        };
        traced(message.src, [message.send_first, message.send_last, message.send_ts]);
        traced(message.dst, [message.recv_first, message.recv_last, message.recv_ts]);
        if let Some(runs) = &mut self.runs {
            let file = self.files.len().saturating_sub(1) as u32;
            runs.add_message(direction_of_message(&message, endpoints), file, &message, call_id);
        }
        self.messages += 1;
        let sides = [
            ConversationEnd::new(message.src, endpoints[0]),
            ConversationEnd::new(message.dst, endpoints[1]),
        ];
        let between = ConversationScope::Between(message.protocol);
        let unresolved = match connection {
            ConnectionHint::FlowAndDirection(Some(flow), Some(direction)) => {
                message.flow = flow;
                UnresolvedDirection::resolved(direction)
            }
            ConnectionHint::Call(direction) => {
                let [from, to] = if direction == 0 { sides } else { [sides[1], sides[0]] };
                let (key, _) = ConversationKey::from_ends(ConversationScope::Calls, from, to);
                let side = usize::from(direction != 0);
                message.flow = self.add_to_conversation(file, key, side, &message)?;
                UnresolvedDirection::unresolved_flow(direction)
            }
            ConnectionHint::FlowAndDirection(None, Some(direction)) => {
                let (key, side) = ConversationKey::from_ends(between, sides[0], sides[1]);
                message.flow = self.add_to_conversation(file, key, side, &message)?;
                UnresolvedDirection::unresolved_flow(direction)
            }
            ConnectionHint::FlowAndDirection(None, None) => {
                let (key, side) = ConversationKey::from_ends(between, sides[0], sides[1]);
                message.flow = self.add_to_conversation(file, key, side, &message)?;
                UnresolvedDirection::unresolved_flow_and_direction(side)
            }
            ConnectionHint::FlowAndDirection(Some(flow), None) => {
                let (key, side) =
                    ConversationKey::from_ends(ConversationScope::Flow(flow), sides[0], sides[1]);
                self.add_to_conversation(file, key, side, &message)?;
                message.flow = flow;
                UnresolvedDirection::with_known_flow(side)
            }
        };
        if let ConnectionHint::FlowAndDirection(Some(flow), _) = connection {
            self.next_flow = self.next_flow.max(flow.advanced_by(1));
        }
        message.direction = unresolved.to_code();
        match &mut self.output {
            Some((writer, _)) => Ok(writer.push(&message, call_id)?),
            None => Ok(()),
        }
    }

    /// Adds the times of a message to its conversation, which gets a number.
    fn add_to_conversation(
        &mut self,
        file: &Path,
        key: ConversationKey,
        side: usize,
        message: &Message,
    ) -> Result<FlowId, Error> {
        let place = self.conversations.index_of_key(key);
        if self.conversations.len() > MAX_CONVERSATIONS {
            let why = format!(
                "it has more than {MAX_CONVERSATIONS} connections; give 'flow' and 'direction' of \
                 each in columns"
            );
            return Err(Error::malformed_at(file, FilePosition::File, why));
        }
        self.conversations.add_message(place, side, message);
        Ok(FlowId::from_number(i64::from(place)))
    }

    /// Number of messages of the import so far.
    pub(crate) fn message_count(&self) -> u64 {
        self.messages
    }

    /// Ends the import of `files` and completes `summary`. An import without messages replaces
    /// nothing.
    pub(crate) fn finish(
        mut self,
        files: &[PathBuf],
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        summary.made = self.messages;
        if self.messages == 0 {
            return Err(nothing_imported(
                files,
                "there is no row with a message or a call",
                summary,
            ));
        }
        let Some((writer, unfinished)) = self.output.take() else { return Ok(()) };
        writer.finish()?;
        let resolver = self.row_resolver();
        let copied = resolver.copies.messages;
        if copied > 0 {
            summary.made -= copied;
            let note = format!("duplicate messages in several files, which count once: {copied}");
            summary.notes.push(note);
        }
        let doubtful = resolver.copies.ambiguous;
        if doubtful > 0 {
            summary.notes.push(format!(
                "possible duplicates in another file, which count twice: {doubtful}; import one \
                 file of each kind, or tables with endpoints or call ids"
            ));
        }
        let [from, to] = [UNRESOLVED_MESSAGES, MESSAGES].map(|name| unfinished.path().join(name));
        if resolver.is_as_written() {
            from.rename_to(&to).map_err(|error| Error::from_io(&to, error))?;
        } else {
            resolver.write_resolved(&from, &to)?;
            from.remove_file().map_err(|error| Error::from_io(&from, error))?;
        }
        let ranks = self.rank_nodes();
        let mut nodes: Vec<(NodeId, Node)> = ranks.into_iter().zip(self.nodes.0).collect();
        nodes.sort_by_key(|(number, _)| *number);
        let nodes = NodeList(nodes.into_iter().map(|(_, node)| node).collect());
        nodes.write(unfinished.path().join("nodes.parquet"))?;
        unfinished.finish(summary)
    }

    /// Resolver with the values that depend on all rows.
    fn row_resolver(&self) -> RowResolver<'_> {
        let nodes = self.rank_nodes();
        let mut threads: Vec<(&str, i32)> =
            self.threads.iter().map(|(name, number)| (&**name, *number)).collect();
        threads.sort_unstable();
        let mut numbers = vec![0; threads.len()];
        for ((_, number), new) in threads.into_iter().zip(1..) {
            if let Some(place) = numbers.get_mut((-1 - number) as usize) {
                *place = -new;
            }
        }
        RowResolver {
            copies: self.runs.as_ref().map(DirectionRuns::find_copies).unwrap_or_default(),
            files: &self.files,
            outcomes: self.conversations.infer_outcomes(&nodes),
            nodes,
            threads: numbers,
            conversations: &self.conversations,
            first_flow: self.next_flow,
        }
    }

    /// Final number of each node: nodes from a table of nodes keep their numbers, and other nodes
    /// follow by the time of their first message, and by name.
    fn rank_nodes(&self) -> Vec<NodeId> {
        let never = (i64::MAX, true);
        let begin = |node: NodeId| self.begins.get(node.index()).copied().unwrap_or(never);
        let mut named: Vec<_> = Vec::new();
        for (command, hosts) in &self.names {
            let of_hosts = hosts.iter();
            named.extend(of_hosts.map(|(host, node)| (begin(*node), command, host, *node)));
        }
        named.sort_unstable();
        // A table of nodes was read before all rows.
        let first = self.nodes.len().saturating_sub(named.len());
        let mut ranks: Vec<NodeId> = (0..self.nodes.len()).map(NodeId::from_index).collect();
        for ((.., node), rank) in named.into_iter().zip(first..) {
            if let Some(place) = ranks.get_mut(node.index()) {
                *place = NodeId::from_index(rank);
            }
        }
        ranks
    }
}

fn check_count(file: &Path, number: usize, what: &str) -> Result<(), Error> {
    if number < MAX_NAMES {
        return Ok(());
    }
    let why = format!(
        "it names more than {MAX_NAMES} {what}; do the columns match their names? A node is a \
         host, a process or a command; ports belong to its endpoints"
    );
    Err(Error::malformed_at(file, FilePosition::File, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_threads_get_unused_numbers() {
        let mut target = MessageTarget::without_output();
        let mut thread = |text| target.thread_number(Path::new("x"), Some(text)).unwrap();
        assert_eq!(thread("12"), Some(12));
        assert_eq!(thread("worker-1"), Some(-1));
        assert_eq!(thread("140213000000000"), Some(-2));
        assert_eq!(thread("worker-1"), Some(-1));
        assert_eq!(target.thread_number(Path::new("x"), None).unwrap(), None);
    }

    #[test]
    fn a_node_is_a_name_on_a_host() {
        let mut target = MessageTarget::without_output();
        let mut node = |host, name| target.node_of_command(Path::new("x"), host, name).unwrap();
        let alone = node(None, "web");
        assert_eq!(node(Some("web"), "web"), alone);
        let on_a = node(Some("a"), "web");
        assert_ne!(on_a, alone);
        assert_ne!(node(Some("b"), "web"), on_a);
        assert_eq!(node(Some("a"), "web"), on_a);
    }
}
