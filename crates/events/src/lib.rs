#![doc = include_str!("../README.md")]

mod event;
mod export;
mod merge;
mod piece;
mod reader;
mod runs;
mod table;
mod tuning;
mod value;
mod writer;

pub use event::Event;
pub use export::export;
pub use piece::Piece;
pub use reader::{EventReader, tables};
pub use value::Value;
pub use writer::EventWriter;
