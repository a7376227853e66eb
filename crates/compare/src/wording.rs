//! Wording: nodes and operations in words.

use message_trace::units::to_printable;
use request_flow::{NameId, NameInterner};

/// The printable name of a node or operation.
pub(crate) fn name_text(names: &NameInterner, name: NameId) -> String {
    match name {
        NameInterner::UNKNOWN => "?".to_owned(),
        name => to_printable(names.name_of(name)),
    }
}

/// An operation, with its node unless the operation's name contains it.
pub(crate) fn operation_text(names: &NameInterner, node: NameId, operation: NameId) -> String {
    match operation {
        NameInterner::UNKNOWN => name_text(names, node),
        name if names.name_of(name) == names.name_of(node) => name_text(names, node),
        name => format!("{} {}", name_text(names, node), name_text(names, name)),
    }
}
