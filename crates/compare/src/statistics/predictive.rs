//! Predictive test of rare events (beyond Spectroscope): whether events that occur in one period
//! and never or rarely in the other are too frequent to be chance.
//!
//! A test of one call site alone cannot decide: 5 slow requests of 18, against none of 18, happen
//! by chance in one of twenty comparisons, and there are hundreds of call sites. But if such events
//! are rare at all the other sites, too, these five are a change. So each site's rate is treated as
//! drawn from a beta distribution that fits all sites (empirical Bayes, Robbins 1956), and the
//! events of one period are compared with the prediction of this prior and the other period.

use statrs::function::gamma::ln_gamma;

use super::combination::combine_p_values;

/// Number of steps in which the mean of the rates is searched, on a logarithmic scale from 1 down
/// to 1/10,000.
const MEAN_CANDIDATES: i32 = 24;

/// Candidates of the strength of the prior, as numbers of executions that it is worth: the more,
/// the more similar the rates of sites are.
const STRENGTH_CANDIDATES: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0];

/// Beta distribution of the rates of events at all sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePrior {
    /// Events that the prior is worth.
    pub events: f64,
    /// Executions without an event that the prior is worth.
    pub others: f64,
}

impl RatePrior {
    /// The prior that maximizes the likelihood of the events of all sites, each given as events and
    /// executions.
    pub fn fit_prior(sites: &[[f64; 2]]) -> RatePrior {
        // If no site has an event, an additional one keeps the prior from being certain.
        let sites = sites.iter().chain(&[[1.0, 2.0]]);
        let mut best = (f64::NEG_INFINITY, RatePrior { events: 0.5, others: 0.5 });
        for mean in 1..MEAN_CANDIDATES {
            let mean = 10.0_f64.powf(-4.0 * f64::from(mean) / f64::from(MEAN_CANDIDATES));
            for strength in STRENGTH_CANDIDATES {
                let prior = RatePrior { events: mean * strength, others: (1.0 - mean) * strength };
                let likelihood: f64 =
                    sites.clone().map(|[events, of]| prior.ln_probability(*events, *of)).sum();
                if likelihood > best.0 {
                    best = (likelihood, prior);
                }
            }
        }
        best.1
    }

    /// Logarithm of the probability of `events` events in `of` executions, in one particular order.
    fn ln_probability(&self, events: f64, of: f64) -> f64 {
        ln_beta(self.events + events, self.others + of - events) - ln_beta(self.events, self.others)
    }

    /// P-value of events and executions of two periods under one rate. Each period is predicted
    /// from the other, two-sided, and both predictions count. All numbers are rounded.
    pub fn p_value(&self, periods: [[f64; 2]; 2]) -> f64 {
        let [first, second] = periods;
        let both = [
            self.predictive_probability(first, second),
            self.predictive_probability(second, first),
        ];
        combine_p_values(both.map(|tail| ((2.0 * tail).min(1.0), 0.5)))
    }

    /// Probability of at least as many events as in `seen`, given the prior and `known`, each
    /// events and executions. 1 if there are fewer events than expected.
    pub fn p_value_of_more(&self, known: [f64; 2], seen: [f64; 2]) -> f64 {
        let after = self.events + known[0].round();
        let all = after + self.others + (known[1] - known[0]).round().max(0.0);
        match seen[0].round() < seen[1].round() * after / all {
            true => 1.0,
            false => self.predictive_probability(known, seen),
        }
    }

    /// Probability of as many events as in `seen`, or of a less likely number, given the prior and
    /// `known`.
    fn predictive_probability(&self, known: [f64; 2], seen: [f64; 2]) -> f64 {
        let [known, [events, of]] = [known, seen].map(|[events, of]| [events.round(), of.round()]);
        let of = of.max(events);
        let after = RatePrior {
            events: self.events + known[0],
            others: self.others + (known[1] - known[0]).max(0.0),
        };
        let expected = of * after.events / (after.events + after.others);
        let probability = |events: f64| {
            let ways = ln_gamma(of + 1.0) - ln_gamma(events + 1.0) - ln_gamma(of - events + 1.0);
            (ways + after.ln_probability(events, of)).exp()
        };
        let numbers =
            if events >= expected { events as u64..=of as u64 } else { 0..=events as u64 };
        numbers.map(|number| probability(number as f64)).sum::<f64>().clamp(0.0, 1.0)
    }
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_prior_by_hand() {
        // Uniform: after 0 of 1, the rate is Beta(1, 2); 2 of 2 have the probability 1/6, and after
        // 2 of 2, Beta(3, 1), none of 1 has 1/4, which is the greater one.
        let flat = RatePrior { events: 1.0, others: 1.0 };
        assert!((flat.predictive_probability([0.0, 1.0], [2.0, 2.0]) - 1.0 / 6.0).abs() < 1e-9);
        assert!((flat.predictive_probability([2.0, 2.0], [0.0, 1.0]) - 1.0 / 4.0).abs() < 1e-9);
        // Twice each is 1/3 and 1/2; the tangents of 1/6 and 0 of pi have the mean 0.2887.
        let both = flat.p_value([[0.0, 1.0], [2.0, 2.0]]);
        assert!((both - (0.5 - 0.288_675_f64.atan() / std::f64::consts::PI)).abs() < 1e-6);
        assert_eq!(flat.p_value([[0.0, 1.0], [2.0, 2.0]]), flat.p_value([[2.0, 2.0], [0.0, 1.0]]));
    }

    #[test]
    fn rare_events_are_found_early() {
        let quiet: Vec<[f64; 2]> = (0..60).map(|site| [f64::from(site % 30 == 0), 15.0]).collect();
        let noisy: Vec<[f64; 2]> = (0..60).map(|site| [f64::from(site % 6), 15.0]).collect();
        let seen = [[0.0, 18.0], [5.0, 18.0]];
        let priors = [quiet, noisy].map(|sites| RatePrior::fit_prior(&sites));
        let [quiet, noisy] = priors.map(|prior| prior.p_value(seen));
        assert!(quiet < 1e-3 && noisy > 0.02, "{quiet} {noisy}");
        let [quiet, noisy] = priors.map(|prior| prior.p_value_of_more(seen[0], seen[1]));
        assert!(quiet < 1e-3 && noisy > 0.005, "{quiet} {noisy}");
        // Fewer events than known are no evidence.
        assert_eq!(priors[1].p_value_of_more([90.0, 100.0], [1.0, 100.0]), 1.0);
    }

    #[test]
    fn the_same_rate_is_no_change() {
        let prior = RatePrior { events: 0.1, others: 1.0 };
        assert!(prior.p_value([[10.0, 100.0], [20.0, 200.0]]) > 0.4);
        assert!(prior.p_value([[0.0, 0.0], [3.0, 9.0]]) > 0.05);
    }
}
