#![doc = include_str!("../README.md")]

pub mod clock_exchange;
mod data_dir;
mod endpoint;
mod flow;
pub mod json;
mod message;
mod node;
mod operation;
mod progress;
mod sparse_column;
mod splitmix;
pub mod stats;
pub mod table;
mod trace;
mod tuning;
pub mod units;
mod word_column;

pub use clock_exchange::ClockExchange;
pub use data_dir::{DataDir, ImportedTrace, SkippedFile};
pub use data_files::{DataPath, DirectoryEntry, DirectoryLock, FileKind, LinkError, NewFile};
pub use endpoint::{Endpoint, EndpointId};
pub use flow::FlowId;
pub use message::{
    ConnectSpan, EndPair, FROM_ACCEPTING, FROM_CONNECTING, Message, MessageId, NodeEnd,
    TransportProtocol, arrival_of_times,
};
pub use node::{Node, NodeGrain, NodeId, NodeList};
pub use operation::{OperationFacts, OperationRole};
pub use out_of_core::PathError;
pub use progress::Progress;
pub use sparse_column::SparseColumn;
pub use splitmix::mix_bits;
pub use trace::{MessageTrace, WholeTraceFacts};
pub use word_column::{MessageEnd, WordColumn, WordHash};
