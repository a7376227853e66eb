//! The statistics of this crate, for `scripts/check-statistics`, which compares them with scipy.
//! Each line of the standard input is a test, `NAME;NUMBERS;NUMBERS...`, and is answered with a
//! line of numbers:
//!
//! ```text
//! ks;SAMPLE;SAMPLE;EFFECTS                 statistic and p-value
//! rates;COUNTS;TOTALS;EFFECT               p-value
//! adjusted;P-VALUES                        adjusted p-values, in their order
//! student;P-VALUE;DEGREES                  p-value
//! combined;P-VALUES                        p-value, all with the same weight
//! rare;PRIOR;PERIOD;PERIOD                 p-value; each is events and others, or events and all
//! gain;CLASSES OF A PART;...               information gain and gain ratio
//! variation;VALUES                         squared coefficient of variation
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};

use compare::statistics::{
    RatePrior, WeightedMoments, adjust_p_values, combine_p_values, gain_ratio, kolmogorov_smirnov,
    rates_differ, with_estimated_variance,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut parts = line.split(';');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<Vec<f64>> = parts.map(read_numbers).collect::<Result<_, _>>()?;
        let answer = run_test(name, &numbers).ok_or_else(|| format!("not understood: {line}"))?;
        let answer: Vec<String> = answer.iter().map(|number| format!("{number:e}")).collect();
        writeln!(out, "{}", answer.join(" "))?;
    }
    Ok(())
}

/// Numbers that are separated by blanks.
fn read_numbers(text: &str) -> Result<Vec<f64>, std::num::ParseFloatError> {
    text.split_whitespace().map(str::parse).collect()
}

/// Results of the test `name`; `None` if the line is not understood.
fn run_test(name: &str, numbers: &[Vec<f64>]) -> Option<Vec<f64>> {
    let pair = |place: usize| <[f64; 2]>::try_from(numbers.get(place)?.as_slice()).ok();
    let one = |place: usize| numbers.get(place)?.first().copied();
    Some(match name {
        "ks" => {
            let sample = |place: usize| -> Option<Vec<f32>> {
                let mut sample: Vec<f32> =
                    numbers.get(place)?.iter().map(|value| *value as f32).collect();
                sample.sort_unstable_by(f32::total_cmp);
                Some(sample)
            };
            let test = kolmogorov_smirnov(&sample(0)?, &sample(1)?, pair(2)?)?;
            vec![test.statistic, test.p_value]
        }
        "rates" => vec![rates_differ(pair(0)?, pair(1)?, one(2)?)],
        "adjusted" => adjust_p_values(numbers.first()?),
        "student" => vec![with_estimated_variance(one(0)?, one(1)?)],
        "combined" => {
            let tests = numbers.first()?;
            let weight = 1.0 / tests.len() as f64;
            vec![combine_p_values(tests.iter().map(|p_value| (*p_value, weight)))]
        }
        "rare" => {
            let [events, others] = pair(0)?;
            vec![RatePrior { events, others }.p_value([pair(1)?, pair(2)?])]
        }
        "gain" => {
            let parts: Vec<[f64; 2]> = (0..numbers.len()).map(pair).collect::<Option<_>>()?;
            let (gain, ratio) = gain_ratio(&parts);
            vec![gain, ratio]
        }
        "variation" => {
            vec![
                WeightedMoments::from_values(numbers.first()?.iter().copied())
                    .squared_variation()?,
            ]
        }
        _ => return None,
    })
}
