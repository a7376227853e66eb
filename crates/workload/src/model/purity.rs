//! Purity: clusters compared with the known names of their requests.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{NameCount, WorkloadModel};

/// Agreement of clusters with names of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterPurity {
    /// Number of requests.
    pub requests: u64,
    /// Number of requests with another name than the most frequent one of their cluster.
    pub wrong: u64,
    /// Number of clusters beyond the largest one of each most frequent name.
    pub extra_clusters: u64,
    /// Number of requests in these clusters.
    pub in_extra_clusters: u64,
    /// Names that are not the most frequent one of any cluster.
    pub without_cluster: Vec<String>,
    /// Share of requests that are not counted as wrong, from 0 to 1.
    pub purity: f64,
    /// Each cluster, as in [`WorkloadModel::clusters`].
    pub clusters: Vec<LabelledCluster>,
}

/// A cluster with the names of its requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelledCluster {
    /// The most frequent name.
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Number of requests with another name.
    pub wrong: u64,
    /// Whether a larger cluster, or an equally large one before it, has the same name.
    pub is_extra: bool,
}

impl ClusterPurity {
    /// Compares the clusters of a model with the names of their requests.
    pub fn from_model(model: &WorkloadModel) -> ClusterPurity {
        let mut purity = ClusterPurity::default();
        // Clusters are in the order of their sizes.
        let mut requests: BTreeMap<&str, u64> = BTreeMap::new();
        for cluster in &model.clusters {
            let Some(NameCount { name, requests: right }) = cluster.names.first() else { continue };
            for NameCount { name, .. } in &cluster.names {
                requests.entry(name).or_default();
            }
            let count = requests.entry(name).or_default();
            let is_extra = *count > 0;
            *count += cluster.requests;
            let wrong = cluster.requests.saturating_sub(*right);
            purity.requests += cluster.requests;
            purity.wrong += wrong;
            purity.extra_clusters += u64::from(is_extra);
            purity.in_extra_clusters += if is_extra { cluster.requests } else { 0 };
            let name = name.clone();
            purity.clusters.push(LabelledCluster {
                name,
                requests: cluster.requests,
                wrong,
                is_extra,
            });
        }
        let without = requests.iter().filter(|(_, requests)| **requests == 0);
        purity.without_cluster = without.map(|(name, _)| (*name).to_owned()).collect();
        purity.purity = 1.0 - purity.wrong as f64 / purity.requests.max(1) as f64;
        purity
    }
}

#[cfg(test)]
mod tests {
    use super::super::RequestCluster;
    use super::*;

    #[test]
    fn clusters_of_four_kinds_with_two_outliers() {
        // Experiment 4.8 of the paper's Table 5 has four clusters and outliers.
        let cluster = |names: &[(&str, u64)]| {
            let requests = names.iter().map(|(_, requests)| requests).sum();
            let name = |(name, requests): &(&str, u64)| NameCount {
                name: (*name).to_owned(),
                requests: *requests,
            };
            RequestCluster {
                requests,
                names: names.iter().map(name).collect(),
                ..RequestCluster::default()
            }
        };
        let model = WorkloadModel {
            clusters: vec![
                cluster(&[("F", 131), ("B", 2)]),
                cluster(&[("A", 119)]),
                cluster(&[("E", 116), ("D", 1)]),
                cluster(&[("A", 1)]),
            ],
            ..WorkloadModel::default()
        };
        let purity = ClusterPurity::from_model(&model);
        assert_eq!((purity.requests, purity.wrong), (370, 3));
        assert_eq!((purity.extra_clusters, purity.in_extra_clusters), (1, 1));
        assert_eq!(purity.without_cluster, ["B", "D"]);
        assert!(purity.clusters[3].is_extra);
        assert!((purity.purity - 367.0 / 370.0).abs() < 1e-12);
    }
}
