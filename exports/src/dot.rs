//! Graphs for Graphviz (`dot -Tsvg`): a pattern message by message, the same as the call hierarchy
//! of Project 5's Figure 8, the delays that its convolution algorithm finds as in Figure 9, and the
//! map of the system. Each is a file here; what they share is how texts are written so that they
//! are texts, whatever is in them.

mod calls;
mod delays;
mod graph;
mod pattern;
mod system;

pub use calls::CallHierarchy;
pub use delays::delays;
pub use pattern::Messages;
pub use system::system;
