//! Result: a profile of all operations. All outputs are made from the profile, which can be written
//! as JSON and read back.

mod classes;
mod contexts;
mod per_level;
mod profile;
mod reason;
mod summary;

pub use classes::{ClassProfile, ClassStep};
pub use contexts::{ContextProfile, CountedContexts, DeviationDecrease, OperationProfile};
pub use per_level::PerLevel;
pub use profile::{Profile, ProfileTotals};
pub use reason::{ReasonMeasure, SlowReason, SpentMore};
pub use summary::{ContextSummary, ExampleExecution, ResponseTimes};
