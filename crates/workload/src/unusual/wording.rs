//! Words for differences.

use out_of_core::Names;

use super::difference::{Difference, DifferenceKind};
use crate::canonical::{Act, Element};
use crate::clusters::{Growing, Resource};

/// What is unusual about a request, in a sentence.
pub(super) fn sentence(of: &Growing, to: Option<&Growing>, differences: &[Difference]) -> String {
    let (Some(to), Some(_)) = (to, differences.first()) else {
        return "nothing else does what it does".to_owned();
    };
    let all: Vec<&str> = differences.iter().map(|of| of.what.as_str()).collect();
    let others = if of.center.text == to.center.text { "of its structure" } else { "near it" };
    format!("{}; {} other requests {others}", all.join("; "), to.gathered.count)
}

/// A demand that differs: `100 ms of processor time of web between its begin and its signal to db,
/// usually 0.3 ms`.
pub(super) fn demand(
    elements: &[Element],
    place: usize,
    resource: Resource,
    usual: f64,
    names: &Names,
) -> String {
    let demand = elements.get(place).map_or(0, |element| resource.of(&element.demands));
    let amount = amount(resource, demand as f64);
    let usual = amount_alone(resource, usual);
    format!("{amount} {}, usually {usual}", stretch(elements, place, names))
}

/// An element that only one side has.
pub(super) fn structure(
    kind: DifferenceKind,
    elements: &[Element],
    place: usize,
    names: &Names,
) -> String {
    let Some(element) = elements.get(place) else { return String::new() };
    let role = role(element, names);
    let what = match element.act {
        Act::Work => {
            let used = amount(Resource::Processor, element.demands.processor_ns as f64);
            format!("{used} {}", stretch(elements, place, names))
        }
        Act::Signal => format!("a signal to {role}"),
        Act::Wait => format!("a wait of {role}"),
        Act::Resume => format!("{role} going on"),
    };
    match kind {
        DifferenceKind::Less => format!("without {what}"),
        _ => format!("with {what}"),
    }
}

/// Whose work it is, and between which points.
fn stretch(elements: &[Element], place: usize, names: &Names) -> String {
    let point = |at: Option<usize>| at.and_then(|at| elements.get(at));
    let role = point(Some(place)).map_or(String::new(), |element| role(element, names));
    let other = |element: &Element| self::role(element, names);
    let from = match point(place.checked_sub(1)) {
        Some(signal) if signal.act == Act::Signal => format!("its signal to {}", other(signal)),
        Some(resume) if resume.act == Act::Resume => "where it goes on".to_owned(),
        _ => "its begin".to_owned(),
    };
    let to = match point(Some(place + 1)) {
        Some(signal) if signal.act == Act::Signal => format!("its signal to {}", other(signal)),
        _ => "its end".to_owned(),
    };
    format!("of {role} between {from} and {to}")
}

fn role(element: &Element, names: &Names) -> String {
    let role = names.text(element.role);
    if role.is_empty() { "threads that nothing led to".to_owned() } else { role.to_owned() }
}

/// An amount with what it is an amount of.
fn amount(resource: Resource, demand: f64) -> String {
    let amount = amount_alone(resource, demand);
    match resource {
        Resource::Processor => format!("{amount} of processor time"),
        Resource::DiskCalls => format!("{amount} of disks or files"),
        Resource::DiskRead => format!("{amount} read from disks or files"),
        Resource::DiskWritten => format!("{amount} written to disks or files"),
        Resource::Sent => format!("{amount} sent"),
        Resource::Received => format!("{amount} received"),
    }
}

fn amount_alone(resource: Resource, demand: f64) -> String {
    match resource {
        Resource::Processor if demand >= 1e9 => format!("{} s", figure(demand / 1e9)),
        Resource::Processor if demand >= 1e6 || demand >= 1e5 => {
            format!("{} ms", figure(demand / 1e6))
        }
        Resource::Processor => format!("{} µs", figure(demand / 1e3)),
        Resource::DiskCalls => format!("{} calls", figure(demand)),
        _ if demand >= 1e6 => format!("{} MB", figure(demand / 1e6)),
        _ if demand >= 1e4 => format!("{} kB", figure(demand / 1e3)),
        _ => format!("{} bytes", figure(demand)),
    }
}

/// A figure with three digits that say something.
fn figure(value: f64) -> String {
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
    fn a_long_stretch_is_told_by_the_points_around_it() {
        let mut names = Names::default();
        let [web, db] = ["web", "db"].map(|name| names.number(name));
        let work = |processor_ns| Element {
            role: web,
            demands: Demands { processor_ns, ..Demands::default() },
            ..Element::default()
        };
        let signal = Element { act: Act::Signal, role: db, ..Element::default() };
        let elements = [work(2_000), signal, work(100_400_000)];
        let text = |place, usual| demand(&elements, place, Resource::Processor, usual, &names);
        assert_eq!(
            text(2, 312_345.0),
            "100 ms of processor time of web between its signal to db and its end, usually 0.31 ms"
        );
        assert_eq!(
            text(0, 0.0),
            "2 µs of processor time of web between its begin and its signal to db, usually 0 µs"
        );
        let signals = structure(DifferenceKind::More, &elements, 1, &names);
        assert_eq!(signals, "with a signal to db");
    }

    #[test]
    fn amounts_have_three_digits() {
        let all = [(Resource::Sent, 512.0), (Resource::Sent, 12_288.0), (Resource::DiskRead, 3e6)];
        let all = all.map(|(resource, demand)| amount_alone(resource, demand));
        assert_eq!(all, ["512 bytes", "12.3 kB", "3 MB"]);
        assert_eq!(amount_alone(Resource::Processor, 2.5e9), "2.5 s");
    }
}
