//! Modes of samples from known distributions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp, Gamma, LogNormal, Normal, StudentT, Uniform};

use super::*;

/// Number of modes of times in microseconds.
fn modes_of(mut times: Vec<f64>) -> Option<u32> {
    times.sort_by(f64::total_cmp);
    let samples: Vec<TimeSample> =
        times.iter().map(|time| TimeSample::certain((time.max(0.0) * 1e3) as i64)).collect();
    count_modes(&samples, crate::statistics::clock_tick(&samples))
}

fn draw_samples(from: &impl Distribution<f64>, count: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| from.sample(&mut random)).collect()
}

/// The number of samples, of a hundred, in which `number` modes are found.
fn count_draws_with_modes(
    number: u32,
    count: usize,
    draw: impl Fn(usize, u64) -> Vec<f64>,
) -> usize {
    let rounds = [100, 20, 5][usize::from(count > 800) + usize::from(count > 5_000)];
    (0..rounds).filter(|seed| modes_of(draw(count, *seed)) == Some(number)).count()
        * (100 / rounds) as usize
}

#[test]
fn samples_of_one_mode_have_one() {
    for count in [20, 50, 100, 500, 2_000, 20_000] {
        let shapes: [(&str, usize); 7] = [
            (
                "normal",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&Normal::new(1e3, 1e2).unwrap(), n, seed)
                }),
            ),
            (
                "wide",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&LogNormal::new(7.0, 1.5).unwrap(), n, seed)
                }),
            ),
            (
                "narrow",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&LogNormal::new(7.0, 0.1).unwrap(), n, seed)
                }),
            ),
            (
                "exponential",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&Exp::new(1e-3).unwrap(), n, seed)
                }),
            ),
            (
                "gamma",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&Gamma::new(3.0, 1e3).unwrap(), n, seed)
                }),
            ),
            (
                "uniform",
                count_draws_with_modes(1, count, |n, seed| {
                    draw_samples(&Uniform::new(1e2, 1e3).unwrap(), n, seed)
                }),
            ),
            (
                "heavy tails",
                count_draws_with_modes(1, count, |n, seed| {
                    let mut times = draw_samples(&StudentT::new(2.0).unwrap(), n, seed);
                    times.iter_mut().for_each(|time| *time = (7.0 + 0.3 * *time).exp());
                    times
                }),
            ),
        ];
        for (shape, share) in shapes {
            assert!(share >= 97, "{count} of {shape}: one mode in {share} of 100");
        }
    }
}

/// Clusters at these places, each with its share of the samples and a deviation of a tenth.
fn clusters(places: &'static [(f64, f64)]) -> impl Fn(usize, u64) -> Vec<f64> {
    move |count, seed| {
        let mut all = Vec::new();
        for (number, (place, share)) in (0..).zip(places) {
            let normal = Normal::new(*place, place / 10.0).unwrap();
            all.extend(draw_samples(
                &normal,
                (count as f64 * share) as usize,
                1000 * number + seed,
            ));
        }
        all
    }
}

#[test]
fn clear_clusters_are_modes() {
    type Case = (&'static [(f64, f64)], &'static [usize]);
    let cases: [Case; 8] = [
        (&[(1e3, 0.5), (2e3, 0.5)], &[60, 100, 1_000, 20_000]),
        (&[(1e3, 0.5), (1e5, 0.5)], &[20, 40, 100, 1_000, 20_000]),
        (&[(1e3, 0.9), (1e4, 0.1)], &[150, 1_000, 20_000]),
        (&[(1e3, 0.1), (2e3, 0.9)], &[300, 1_000, 20_000]),
        (&[(1e3, 0.98), (1e4, 0.02)], &[1_000, 20_000]),
        (&[(1e3, 0.4), (1e6, 0.3), (2e6, 0.3)], &[100, 1_000, 20_000]),
        (&[(1e3, 0.4), (2e3, 0.3), (4e3, 0.3)], &[100, 1_000, 20_000]),
        (&[(1e3, 0.2), (2e3, 0.2), (4e3, 0.2), (8e3, 0.2), (16e3, 0.2)], &[300, 1_000, 20_000]),
    ];
    for (places, counts) in cases {
        for count in counts {
            let share = count_draws_with_modes(places.len() as u32, *count, clusters(places));
            assert!(share >= 95, "{count} in {places:?}: so many modes in {share} of 100");
        }
    }
}

#[test]
fn a_narrow_cluster_and_a_wide_one_are_two_modes() {
    let both = |n: usize, seed| {
        let narrow = draw_samples(&LogNormal::new(4.0, 0.01).unwrap(), n / 2, seed);
        [narrow, draw_samples(&LogNormal::new(9.0, 0.7).unwrap(), n / 2, seed + 1_000)].concat()
    };
    for count in [60, 1_000, 20_000] {
        let share = count_draws_with_modes(2, count, both);
        assert!(share >= 95, "{count}: two modes in {share} of 100");
    }
}

#[test]
fn ticks_are_no_modes() {
    for tick in [100.0, 1_000.0] {
        let coarse = |n, seed| {
            let mut times = draw_samples(&LogNormal::new(7.5, 0.5).unwrap(), n, seed);
            times.iter_mut().for_each(|time| *time = (*time / tick).floor() * tick);
            times
        };
        let share = count_draws_with_modes(1, 2_000, coarse);
        assert!(share >= 97, "ticks of {tick}: one mode in {share} of 100");
    }
}

#[test]
fn equal_times_are_one_mode_and_few_times_are_not_counted() {
    assert_eq!(modes_of(vec![5.0; 40]), Some(1));
    assert_eq!(modes_of(vec![5.0; 19]), None);
    assert_eq!(modes_of(vec![]), None);
    // Two values and nothing between them.
    assert_eq!(modes_of([vec![5.003; 30], vec![500.007; 30]].concat()), Some(2));
}

#[test]
fn samples_of_small_weight_make_no_mode() {
    let cluster =
        |place: f64, seed| draw_samples(&Normal::new(place, place / 10.0).unwrap(), 200, seed);
    let weighted = |weight: f32| {
        let mut samples: Vec<TimeSample> = cluster(1e6, 1)
            .into_iter()
            .map(|time| TimeSample::certain(time as i64))
            .chain(cluster(1e7, 2).into_iter().map(|time| TimeSample { time: time as i64, weight }))
            .collect();
        samples.sort_by_key(|sample| sample.time);
        count_modes(&samples, 1)
    };
    assert_eq!((weighted(1.0), weighted(0.001)), (Some(2), Some(1)));
}
