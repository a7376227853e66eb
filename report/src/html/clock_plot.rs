//! Clocks as inline SVG: the drift of all of them, and for each clock the messages that support its
//! line.

use maud::{Markup, html};
use message_trace::units::{count_noun, format_duration, shorten_middle, to_printable};

use super::drawing::{axis_ticks, format_coordinate};
use crate::clocks::{ComparedClock, format_offset, format_ppm, format_uncertainty};
/// The widths of the plots of one clock and of all clocks, and the height of both, in the units of
/// the view box.
const WIDTH: f64 = 560.0;
const WIDE: f64 = 1140.0;
const HEIGHT: f64 = 200.0;
/// Space for the labels of the axes.
const LEFT: f64 = 76.0;
const BOTTOM: f64 = 26.0;
const TOP: f64 = 8.0;
/// Space for names at the end of lines.
const RIGHT: f64 = 120.0;
/// The number of colours in the style sheet.
const COLORS: usize = 10;
/// Maximum number of characters of a name; a longer one is shortened.
const MAX_NAME_CHARACTERS: usize = 15;

/// The plane of a drawing: it turns times and values into coordinates.
struct PlotPlane {
    width: f64,
    /// Space to the right of the plane.
    right: f64,
    /// The first and the last time, in nanoseconds on the common clock.
    begin: i64,
    end: i64,
    /// The smallest and the largest value, in nanoseconds.
    low: f64,
    high: f64,
}

impl PlotPlane {
    fn x_of_time(&self, at: i64) -> f64 {
        let span = self.end.saturating_sub(self.begin).max(1) as f64;
        let part = at.saturating_sub(self.begin) as f64 / span;
        LEFT + part.clamp(0.0, 1.0) * (self.width - self.right - LEFT)
    }

    fn y_of_value(&self, value: f64) -> f64 {
        let part = (self.high - value.clamp(self.low, self.high)) / (self.high - self.low).max(1.0);
        TOP + part * (HEIGHT - BOTTOM - TOP)
    }

    /// Lines and labels of both axes.
    fn draw_axes(&self) -> Markup {
        let span = self.end.saturating_sub(self.begin) as f64;
        let (base, right) = (HEIGHT - BOTTOM, self.width - self.right);
        let step = rough_step(self.high - self.low);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        html! {
            g.axis {
                // Every second tick is enough for these widths.
                @for tick in axis_ticks(span).into_iter().step_by(2) {
                    @let x = format_coordinate(self.x_of_time(self.begin.saturating_add(tick as i64)));
                    line x1=(x) x2=(x) y1=(TOP) y2=(format_coordinate(base)) {}
                    text.time x=(x) y=(format_coordinate(base + 16.0)) { (round_duration(tick)) }
                }
                @for number in first..=last {
                    @let value = number as f64 * step;
                    @let y = format_coordinate(self.y_of_value(value));
                    line x1=(LEFT) x2=(format_coordinate(right)) y1=(y) y2=(y) {}
                    text.value x=(format_coordinate(LEFT - 6.0)) y=(format_coordinate(self.y_of_value(value) + 4.0)) {
                        @if number > 0 { "+" } @else if number < 0 { "−" }
                        (round_duration(value.abs()))
                    }
                }
            }
        }
    }
}

/// A round duration, without trailing zeros.
fn round_duration(nanoseconds: f64) -> String {
    let shown = format_duration(nanoseconds);
    let number = if shown.number.contains('.') {
        shown.number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &shown.number
    };
    format!("{number} {}", shown.unit).trim_end().to_owned()
}

/// A round number, about a quarter of `span`.
fn rough_step(span: f64) -> f64 {
    let rough = (span / 4.0).max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(power * 10.0)
}

/// The plot of the drift: how the offsets of all clocks change during the trace, without their
/// steps.
pub(super) struct DriftPlot<'a> {
    /// The clocks, with their numbers.
    pub(super) clocks: &'a [(usize, &'a ComparedClock)],
    /// The times at which the trace begins and ends, in nanoseconds on the common clock.
    pub(super) begin: i64,
    pub(super) end: i64,
}

impl DriftPlot<'_> {
    pub(super) fn markup(&self) -> Markup {
        let lines: Vec<Vec<(i64, f64)>> =
            self.clocks.iter().map(|(_, clock)| self.offset_line(clock)).collect();
        let values = || lines.iter().flatten().map(|(_, value)| *value);
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        // Minimum height, so that nearly coincident lines do not fill the plot.
        let least = 1_000.0;
        let (low, high) =
            if high - low < least { (low - least / 2.0, high + least / 2.0) } else { (low, high) };
        let margin = 0.04 * (high - low);
        let plane = PlotPlane {
            width: WIDE,
            right: RIGHT,
            begin: self.begin,
            end: self.end,
            low: low - margin,
            high: high + margin,
        };
        let mut labels: Vec<f64> = Vec::new();
        let names: Vec<Option<f64>> = lines
            .iter()
            .map(|line| {
                let y = plane.y_of_value(line.last().map_or(0.0, |(_, value)| *value));
                // Of overlapping names, the first is shown.
                let is_free = labels.iter().all(|other| (other - y).abs() > 12.0);
                labels.extend(is_free.then_some(y));
                is_free.then_some(y)
            })
            .collect();
        html! {
            figure.drift {
                figcaption { b { "Drift" } " of each clock since the trace began" }
                div.scroll { svg.clock viewBox=(format!("0 0 {WIDE} {HEIGHT}")) role="img" aria-labelledby="drift-t drift-d" {
                    title id="drift-t" { "How far each clock drifts from the common one" }
                    desc id="drift-d" { (self.description()) }
                    (plane.draw_axes())
                    @for (((number, clock), line), name) in self.clocks.iter().zip(&lines).zip(&names) {
                        g class=(line_color(*number)) {
                            title { (to_printable(&clock.host)) ": " (format_ppm(clock.skew_ppm)) }
                            polyline points=(path_points(line.iter().map(|(at, value)| (plane.x_of_time(*at), plane.y_of_value(*value))))) {}
                            @if let Some(y) = name {
                                text.name x=(format_coordinate(WIDE - RIGHT + 6.0)) y=(format_coordinate(y + 4.0)) {
                                    (shorten_middle(&to_printable(&clock.host), MAX_NAME_CHARACTERS, '…'))
                                }
                            }
                        }
                    }
                } }
            }
        }
    }

    /// The change of the offset of one clock without its steps: times, and nanoseconds.
    pub(super) fn offset_line(&self, clock: &ComparedClock) -> Vec<(i64, f64)> {
        let mut line = vec![(self.begin, 0.0)];
        let mut skew = clock.skew_ppm;
        let later = clock.steps.iter().filter(|step| step.at > self.begin && step.at < self.end);
        for (at, next) in later.map(|step| (step.at, step.skew_ppm)).chain([(self.end, 0.0)]) {
            let (before, value) = line.last().copied().unwrap_or((self.begin, 0.0));
            line.push((at, value + at.saturating_sub(before) as f64 * skew / 1e6));
            skew = next;
        }
        line
    }

    fn description(&self) -> String {
        let of_one = |(_, clock): &(usize, &ComparedClock)| {
            format!("{} {}", to_printable(&clock.host), format_ppm(clock.skew_ppm))
        };
        self.clocks.iter().map(of_one).collect::<Vec<_>>().join(", ")
    }
}

/// The plot of one clock: its line, the fastest messages above and below it, and the band between
/// these.
pub(super) struct LinePlot<'a> {
    pub(super) clock: &'a ComparedClock,
    /// The number of the clock on this page.
    pub(super) number: usize,
    /// The times at which the trace begins and ends, in nanoseconds on the common clock.
    pub(super) begin: i64,
    pub(super) end: i64,
}

impl LinePlot<'_> {
    pub(super) fn markup(&self) -> Markup {
        let clock = self.clock;
        let [received, sent] = &clock.fastest;
        let mut delays: Vec<f64> =
            received.iter().chain(sent).map(|message| message[1] as f64).collect();
        delays.sort_by(f64::total_cmp);
        let usual = delays.get(delays.len() / 2).copied().unwrap_or(0.0).abs();
        let band = clock.uncertainty_ns.map(|uncertainty| uncertainty as f64);
        let reach = 1.5 * usual.max(band.unwrap_or(0.0)).max(1_000.0);
        let plane = PlotPlane {
            width: WIDTH,
            right: 12.0,
            begin: self.begin,
            end: self.end,
            low: -reach,
            high: reach,
        };
        let beyond = delays.iter().filter(|delay| **delay > reach).count() as u64;
        let id = format!("clock{}", self.number);
        let name = to_printable(&clock.host);
        html! {
            figure {
                figcaption {
                    b { (name) } " " (format_offset(clock.offset_ns)) ", " (format_ppm(clock.skew_ppm)) ", "
                    (format_uncertainty(clock.uncertainty_ns))
                }
                svg.clock viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                    aria-labelledby={ (id) "-t " (id) "-d" } {
                    title id={ (id) "-t" } { "The fastest messages of " (name) ", around its line" }
                    desc id={ (id) "-d" } {
                        (count_noun(received.len() as u64, "message", "messages")) " received lie \
                                                                                    above the line \
                                                                                    by their \
                                                                                    latency, "
                        (count_noun(sent.len() as u64, "message", "messages")) " sent lie below \
                                                                                it. The band is \
                                                                                the uncertainty of \
                                                                                the line: "
                        (format_uncertainty(clock.uncertainty_ns)) "."
                    }
                    @if let Some(band) = band {
                        @let (top, bottom) = (plane.y_of_value(band), plane.y_of_value(-band));
                        rect.band x=(LEFT) y=(format_coordinate(top)) width=(format_coordinate(WIDTH - 12.0 - LEFT)) height=(format_coordinate(bottom - top)) {}
                    }
                    (plane.draw_axes())
                    line.estimate x1=(LEFT) x2=(format_coordinate(WIDTH - 12.0)) y1=(format_coordinate(plane.y_of_value(0.0))) y2=(format_coordinate(plane.y_of_value(0.0))) {}
                    @for step in &clock.steps {
                        @let x = format_coordinate(plane.x_of_time(step.at));
                        g.step { title { (step.describe_step()) } line x1=(x) x2=(x) y1=(TOP) y2=(format_coordinate(HEIGHT - BOTTOM)) {} }
                    }
                    g.received { (message_dots(&plane, received, 1.0, reach)) }
                    g.sent { (message_dots(&plane, sent, -1.0, reach)) }
                }
                @if beyond > 0 { p.fine { (count_noun(beyond, "slower message", "slower messages")) " not drawn." } }
            }
        }
    }
}

/// A dot for each message within reach. All dots are one path of zero-length lines, which round
/// line ends turn into dots.
fn message_dots(plane: &PlotPlane, messages: &[[i64; 2]], sign: f64, reach: f64) -> Markup {
    let near = messages.iter().filter(|message| message[1] as f64 <= reach);
    let path: String = near
        .map(|[at, delay]| {
            format!(
                "M{} {}h0",
                format_coordinate(plane.x_of_time(*at)),
                format_coordinate(plane.y_of_value(sign * *delay as f64))
            )
        })
        .collect();
    html! { @if !path.is_empty() { path d=(path) {} } }
}

fn path_points(points: impl Iterator<Item = (f64, f64)>) -> String {
    points
        .map(|(x, y)| format!("{},{}", format_coordinate(x), format_coordinate(y)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn line_color(number: usize) -> String {
    format!("c{}", number % COLORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round() {
        let labels = [0.0, 500.0, 50_000.0, 1_500_000.0, 2e9, 2e10].map(round_duration);
        assert_eq!(labels, ["0", "500 ns", "50 µs", "1.5 ms", "2 s", "20 s"]);
        assert_eq!([4.0, 9.0, 2_000.0, 70_000.0].map(rough_step), [1.0, 5.0, 500.0, 20_000.0]);
    }

    #[test]
    fn values_out_of_range_stay_at_the_edge() {
        let plane =
            PlotPlane { width: 560.0, right: 12.0, begin: 100, end: 200, low: -50.0, high: 50.0 };
        assert_eq!([100, 200, 0, 300].map(|at| plane.x_of_time(at)), [76.0, 548.0, 76.0, 548.0]);
        assert_eq!(
            [50.0, 0.0, -50.0, -1e9].map(|value| plane.y_of_value(value)),
            [8.0, 91.0, 174.0, 174.0]
        );
    }
}
