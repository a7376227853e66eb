//! Causal path analysis: from the message trace alone to the links between messages ([`infer`]), the path instances
//! they make, and the path patterns of which those are examples ([`paths`]).

pub mod paths;
