//! The map of the system: which node calls which, how often, and how long that takes. There are two
//! ways to make it. `map_of_patterns` adds up path patterns, each hop with its expected number of
//! real instances, so it can show a part of the trace. [`CallMapBuilder`] counts the calls
//! themselves, window by window, so it includes calls that are on no path.

mod call_map;
mod edge;
mod pattern_map;

pub use call_map::CallMapBuilder;
pub use edge::{EdgeEnds, MapEdge, MapNode, SystemMap, TimeSum};
pub use pattern_map::map_of_patterns;
