#![doc = include_str!("../README.md")]

mod data_path;
mod descend;
mod directory;
mod kind;
mod lock;
mod new_file;
mod open;
mod tuning;

pub use data_path::DataPath;
pub use directory::Entry;
pub use kind::{FileKind, LinkError};
pub use lock::{DirectoryLock, try_lock};
pub use new_file::NewFile;
