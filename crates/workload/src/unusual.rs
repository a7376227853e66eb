//! Unusual requests: requests in a small cluster that is far from all others, and how they differ
//! (Magpie, section 6.3).
//!
//! Requests are compared by their demands, not by their durations: a request that waited for a
//! processor, or was preempted repeatedly, is not unusual.

use out_of_core::NameInterner;

use crate::clusters::{
    AlignedPair, DemandedResource, GrowingCluster, align_requests, request_distance,
};
use crate::tuning::{DIFFERENCE_SHARE, MAX_DIFFERENCES, MAX_UNUSUAL, MIN_USUAL, UNUSUAL_SHARE};

mod difference;
mod wording;

pub use difference::{DifferenceKind, RequestDifference, UnusualRequest};

/// Unusual requests of `clusters`, which are sorted by their sizes, the largest first. `members`
/// are numbers of requests with the indices of their clusters.
pub(crate) fn find_unusual(
    clusters: &[&GrowingCluster],
    members: &[(u64, u32)],
    names: &NameInterner,
) -> Vec<UnusualRequest> {
    let all: u64 = clusters.iter().map(|of| of.gathered.count).sum();
    let fewest = MIN_USUAL.max(all / UNUSUAL_SHARE);
    let usual = clusters.partition_point(|of| of.gathered.count >= fewest);
    if usual == 0 {
        return Vec::new();
    }
    let (usual, rare) = clusters.split_at(usual);
    let mut found: Vec<(f32, usize, Option<usize>)> = Vec::new();
    for (place, of) in (usual.len()..).zip(rare) {
        let nearest = nearest_usual(of, usual);
        found.push((
            nearest.map_or(f32::INFINITY, |(far, _)| far),
            place,
            nearest.map(|(_, at)| at),
        ));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(MAX_UNUSUAL);
    let described = found.into_iter().map(|(far, place, nearest)| {
        let of = clusters[place];
        let compared = nearest.map(|at| usual[at]);
        let differences = compared.map(|to| find_differences(of, to, names)).unwrap_or_default();
        let requests = members.iter().filter(|(_, cluster)| *cluster as usize == place);
        UnusualRequest {
            request: of.facts.number,
            requests: requests.map(|(number, _)| *number).collect(),
            name: names.name_of(of.facts.name).to_owned(),
            cluster: place,
            nearest,
            distance: f64::from(far),
            what: wording::unusual_sentence(of, compared, &differences),
            differences,
        }
    });
    described.collect()
}

/// The usual cluster with which a rare one is compared: the nearest one of the same text, otherwise
/// the nearest of all. Returns the distance, and the index in `usual`.
fn nearest_usual(of: &GrowingCluster, usual: &[&GrowingCluster]) -> Option<(f32, usize)> {
    for is_alike in [true, false] {
        let mut nearest: Option<(f32, usize)> = None;
        for (place, to) in usual.iter().enumerate() {
            if is_alike && to.center.text != of.center.text {
                continue;
            }
            let limit = nearest.map_or(f32::INFINITY, |(far, _)| far);
            if let Some(far) = request_distance(&of.center, &to.center, limit)
                && nearest.is_none_or(|nearest| (far, place) < nearest)
            {
                nearest = Some((far, place));
            }
        }
        if nearest.is_some() {
            return nearest;
        }
    }
    None
}

/// Differences of the representative of the cluster `of` from the centre of the cluster `to`, in
/// elements and demands; only the greatest are returned.
fn find_differences(
    of: &GrowingCluster,
    to: &GrowingCluster,
    names: &NameInterner,
) -> Vec<RequestDifference> {
    let elements = &of.representative.elements;
    let usual: Vec<[f64; 6]> = to.mean_elements().map(|(_, mean)| mean).collect();
    let mut found = Vec::new();
    for pair in align_requests(&of.center, &to.center) {
        match pair {
            AlignedPair::Both(place, other) => {
                for resource in DemandedResource::ALL {
                    let demand = resource.amount_in(&elements[place].demands);
                    let usual = usual[other][resource as usize];
                    let far =
                        (resource.scale_demand(demand as f64) - resource.scale_demand(usual)).abs();
                    found.push(RequestDifference {
                        kind: DifferenceKind::Demand,
                        role: names.name_of(elements[place].role).to_owned(),
                        act: elements[place].act,
                        element: place,
                        resource: Some(resource),
                        demand,
                        usual: usual.round() as i64,
                        distance: far,
                        what: wording::demand_phrase(elements, place, resource, usual, names),
                    });
                }
            }
            AlignedPair::First(place) | AlignedPair::Second(place) => {
                let (kind, elements, point) = match pair {
                    AlignedPair::First(_) => {
                        (DifferenceKind::More, elements, of.center.points[place])
                    }
                    _ => {
                        let elements = &to.representative.elements;
                        (DifferenceKind::Less, elements, to.center.points[place])
                    }
                };
                let demands: f32 = point.iter().map(|of| of * of).sum();
                let edit = crate::tuning::EDIT_COST;
                let demand = elements[place].demands.processor_ns;
                let is_more = kind == DifferenceKind::More;
                found.push(RequestDifference {
                    kind,
                    role: names.name_of(elements[place].role).to_owned(),
                    act: elements[place].act,
                    element: place,
                    resource: None,
                    demand: if is_more { demand } else { 0 },
                    usual: if is_more { 0 } else { demand },
                    distance: f64::from((edit * edit + demands).sqrt()),
                    what: wording::structure_phrase(kind, elements, place, names),
                });
            }
        }
    }
    // Differences that are small relative to the greatest one do not explain what is unusual.
    found.sort_by(|a, b| b.distance.total_cmp(&a.distance).then(a.element.cmp(&b.element)));
    let greatest = found.first().map_or(0.0, |of| of.distance);
    found.retain(|of| of.distance >= (greatest * DIFFERENCE_SHARE).max(1.0));
    found.truncate(MAX_DIFFERENCES);
    found
}
