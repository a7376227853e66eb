#![doc = include_str!("../README.md")]

mod event;
mod event_batch;
mod export;
mod merge;
mod reader;
mod sorted_runs;
mod table;
mod tuning;
mod value;
mod writer;

pub use event::Event;
pub use event_batch::EventBatch;
pub use export::export_events;
pub use reader::{EventReader, find_tables};
pub use value::AttributeValue;
pub use writer::EventWriter;
