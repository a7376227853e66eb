//! A [`Timeline`] as inline SVG: boxes, lines and diamonds in proportion to their mean time, labels inside where
//! they fit and as flags where they do not, and an axis.

use maud::{Markup, html};

use super::flags::{self, Flag};
use super::palette::Palette;
use super::timeline::{Element, Kind, Timeline};
use crate::units::{count, duration, milliseconds, printable, shorten};

/// The whole drawing, in the units of its view box.
const WIDTH: f64 = 1140.0;
/// To the right of the time axis there is room for the last labels.
const RIGHT: f64 = 160.0;
/// The height of a box.
const BOX: f64 = 26.0;
/// The height of a lane of flags.
const LANE: f64 = 15.0;
/// Between two rows.
const GAP: f64 = 16.0;
/// Lanes above and below a row.
const LANES: usize = 6;
/// The width of a character, rather too wide.
const CHARACTER: f64 = 6.9;
/// The least widths at which a shape can be seen.
const SLIVER: f64 = 2.0;
const NARROWEST_DIAMOND: f64 = 12.0;
/// Longer names are shortened.
const NAME: usize = 14;

/// Where everything of a row stands.
#[derive(Clone, Copy, Debug, Default)]
struct RowPlace {
    /// The upper edge of the boxes.
    top: f64,
}

/// A label that found no room within its element.
#[derive(Clone, Copy, Debug)]
struct Placed {
    lane: Option<usize>,
    /// Whether the flag goes up.
    up: bool,
}

/// A timeline with a place for everything.
pub(super) struct Drawing<'t, 'a> {
    timeline: &'t Timeline<'a>,
    palette: &'t Palette,
    /// By element; none where the label is inside or where there is none.
    flags: Vec<Option<Placed>>,
    rows: Vec<RowPlace>,
    /// Where time begins: to the left is the name of who starts the path.
    left: f64,
    /// Units of the view box for a nanosecond.
    scale: f64,
    height: f64,
}

impl<'t, 'a> Drawing<'t, 'a> {
    pub(super) fn of(timeline: &'t Timeline<'a>, palette: &'t Palette) -> Drawing<'t, 'a> {
        let sources = timeline.elements.iter().filter(|element| element.kind == Kind::Source);
        let name = sources.map(|source| short_name(source).chars().count()).max().unwrap_or(0);
        let left = 30.0 + name as f64 * CHARACTER;
        let scale = if timeline.span > 0.0 { (WIDTH - RIGHT - left) / timeline.span } else { 0.0 };
        let mut drawing = Drawing {
            timeline,
            palette,
            flags: vec![None; timeline.elements.len()],
            rows: Vec::new(),
            left,
            scale,
            height: 0.0,
        };
        drawing.place();
        drawing
    }

    /// Decides which labels are flags, and how high each row is for it.
    fn place(&mut self) {
        let mut y = 4.0;
        for row in 0..self.timeline.rows {
            let above = self.fly(row, true);
            let below = self.fly(row, false);
            let top = y + above as f64 * LANE;
            let bottom = top + BOX + if below > 0 { below as f64 * LANE + 2.0 } else { 0.0 };
            self.rows.push(RowPlace { top });
            y = bottom + GAP;
        }
        self.height = y + 26.0;
    }

    /// Places the flags of `row` that go up or down and returns how many lanes they take.
    fn fly(&mut self, row: usize, up: bool) -> usize {
        let elements = || self.timeline.elements.iter().enumerate();
        let wanting: Vec<usize> = elements()
            .filter(|(_, element)| {
                element.row == row && self.flies(element) && (element.kind != Kind::Network) == up
            })
            .map(|(index, _)| index)
            .collect();
        let flags: Vec<Flag> = wanting
            .iter()
            .map(|index| &self.timeline.elements[*index])
            .map(|element| Flag {
                x: self.middle(element),
                width: self.label_width(element) + 4.0,
                weight: element.delay.map_or(0.0, |delay| delay.mean),
            })
            .collect();
        let lanes = flags::lanes(&flags, LANES);
        for (index, lane) in wanting.iter().zip(&lanes) {
            self.flags[*index] = Some(Placed { lane: *lane, up });
        }
        lanes.iter().flatten().max().map_or(0, |highest| highest + 1)
    }

    fn x(&self, time: f64) -> f64 {
        self.left + time * self.scale
    }

    fn width(&self, element: &Element<'_>) -> f64 {
        (element.to - element.from) * self.scale
    }

    fn middle(&self, element: &Element<'_>) -> f64 {
        (self.x(element.from) + self.x(element.to)) / 2.0
    }

    fn label_width(&self, element: &Element<'_>) -> f64 {
        let delay = element.delay.map_or(0, |delay| milliseconds(delay.mean).chars().count() + 3);
        let name = if element.kind == Kind::Network { 0 } else { short_name(element).chars().count() + 1 };
        (delay + name) as f64 * CHARACTER
    }

    /// Whether the label of `element` does not fit into it.
    fn flies(&self, element: &Element<'_>) -> bool {
        match element.kind {
            Kind::Source | Kind::Sink => false,
            Kind::Node | Kind::Network => self.width(element) < self.label_width(element) + 6.0,
            // The corners of a diamond hold nothing.
            Kind::Untraced => self.width(element) < self.label_width(element) * 1.5,
        }
    }

    /// The SVG, with `id` as the beginning of its ids, `title` as its name and `description` for who cannot see it.
    pub(super) fn markup(&self, id: &str, title: &str, description: &str) -> Markup {
        let hidden = self.flags.iter().flatten().filter(|placed| placed.lane.is_none()).count();
        html! {
            svg.timeline viewBox=(format!("0 0 {WIDTH} {}", r(self.height))) role="img"
                aria-labelledby={ (id) "-t " (id) "-d" } {
                title id={ (id) "-t" } { (title) }
                desc id={ (id) "-d" } { (description) }
                (self.axis())
                @for fork in &self.timeline.forks { (self.fork(fork.at, fork.from_row, fork.to_row)) }
                @for (index, element) in self.timeline.elements.iter().enumerate() {
                    (self.element(element, self.flags[index]))
                }
            }
            @if hidden > 0 {
                p.fine { (count(hidden as u64)) " delays are too short to be labelled here; the table below has them." }
            }
            @if self.timeline.omitted > 0 {
                p.fine { (count(self.timeline.omitted as u64)) " further hops are not drawn." }
            }
        }
    }

    fn axis(&self) -> Markup {
        let base = r(self.height - 24.0);
        html! {
            g.axis {
                @for tick in ticks(self.timeline.span) {
                    @let x = r(self.x(tick));
                    line x1=(x) x2=(x) y1="0" y2=(base) {}
                    text x=(x) y=(r(self.height - 9.0)) { (tick_label(tick, self.timeline.span)) }
                }
            }
        }
    }

    fn fork(&self, at: f64, from_row: usize, to_row: usize) -> Markup {
        let x = r(self.x(at));
        let (from, to) = (self.rows[from_row].top + BOX / 2.0, self.rows[to_row].top + BOX / 2.0);
        html! { line.fork x1=(x) x2=(x) y1=(r(from)) y2=(r(to)) {} }
    }

    fn element(&self, element: &Element<'_>, flag: Option<Placed>) -> Markup {
        let row = self.rows[element.row];
        let center = row.top + BOX / 2.0;
        let (from, to) = (self.x(element.from), self.x(element.to));
        let class = match element.kind {
            Kind::Node => format!("node {}", self.palette.class(element.name())),
            Kind::Network => "net".to_owned(),
            Kind::Untraced => "untraced".to_owned(),
            Kind::Source | Kind::Sink => "end".to_owned(),
        };
        html! {
            g class={ (class) @if element.critical { " critical" } } {
                title { (tooltip(element)) }
                @match element.kind {
                    Kind::Node => {
                        rect x=(r(from)) y=(r(row.top)) width=(r((to - from).max(SLIVER))) height=(BOX) rx="3" {}
                    }
                    Kind::Network => {
                        line x1=(r(from)) x2=(r(to.max(from + 1.0))) y1=(r(center)) y2=(r(center)) {}
                        // A thin line is hard to point at.
                        rect.hit x=(r(from)) y=(r(row.top)) width=(r((to - from).max(SLIVER))) height=(BOX) {}
                    }
                    Kind::Untraced => { (diamond(self.middle(element), center, (to - from).max(NARROWEST_DIAMOND))) }
                    Kind::Source => { (end(from, center, -1.0, element)) }
                    Kind::Sink => { (end(from, center, 1.0, element)) }
                }
                @match flag {
                    Some(placed) => { (self.flag(element, placed, row)) }
                    None => @match element.kind {
                        Kind::Source | Kind::Sink => {}
                        Kind::Network => {
                            text.label x=(r(self.middle(element))) y=(r(center - 5.0)) { (label(element)) }
                        }
                        _ => { text.label x=(r(self.middle(element))) y=(r(center + 4.0)) { (label(element)) } }
                    }
                }
            }
        }
    }

    fn flag(&self, element: &Element<'_>, placed: Placed, row: RowPlace) -> Markup {
        let Some(lane) = placed.lane else {
            return html! {};
        };
        let x = self.middle(element);
        let height = lane as f64 * LANE;
        let (foot, tip, text) = if placed.up {
            (row.top, row.top - height - LANE + 2.0, row.top - height - 5.0)
        } else {
            let foot = row.top + BOX / 2.0 + 1.0;
            let bottom = row.top + BOX + 1.0;
            (foot, bottom + height + LANE - 2.0, bottom + height + 11.0)
        };
        html! {
            line.pole x1=(r(x)) x2=(r(x)) y1=(r(foot)) y2=(r(tip)) {}
            text.flag x=(r(x + 4.0)) y=(r(text)) { (label(element)) }
        }
    }
}

/// Coordinates with one decimal.
pub(super) fn r(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn diamond(x: f64, y: f64, width: f64) -> Markup {
    let (half, height) = (width / 2.0, BOX / 2.0 + 3.0);
    let points = [(x - half, y), (x, y - height), (x + half, y), (x, y + height)];
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", r(*x), r(*y))).collect();
    html! { polygon points=(points.join(" ")) {} }
}

/// Where a path starts (`side` -1) or a branch ends (1): the name beside a dot, or a small diamond if untraced.
fn end(x: f64, y: f64, side: f64, element: &Element<'_>) -> Markup {
    let at = x + side * 14.0;
    let anchor = if side < 0.0 { "end" } else { "start" };
    html! {
        line.stub x1=(r(x)) x2=(r(at)) y1=(r(y)) y2=(r(y)) {}
        @if element.traced() {
            circle cx=(r(at)) cy=(r(y)) r="3.5" {}
        } @else {
            polygon points=(format!("{},{y} {x},{} {},{y} {x},{}", r(at - 5.0), r(y - 5.0), r(at + 5.0), r(y + 5.0),
                x = r(at), y = r(y))) {}
        }
        text.name x=(r(at + side * 9.0)) y=(r(y + 4.0)) text-anchor=(anchor) { (short_name(element)) }
    }
}

fn short_name(element: &Element<'_>) -> String {
    shorten(&printable(element.name()), NAME, '…')
}

fn label(element: &Element<'_>) -> Markup {
    html! {
        @if element.kind != Kind::Network { tspan.who { (short_name(element)) } " " }
        @if let Some(delay) = element.delay { (milliseconds(delay.mean)) " ms" }
    }
}

fn tooltip(element: &Element<'_>) -> String {
    let what = match element.kind {
        Kind::Source => format!("{} starts the path", element.hop.src),
        Kind::Sink => format!("{} is where this branch ends", element.hop.dst),
        Kind::Node => format!("at {}, before sending to {}", element.hop.src, element.hop.dst),
        Kind::Network => format!("network from {} to {}", element.hop.src, element.hop.dst),
        Kind::Untraced => format!("{}, which was not traced, with its network both ways", element.hop.src),
    };
    let what = printable(&what);
    element.delay.map_or(what.clone(), |delay| {
        format!(
            "{what}: mean {}, p50 {}, p99 {}",
            duration(delay.mean),
            duration(delay.p50),
            duration(delay.p99)
        )
    })
}

/// Round times from 0 to `span`, at most eight.
pub(super) fn ticks(span: f64) -> Vec<f64> {
    if span <= 0.0 {
        return vec![0.0];
    }
    let rough = span / 7.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power * 10.0);
    (0..=8).map(|index| f64::from(index) * step).take_while(|tick| *tick <= span * 1.0001).collect()
}

fn tick_label(tick: f64, span: f64) -> String {
    // As many decimals as the step needs, for all alike.
    let decimals = (7.0 - span.max(1.0).log10()).ceil().clamp(0.0, 6.0) as usize;
    if tick == 0.0 { "0".to_owned() } else { format!("{:.decimals$} ms", tick / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_end() {
        assert_eq!(ticks(3.25e6), [0.0, 0.5e6, 1e6, 1.5e6, 2e6, 2.5e6, 3e6]);
        for span in [1.0, 7.0, 999.0, 3.2e4, 6.4e7, 1.01e9, 9.9e10] {
            let ticks = ticks(span);
            assert!((3..=9).contains(&ticks.len()), "{span}: {ticks:?}");
            assert!(ticks.last().unwrap() * 1.6 > span, "{span}: {ticks:?}");
        }
        assert_eq!(ticks(0.0), [0.0]);
    }

    #[test]
    fn tick_labels_differ() {
        for span in [50.0, 999.0, 3.2e4, 3.25e6, 6.4e7, 1.01e9, 9.9e10] {
            let mut labels: Vec<String> = ticks(span).iter().map(|tick| tick_label(*tick, span)).collect();
            let number = labels.len();
            labels.dedup();
            assert_eq!(labels.len(), number, "{span}: {labels:?}");
        }
        assert_eq!(tick_label(0.5e6, 3.25e6), "0.5 ms");
    }
}
