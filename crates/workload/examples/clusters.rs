//! The clusters of Magpie's Tables 2 to 5 on synthetic mixtures: found incrementally and as one
//! batch. With a number as argument, prints the time that clustering this number of requests takes.

use std::time::Instant;

use workload::Workload;
use workload::model::{ClusterPurity, WorkloadModel};

#[path = "../tests/it/mixtures.rs"]
mod mixtures;
#[path = "../tests/it/threads.rs"]
#[expect(dead_code, reason = "only tests have barriers; they share this file")]
mod threads;

/// Workloads of the tables: each letter is a type of request in the mixture.
const EXPERIMENTS: [&str; 11] = ["A", "B", "AB", "C", "D", "CD", "E", "BE", "ABE", "AF", "AEF"];

fn main() {
    if let Some(count) = std::env::args().nth(1).and_then(|count| count.parse().ok()) {
        return print_times(count);
    }
    println!(
        "| workload | clients | method | clusters | wrong | extra | error (paper's) | held out |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut sums = [[0_u64; 4]; 2];
    for types in EXPERIMENTS.into_iter().chain(["ABEF"]) {
        for clients in [1, 5] {
            for seed in 0..20 {
                let made = mixtures::mixture(types, clients, 500, seed);
                for (place, workload) in
                    [Workload::incremental(), Workload::default()].into_iter().enumerate()
                {
                    let model = model(workload, &made);
                    let purity = ClusterPurity::from_model(&model);
                    let disturbed = made.iter().filter(|of| of.is_disturbed).count() as u64;
                    let sum = &mut sums[place];
                    sum[0] += purity.wrong;
                    sum[1] += purity.extra_clusters;
                    sum[2] += purity.in_extra_clusters;
                    sum[3] += disturbed;
                    if seed == 0 {
                        print_row(types, clients, place, &model, &purity);
                    }
                }
            }
        }
    }
    for (method, [wrong, clusters, requests, disturbed]) in
        ["one by one", "all at once"].iter().zip(sums)
    {
        println!(
            "{method}: {wrong} wrong, {clusters} extra clusters with {requests} requests; \
             {disturbed} disturbed"
        );
    }
}

fn model(mut workload: Workload, made: &[mixtures::MixtureRequest]) -> WorkloadModel {
    made.iter().for_each(|of| workload.push(&of.canonical, &of.facts));
    workload.finish(&mixtures::names())
}

fn print_row(
    types: &str,
    clients: u32,
    place: usize,
    model: &WorkloadModel,
    purity: &ClusterPurity,
) {
    let found: Vec<String> =
        purity.clusters.iter().map(|of| format!("{}{}", of.requests, of.name)).collect();
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |of| format!("{:.2}%", 100.0 * of));
    let error = &model.error;
    println!(
        "| {types} | {clients} | {} | {} | {} | {} | {}, {} | {}, {} |",
        ["one by one", "all at once"][place],
        found.join(" + "),
        purity.wrong,
        purity.extra_clusters,
        percent(error.representative.processor),
        percent(error.representative.network),
        percent(error.held_out.processor),
        percent(error.held_out.network),
    );
}

fn print_times(count: u64) {
    let made = mixtures::mixture("ABCDEF", 5, count, 1);
    for (method, workload) in [
        ("one by one", Workload::incremental()),
        ("all at once", Workload::with_batch_limit(usize::MAX)),
    ] {
        let begin = Instant::now();
        let model = model(workload, &made);
        println!(
            "{method}: {count} requests in {:.2} s, {} clusters, {:?}",
            begin.elapsed().as_secs_f64(),
            model.clusters.len(),
            ClusterPurity::from_model(&model).wrong
        );
    }
}
