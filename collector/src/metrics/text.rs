//! Figures in the text format of OpenMetrics, which Prometheus reads; in seconds and bytes, by its
//! rules for names.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::figures::{CollectorTotals, HostFigures};

/// Prefix of every name.
const PREFIX: &str = "sockcap_collector";

/// Value of a figure, by the type with which it is written.
enum MetricValue {
    /// A count that only grows.
    Counter(u64),
    /// A whole number.
    Gauge(u64),
    /// A time in nanoseconds, written in seconds.
    Seconds(i64),
}

/// One figure of every host: its name, meaning, type and value.
type MetricFamily =
    (&'static str, &'static str, MetricType, fn(&HostFigures) -> Option<MetricValue>);

const FAMILIES: [MetricFamily; 10] = [
    ("host_connected", "Whether the host is connected.", MetricType::Gauge, |host| {
        Some(MetricValue::Gauge(u64::from(host.connections > 0)))
    }),
    (
        "host_last_acknowledgement_timestamp_seconds",
        "Time of the last acknowledgement to the host.",
        MetricType::Gauge,
        |host| host.acknowledged.map(MetricValue::Seconds),
    ),
    ("host_left_bytes", "Bytes that the host then had yet to send.", MetricType::Gauge, |host| {
        host.left.map(MetricValue::Gauge)
    }),
    ("host_stored_bytes", "Bytes of files that were written.", MetricType::Counter, |host| {
        Some(MetricValue::Counter(host.stored))
    }),
    ("host_received_bytes", "Bytes on the wire for these.", MetricType::Counter, |host| {
        Some(MetricValue::Counter(host.received))
    }),
    ("host_files", "Files of the host.", MetricType::Gauge, |host| {
        Some(MetricValue::Gauge(host.files))
    }),
    ("host_used_bytes", "Bytes of disk that they use.", MetricType::Gauge, |host| {
        Some(MetricValue::Gauge(host.used))
    }),
    ("host_quota_bytes", "Bytes of disk that the host may use.", MetricType::Gauge, |host| {
        host.quota.map(MetricValue::Gauge)
    }),
    (
        "host_clock_offset_seconds",
        "How far the host's clock is ahead of the collector's, as last measured.",
        MetricType::Gauge,
        |host| host.clock_offset.map(MetricValue::Seconds),
    ),
    (
        "host_clock_round_trip_seconds",
        "Round trip of that exchange; the offset is wrong by at most half of it.",
        MetricType::Gauge,
        |host| host.round_trip.map(MetricValue::Seconds),
    ),
];

/// All figures as text.
pub(super) fn render_text(hosts: Vec<HostFigures>, totals: CollectorTotals) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(FiguresSnapshot { hosts, totals }));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut text, &registry);
    text
}

/// The figures at one moment.
#[derive(Debug)]
struct FiguresSnapshot {
    hosts: Vec<HostFigures>,
    totals: CollectorTotals,
}

impl Collector for FiguresSnapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, help, kind, figure_of) in FAMILIES {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for host in &self.hosts {
                if let Some(figure) = figure_of(host) {
                    write_value(&figure, family.encode_family(&[("host", host.host.as_str())])?)?;
                }
            }
        }
        let CollectorTotals { connections, refused, not_stored, misnamed, untold } = &self.totals;
        let help = "Open connections of hosts.";
        let one = encoder.encode_descriptor("connections", help, None, MetricType::Gauge)?;
        write_value(&MetricValue::Gauge(*connections), one)?;
        let help =
            "Connections that were refused, or ended because of what the peer did, by cause.";
        let mut family =
            encoder.encode_descriptor("refused_connections", help, None, MetricType::Counter)?;
        for (cause, count) in refused {
            write_value(
                &MetricValue::Counter(*count),
                family.encode_family(&[("cause", *cause)])?,
            )?;
        }
        let help = "Number of times that data could not be stored, by shortage.";
        let mut family =
            encoder.encode_descriptor("not_stored", help, None, MetricType::Counter)?;
        for (shortage, count) in not_stored {
            write_value(
                &MetricValue::Counter(*count),
                family.encode_family(&[("shortage", *shortage)])?,
            )?;
        }
        let help = "Logs that name another host than their sender, and are stored as the sender's.";
        let one = encoder.encode_descriptor("misnamed_logs", help, None, MetricType::Counter)?;
        write_value(&MetricValue::Counter(*misnamed), one)?;
        let help = "Events of hosts without figures, as there are too many hosts.";
        let one = encoder.encode_descriptor("untold", help, None, MetricType::Counter)?;
        write_value(&MetricValue::Counter(*untold), one)
    }
}

fn write_value(figure: &MetricValue, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
    match *figure {
        MetricValue::Counter(count) => ConstCounter::new(count).encode(encoder),
        MetricValue::Gauge(number) => ConstGauge::new(number).encode(encoder),
        MetricValue::Seconds(nanoseconds) => {
            ConstGauge::new(nanoseconds as f64 / 1e9).encode(encoder)
        }
    }
}
