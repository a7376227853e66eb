//! What parts two messages of one direction where the sides need not take turns.

use crate::calls::FlowMessage;

/// Whether the second of two parts is another message than the first.
pub(crate) type IsBoundary = fn(&FlowMessage, &FlowMessage) -> bool;
