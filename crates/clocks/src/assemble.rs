//! Assembles the written model from solved clocks: each host's offset, skew and steps in the terms
//! of `clocks.json`.

use crate::evidence;
use crate::facts::HostFacts;
use crate::lines::pieces::ClockPieces;
use crate::lines::solve::{SolvedClock, SolvedClocks};
use crate::model::{ClockModel, ClockSource, HostClock, HostClockStep};
use crate::pairs::pair::ClockPair;

/// Assembles the clocks of `hosts`. `known` are the steps of each clock that its own logs record.
pub(crate) fn assemble_clocks(
    hosts: &[HostFacts],
    clock_of: &[usize],
    known: &[ClockPieces],
    pairs: &[ClockPair],
    solved: &SolvedClocks,
    reference: Option<usize>,
) -> ClockModel {
    // A clock is named after its first host, the reference after the requested host.
    let first = |clock: usize| clock_of.iter().position(|of| *of == clock);
    let name_of = |clock: usize| {
        let chosen = reference.filter(|host| clock_of.get(*host) == Some(&clock));
        chosen
            .or_else(|| first(clock))
            .and_then(|host| hosts.get(host))
            .map_or("", |host| &host.name)
    };
    let begin = hosts.iter().map(|host| host.first).min().unwrap_or(0);
    let of_clock: Vec<HostClock> = solved
        .clocks
        .iter()
        .enumerate()
        .map(|(clock, line)| {
            let mut model = line.as_ref().map_or_else(
                || HostClock {
                    at: begin,
                    against: name_of(clock).to_owned(),
                    ..HostClock::default()
                },
                |line| HostClock {
                    against: name_of(line.against).to_owned(),
                    ..with_inferred_steps(line, clock)
                },
            );
            if clock == solved.reference {
                model.source = ClockSource::Reference;
                // If the reference itself was set, its later pieces are known by messages.
                model.uncertainty_ns = model.uncertainty_ns.or(Some(0));
                model.skew_uncertainty_ppm = model.skew_uncertainty_ppm.or(Some(0.0));
            } else if model.against == name_of(clock) {
                model.uncertainty_ns = None;
                model.skew_uncertainty_ppm = None;
            }
            with_known_steps(model, &known[clock])
        })
        .collect();
    let host = |(host, clock): (&HostFacts, &usize)| {
        let mut model = of_clock[*clock].clone();
        model.host = host.name.clone();
        // Other hosts of the machine of the reference clock.
        if model.source == ClockSource::Reference && model.host != model.against {
            model.source = ClockSource::Machine;
            if host.is_presumed {
                model.source = ClockSource::Presumed;
                (model.uncertainty_ns, model.skew_uncertainty_ppm) = (None, None);
            }
        }
        model
    };
    ClockModel {
        reference: name_of(solved.reference).to_owned(),
        hosts: hosts.iter().zip(clock_of).map(host).collect(),
        links: evidence::pair_evidence(pairs, solved, |clock| name_of(clock).to_owned()),
    }
}

/// Returns the written form of the solved clock number `clock`, with the steps that messages show.
pub(crate) fn with_inferred_steps(line: &SolvedClock, clock: usize) -> HostClock {
    let first = line.rates.first().copied().unwrap_or_default();
    let ppm = |skew: f64| skew * 1e6;
    let is_root = line.against == clock;
    let uncertainty = line.uncertainty;
    let mut model = HostClock {
        at: line.origin,
        offset_ns: first.offset.saturating_add(first.rest.round() as i64),
        skew_ppm: ppm(first.skew),
        uncertainty_ns: uncertainty.offset.is_finite().then_some(uncertainty.offset.ceil() as i64),
        skew_uncertainty_ppm: uncertainty.skew.is_finite().then_some(ppm(uncertainty.skew)),
        source: match uncertainty.offset.is_finite() {
            _ if is_root => ClockSource::None,
            true => ClockSource::Messages,
            false => ClockSource::OneWay,
        },
        since: (!line.pieces.steps.is_empty()).then_some(line.pieces.since),
        ..HostClock::default()
    };
    for (place, rates) in line.rates.windows(2).enumerate() {
        let Some(step) = line.pieces.steps.get(place) else { break };
        // Time of the step, by the lines before and after it.
        let before = rates[0].common_time(
            line.origin,
            step.between[0].saturating_add(line.pieces.shift_before(place)),
        );
        let after = rates[1].common_time(
            line.origin,
            step.between[1].saturating_add(line.pieces.shift_before(place + 1)),
        );
        let [early, late] = [before.min(after), before.max(after)];
        // If only the rate changed, it changed where the lines cross.
        let difference = |at: f64| rates[1].ahead_of(at, &rates[0]);
        let crossing =
            early + (late - early) * difference(early) / (difference(early) - difference(late));
        let is_crossing = difference(early) * difference(late) < 0.0 && crossing.is_finite();
        let at = if is_crossing { crossing } else { 0.5 * (early + late) };
        let at = line.origin.saturating_add(at.round() as i64);
        let jump = rates[1].shown_time(line.origin, at).saturating_sub(model.shown_time(at));
        model.steps.push(HostClockStep {
            at,
            offset_ns: jump,
            skew_ppm: ppm(rates[1].skew),
            within_ns: (0.5 * (late - early)).ceil() as i64,
        });
    }
    model
}

/// Adds the steps that the clock's logs record. The clock runs at the same rate after such a step.
pub(crate) fn with_known_steps(mut model: HostClock, known: &ClockPieces) -> HostClock {
    if known.steps.is_empty() {
        return model;
    }
    let never_set = model.clone();
    model.since = model.since.or(Some(known.since));
    for step in &known.steps {
        let [early, late] = step.between.map(|time| never_set.common_time(time));
        let within_ns = late.saturating_sub(early) / 2;
        let at = early.saturating_add(within_ns);
        let place = model.steps.partition_point(|other| other.at <= at);
        let skew_ppm =
            place.checked_sub(1).map_or(model.skew_ppm, |before| model.steps[before].skew_ppm);
        model.steps.insert(place, HostClockStep { at, offset_ns: step.jump, skew_ppm, within_ns });
    }
    model
}
