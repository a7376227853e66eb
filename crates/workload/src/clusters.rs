//! Clusters: requests that are alike in what happens and in what it demands (Magpie, section 5).

mod batch;
mod distance;
mod gathered;
mod growing;
mod incremental;
mod kept;
mod resource;
mod scaled;
mod split;

pub(crate) use batch::cluster;
pub(crate) use distance::{Pair, align, distance};
pub(crate) use gathered::Gathered;
pub use gathered::RequestFacts;
pub(crate) use growing::Growing;
pub(crate) use incremental::Incremental;
pub(crate) use kept::Kept;
pub use resource::Resource;
pub(crate) use scaled::Scaled;
