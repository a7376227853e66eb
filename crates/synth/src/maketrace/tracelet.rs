//! Checked tracelets: every name of a message, of a call and of a group exists, and a node sends
//! only after it has received the messages that it waits for.

use rustc_hash::{FxHashMap, FxHashSet};

use super::config::{self, NameList, TraceConfig};
use crate::delay::DelayDistribution;
use crate::error::Error;

/// A tracelet with names replaced by numbers.
#[derive(Clone, Debug)]
pub(super) struct CheckedTracelet {
    pub(super) parallel: u64,
    pub(super) instances: u64,
    pub(super) think: DelayDistribution,
    pub(super) messages: Vec<TraceletMessage>,
    /// The actors, which messages refer to by number.
    pub(super) actors: Vec<TraceletActor>,
}

/// An actor of a tracelet: the role of a node.
#[derive(Clone, Debug)]
pub(super) enum TraceletActor {
    /// The node with this number.
    Node(usize),
    /// A node of these, chosen anew for each invocation.
    OneOf(Vec<usize>),
}

/// Message of a tracelet. It refers to messages and actors by number, in the order of the tracelet.
#[derive(Clone, Debug)]
pub(super) struct TraceletMessage {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The messages that the sender waits for; empty for the first message.
    pub(super) after: Vec<usize>,
    /// Cause, if one is given.
    pub(super) cause: Option<usize>,
    pub(super) spontaneous: bool,
    /// The call that the message returns from.
    pub(super) returns: Option<usize>,
    pub(super) delay: DelayDistribution,
    /// Additional delays by the number of the sending node.
    pub(super) extra: Vec<(usize, DelayDistribution)>,
    pub(super) network: DelayDistribution,
    pub(super) bytes: i64,
}

/// Default size of a message, in bytes.
const DEFAULT_BYTES: i64 = 100;

/// Node names, numbered.
#[derive(Debug, Default)]
pub(super) struct NodeInterner {
    pub(super) names: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

impl NodeInterner {
    fn intern(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// Checks the tracelets of `config`, and numbers the nodes that they name.
pub(super) fn check_tracelets(
    config: &TraceConfig,
) -> Result<(Vec<CheckedTracelet>, NodeInterner), Error> {
    let mut nodes = NodeInterner::default();
    if let Some((name, _)) = config.groups.iter().find(|(_, members)| members.is_empty()) {
        return Err(Error::malformed(&config.path, format!("the group '{name}' has no nodes")));
    }
    let tracelets = config
        .tracelets
        .iter()
        .map(|tracelet| TraceletChecker::check_tracelet(config, tracelet, &mut nodes));
    let tracelets = tracelets.collect::<Result<_, _>>()?;
    Ok((tracelets, nodes))
}

/// A tracelet that is being checked.
struct TraceletChecker<'a> {
    config: &'a TraceConfig,
    written: &'a config::TraceletConfig,
    nodes: &'a mut NodeInterner,
    actors: Vec<TraceletActor>,
    /// Number of each actor, by its name.
    numbers: FxHashMap<String, usize>,
    /// Number of each named message.
    names: FxHashMap<String, usize>,
    /// Calls that have a return.
    returned: FxHashSet<usize>,
    messages: Vec<TraceletMessage>,
}

impl<'a> TraceletChecker<'a> {
    fn check_tracelet(
        config: &'a TraceConfig,
        written: &'a config::TraceletConfig,
        nodes: &'a mut NodeInterner,
    ) -> Result<CheckedTracelet, Error> {
        let mut checking = TraceletChecker {
            config,
            written,
            nodes,
            actors: Vec::new(),
            numbers: FxHashMap::default(),
            names: FxHashMap::default(),
            returned: FxHashSet::default(),
            messages: Vec::new(),
        };
        for message in &written.messages {
            checking.check_message(message)?;
        }
        if checking.messages.is_empty() {
            let why = format!("the tracelet '{}' has no messages", written.name);
            return Err(Error::malformed(&config.path, why));
        }
        Ok(CheckedTracelet {
            parallel: written.parallel,
            instances: written.instances,
            think: written.think,
            messages: checking.messages,
            actors: checking.actors,
        })
    }

    fn check_message(&mut self, written: &config::MessageConfig) -> Result<(), Error> {
        let returns = written.returns.as_deref().map(|call| self.take_call(call)).transpose()?;
        let called = returns.map(|call| (self.messages[call].from, self.messages[call].to));
        let end =
            |checking: &mut Self, name: &Option<String>, of_call: Option<usize>, what: &str| {
                match name {
                    Some(name) => Ok(checking.intern_actor(name)),
                    None => of_call
                        .ok_or_else(|| checking.message_error(format!("'{what}' is missing"))),
                }
            };
        let from = end(self, &written.from, called.map(|(_, to)| to), "from")?;
        let to = end(self, &written.to, called.map(|(from, _)| from), "to")?;
        if called.is_some_and(|call| call != (to, from)) {
            return Err(self.message_error("a return goes from the callee to the caller"));
        }
        let last = self.messages.len().checked_sub(1);
        let after = match &written.after {
            None => last.into_iter().collect(),
            Some(NameList::One(name)) => vec![self.find_earlier(name)?],
            Some(NameList::Several(names)) => {
                names.iter().map(|name| self.find_earlier(name)).collect::<Result<Vec<_>, _>>()?
            }
        };
        if !written.spontaneous {
            for before in &after {
                if self.messages[*before].to != from {
                    let number = before + 1;
                    return Err(self.message_error(format!(
                        "its sender does not receive message {number}, after which it is sent; set \
                         'after', or 'spontaneous = true' if it has no cause"
                    )));
                }
            }
        }
        let cause = written.cause.as_deref().map(|name| self.find_earlier(name)).transpose()?;
        if cause.is_some_and(|cause| self.messages[cause].to != from || written.spontaneous) {
            return Err(
                self.message_error("its cause must be a message that its sender received, or none")
            );
        }
        let default = match self.config.return_delay {
            Some(delay) if returns.is_some() => delay,
            _ => self.config.delay,
        };
        let extra =
            written.extra.iter().map(|(node, delay)| (self.nodes.intern(node), *delay)).collect();
        let bytes = written.bytes.unwrap_or(DEFAULT_BYTES);
        if bytes < 0 {
            return Err(self.message_error("its size is below 0"));
        }
        if let Some(name) = &written.name
            && self.names.insert(name.clone(), self.messages.len()).is_some()
        {
            return Err(self.message_error(format!("another message is called '{name}', too")));
        }
        self.messages.push(TraceletMessage {
            from,
            to,
            after,
            cause,
            spontaneous: written.spontaneous,
            returns,
            delay: written.delay.unwrap_or(default),
            extra,
            network: written.network.unwrap_or(self.config.network),
            bytes,
        });
        Ok(())
    }

    /// Number of the actor called `name`; equal names have equal numbers.
    fn intern_actor(&mut self, name: &str) -> usize {
        if let Some(actor) = self.numbers.get(name) {
            return *actor;
        }
        let group = name.split_once(':').map_or(name, |(group, _)| group);
        let actor = match self.config.groups.get(group) {
            Some(members) => TraceletActor::OneOf(
                members.iter().map(|member| self.nodes.intern(member)).collect(),
            ),
            None => TraceletActor::Node(self.nodes.intern(name)),
        };
        self.actors.push(actor);
        self.numbers.insert(name.to_owned(), self.actors.len() - 1);
        self.actors.len() - 1
    }

    /// The preceding message called `name`.
    fn find_earlier(&self, name: &str) -> Result<usize, Error> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| self.message_error(format!("no message before it is called '{name}'")))
    }

    /// Number of the call that the message called `name` begins; the call must not have a return
    /// yet.
    fn take_call(&mut self, name: &str) -> Result<usize, Error> {
        let call = self.find_earlier(name)?;
        if self.messages[call].returns.is_some() {
            return Err(self.message_error(format!("'{name}' is a return itself")));
        }
        if !self.returned.insert(call) {
            return Err(self.message_error(format!("'{name}' has a return already")));
        }
        Ok(call)
    }

    /// An error of the message that is being checked.
    fn message_error(&self, why: impl std::fmt::Display) -> Error {
        let number = self.messages.len() + 1;
        Error::malformed(
            &self.config.path,
            format!("tracelet '{}', message {number}: {why}", self.written.name),
        )
    }
}
