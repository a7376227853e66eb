//! Identity of an operation: which steps are executions of the same one.

use std::fmt;
use std::str::FromStr;

use request_flow::{NameId, NameInterner, Step};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Number of an operation in an [`OperationInterner`], dense from 0. The number 0 is the external
/// caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct OperationId(u32);

impl OperationId {
    /// The external caller, `$` in the paper.
    pub const EXTERNAL: OperationId = OperationId(0);

    /// The id of the operation at this index.
    pub const fn from_index(index: usize) -> OperationId {
        OperationId(index as u32)
    }

    /// The index of the operation.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the operation as a word of a shape.
    pub(crate) const fn word(self) -> u32 {
        self.0
    }
}

/// What identifies an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationIdentity {
    /// The names of the node and the operation, so that hosts with the same programs share
    /// operations.
    #[default]
    Operation,
    /// The host, in addition.
    Host,
}

impl OperationIdentity {
    /// All identities.
    pub const ALL: [OperationIdentity; 2] = [OperationIdentity::Operation, OperationIdentity::Host];
}

impl fmt::Display for OperationIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperationIdentity::Operation => "operation",
            OperationIdentity::Host => "host",
        })
    }
}

impl FromStr for OperationIdentity {
    type Err = String;

    fn from_str(text: &str) -> Result<OperationIdentity, String> {
        let all = OperationIdentity::ALL.into_iter();
        all.clone()
            .find(|by| by.to_string() == text)
            .ok_or_else(|| format!("'{text}' does not identify operations; use operation or host"))
    }
}

/// The names of an operation, empty if they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLabel {
    /// The host; empty unless hosts distinguish operations.
    pub host: String,
    /// Node of the operation.
    pub node: String,
    /// Name of the operation.
    pub operation: String,
}

impl OperationLabel {
    /// Whether the operation's name is its node's name, or begins with it as a word.
    fn has_name_of_node(&self) -> bool {
        let rest = self.operation.strip_prefix(&self.node);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
    }
}

impl fmt::Display for OperationLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Operations of sockcap's own paths begin with the name of their node: `web web:80`.
        let node = if self.has_name_of_node() { "" } else { &self.node };
        let words = [node, self.operation.as_str()];
        let name = words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>();
        match (name.is_empty(), self.host.is_empty()) {
            (true, true) => f.write_str("?"),
            (true, false) => write!(f, "? @{}", self.host),
            (false, true) => f.write_str(&name.join(" ")),
            (false, false) => write!(f, "{} @{}", name.join(" "), self.host),
        }
    }
}

/// Operations as numbers, beginning with [`OperationId::EXTERNAL`].
#[derive(Clone, Debug)]
pub struct OperationInterner {
    by: OperationIdentity,
    numbers: FxHashMap<(NameId, NameId, NameId), OperationId>,
    names: Vec<(NameId, NameId, NameId)>,
}

impl OperationInterner {
    /// An interner that identifies operations by `by`.
    pub fn new(by: OperationIdentity) -> OperationInterner {
        // The external caller is not in the table: a step without any name is something else.
        OperationInterner { by, numbers: FxHashMap::default(), names: vec![Default::default()] }
    }

    /// The operation of a step.
    pub fn intern_step(&mut self, step: &Step) -> OperationId {
        self.intern(step.host, step.node, step.operation)
    }

    /// The caller of a root as an operation: only its node, and with [`OperationIdentity::Host`]
    /// its host, are known.
    pub fn intern_caller(&mut self, node: NameId, host: NameId) -> OperationId {
        match node {
            NameInterner::UNKNOWN => OperationId::EXTERNAL,
            _ => self.intern(host, node, NameInterner::UNKNOWN),
        }
    }

    fn intern(&mut self, host: NameId, node: NameId, operation: NameId) -> OperationId {
        let host = if self.by == OperationIdentity::Host { host } else { NameInterner::UNKNOWN };
        let next = OperationId::from_index(self.names.len());
        *self.numbers.entry((host, node, operation)).or_insert_with(|| {
            self.names.push((host, node, operation));
            next
        })
    }

    /// The number of operations, including callers.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the external caller is the only operation.
    pub fn is_empty(&self) -> bool {
        self.names.len() == 1
    }

    /// All names, by number; the external caller is named `$`.
    pub fn all_names(&self, names: &NameInterner) -> Vec<OperationLabel> {
        let text = |number: NameId| names.name_of(number).to_owned();
        let all = self.names.iter().map(|(host, node, operation)| OperationLabel {
            host: text(*host),
            node: text(*node),
            operation: text(*operation),
        });
        let external = OperationLabel { node: "$".to_owned(), ..OperationLabel::default() };
        std::iter::once(external).chain(all.skip(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_distinguish_operations_on_request() {
        let mut names = NameInterner::default();
        let [one, two, node, get] = ["one", "two", "redis", "GET"].map(|name| names.intern(name));
        let step = |host| Step { host, ..Step::new(node, get) };
        for (by, same, shown) in [
            (OperationIdentity::Operation, true, "redis GET"),
            (OperationIdentity::Host, false, "redis GET @one"),
        ] {
            let mut operations = OperationInterner::new(by);
            let numbers = [one, two].map(|host| operations.intern_step(&step(host)));
            assert_eq!(numbers[0] == numbers[1], same);
            assert_eq!(operations.all_names(&names)[numbers[0].index()].to_string(), shown);
        }
    }

    #[test]
    fn the_name_of_the_node_is_not_repeated() {
        for (node, operation, shown) in [
            ("redis", "GET", "redis GET"),
            ("web", "web", "web"),
            ("nginx", "nginx:18080", "nginx:18080"),
            ("cart", "cart GetCart", "cart GetCart"),
            ("web", "webhook", "web webhook"),
            ("", "render", "render"),
            ("web", "", "web"),
            ("", "", "?"),
        ] {
            let [host, node, operation] = ["", node, operation].map(str::to_owned);
            assert_eq!(OperationLabel { host, node, operation }.to_string(), shown);
        }
    }

    #[test]
    fn a_caller_that_is_not_known_is_external() {
        let mut names = NameInterner::default();
        let client = names.intern("client");
        let mut operations = OperationInterner::new(OperationIdentity::Operation);
        assert_eq!(
            operations.intern_caller(NameInterner::UNKNOWN, NameInterner::UNKNOWN),
            OperationId::EXTERNAL
        );
        assert_ne!(operations.intern_caller(client, NameInterner::UNKNOWN), OperationId::EXTERNAL);
        assert_ne!(
            operations.intern_step(&Step::new(NameInterner::UNKNOWN, NameInterner::UNKNOWN)),
            OperationId::EXTERNAL
        );
        let shown: Vec<String> =
            operations.all_names(&names).iter().map(OperationLabel::to_string).collect();
        assert_eq!(shown, ["$", "client", "?"]);
    }
}
