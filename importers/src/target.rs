//! What an importer of messages writes: `imports/NAME/messages.parquet` and `nodes.parquet`, in the
//! format of the message trace but for two things that reconcile sees to:
//!
//! - The messages are in the order of the files they came from, not of time.
//! - `send_ts` and `recv_ts` say what the file says of the common clock. Where they are null and
//!   `send_first` or `recv_last` is not, the time is on the clock of the host that read it, and
//!   reconcile corrects it.
//!
//! Messages are written as they come; only the names of nodes and threads and the pairs of nodes
//! that talk to each other are held in memory.

use std::path::{Path, PathBuf};

use message_trace::table::MessageWriter;
use message_trace::{
    DataDir, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, Message, Node, NodeId, Nodes,
};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::summary::{At, Summary};
use crate::tuning::MAX_NAMES;
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
    threads: FxHashMap<Box<str>, i32>,
    flows: FxHashMap<(NodeId, NodeId), i64>,
    conversations: FxHashMap<(NodeId, NodeId), (i64, NodeId)>,
    next_flow: i64,
}

impl Target {
    /// Begins the import `name` in `data`.
    pub(crate) fn create(data: &DataDir, name: &str) -> Result<Target, Error> {
        let unfinished = Unfinished::create(data, name)?;
        let writer = MessageWriter::create(unfinished.path().join("messages.parquet"))?;
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
            threads: FxHashMap::default(),
            flows: FxHashMap::default(),
            conversations: FxHashMap::default(),
            next_flow: 0,
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

    /// The flow of all calls from `caller` to `callee`.
    pub(crate) fn flow(
        &mut self,
        file: &Path,
        caller: NodeId,
        callee: NodeId,
    ) -> Result<i64, Error> {
        if let Some(flow) = self.flows.get(&(caller, callee)) {
            return Ok(*flow);
        }
        let flow = self.new_flow(file)?;
        self.flows.insert((caller, callee), flow);
        Ok(flow)
    }

    /// The flow of all messages between `src` and `dst` that name no flow of their own, and the
    /// direction of one from `src`: who sends the first one is the side that connected.
    pub(crate) fn conversation(
        &mut self,
        file: &Path,
        src: NodeId,
        dst: NodeId,
    ) -> Result<(i64, i8), Error> {
        let key = (src.min(dst), src.max(dst));
        let (flow, connecting) = match self.conversations.get(&key) {
            Some(known) => *known,
            None => {
                let new = (self.new_flow(file)?, src);
                self.conversations.insert(key, new);
                new
            }
        };
        Ok((flow, if connecting == src { FROM_CONNECTING } else { FROM_ACCEPTING }))
    }

    fn new_flow(&mut self, file: &Path) -> Result<i64, Error> {
        few(file, self.next_flow as usize, "pairs of nodes")?;
        self.next_flow += 1;
        Ok(self.next_flow - 1)
    }

    /// The number of an endpoint, for the next message only.
    pub(crate) fn endpoint(&mut self, endpoint: &Endpoint) -> u32 {
        self.place.as_mut().map_or(0, |(writer, _)| writer.intern(endpoint))
    }

    /// The number of an unknown endpoint, for the next message only.
    pub(crate) fn nameless(&mut self) -> u32 {
        self.place.as_mut().map_or(0, |(writer, _)| writer.nameless())
    }

    /// Writes a message. A node that read a time of it was traced.
    pub(crate) fn message(
        &mut self,
        message: &Message,
        call_id: Option<&str>,
    ) -> Result<(), Error> {
        self.messages += 1;
        let mut traced = |node: NodeId, times: [Option<i64>; 3]| {
            if times.iter().any(Option::is_some)
                && let Some(node) = self.nodes.0.get_mut(node as usize)
            {
                node.traced = true;
            }
        };
        traced(message.src, [message.send_first, message.send_last, message.send_ts]);
        traced(message.dst, [message.recv_first, message.recv_last, message.recv_ts]);
        match &mut self.place {
            Some((writer, _)) => Ok(writer.push(message, call_id)?),
            None => Ok(()),
        }
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
        self.nodes.write(unfinished.path().join("nodes.parquet"))?;
        unfinished.finish(summary)
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
