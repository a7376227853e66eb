//! Workload: requests in, their model out.

use out_of_core::NameInterner;

use super::WorkloadModel;
use crate::canonical::CanonicalRequest;
use crate::clusters::{IncrementalClusters, RequestColumns, RequestFacts, cluster_batch};
use crate::tuning::{CLUSTER_THRESHOLD, MAX_BATCH_ELEMENTS, MAX_BATCH_REQUESTS};

/// Requests from which a model is built. Memory is bounded, whatever their number.
///
/// ```
/// use out_of_core::NameInterner;
/// use workload::Workload;
/// use workload::canonical::{CanonicalRequest, CanonicalElement};
/// use workload::clusters::RequestFacts;
/// use workload::demands::Demands;
///
/// let mut names = NameInterner::default();
/// let name = names.intern("GET /");
/// let mut workload = Workload::default();
/// for number in 0..40 {
///     // Every other request takes twice as long.
///     let processor_ns = (15 + 15 * (number as i64 % 2)) * 1_000_000;
///     let demands = Demands { processor_ns, ..Demands::default() };
///     let work = CanonicalElement { demands, end: processor_ns, ..CanonicalElement::default() };
///     let facts = RequestFacts { number, name, demands, ..RequestFacts::default() };
///     workload.push(&CanonicalRequest { elements: vec![work] }, &facts);
/// }
/// let model = workload.finish(&names);
/// let found: Vec<_> = model.clusters.iter().map(|of| (of.requests, of.demands)).collect();
/// assert_eq!(found.len(), 2);
/// assert_eq!((found[0].0, found[0].1.processor_ns), (20, 15_000_000));
/// ```
#[derive(Debug)]
pub struct Workload {
    /// Requests that are kept for batch clustering.
    kept: Option<RequestColumns>,
    /// Number of elements of the kept requests.
    elements: usize,
    /// Maximum number of kept requests.
    limit: usize,
    /// Clusters, once they are computed.
    growing: IncrementalClusters,
    /// Each request with the number of its cluster and its distance from the centre.
    members: Vec<(u64, u64, f32)>,
}

impl Default for Workload {
    /// A workload with batch clustering, so that the order of requests does not matter. Requests
    /// beyond the batch limit join these clusters, or begin new ones, one by one.
    fn default() -> Workload {
        Workload {
            kept: Some(RequestColumns::default()),
            elements: 0,
            limit: MAX_BATCH_REQUESTS,
            growing: IncrementalClusters::default(),
            members: Vec::new(),
        }
    }
}

impl Workload {
    /// A workload with clusters that grow with each request, as in the paper: for live models.
    /// Reading the model is cheap, and the memory of each request is freed.
    pub fn incremental() -> Workload {
        Workload { kept: None, ..Workload::default() }
    }

    /// A workload that keeps at most `requests` requests for batch clustering.
    pub fn with_batch_limit(requests: usize) -> Workload {
        Workload { limit: requests, ..Workload::default() }
    }

    /// Adds a request.
    pub fn push(&mut self, canonical: &CanonicalRequest, facts: &RequestFacts) {
        if let Some(kept) = &mut self.kept {
            kept.push_request(canonical, facts);
            self.elements += canonical.elements.len();
            if kept.len() >= self.limit || self.elements >= MAX_BATCH_ELEMENTS {
                (self.growing, self.members) = cluster_batch(kept);
                self.kept = None;
            }
            return;
        }
        let (number, far) = self.growing.add_request(canonical, facts, CLUSTER_THRESHOLD);
        if self.growing.has_doubled(number) {
            self.growing.merge_with_nearest(number, CLUSTER_THRESHOLD);
        }
        if self.members.len() < MAX_BATCH_REQUESTS {
            self.members.push((facts.number, number, far));
        }
    }

    /// The model of the requests so far.
    pub fn current_model(&self, names: &NameInterner) -> WorkloadModel {
        match &self.kept {
            Some(kept) => {
                let (clusters, members) = cluster_batch(kept);
                WorkloadModel::from_clusters(&clusters, &members, names)
            }
            None => WorkloadModel::from_clusters(&self.growing, &self.members, names),
        }
    }

    /// The model of all requests.
    pub fn finish(self, names: &NameInterner) -> WorkloadModel {
        self.current_model(names)
    }
}
