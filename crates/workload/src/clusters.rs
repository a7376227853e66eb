//! Clusters: requests with similar acts and demands (Magpie, section 5).

mod batch;
mod distance;
mod fact_sums;
mod growing_cluster;
mod incremental;
mod request_columns;
mod resource;
mod scaled_request;
mod split;

pub(crate) use batch::cluster_batch;
pub(crate) use distance::{AlignedPair, align_requests, request_distance};
pub(crate) use fact_sums::FactSums;
pub use fact_sums::RequestFacts;
pub(crate) use growing_cluster::GrowingCluster;
pub(crate) use incremental::IncrementalClusters;
pub(crate) use request_columns::RequestColumns;
pub use resource::DemandedResource;
pub(crate) use scaled_request::ScaledRequest;
