#![doc = include_str!("../README.md")]

mod event;
mod piece;
mod value;

pub use event::Event;
pub use piece::Piece;
pub use value::Value;
