//! Growing cluster: the retained state of a cluster, independent of its number of requests.

use out_of_core::NameId;

use super::ScaledRequest;
use super::fact_sums::{FactSums, RequestFacts};
use super::resource::DemandedResource;
use super::scaled_request::{ScaledPoint, scale_demands};
use crate::canonical::{CanonicalElement, CanonicalRequest};
use crate::demands::Demands;

/// A cluster, by its representative and sums (Magpie, section 5).
#[derive(Clone, Debug)]
pub(crate) struct GrowingCluster {
    /// The representative request, and its facts.
    pub(crate) representative: CanonicalRequest,
    pub(crate) facts: RequestFacts,
    /// Text of the representative, with the mean demands of all members with that text.
    pub(crate) center: ScaledRequest,
    /// Sums of demands by element over members with the representative's text: its acts and roles.
    sums: Vec<[f64; 6]>,
    /// Number of the members with the representative's text.
    alike: u64,
    /// Facts of all members, accumulated.
    pub(crate) gathered: FactSums,
    /// Sum of the distances of members from the centre.
    pub(crate) distances: f64,
    /// Longest distance of a member from the cluster's centre.
    pub(crate) farthest: f32,
    /// Whether batch clustering separated the cluster from neighbouring clusters.
    pub(crate) is_distinct: bool,
}

impl GrowingCluster {
    /// A cluster without members and with the request `representative` as its centre.
    pub(crate) fn with_representative(
        representative: CanonicalRequest,
        facts: RequestFacts,
    ) -> GrowingCluster {
        GrowingCluster {
            center: ScaledRequest::from_canonical(&representative),
            sums: vec![[0.0; 6]; representative.elements.len()],
            representative,
            facts,
            alike: 0,
            gathered: FactSums::default(),
            distances: 0.0,
            farthest: 0.0,
            is_distinct: false,
        }
    }

    /// Adds the request `of`, which is `scaled` on the scale of differences, as a member with the
    /// distance `far` from the centre.
    pub(crate) fn add_member(
        &mut self,
        scaled: &ScaledRequest,
        of: &CanonicalRequest,
        facts: &RequestFacts,
        far: f32,
    ) {
        self.gathered.add(facts);
        self.distances += f64::from(far);
        self.farthest = self.farthest.max(far);
        if scaled.text != self.center.text {
            return;
        }
        self.alike += 1;
        for (place, (sums, element)) in self.sums.iter_mut().zip(&of.elements).enumerate() {
            if element.demands == Demands::default() && *sums == [0.0; 6] {
                continue;
            }
            let demands: [i64; 6] = element.demands.into();
            sums.iter_mut().zip(demands).for_each(|(sum, demand)| *sum += demand as f64);
            self.center.points[place] = mean_point(sums, self.alike);
        }
        if self.unlikeness_to_mean(&facts.demands) < self.unlikeness_to_mean(&self.facts.demands) {
            self.representative.elements.clone_from(&of.elements);
            self.facts = *facts;
        }
    }

    /// Takes over the members of a cluster whose centre has the distance `far` from this one's. The
    /// distances of members are not recomputed, as members are not kept.
    pub(crate) fn absorb_cluster(&mut self, other: GrowingCluster, far: f32) {
        self.gathered.append(other.gathered);
        self.distances += other.distances;
        self.farthest = self.farthest.max(other.farthest + far);
        self.is_distinct |= other.is_distinct;
        if other.center.text != self.center.text {
            return;
        }
        self.alike += other.alike;
        for (place, (sums, more)) in self.sums.iter_mut().zip(&other.sums).enumerate() {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            self.center.points[place] = mean_point(sums, self.alike);
        }
        if self.unlikeness_to_mean(&other.facts.demands)
            < self.unlikeness_to_mean(&self.facts.demands)
        {
            self.representative = other.representative;
            self.facts = other.facts;
        }
    }

    /// Difference of the demands of a request from the cluster's mean: the sum of the relative
    /// differences of all resources. The representative is the member with the smallest difference,
    /// as the model's error consists of these differences.
    pub(crate) fn unlikeness_to_mean(&self, demands: &Demands) -> f64 {
        unlikeness_to_means(demands, &self.gathered)
    }

    /// Mean demands of each element over members with the representative's text.
    pub(crate) fn mean_elements(&self) -> impl Iterator<Item = (&CanonicalElement, [f64; 6])> {
        let alike = self.alike.max(1) as f64;
        let means = self.sums.iter().map(move |sums| sums.map(|sum| sum / alike));
        self.representative.elements.iter().zip(means)
    }

    /// Mean distance of members from the centre.
    pub(crate) fn mean_distance(&self) -> f64 {
        self.distances / self.gathered.count.max(1) as f64
    }

    /// Names of members with their counts, the most frequent one first.
    pub(crate) fn name_counts(&self) -> Vec<(NameId, u64)> {
        let mut names: Vec<(NameId, u64)> =
            self.gathered.names.iter().map(|(name, count)| (*name, *count)).collect();
        names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        names
    }
}

/// Sum of the relative differences of demands from accumulated means.
pub(crate) fn unlikeness_to_means(demands: &Demands, gathered: &FactSums) -> f64 {
    let count = gathered.count.max(1) as f64;
    let shares = DemandedResource::ALL.into_iter().map(|resource| {
        let mean = resource.amount_in(&gathered.demands) as f64 / count;
        let demand = resource.amount_in(demands) as f64;
        (demand - mean).abs() / mean.max(1.0)
    });
    shares.sum()
}

fn mean_point(sums: &[f64; 6], count: u64) -> ScaledPoint {
    let mean = |sum: f64| sum / count.max(1) as f64;
    let mut mean_point = scale_demands(&Demands::default());
    for ((point, sum), resource) in mean_point.iter_mut().zip(sums).zip(DemandedResource::ALL) {
        *point = resource.scale_demand(mean(*sum)) as f32;
    }
    mean_point
}
