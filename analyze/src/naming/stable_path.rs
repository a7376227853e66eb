//! The stable part of the names of unix sockets. Programs that make their own sockets name them
//! after their process id, or by random characters as a library draws them for temporary files, so
//! that each start has new names: `/run/wsgi.812.0.sock`, `/tmp/passenger.Xa3kQ9b/core`. Such a
//! fragment identifies nothing, like an ephemeral port, and becomes `*`. A number that
//! distinguishes services stays: `/run/redis-6379.sock`, `/run/php8.2-fpm.sock`.
//!
//! The evidence, best first: a number is a process id if it is the id of a process that is bound to
//! the name, or of an ancestor of one; or if the numbers at its position in other names of the same
//! form are process ids. A fragment is random if it looks random ([`random`]), or if the fragments
//! at its position in names of the same form do. A number without this evidence stays.

mod fragments;
mod random;

use message_trace::{Endpoint, EndpointId, MessageTrace, Node, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use self::fragments::NameFragment;
use super::node_identity::NodeIdentity;
use crate::tuning::naming::{MAX_BINDING_PARENTS, MIN_DRAWN_ALIKE, MIN_LONE_PID};

/// Replacement for a fragment that varies.
const CHANGING: &str = "*";

/// The names of unix sockets with a fragment that varies.
#[derive(Debug, Default)]
pub(super) struct StablePaths {
    /// The stable form of each name, without `unix:`.
    stable_names: FxHashMap<String, String>,
}

/// Position of a fragment in names of one form: all fragments of such a name, with placeholders for
/// this one and others that may vary; the index of this one; and its length, or 0 for a number.
type FragmentContext = (Vec<String>, usize, usize);

/// Values at a position in the names of one form.
#[derive(Default)]
struct FragmentValues {
    /// Number of names in which the fragment is the id of a bound process.
    pids: usize,
    /// Number of names in which the fragment is a number but not the id of a bound process.
    other_numbers: usize,
    /// Number of names in which the fragment looks random.
    random: usize,
    /// Number of all names of the form.
    all: usize,
}

impl FragmentValues {
    fn add_value(&mut self, part: &NameFragment<'_>, is_pid: Option<bool>) {
        self.all += 1;
        self.random += usize::from(part.is_random);
        match is_pid {
            Some(true) => self.pids += 1,
            Some(false) => self.other_numbers += 1,
            None => {}
        }
    }

    /// Returns whether this fragment of a name varies.
    fn is_variable(&self, part: &NameFragment<'_>, is_pid: Option<bool>) -> bool {
        if part.is_random {
            return true;
        }
        match (part.as_number(), is_pid) {
            (None, _) => self.random >= MIN_DRAWN_ALIKE && 4 * self.random >= 3 * self.all,
            (Some(number), Some(true)) if number >= MIN_LONE_PID => true,
            (Some(_), Some(true)) => self.pids > 1 && self.other_numbers == 0,
            // The process that made the socket was not recorded, or has ended.
            (Some(_), _) => self.pids > 1 && self.pids >= 3 * self.other_numbers,
        }
    }
}

impl StablePaths {
    /// Finds the stable forms of the socket names in `trace`: a whole trace, or its outline, which
    /// has each pair of endpoints once.
    pub(super) fn from_trace(trace: &MessageTrace) -> StablePaths {
        let names = socket_names(trace);
        if names.is_empty() {
            return StablePaths::default();
        }
        let bound = BoundProcesses::from_trace(trace, &names);
        let mut places: FxHashMap<FragmentContext, FragmentValues> = FxHashMap::default();
        for (id, name) in &names {
            let parts = fragments::split_name(name);
            for (at, part) in parts.iter().enumerate().filter(|(_, part)| part.may_change()) {
                places
                    .entry(fragment_context(&parts, at))
                    .or_default()
                    .add_value(part, bound.is_pid(*id, part));
            }
        }
        let stable = |(id, name): &(EndpointId, &str)| {
            let parts = fragments::split_name(name);
            let mut stable = String::new();
            for (at, part) in parts.iter().enumerate() {
                let found = places.get(&fragment_context(&parts, at)).filter(|_| part.may_change());
                let changes =
                    found.is_some_and(|found| found.is_variable(part, bound.is_pid(*id, part)));
                stable.push_str(if changes { CHANGING } else { part.text });
            }
            (stable != *name).then(|| ((*name).to_owned(), stable))
        };
        StablePaths { stable_names: names.iter().filter_map(stable).collect() }
    }

    /// Returns the stable form of the endpoint, if some fragment of it varies.
    pub(super) fn stable_endpoint(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        match endpoint {
            Endpoint::Unix(name) => self.stable_names.get(name).cloned().map(Endpoint::Unix),
            _ => None,
        }
    }

    /// Renames each node that is known only by the name of its socket to the stable form of this
    /// name.
    pub(super) fn rename_nodes(&self, identities: &mut [NodeIdentity<'_>], trace: &MessageTrace) {
        if self.stable_names.is_empty() {
            return;
        }
        for (identity, node) in identities.iter_mut().zip(&trace.nodes.0) {
            let is_endpoint = !node.traced && !identity.is_alias && identity.name == node.command;
            let Ok(endpoint) = identity.name.parse::<Endpoint>();
            if let Some(stable) = self.stable_endpoint(&endpoint).filter(|_| is_endpoint) {
                identity.name = stable.to_string();
            }
        }
    }
}

/// Returns the names of the unix sockets of a trace, without unnamed ones.
fn socket_names(trace: &MessageTrace) -> Vec<(EndpointId, &str)> {
    let named =
        trace.endpoints().iter().enumerate().filter_map(|(index, endpoint)| match endpoint {
            Endpoint::Unix(name) => Some((EndpointId::from_index(index), name.as_str())),
            _ => None,
        });
    // Names from the kernel have at most 108 bytes, written as up to three each. Names from a
    // tracer may be longer, and are no socket names.
    const LONGEST: usize = 3 * 108;
    named
        .filter(|(_, name)| !name.is_empty() && name.len() <= LONGEST && !name.starts_with('#'))
        .collect()
}

/// Returns the position of a fragment, which is equal for all names of its form.
fn fragment_context(parts: &[NameFragment<'_>], at: usize) -> FragmentContext {
    let form = |(place, part): (usize, &NameFragment<'_>)| match part.may_change() {
        _ if place == at => String::new(),
        true if part.as_number().is_some() => "0".to_owned(),
        true if part.is_random => CHANGING.to_owned(),
        _ => part.text.to_owned(),
    };
    let is_number = parts.get(at).is_some_and(|part| part.as_number().is_some());
    let length = parts.get(at).map_or(0, |part| part.text.len());
    (parts.iter().enumerate().map(form).collect(), at, if is_number { 0 } else { length })
}

/// The processes that are bound to names: those with the name as their own end, and their
/// ancestors, since a master makes the socket that its workers serve.
struct BoundProcesses {
    /// The process ids, by name.
    pids: FxHashMap<EndpointId, FxHashSet<u32>>,
}

impl BoundProcesses {
    fn from_trace(trace: &MessageTrace, names: &[(EndpointId, &str)]) -> BoundProcesses {
        let named: FxHashSet<EndpointId> = names.iter().map(|(id, _)| *id).collect();
        let mut nodes: FxHashMap<EndpointId, FxHashSet<NodeId>> = FxHashMap::default();
        for message in trace.messages() {
            let ends = [(message.src, message.src_endpoint), (message.dst, message.dst_endpoint)];
            for (node, endpoint) in ends.into_iter().filter(|(_, end)| named.contains(end)) {
                nodes.entry(endpoint).or_default().insert(node);
            }
        }
        let mut parents: FxHashMap<(&str, i32), Option<i32>> = FxHashMap::default();
        for node in trace.nodes.0.iter().filter(|node| node.traced) {
            if let Some(pid) = node.pid {
                parents.entry((&node.host, pid)).or_insert(node.parent_pid);
            }
        }
        // The process id of a node and those of its ancestors.
        let lineage = |node: &'_ Node| -> Vec<u32> {
            let Some(pid) = node.pid.filter(|_| node.traced) else { return Vec::new() };
            let above = std::iter::successors(node.parent_pid, |above| {
                parents.get(&(node.host.as_str(), *above)).copied().flatten()
            });
            let pids = std::iter::once(pid).chain(above.take(MAX_BINDING_PARENTS));
            pids.filter_map(|pid| u32::try_from(pid).ok()).collect()
        };
        let pids = |nodes: FxHashSet<NodeId>| {
            nodes.iter().filter_map(|node| trace.nodes.get(*node)).flat_map(lineage).collect()
        };
        BoundProcesses { pids: nodes.into_iter().map(|(id, nodes)| (id, pids(nodes))).collect() }
    }

    /// Returns whether the fragment of the name is the id of a process that is bound to it; `None`
    /// if the fragment is not a number, or no bound process is known.
    fn is_pid(&self, name: EndpointId, part: &NameFragment<'_>) -> Option<bool> {
        let number = part.as_number()?;
        let pids = self.pids.get(&name).filter(|pids| !pids.is_empty())?;
        Some(pids.contains(&number))
    }
}

#[cfg(test)]
#[path = "stable_path_tests.rs"]
mod tests;
