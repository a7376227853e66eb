//! Words for the differences of unusual requests from usual ones.

use out_of_core::NameInterner;

use super::difference::{DifferenceKind, RequestDifference};
use crate::canonical::{CanonicalElement, ElementAct};
use crate::clusters::{DemandedResource, GrowingCluster};

/// What is unusual about a request, in a sentence.
pub(super) fn unusual_sentence(
    of: &GrowingCluster,
    to: Option<&GrowingCluster>,
    differences: &[RequestDifference],
) -> String {
    let (Some(to), Some(_)) = (to, differences.first()) else {
        return "no other request is like it".to_owned();
    };
    let all: Vec<&str> = differences.iter().map(|of| of.what.as_str()).collect();
    let others = if of.center.text == to.center.text { "of its structure" } else { "near it" };
    format!("{}; {} other requests {others}", all.join("; "), to.gathered.count)
}

/// A demand that differs: `100 ms of processor time of web between its begin and its signal to db,
/// usually 0.3 ms`.
pub(super) fn demand_phrase(
    elements: &[CanonicalElement],
    place: usize,
    resource: DemandedResource,
    usual: f64,
    names: &NameInterner,
) -> String {
    let demand = elements.get(place).map_or(0, |element| resource.amount_in(&element.demands));
    let amount = amount_phrase(resource, demand as f64);
    let usual = amount_words(resource, usual);
    format!("{amount} {}, usually {usual}", work_phrase(elements, place, names))
}

/// An element that only one side has.
pub(super) fn structure_phrase(
    kind: DifferenceKind,
    elements: &[CanonicalElement],
    place: usize,
    names: &NameInterner,
) -> String {
    let Some(element) = elements.get(place) else { return String::new() };
    let role = role_phrase(element, names);
    let what = match element.act {
        ElementAct::Work => {
            let used =
                amount_phrase(DemandedResource::Processor, element.demands.processor_ns as f64);
            format!("{used} {}", work_phrase(elements, place, names))
        }
        ElementAct::Signal => format!("a signal to {role}"),
        ElementAct::Wait => format!("a wait of {role}"),
        ElementAct::Resume => format!("a wake-up of {role}"),
    };
    match kind {
        DifferenceKind::Less => format!("without {what}"),
        _ => format!("with {what}"),
    }
}

/// The role that performs an element of work, and the points between which the work lies.
fn work_phrase(elements: &[CanonicalElement], place: usize, names: &NameInterner) -> String {
    let point = |at: Option<usize>| at.and_then(|at| elements.get(at));
    let role = point(Some(place)).map_or(String::new(), |element| role_phrase(element, names));
    let other = |element: &CanonicalElement| self::role_phrase(element, names);
    let from = match point(place.checked_sub(1)) {
        Some(signal) if signal.act == ElementAct::Signal => {
            format!("its signal to {}", other(signal))
        }
        Some(resume) if resume.act == ElementAct::Resume => "its wake-up".to_owned(),
        _ => "its begin".to_owned(),
    };
    let to = match point(Some(place + 1)) {
        Some(signal) if signal.act == ElementAct::Signal => {
            format!("its signal to {}", other(signal))
        }
        _ => "its end".to_owned(),
    };
    format!("of {role} between {from} and {to}")
}

fn role_phrase(element: &CanonicalElement, names: &NameInterner) -> String {
    let role = names.name_of(element.role);
    if role.is_empty() { "threads without a known cause".to_owned() } else { role.to_owned() }
}

/// An amount with its resource.
fn amount_phrase(resource: DemandedResource, demand: f64) -> String {
    let amount = amount_words(resource, demand);
    match resource {
        DemandedResource::Processor => format!("{amount} of processor time"),
        DemandedResource::DiskCalls => format!("{amount} of disks or files"),
        DemandedResource::DiskRead => format!("{amount} read from disks or files"),
        DemandedResource::DiskWritten => format!("{amount} written to disks or files"),
        DemandedResource::Sent => format!("{amount} sent"),
        DemandedResource::Received => format!("{amount} received"),
    }
}

fn amount_words(resource: DemandedResource, demand: f64) -> String {
    match resource {
        DemandedResource::Processor if demand >= 1e9 => {
            format!("{} s", format_figure(demand / 1e9))
        }
        DemandedResource::Processor if demand >= 1e6 || demand >= 1e5 => {
            format!("{} ms", format_figure(demand / 1e6))
        }
        DemandedResource::Processor => format!("{} µs", format_figure(demand / 1e3)),
        DemandedResource::DiskCalls => format!("{} calls", format_figure(demand)),
        _ if demand >= 1e6 => format!("{} MB", format_figure(demand / 1e6)),
        _ if demand >= 1e4 => format!("{} kB", format_figure(demand / 1e3)),
        _ => format!("{} bytes", format_figure(demand)),
    }
}

/// A figure with three significant digits.
fn format_figure(value: f64) -> String {
    let digits = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demands::Demands;

    #[test]
    fn a_long_work_is_described_by_the_points_around_it() {
        let mut names = NameInterner::default();
        let [web, db] = ["web", "db"].map(|name| names.intern(name));
        let work = |processor_ns| CanonicalElement {
            role: web,
            demands: Demands { processor_ns, ..Demands::default() },
            ..CanonicalElement::default()
        };
        let signal =
            CanonicalElement { act: ElementAct::Signal, role: db, ..CanonicalElement::default() };
        let elements = [work(2_000), signal, work(100_400_000)];
        let text = |place, usual| {
            demand_phrase(&elements, place, DemandedResource::Processor, usual, &names)
        };
        assert_eq!(
            text(2, 312_345.0),
            "100 ms of processor time of web between its signal to db and its end, usually 0.31 ms"
        );
        assert_eq!(
            text(0, 0.0),
            "2 µs of processor time of web between its begin and its signal to db, usually 0 µs"
        );
        let signals = structure_phrase(DifferenceKind::More, &elements, 1, &names);
        assert_eq!(signals, "with a signal to db");
    }

    #[test]
    fn amounts_have_three_digits() {
        let all = [
            (DemandedResource::Sent, 512.0),
            (DemandedResource::Sent, 12_288.0),
            (DemandedResource::DiskRead, 3e6),
        ];
        let all = all.map(|(resource, demand)| amount_words(resource, demand));
        assert_eq!(all, ["512 bytes", "12.3 kB", "3 MB"]);
        assert_eq!(amount_words(DemandedResource::Processor, 2.5e9), "2.5 s");
    }
}
