//! Random delays: constant, Gaussian, exponential or uniform. In a configuration a delay is a time
//! span (`"10ms"`), or a table that describes its distribution.

use jiff::SignedDuration;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, Normal, Uniform};
use serde::Deserialize;

/// Distribution of delays in nanoseconds. No delay is below 0: negative samples of a Gaussian
/// become 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WrittenDelay")]
pub enum DelayDistribution {
    /// Constant.
    Constant(i64),
    /// Gaussian, by its mean and its standard deviation.
    Gaussian {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Exponential, by its mean.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Uniform between two bounds.
    Uniform {
        /// The shortest.
        min: i64,
        /// The longest.
        max: i64,
    },
}

impl Default for DelayDistribution {
    fn default() -> DelayDistribution {
        DelayDistribution::Constant(0)
    }
}

impl DelayDistribution {
    /// Draws a delay from the distribution, in nanoseconds.
    pub(crate) fn sample(&self, random: &mut ChaCha8Rng) -> i64 {
        let sampled = match *self {
            DelayDistribution::Constant(delay) => return delay,
            DelayDistribution::Gaussian { mean, deviation } => {
                Normal::new(mean, deviation).map_or(mean, |normal| normal.sample(random))
            }
            DelayDistribution::Exponential { mean } => {
                Exp::new(1.0 / mean).map_or(mean, |exp| exp.sample(random))
            }
            DelayDistribution::Uniform { min, max } => {
                return Uniform::new_inclusive(min, max)
                    .map_or(min, |uniform| uniform.sample(random));
            }
        };
        sampled.max(0.0).round() as i64
    }

    /// This delay with its standard deviation times `factor`, if it is Gaussian (Project 5, section
    /// 7.5.4).
    pub(crate) fn scale_deviation(self, factor: f64) -> DelayDistribution {
        match self {
            DelayDistribution::Gaussian { mean, deviation } => {
                DelayDistribution::Gaussian { mean, deviation: deviation * factor }
            }
            other => other,
        }
    }
}

/// A delay as written in a configuration.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenDelay {
    Constant(String),
    Table(DelayFields),
}

/// A delay as a table.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DelayFields {
    mean: Option<String>,
    deviation: Option<String>,
    exponential: Option<String>,
    min: Option<String>,
    max: Option<String>,
    #[serde(flatten)]
    others: std::collections::BTreeMap<String, toml::Value>,
}

const DELAY_SYNTAX: &str = r#"a delay is a time span such as "10ms", { mean = "10ms", deviation = "2ms" }, { exponential = "10ms" } or { min = "1ms", max = "9ms" }"#;

impl TryFrom<WrittenDelay> for DelayDistribution {
    type Error = String;

    fn try_from(written: WrittenDelay) -> Result<DelayDistribution, String> {
        let table = match written {
            WrittenDelay::Constant(text) => {
                return Ok(DelayDistribution::Constant(parse_span(&text)?));
            }
            WrittenDelay::Table(table) => table,
        };
        if let Some(other) = table.others.keys().next() {
            return Err(format!("a delay has no '{other}'; {DELAY_SYNTAX}"));
        }
        let DelayFields { mean, deviation, exponential, min, max, .. } = table;
        match (mean, deviation, exponential, min, max) {
            (Some(mean), Some(deviation), None, None, None) => Ok(DelayDistribution::Gaussian {
                mean: parse_span(&mean)? as f64,
                deviation: parse_span(&deviation)? as f64,
            }),
            (None, None, Some(mean), None, None) => match parse_span(&mean)? {
                0 => Ok(DelayDistribution::Constant(0)),
                mean => Ok(DelayDistribution::Exponential { mean: mean as f64 }),
            },
            (None, None, None, Some(min), Some(max)) => {
                let (min, max) = (parse_span(&min)?, parse_span(&max)?);
                let wrong = || {
                    format!("the shortest delay, {min} ns, is longer than the longest, {max} ns")
                };
                if min > max { Err(wrong()) } else { Ok(DelayDistribution::Uniform { min, max }) }
            }
            _ => Err(DELAY_SYNTAX.to_owned()),
        }
    }
}

/// A time span in nanoseconds, of at most a year.
pub(crate) fn parse_span(text: &str) -> Result<i64, String> {
    const YEAR: i128 = 366 * 24 * 60 * 60 * 1_000_000_000;
    let span = text.parse::<SignedDuration>().ok().map(|span| span.as_nanos());
    span.filter(|span| (0..=YEAR).contains(span))
        .map(|span| span as i64)
        .ok_or_else(|| format!("'{text}' is not a time span; write it like 2s, 10ms or 500us"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    /// The delay that `text` describes.
    fn written(text: &str) -> Result<DelayDistribution, String> {
        #[derive(Deserialize)]
        struct Holder {
            delay: DelayDistribution,
        }
        let holder: Result<Holder, _> = toml::from_str(&format!("delay = {text}"));
        holder.map(|holder| holder.delay).map_err(|error| error.to_string())
    }

    #[test]
    fn delays_are_read_as_they_are_written() {
        assert_eq!(written(r#""500us""#), Ok(DelayDistribution::Constant(500_000)));
        let gaussian = DelayDistribution::Gaussian { mean: 1e7, deviation: 2e6 };
        assert_eq!(written(r#"{ mean = "10ms", deviation = "2ms" }"#), Ok(gaussian));
        assert_eq!(
            written(r#"{ exponential = "1s" }"#),
            Ok(DelayDistribution::Exponential { mean: 1e9 })
        );
        assert_eq!(
            written(r#"{ min = "0s", max = "1us" }"#),
            Ok(DelayDistribution::Uniform { min: 0, max: 1000 })
        );
        for wrong in [
            r#""soon""#,
            r#""-1s""#,
            r#"{ mean = "1s" }"#,
            r#"{ man = "1s" }"#,
            r#"{ min = "2s", max = "1s" }"#,
        ] {
            let error = written(wrong).unwrap_err();
            assert!(error.contains("delay") || error.contains("time span"), "{wrong}: {error}");
        }
    }

    /// Means and deviations of 10 000 samples from a fixed seed, within four standard errors of the
    /// expected values.
    #[test]
    fn samples_have_the_mean_and_the_deviation() {
        const COUNT: f64 = 10_000.0;
        for (delay, mean, deviation) in [
            (DelayDistribution::Constant(7), 7.0, 0.0),
            (DelayDistribution::Gaussian { mean: 1e6, deviation: 1e5 }, 1e6, 1e5),
            (DelayDistribution::Exponential { mean: 1e6 }, 1e6, 1e6),
            (DelayDistribution::Uniform { min: 0, max: 1_000_000 }, 5e5, 1e6 / 12f64.sqrt()),
        ] {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let samples: Vec<f64> =
                (0..COUNT as usize).map(|_| delay.sample(&mut random) as f64).collect();
            let found = samples.iter().sum::<f64>() / COUNT;
            let spread = (samples.iter().map(|x| (x - found).powi(2)).sum::<f64>() / COUNT).sqrt();
            assert!(
                (found - mean).abs() <= 4.0 * deviation / COUNT.sqrt(),
                "{delay:?}: mean {found}"
            );
            // The standard error of a deviation is at most a hundredth of it here, as for the
            // exponential distribution.
            assert!(
                (spread - deviation).abs() <= 0.06 * deviation,
                "{delay:?}: deviation {spread}"
            );
        }
    }

    #[test]
    fn no_delay_is_below_0() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let delay = DelayDistribution::Gaussian { mean: 1.0, deviation: 100.0 };
        let samples: Vec<i64> = (0..100).map(|_| delay.sample(&mut random)).collect();
        assert!(samples.iter().all(|sample| *sample >= 0) && samples.contains(&0));
    }

    #[test]
    fn only_a_gaussian_varies() {
        let gaussian = DelayDistribution::Gaussian { mean: 1.0, deviation: 2.0 };
        assert_eq!(
            gaussian.scale_deviation(1.5),
            DelayDistribution::Gaussian { mean: 1.0, deviation: 3.0 }
        );
        assert_eq!(
            DelayDistribution::Constant(1).scale_deviation(1.5),
            DelayDistribution::Constant(1)
        );
    }
}
