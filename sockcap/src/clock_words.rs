//! The hosts' clocks in words: for `sockcap info`, and for the report.

use std::io::{self, Write};

use clocks::ClockModel;
use clocks::{ClockSource, HostClock};
use jiff::Timestamp;
use report::clocks::{ClockStep, ComparedClock, format_offset, format_ppm, format_uncertainty};

use crate::output::count_noun;
use crate::table::{ColumnAlignment, ScreenTable, write_folded};

/// The clocks in the form of a report.
pub(crate) fn report_clocks(clocks: &ClockModel) -> Vec<ComparedClock> {
    let of_host = |host: &HostClock| {
        let mut fastest = [Vec::new(), Vec::new()];
        for link in &clocks.links {
            let [there, back] = &link.least;
            let [received, sent] = &mut fastest;
            if link.hosts[1] == host.host {
                received.extend(there);
                sent.extend(back);
            } else if link.hosts[0] == host.host {
                received.extend(back);
                sent.extend(there);
            }
        }
        fastest.iter_mut().for_each(|messages| messages.sort_unstable());
        ComparedClock {
            host: host.host.clone(),
            against: host.against.clone(),
            found: describe_source(clocks, host),
            at: host.at,
            offset_ns: host.offset_ns,
            skew_ppm: host.skew_ppm,
            uncertainty_ns: host.uncertainty_ns,
            skew_uncertainty_ppm: host.skew_uncertainty_ppm,
            steps: report_steps(host).collect(),
            contradiction: contradiction_of(host),
            fastest,
        }
    };
    clocks.hosts.iter().map(of_host).collect()
}

/// The contradiction between messages and the collector's timestamps, and their combined
/// uncertainty, in nanoseconds.
fn contradiction_of(host: &HostClock) -> Option<[i64; 2]> {
    let check = host.hints.as_ref()?.check.as_ref().filter(|check| check.contradicts)?;
    Some([check.difference_ns, check.within_ns])
}

/// A line about a contradiction between messages and the collector's timestamps.
pub(crate) fn contradiction_line(clocks: &ClockModel) -> Option<String> {
    report::clocks::contradiction_line(&report_clocks(clocks))
}

fn report_steps(host: &HostClock) -> impl Iterator<Item = ClockStep> {
    host.steps.iter().map(|step| ClockStep {
        at: step.at,
        offset_ns: step.offset_ns,
        skew_ppm: step.skew_ppm,
        within_ns: step.within_ns,
    })
}

/// The method by which a clock was estimated.
fn describe_source(clocks: &ClockModel, host: &HostClock) -> String {
    let links = || clocks.links.iter().filter(|link| link.hosts.contains(&host.host));
    let messages = || links().flat_map(|link| link.messages).sum();
    let wrong: u64 = links().map(|link| link.contradicting).sum();
    let mut words = match host.source {
        ClockSource::Reference => "the common clock".to_owned(),
        ClockSource::Machine => format!("same machine as {}", host.against),
        ClockSource::Presumed => {
            format!("assumed to be that of {}, nothing contradicts", host.against)
        }
        ClockSource::Messages => count_noun(messages(), "message", "messages"),
        ClockSource::OneWay => {
            format!("{} in one direction only", count_noun(messages(), "message", "messages"))
        }
        ClockSource::Hints => {
            let exchanges = host.hints.as_ref().map_or(0, |hinted| hinted.exchanges);
            let of_group = match (messages(), exchanges) {
                (0, _) => String::new(),
                (messages, _) => count_noun(messages, "message", "messages") + " and ",
            };
            match exchanges {
                0 => format!("{of_group}timestamps exchanged with the collector"),
                count => format!(
                    "{of_group}{} with the collector",
                    count_noun(count, "exchange", "exchanges")
                ),
            }
        }
        ClockSource::None if messages() > 0 => "best connected of its group".to_owned(),
        ClockSource::None => "no messages".to_owned(),
    };
    if wrong > 0 && host.source != ClockSource::Reference {
        words += &format!(", {wrong} of the fastest contradict the others");
    }
    words
}

/// Writes a line for each host's clock, and advice about unknown clocks. A single clock that was
/// never set is not written.
pub(crate) fn write_clock_table(
    clocks: &ClockModel,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let is_plain = |host: &HostClock| {
        let is_one = matches!(
            host.source,
            ClockSource::Reference | ClockSource::Machine | ClockSource::Presumed
        );
        is_one && host.steps.is_empty()
    };
    if clocks.hosts.iter().all(is_plain) {
        return Ok(());
    }
    writeln!(out, "\nclocks, against that of {}:", clocks.reference)?;
    let mut rows = ScreenTable::new(&[
        ("HOST", ColumnAlignment::Left),
        ("OFFSET", ColumnAlignment::Right),
        ("MAY BE OFF", ColumnAlignment::Right),
        ("SKEW", ColumnAlignment::Right),
        ("±PPM", ColumnAlignment::Right),
        ("FOUND BY", ColumnAlignment::Left),
    ]);
    for host in &clocks.hosts {
        let is_compared = host.against != host.host;
        let shown = |text: String| if is_compared { text } else { "-".to_owned() };
        let skew = host
            .skew_uncertainty_ppm
            .map_or_else(|| "unknown".to_owned(), |ppm| format!("{ppm:.2}"));
        let mut found = describe_source(clocks, host);
        if is_compared && host.against != clocks.reference {
            found += &format!(", against {}", host.against);
        }
        let steps = report_steps(host).map(|step| {
            let at = Timestamp::from_nanosecond(i128::from(step.at))
                .map_or_else(|_| String::new(), |time| format!(" at {time:.3}"));
            let within = match step.within_ns {
                0 => String::new(),
                within => format!(" ± {}", message_trace::units::format_duration(within as f64)),
            };
            format!("{}{at}{within}", step.describe_step())
        });
        let cells = vec![
            host.host.clone(),
            shown(format_offset(host.offset_ns)),
            shown(format_uncertainty(host.uncertainty_ns)),
            shown(format_ppm(host.skew_ppm)),
            shown(skew),
            found,
        ];
        rows.add_row(cells, steps.collect());
    }
    rows.write_table(width, out)?;
    let lost: Vec<&HostClock> =
        clocks.hosts.iter().filter(|host| host.source == ClockSource::None).collect();
    if !lost.is_empty() {
        let names: Vec<&str> = lost.iter().map(|host| host.host.as_str()).collect();
        let line = format!(
            "no messages connect {} and {}: their times are by their own clocks; record a host \
             that communicates with both",
            clocks.reference,
            names.join(", ")
        );
        write_folded(&line, "", width, out)?;
    }
    if let Some(line) = contradiction_line(clocks) {
        write_folded(&line, "", width, out)?;
    }
    let hinted = || clocks.hosts.iter().filter_map(|host| host.hints.as_ref());
    let (damaged, left_out) =
        (hinted().map(|of| of.damaged).sum(), hinted().map(|of| of.left_out).sum());
    for (what, count) in [
        (count_noun(damaged, "line that is", "lines that are") + " damaged or impossible", damaged),
        (
            count_noun(left_out, "exchange", "exchanges")
                + " of a boot without logs or of a time that the clock showed twice",
            left_out,
        ),
    ] {
        if count > 0 {
            let line = format!("skipped in the exchanges with the collector: {what}");
            write_folded(&line, "", width, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clocks::{ClockEvidence, HintCheck, HintSummary, HostClockStep};

    use super::*;

    fn make_host(name: &str, against: &str, source: ClockSource) -> HostClock {
        HostClock {
            host: name.to_owned(),
            against: against.to_owned(),
            source,
            ..HostClock::default()
        }
    }

    fn sample_clocks() -> ClockModel {
        let link = |a: &str, b: &str, messages, contradicting| ClockEvidence {
            hosts: [a.to_owned(), b.to_owned()],
            messages,
            contradicting,
            least: [vec![[5, 30], [9, 31]], vec![[7, 40]]],
        };
        let db = HostClock {
            offset_ns: 10_800_123_456_789,
            skew_ppm: 150.042,
            uncertainty_ns: Some(46_200),
            skew_uncertainty_ppm: Some(1.44),
            steps: vec![HostClockStep {
                at: 1_700_000_000_000_000_000,
                offset_ns: -1_500_000_000,
                skew_ppm: 150.0,
                within_ns: 40_000_000,
            }],
            ..make_host("db", "web", ClockSource::Messages)
        };
        let log = HostClock {
            offset_ns: -2_000,
            skew_ppm: 1.0,
            ..make_host("log", "web", ClockSource::OneWay)
        };
        let web = HostClock {
            uncertainty_ns: Some(0),
            ..make_host("web", "web", ClockSource::Reference)
        };
        let far = HostClock {
            uncertainty_ns: Some(9_000_000),
            ..make_host("far2", "far1", ClockSource::Messages)
        };
        ClockModel {
            reference: "web".to_owned(),
            hosts: vec![
                web,
                db,
                log,
                make_host("far1", "far1", ClockSource::None),
                far,
                make_host("alone", "alone", ClockSource::None),
            ],
            links: vec![
                link("web", "db", [1_200, 1_210], 2),
                link("log", "web", [0, 1], 0),
                link("far1", "far2", [3, 3], 0),
            ],
        }
    }

    #[test]
    fn each_clock_is_a_line() {
        let mut out = Vec::new();
        write_clock_table(&sample_clocks(), None, &mut out).unwrap();
        let wanted = "
clocks, against that of web:
HOST                  OFFSET  MAY BE OFF         SKEW     ±PPM  FOUND BY
web                        -           -            -        -  the common clock
db     +3 h 0 min 0.123457 s    ±46.2 µs  +150.04 ppm     1.44  2410 messages, 2 of the fastest contradict the others
  set back by 1.500000 s at 2023-11-14T22:13:20.000Z ± 40.0 ms
log                 −2.00 µs     unknown    +1.00 ppm  unknown  1 message in one direction only
far1                       -           -            -        -  best connected of its group
far2                       0    ±9.00 ms        0 ppm  unknown  6 messages, against far1
alone                      -           -            -        -  no messages
no messages connect web and far1, alone: their times are by their own clocks; record a host that communicates with both
";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn a_presumed_clock_is_marked() {
        let mut clocks = sample_clocks();
        clocks.hosts.truncate(1);
        clocks.hosts.push(make_host("ads", "web", ClockSource::Presumed));
        let mut out = Vec::new();
        write_clock_table(&clocks, None, &mut out).unwrap();
        assert!(out.is_empty(), "all are one clock");
        clocks.hosts.push(make_host("db", "web", ClockSource::Messages));
        write_clock_table(&clocks, None, &mut out).unwrap();
        let said = String::from_utf8(out).unwrap();
        assert!(said.contains("unknown  assumed to be that of web, nothing contradicts"), "{said}");
    }

    #[test]
    fn exchanges_with_a_collector_are_reported() {
        let mut clocks = sample_clocks();
        let check = |difference_ns| HintCheck {
            against: "web".to_owned(),
            difference_ns,
            within_ns: 7_600_000,
            contradicts: difference_ns > 7_600_000,
        };
        clocks.hosts[1].hints = Some(HintSummary {
            exchanges: 61,
            check: Some(check(50_000_000)),
            ..HintSummary::default()
        });
        clocks.hosts[2].hints = Some(HintSummary {
            exchanges: 1,
            check: Some(check(9)),
            damaged: 3,
            ..HintSummary::default()
        });
        for (place, exchanges) in [(3, 0), (4, 7), (5, 1)] {
            let host = &mut clocks.hosts[place];
            (host.source, host.against) = (ClockSource::Hints, "web".to_owned());
            host.uncertainty_ns = Some(12_000_000);
            host.hints = Some(HintSummary {
                exchanges,
                left_out: u64::from(exchanges == 7),
                ..HintSummary::default()
            });
        }
        clocks.hosts[3].hints = None;
        let mut out = Vec::new();
        write_clock_table(&clocks, None, &mut out).unwrap();
        let wanted = "
clocks, against that of web:
HOST                  OFFSET  MAY BE OFF         SKEW     ±PPM  FOUND BY
web                        -           -            -        -  the common clock
db     +3 h 0 min 0.123457 s    ±46.2 µs  +150.04 ppm     1.44  2410 messages, 2 of the fastest contradict the others
  set back by 1.500000 s at 2023-11-14T22:13:20.000Z ± 40.0 ms
log                 −2.00 µs     unknown    +1.00 ppm  unknown  1 message in one direction only
far1                       0    ±12.0 ms        0 ppm  unknown  6 messages and timestamps exchanged with the collector
far2                       0    ±12.0 ms        0 ppm  unknown  6 messages and 7 exchanges with the collector
alone                      0    ±12.0 ms        0 ppm  unknown  1 exchange with the collector
messages and timestamps exchanged with the collector disagree about the clock of db: by +50.000 ms, more than their combined uncertainty (±7.60 ms); one of them is wrong, and all times are based on messages
skipped in the exchanges with the collector: 3 lines that are damaged or impossible
skipped in the exchanges with the collector: 1 exchange of a boot without logs or of a time that the clock showed twice
";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
        assert_eq!(report_clocks(&clocks)[1].contradiction, Some([50_000_000, 7_600_000]));
        assert_eq!(report_clocks(&clocks)[2].contradiction, None);
    }

    #[test]
    fn a_single_clock_is_not_shown() {
        let mut clocks = sample_clocks();
        clocks.hosts.truncate(1);
        let mut out = Vec::new();
        write_clock_table(&clocks, None, &mut out).unwrap();
        assert!(out.is_empty());
    }

    #[test]
    fn a_report_has_the_messages_of_each_host() {
        let clocks = report_clocks(&sample_clocks());
        // From the first host of a link to the second, and back.
        assert_eq!(clocks[1].fastest, [vec![[5, 30], [9, 31]], vec![[7, 40]]]);
        assert_eq!(clocks[2].fastest, [vec![[7, 40]], vec![[5, 30], [9, 31]]]);
        assert_eq!(clocks[1].steps[0].describe_step(), "set back by 1.500000 s");
        assert!(clocks[5].fastest.iter().all(Vec::is_empty));
    }
}
