//! The map of the system: who calls whom, how often, and how long it takes. There are two ways to
//! draw it. [`of_patterns`] adds up path patterns, each hop as often as it is expected to be real,
//! and so shows a part of the trace as well; [`MapOfCalls`] counts the calls themselves, window by
//! window, and so has all of them, also those that are on no path.

mod edge;
mod of_calls;
mod of_patterns;

pub use edge::{Between, MapEdge, MapNode, Sum, SystemMap};
pub use of_calls::MapOfCalls;
pub use of_patterns::of_patterns;
