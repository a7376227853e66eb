//! The temporal join: events to requests, by a schema (Magpie, sections 3.1 to 3.4).

mod ages;
mod arena;
mod beginning;
mod compile;
mod context;
mod counts;
mod emit;
mod extract;
mod item;
mod joining;
mod key;
mod marks;
mod program;
mod queue;
mod state;
mod store;
mod stream;

pub use beginning::Beginning;
pub use counts::JoinCounts;
pub use stream::{Join, JoinOptions};
