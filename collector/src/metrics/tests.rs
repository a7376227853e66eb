//! Recorded figures, read back by a small parser of Prometheus' text format.

use std::collections::BTreeMap;

use super::*;

/// The samples of a text by name and labels, and the type of each family.
type Parsed = (BTreeMap<String, f64>, BTreeMap<String, String>);

/// Parses the text format (OpenMetrics 1.0): each sample belongs to the family described last, none
/// occurs twice, and the end is marked.
fn parse(text: &str) -> Parsed {
    let (mut samples, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    let mut family = String::new();
    let body = text.strip_suffix("# EOF\n").expect("the end is marked");
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.ends_with('.'), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            family = name.to_owned();
            assert!(kinds.insert(family.clone(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let bare = name.split('{').next().unwrap();
            let suffix = if kinds[&family] == "counter" { "_total" } else { "" };
            assert_eq!(bare, format!("{family}{suffix}"));
            assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line}");
        }
    }
    (samples, kinds)
}

fn metrics() -> CollectorMetrics {
    CollectorMetrics::new(Some(5000), &["tls", "slow"], &["disk", "quota"])
}

#[test]
fn recorded_figures_are_rendered() {
    let metrics = metrics();
    metrics.host_connected("web1");
    metrics.set_stored("web1", 3, 4096);
    metrics.record_acknowledged("web1", 1_763_800_000_500_000_000, 1000, 100, 7000);
    metrics.record_acknowledged("web1", 1_763_800_001_500_000_000, 2000, 250, 5000);
    metrics.record_clock("web1", -1_500_000, 80_000);
    metrics.host_connected("db1");
    metrics.host_disconnected("db1");
    metrics.record_refused("tls");
    metrics.record_refused("tls");
    metrics.record_not_stored("disk");
    metrics.record_misnamed();

    let (samples, kinds) = parse(&metrics.render_text());
    let of = |name: &str, host: &str| {
        samples.get(&format!("sockcap_collector_host_{name}{{host=\"{host}\"}}")).copied()
    };
    assert_eq!((of("connected", "web1"), of("connected", "db1")), (Some(1.0), Some(0.0)));
    assert_eq!(of("last_acknowledgement_timestamp_seconds", "web1"), Some(1_763_800_001.5));
    assert_eq!(of("left_bytes", "web1"), Some(5000.0));
    let total = |name: &str| samples.get(&format!("sockcap_collector_{name}")).copied();
    assert_eq!(of("stored_bytes_total", "web1"), Some(3000.0));
    assert_eq!(of("received_bytes_total", "web1"), Some(350.0));
    assert_eq!((of("files", "web1"), of("used_bytes", "web1")), (Some(3.0), Some(4096.0)));
    assert_eq!(of("quota_bytes", "db1"), Some(5000.0));
    assert_eq!(of("clock_offset_seconds", "web1"), Some(-0.0015));
    assert_eq!(of("clock_round_trip_seconds", "web1"), Some(0.00008));
    // Unknown figures are absent, rather than 0.
    for unknown in [
        "last_acknowledgement_timestamp_seconds",
        "left_bytes",
        "clock_offset_seconds",
        "clock_round_trip_seconds",
    ] {
        assert_eq!(of(unknown, "db1"), None, "{unknown}");
    }
    assert_eq!(total("connections"), Some(1.0));
    assert_eq!(total("refused_connections_total{cause=\"tls\"}"), Some(2.0));
    assert_eq!(
        total("refused_connections_total{cause=\"slow\"}"),
        Some(0.0),
        "there from the beginning"
    );
    assert_eq!(total("not_stored_total{shortage=\"disk\"}"), Some(1.0));
    assert_eq!((total("untold_total"), total("misnamed_logs_total")), (Some(0.0), Some(1.0)));
    assert_eq!(kinds.values().filter(|kind| *kind == "counter").count(), 6);
    assert_eq!(kinds.len(), 15);
}

#[test]
fn the_table_has_the_same_figures() {
    let metrics = metrics();
    metrics.host_connected("web1");
    metrics.record_acknowledged("web1", 5, 10, 2, 30);
    metrics.set_stored("web1", 1, 12);
    metrics.record_clock("web1", 7, 8);
    metrics.host_connected("a");
    let web1 = HostFigures {
        host: "web1".into(),
        connections: 1,
        acknowledged: Some(5),
        left: Some(30),
        stored: 10,
        received: 2,
        files: 1,
        used: 12,
        quota: Some(5000),
        clock_offset: Some(7),
        round_trip: Some(8),
    };
    let hosts = metrics.host_figures();
    assert_eq!(hosts.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["a", "web1"]);
    assert_eq!(hosts[1], web1);
    assert_eq!(metrics.totals().connections, 2);
}

#[test]
fn a_connection_that_is_replaced_does_not_make_its_host_absent() {
    let metrics = metrics();
    metrics.host_connected("web1");
    metrics.host_connected("web1");
    metrics.host_disconnected("web1");
    assert_eq!((metrics.host_figures()[0].connections, metrics.totals().connections), (1, 1));
}

#[test]
fn a_new_collector_has_all_counters() {
    let (samples, _) = parse(&CollectorMetrics::new(None, &["tls"], &["disk"]).render_text());
    assert_eq!(samples.len(), 5, "{samples:?}");
    assert!(samples.values().all(|value| *value == 0.0));
    let metrics = CollectorMetrics::new(None, &[], &[]);
    metrics.host_connected("web1");
    assert!(!metrics.render_text().contains("quota_bytes{"), "none, as there is no quota");
}

#[test]
fn hosts_beyond_the_limit_are_only_counted() {
    let metrics = metrics();
    for host in 0..MAX_HOSTS_WITH_FIGURES {
        metrics.host_connected(&format!("host{host}"));
    }
    metrics.host_connected("one-more");
    metrics.host_disconnected("one-more");
    metrics.record_clock("host0", 1, 1);
    assert_eq!(
        (metrics.host_figures().len(), metrics.totals().untold),
        (MAX_HOSTS_WITH_FIGURES, 2)
    );
    assert_eq!(metrics.totals().connections, MAX_HOSTS_WITH_FIGURES as u64);
    let (samples, _) = parse(&metrics.render_text());
    assert_eq!(samples["sockcap_collector_untold_total"], 2.0);
    assert!(!samples.keys().any(|name| name.contains("one-more")));
}
