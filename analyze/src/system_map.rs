//! The map of the system: which node calls which, how often, and how long that takes. There are two
//! ways to make it. [`of_patterns()`] adds up path patterns, each hop as often as it is expected to
//! be real, so it can show a part of the trace. [`MapOfCalls`] counts the calls themselves, window
//! by window, so it has all calls, also those that are on no path.

mod edge;
mod of_calls;
mod of_patterns;

pub use edge::{Between, MapEdge, MapNode, Sum, SystemMap};
pub use of_calls::MapOfCalls;
pub use of_patterns::of_patterns;
