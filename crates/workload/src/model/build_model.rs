//! Model from clusters: means, distances between clusters, and unusual requests.

use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::{ClusterElement, ClusterMember, ModelError, NameCount, RequestCluster, WorkloadModel};
use crate::canonical::CanonicalElement;
use crate::clusters::{FactSums, GrowingCluster, IncrementalClusters, request_distance};
use crate::demands::{Demands, WaitTimes};
use crate::tuning::{MAX_PAIRED, MAX_SEPARATED};
use crate::unusual::find_unusual;

impl WorkloadModel {
    /// The model of clusters. `members` are requests with the number of their cluster and their
    /// distance from its centre.
    pub(super) fn from_clusters(
        found: &IncrementalClusters,
        members: &[(u64, u64, f32)],
        names: &NameInterner,
    ) -> WorkloadModel {
        let clusters = found.clusters();
        let mut order: Vec<usize> = (0..clusters.len()).collect();
        order.sort_by_key(|at| {
            (std::cmp::Reverse(clusters[*at].gathered.count), clusters[*at].facts.number)
        });
        let ordered: Vec<&GrowingCluster> = order.iter().map(|at| &clusters[*at]).collect();
        let places: FxHashMap<u64, u32> =
            order.iter().map(|at| found.numbers()[*at]).zip(0..).collect();
        let member = |(request, number, distance): &(u64, u64, f32)| {
            let cluster = *places.get(&found.resolve_number(*number))?;
            Some(ClusterMember { request: *request, cluster, distance: *distance })
        };
        let mut members: Vec<ClusterMember> = members.iter().filter_map(member).collect();
        members.sort_unstable_by_key(|member| member.request);

        let mut all = FactSums::default();
        let mut distances = 0.0;
        for cluster in &ordered {
            all.append(cluster.gathered.clone());
            distances += cluster.distances;
        }
        let separations = cluster_separations(&ordered);
        let described = ordered.iter().zip(separations);
        WorkloadModel {
            requests: all.count,
            demands: all.demands,
            error: ModelError::from_clusters(&ordered),
            mean_distance: distances / all.count.max(1) as f64,
            mean_separation: mean_separation(&ordered),
            unusual: find_unusual(&ordered, &members_by_cluster(&members), names),
            given_up: found.evicted_facts().count,
            clusters: described
                .map(|(of, next)| describe_cluster(of, next, all.count, names))
                .collect(),
            members,
        }
    }
}

/// Numbers of requests with the indices of their clusters.
fn members_by_cluster(members: &[ClusterMember]) -> Vec<(u64, u32)> {
    members.iter().map(|member| (member.request, member.cluster)).collect()
}

fn describe_cluster(
    of: &GrowingCluster,
    next: Option<(f32, usize)>,
    all: u64,
    names: &NameInterner,
) -> RequestCluster {
    let FactSums { count, demands, waits, duration, durations, times, .. } = &of.gathered;
    let each = |sum: i64| (sum as f64 / (*count).max(1) as f64).round() as i64;
    let sums: [i64; 6] = (*demands).into();
    let name = |(name, requests): (NameId, u64)| NameCount {
        name: names.name_of(name).to_owned(),
        requests,
    };
    let mut named: Vec<NameCount> = of.name_counts().into_iter().map(name).collect();
    named.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.name.cmp(&b.name)));
    if of.gathered.other_names > 0 {
        named.push(NameCount { name: String::new(), requests: of.gathered.other_names });
    }
    let (begin, end) = times.unwrap_or_default();
    RequestCluster {
        requests: *count,
        share: *count as f64 / all.max(1) as f64,
        names: named,
        representative: of.facts.number,
        elements: of.mean_elements().map(|(of, mean)| describe_element(of, mean, names)).collect(),
        demands: Demands::from(sums.map(each)),
        waits: WaitTimes {
            runnable_ns: each(waits.runnable_ns),
            disk_ns: each(waits.disk_ns),
            lock_ns: each(waits.lock_ns),
            peer_ns: each(waits.peer_ns),
            asleep_ns: each(waits.asleep_ns),
            unknown_ns: each(waits.unknown_ns),
        },
        duration_ns: each(*duration),
        durations_ns: durations.unwrap_or_default(),
        endless_ns: of.representative.ideal_duration(),
        begin,
        end,
        mean_distance: of.mean_distance(),
        farthest: f64::from(of.farthest),
        separation: next.map(|(far, _)| f64::from(far)),
        nearest: next.map(|(_, place)| place),
    }
}

fn describe_element(of: &CanonicalElement, mean: [f64; 6], names: &NameInterner) -> ClusterElement {
    ClusterElement {
        act: of.act,
        role: names.name_of(of.role).to_owned(),
        demands: Demands::from(mean.map(|demand| demand.round() as i64)),
        begin: of.begin,
        end: of.end,
    }
}

/// For each cluster the distance from the nearest other cluster, and the index of that cluster. If
/// there are many, only the largest ones are compared.
fn cluster_separations(clusters: &[&GrowingCluster]) -> Vec<Option<(f32, usize)>> {
    let compared = &clusters[..clusters.len().min(MAX_SEPARATED)];
    let nearest = clusters.iter().enumerate().map(|(place, of)| {
        let mut nearest: Option<(f32, usize)> = None;
        // Clusters with the same text first: they are compared quickly, and bound the search of the
        // others.
        let alike = |other: &GrowingCluster| other.center.text == of.center.text;
        for is_alike in [true, false] {
            for (other, to) in compared.iter().enumerate() {
                if other == place || alike(to) != is_alike {
                    continue;
                }
                let limit = nearest.map_or(f32::INFINITY, |(far, _)| far);
                if let Some(far) = request_distance(&of.center, &to.center, limit)
                    && nearest.is_none_or(|nearest| (far, other) < nearest)
                {
                    nearest = Some((far, other));
                }
            }
        }
        nearest
    });
    nearest.collect()
}

/// Mean distance of two of the largest clusters.
fn mean_separation(clusters: &[&GrowingCluster]) -> f64 {
    let clusters = &clusters[..clusters.len().min(MAX_PAIRED)];
    let (mut sum, mut count) = (0.0, 0_u32);
    for (place, of) in clusters.iter().enumerate() {
        for to in &clusters[..place] {
            let far = request_distance(&of.center, &to.center, f32::INFINITY);
            sum += f64::from(far.unwrap_or_default());
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}
