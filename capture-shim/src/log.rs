//! Floor 5, the log: its file, the room in it, and the writing of records without locks and without
//! allocation.

mod causes;
mod chunks;
mod commit;
pub(crate) mod confinement;
pub(crate) mod directory;
pub(crate) mod family;
mod goroutines;
pub(crate) mod guard;
mod heads;
pub(crate) mod keep;
pub(crate) mod leavings;
mod new_file;
mod pages;
mod positioned;
pub(crate) mod positions;
pub(crate) mod process_events;
pub(crate) mod program_facts;
mod records;
pub(crate) mod recycle;
mod reservation;
pub(crate) mod reserve;
pub(crate) mod resources;
pub(crate) mod segment;
mod spares;
pub(crate) mod start;
pub(crate) mod trim;
mod writer;

#[cfg(any(feature = "injected", all(feature = "resources", target_arch = "x86_64")))]
pub(crate) use goroutines::made_ready;
pub(crate) use heads::OpenHead;
pub(crate) use positioned::Transfer;
pub(crate) use writer::{Standing, Writer, existing, set_aside, standing, state_of_table, writer};
