#![doc = include_str!("../README.md")]

mod absent;
pub mod blind_spots;
mod calls;
mod cause;
mod connections;
mod datagrams;
mod dealing;
mod error;
mod host_clocks;
mod internal;
mod logs;
mod names;
mod operations;
mod options;
mod pipeline;
mod reconciliation;
mod resources;
mod rows;
mod second_reading;
mod sockets;
mod streams;
mod told;
pub mod translation;
mod tuning;
pub mod uncaptured;
mod write;

pub use cause::{NOT_RECORDED, is_of_the_system};
pub use error::Error;
pub use internal::{FlowsAndMessages, Internal, InternalMessages};
pub use options::Options;
pub use pipeline::reconcile;
pub use reconciliation::{
    Counts, DamagedLog, Datagrams, Hole, Reconciliation, Settings, StreamBytes, TranslatedEnd,
    Translation,
};
