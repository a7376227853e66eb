//! The temporal join: events to requests, by a schema (Magpie, sections 3.1 to 3.4).

mod ages;
mod arena;
mod compile;
mod counts;
mod emit;
mod event_context;
mod event_joiner;
mod extract;
mod extracted_event;
mod join_state;
mod key;
mod marked_values;
mod program;
mod reorder_queue;
mod seed_counts;
mod set_store;
mod temporal_join;

pub use counts::JoinCounts;
pub use seed_counts::SeedCounts;
pub use temporal_join::{JoinOptions, TemporalJoin};
