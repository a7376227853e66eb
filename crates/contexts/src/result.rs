//! The result: a profile of all operations. All outputs are made of it, and it can be written as
//! JSON and read back.

mod classes;
mod contexts;
mod per_level;
mod profile;
mod reason;
mod summary;

pub use classes::{ClassProfile, ClassStep};
pub use contexts::{ContextProfile, Decrease, Further, OperationProfile};
pub use per_level::PerLevel;
pub use profile::{Profile, Totals};
pub use reason::{Measure, Reason, SpentMore};
pub use summary::{Example, Summary, Times};
