//! Incremental clusters: each request joins the nearest cluster or begins a new one (Magpie,
//! section 5).

use rustc_hash::FxHashMap;

use super::fact_sums::{FactSums, RequestFacts};
use super::scaled_request::TextCharacter;
use super::{GrowingCluster, ScaledRequest, request_distance};
use crate::canonical::CanonicalRequest;
use crate::tuning::{EDIT_COST, MAX_CLUSTERS};

/// Clusters to which requests are added one by one. Memory does not grow with the number of
/// requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct IncrementalClusters {
    clusters: Vec<GrowingCluster>,
    /// Number of each cluster. Numbers are not reused.
    numbers: Vec<u64>,
    next_number: u64,
    /// Indices of clusters by the text of their representatives: the acts and roles of its
    /// elements.
    by_text: FxHashMap<Vec<TextCharacter>, Vec<u32>>,
    /// Requests of evicted clusters.
    evicted: FactSums,
    /// Numbers of merged clusters, with the numbers of the clusters that took them over.
    taken_over: FxHashMap<u64, u64>,
}

impl IncrementalClusters {
    /// Adds a cluster. The nearest cluster of another text within the threshold takes it over.
    /// Returns the number of the cluster that then contains its members.
    pub(crate) fn insert_cluster(&mut self, cluster: GrowingCluster, threshold: f32) -> u64 {
        let is_other = |of: &GrowingCluster| of.center.text != cluster.center.text;
        let found = self.find_nearest_where(&cluster.center, threshold, is_other);
        if let Some((place, far)) = found {
            self.clusters[place].absorb_cluster(cluster, far);
            return self.numbers[place];
        }
        let number = self.next_number;
        self.next_number += 1;
        let of = self.by_text.entry(cluster.center.text.clone()).or_default();
        of.push(self.clusters.len() as u32);
        self.numbers.push(number);
        self.clusters.push(cluster);
        number
    }

    /// Adds a request to the nearest cluster, or to a new one if the request is farther away than
    /// `threshold` and the noise of the nearest cluster allow for. Returns the number of the
    /// request's cluster, and its distance from the centre.
    pub(crate) fn add_request(
        &mut self,
        of: &CanonicalRequest,
        facts: &RequestFacts,
        threshold: f32,
    ) -> (u64, f32) {
        let scaled = ScaledRequest::from_canonical(of);
        let found = self.find_nearest(&scaled, 2.0 * threshold).filter(|(place, far)| {
            let cluster = &self.clusters[*place];
            // Structure and demands may each differ by the threshold. The noise of the cluster is
            // no difference: squared independent distances add up.
            let edits = scaled.fewest_edits(&cluster.center) as f32 * EDIT_COST * EDIT_COST;
            let noise = (cluster.mean_distance() as f32).min(threshold);
            let limit = threshold * threshold;
            edits <= limit && far * far <= limit + edits + noise * noise
        });
        let (place, far) = found.unwrap_or_else(|| (self.begin_cluster(of, facts, &scaled), 0.0));
        self.clusters[place].add_member(&scaled, of, facts, far);
        (self.numbers[place], far)
    }

    /// Merges the cluster with the number `number` with the nearest other cluster, if the distance
    /// of their centres is at most `threshold`. A cluster that began with an untypical request
    /// approaches another one as more requests form its mean. Clusters that a batch separated stay
    /// apart.
    pub(crate) fn merge_with_nearest(&mut self, number: u64, threshold: f32) {
        let Some(place) = self.numbers.iter().position(|of| *of == number) else { return };
        let of = &self.clusters[place];
        let is_eligible =
            |to: &GrowingCluster| !(std::ptr::eq(of, to) || of.is_distinct && to.is_distinct);
        let nearest = self.find_nearest_where(&of.center, threshold, is_eligible);
        let Some((other, far)) = nearest else { return };
        let rank = |at: usize| (self.clusters[at].gathered.count, std::cmp::Reverse(at));
        let (keeps, goes) = if rank(place) > rank(other) { (place, other) } else { (other, place) };
        self.taken_over.insert(self.numbers[goes], self.numbers[keeps]);
        // The last cluster takes the index of the removed one.
        let last = self.clusters.len() - 1;
        let keeps = if keeps == last { goes } else { keeps };
        let gone = self.clusters.swap_remove(goes);
        self.numbers.swap_remove(goes);
        self.clusters[keeps].absorb_cluster(gone, far);
        self.sort_by_text();
    }

    /// Whether the size of the cluster with this number has just doubled, which is when it is
    /// merged with the nearest one if possible.
    pub(crate) fn has_doubled(&self, number: u64) -> bool {
        let place = self.numbers.iter().position(|of| *of == number);
        let count = place.map_or(0, |place| self.clusters[place].gathered.count);
        count > 1 && count.is_power_of_two()
    }

    /// The number of the cluster that contains the members of the cluster `number` after merges.
    pub(crate) fn resolve_number(&self, mut number: u64) -> u64 {
        while let Some(by) = self.taken_over.get(&number) {
            number = *by;
        }
        number
    }

    /// The index of the nearest cluster within the limit, and its distance. Of equally near
    /// clusters it is the first.
    fn find_nearest(&self, scaled: &ScaledRequest, limit: f32) -> Option<(usize, f32)> {
        // Clusters of the same text are the likeliest, and the best of them bounds the search of
        // the others.
        let alike = self.by_text.get(&scaled.text).map_or(&[][..], |of| of);
        let mut nearest = NearestCluster { limit, found: None };
        alike
            .iter()
            .for_each(|place| nearest.consider_cluster(scaled, &self.clusters, *place as usize));
        for (place, cluster) in self.clusters.iter().enumerate() {
            if cluster.center.text != scaled.text {
                nearest.consider_cluster(scaled, &self.clusters, place);
            }
        }
        nearest.found
    }

    /// The index of the nearest cluster within the limit for which `is_eligible` holds, and its
    /// distance.
    fn find_nearest_where(
        &self,
        scaled: &ScaledRequest,
        limit: f32,
        is_eligible: impl Fn(&GrowingCluster) -> bool,
    ) -> Option<(usize, f32)> {
        let mut nearest = NearestCluster { limit, found: None };
        for (place, cluster) in self.clusters.iter().enumerate() {
            if is_eligible(cluster) {
                nearest.consider_cluster(scaled, &self.clusters, place);
            }
        }
        nearest.found
    }

    /// All clusters.
    pub(crate) fn clusters(&self) -> &[GrowingCluster] {
        &self.clusters
    }

    /// The number of each cluster, as [`IncrementalClusters::add_request`] returns it.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Requests of evicted clusters.
    pub(crate) fn evicted_facts(&self) -> &FactSums {
        &self.evicted
    }

    fn begin_cluster(
        &mut self,
        of: &CanonicalRequest,
        facts: &RequestFacts,
        scaled: &ScaledRequest,
    ) -> usize {
        let fresh = GrowingCluster::with_representative(of.clone(), *facts);
        self.next_number += 1;
        if self.clusters.len() < MAX_CLUSTERS {
            let number = self.clusters.len();
            self.by_text.entry(scaled.text.clone()).or_default().push(number as u32);
            self.clusters.push(fresh);
            self.numbers.push(self.next_number - 1);
            return number;
        }
        // The smallest cluster is evicted, among equally small ones the least recent.
        let age =
            |of: &GrowingCluster| (of.gathered.count, of.gathered.times.map(|(_, last)| last));
        let oldest = (0..self.clusters.len()).min_by_key(|at| age(&self.clusters[*at]));
        let number = oldest.unwrap_or_default();
        let gone = std::mem::replace(&mut self.clusters[number], fresh);
        self.evicted.append(gone.gathered);
        self.numbers[number] = self.next_number - 1;
        self.sort_by_text();
        number
    }

    fn sort_by_text(&mut self) {
        self.by_text.clear();
        for (number, cluster) in self.clusters.iter().enumerate() {
            let of = self.by_text.entry(cluster.center.text.clone()).or_default();
            of.push(number as u32);
        }
    }
}

/// The nearest cluster so far: its index and distance, within a limit.
struct NearestCluster {
    limit: f32,
    found: Option<(usize, f32)>,
}

impl NearestCluster {
    fn consider_cluster(
        &mut self,
        scaled: &ScaledRequest,
        clusters: &[GrowingCluster],
        place: usize,
    ) {
        let limit = self.found.map_or(self.limit, |(_, far)| far);
        let Some(far) = request_distance(scaled, &clusters[place].center, limit) else { return };
        if self.found.is_none_or(|(at, least)| (far, place) < (least, at)) {
            self.found = Some((place, far));
        }
    }
}
