//! Periods of a storage system like the one that Spectroscope was measured on (sections 2.1 and
//! 5.3): an NFS server with caches, a metadata server and storage nodes, on which a source tree is
//! copied and built. The structure of a request shows what is relevant to a fault: whether its
//! times or its path can have changed.
//!
//! ```text
//! workload   jobs that copy, compile and link: which operation on which file is next
//!    |
//!    v
//! system     the path of the operation: the contents of the caches, callers and callees
//!    |
//!    v
//! flow       the request with its times ---- load: drift and episodes of slowness
//! ```
//!
//! Two faults can be injected: storage nodes that wait before they answer a WRITE (5.3.1), and a
//! data cache of the NFS server that is too small (5.3.2).

mod cache;
mod flow;
mod generate;
mod load;
mod system;
mod workload;

pub use generate::{StorageConfig, SyntheticPeriod, make_period};
