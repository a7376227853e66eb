//! Boundary between two messages of one direction if the sides need not take turns.

use crate::calls::FlowMessage;

/// Whether the second of two fragments belongs to another message than the first.
pub(crate) type IsBoundary = fn(&FlowMessage, &FlowMessage) -> bool;
