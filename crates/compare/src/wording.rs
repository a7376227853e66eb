//! Wording: nodes and operations in words.

use message_trace::units::printable;
use request_flow::{NameId, Names};

/// The name of a node or operation, fit for a line.
pub(crate) fn text(names: &Names, name: NameId) -> String {
    match name {
        Names::UNKNOWN => "?".to_owned(),
        name => printable(names.text(name)),
    }
}

/// An operation, with its node where that is not told by its name.
pub(crate) fn operation(names: &Names, node: NameId, operation: NameId) -> String {
    match operation {
        Names::UNKNOWN => text(names, node),
        name if names.text(name) == names.text(node) => text(names, node),
        name => format!("{} {}", text(names, node), text(names, name)),
    }
}
