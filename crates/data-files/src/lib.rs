#![doc = include_str!("../README.md")]

mod data_path;
mod directory;
mod file_kind;
mod lock;
mod new_file;
mod open;
mod path_walk;
mod tuning;

pub use data_path::DataPath;
pub use directory::DirectoryEntry;
pub use file_kind::{FileKind, LinkError};
pub use lock::{DirectoryLock, try_lock};
pub use new_file::NewFile;
