#![doc = include_str!("../README.md")]

pub mod clock_exchange;
mod data_dir;
mod endpoint;
pub mod json;
mod message;
mod mixed;
mod node;
mod operation;
mod progress;
mod sparse_column;
pub mod stats;
pub mod table;
mod trace;
mod tuning;
pub mod units;

pub use clock_exchange::ClockExchange;
pub use data_dir::{DataDir, Import, LeftOut};
pub use data_files::{DataPath, DirectoryLock, Entry, FileKind, LinkError, NewFile};
pub use endpoint::{Endpoint, EndpointId};
pub use message::{
    Connect, End, Ends, FROM_ACCEPTING, FROM_CONNECTING, Message, Protocol, arrival,
};
pub use mixed::mixed;
pub use node::{Grain, Node, NodeId, Nodes};
pub use operation::{OperationRole, Told};
pub use out_of_core::PathError;
pub use progress::Progress;
pub use sparse_column::SparseColumn;
pub use trace::{Beyond, MessageTrace};
