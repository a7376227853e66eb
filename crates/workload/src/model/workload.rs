//! Workload: requests in, their model out.

use out_of_core::Names;

use super::Model;
use crate::canonical::Canonical;
use crate::clusters::{Incremental, Kept, RequestFacts, cluster};
use crate::tuning::{MAX_KEPT, MAX_KEPT_ELEMENTS, THRESHOLD};

/// Requests that a model is made of. Memory is bounded, whatever their number.
///
/// ```
/// use out_of_core::Names;
/// use workload::Workload;
/// use workload::canonical::{Canonical, Element};
/// use workload::clusters::RequestFacts;
/// use workload::demands::Demands;
///
/// let mut names = Names::default();
/// let name = names.number("GET /");
/// let mut workload = Workload::default();
/// for number in 0..40 {
///     // Every other request takes twice as long.
///     let processor_ns = (15 + 15 * (number as i64 % 2)) * 1_000_000;
///     let demands = Demands { processor_ns, ..Demands::default() };
///     let work = Element { demands, end: processor_ns, ..Element::default() };
///     let facts = RequestFacts { number, name, demands, ..RequestFacts::default() };
///     workload.push(&Canonical { elements: vec![work] }, &facts);
/// }
/// let model = workload.finish(&names);
/// let found: Vec<_> = model.clusters.iter().map(|of| (of.requests, of.demands)).collect();
/// assert_eq!(found.len(), 2);
/// assert_eq!((found[0].0, found[0].1.processor_ns), (20, 15_000_000));
/// ```
#[derive(Debug)]
pub struct Workload {
    /// Requests whose clusters are yet to be found all at once.
    kept: Option<Kept>,
    elements: usize,
    limit: usize,
    /// Clusters, once they are found.
    growing: Incremental,
    /// Each request with the number of its cluster and its distance from the centre.
    members: Vec<(u64, u64, f32)>,
}

impl Default for Workload {
    /// A workload whose clusters are found all at once, so that the order of requests changes
    /// nothing. Requests beyond what is kept join these clusters, or begin new ones, one by one.
    fn default() -> Workload {
        Workload {
            kept: Some(Kept::default()),
            elements: 0,
            limit: MAX_KEPT,
            growing: Incremental::default(),
            members: Vec::new(),
        }
    }
}

impl Workload {
    /// A workload whose clusters grow with each request, as in the paper: for whoever looks at the
    /// model while requests come. A look costs little, and the memory of each request is freed.
    pub fn incremental() -> Workload {
        Workload { kept: None, ..Workload::default() }
    }

    /// A workload that keeps that many requests at most to find clusters all at once.
    pub fn keeping(requests: usize) -> Workload {
        Workload { limit: requests, ..Workload::default() }
    }

    /// Adds a request.
    pub fn push(&mut self, canonical: &Canonical, facts: &RequestFacts) {
        if let Some(kept) = &mut self.kept {
            kept.push(canonical, facts);
            self.elements += canonical.elements.len();
            if kept.len() >= self.limit || self.elements >= MAX_KEPT_ELEMENTS {
                (self.growing, self.members) = cluster(kept);
                self.kept = None;
            }
            return;
        }
        let (number, far) = self.growing.add(canonical, facts, THRESHOLD);
        if self.growing.has_doubled(number) {
            self.growing.settle(number, THRESHOLD);
        }
        if self.members.len() < MAX_KEPT {
            self.members.push((facts.number, number, far));
        }
    }

    /// The model of the requests that were added up to now.
    pub fn model(&self, names: &Names) -> Model {
        match &self.kept {
            Some(kept) => {
                let (clusters, members) = cluster(kept);
                Model::of(&clusters, &members, names)
            }
            None => Model::of(&self.growing, &self.members, names),
        }
    }

    /// The model of all requests.
    pub fn finish(self, names: &Names) -> Model {
        self.model(names)
    }
}
