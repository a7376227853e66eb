//! Directions as verbs.

use socket_log::encode::Direction;

/// Verb for what the process did with the bytes.
pub(super) fn direction_verb(direction: Direction) -> &'static str {
    match direction {
        Direction::Send => "send",
        Direction::Receive => "receive",
    }
}
