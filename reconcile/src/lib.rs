#![doc = include_str!("../README.md")]

mod calls;
pub mod capture_gaps;
mod connections;
mod datagrams;
mod error;
mod event_pass;
mod host_clocks;
mod indices;
mod internal;
mod logs;
mod operations;
mod optional_time;
mod options;
mod partitioning;
mod pipeline;
mod reconciliation;
mod recorded_operations;
mod resources;
mod rows;
mod sentinels;
mod socket_names;
mod sockets;
mod streams;
pub mod translation;
mod tuning;
pub mod uncaptured;
mod unmatched_cause;
mod words;
mod write;

pub use error::Error;
pub use internal::{FlowsAndMessages, InternalMessages, InternalTraffic};
pub use options::Options;
pub use pipeline::reconcile;
pub use reconciliation::{
    DamagedLog, DatagramCounts, LeftOutEvidence, NameTranslation, NamedCounts, ProgramGap,
    ReconcileSettings, Reconciliation, StreamBytes, TranslatedEnd,
};
pub use unmatched_cause::{PEER_NOT_TRACED, is_of_the_system};
