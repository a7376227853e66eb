//! Tables of delays, compared with reviewed files.

use crate::{DelayReport, DelaysBy, Options, SortKey, TerminalWriter, TraceMeta, sample_reports};
use test_support::assert_golden;
use test_support::golden::assert_fits;

fn written_text(table: &DelaysBy, meta: TraceMeta, options: &Options) -> String {
    let mut out = Vec::new();
    TerminalWriter.write_delays(&DelayReport { table, meta }, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn nodes() {
    let (nodes, _) = sample_reports::sample_delays();
    let text = written_text(
        &nodes,
        sample_reports::sample_meta(),
        &Options { width: 120, ..Options::default() },
    );
    assert_fits(&text, 120);
    assert_golden!("nodes.txt", &text);
}

#[test]
fn hops_by_mean() {
    let (_, hops) = sample_reports::sample_delays();
    let options = Options { width: 100, sort: SortKey::Mean, limit: Some(3), ..Options::default() };
    let text = written_text(&hops, sample_reports::sample_meta(), &options);
    assert_fits(&text, 100);
    assert_golden!("hops.txt", &text);
}

#[test]
fn on_a_narrow_screen_in_ascii() {
    let (nodes, hops) = sample_reports::sample_delays();
    let options = Options { width: 60, unicode: false, ..Options::default() };
    let text = [&nodes, &hops]
        .map(|table| written_text(table, sample_reports::sample_meta(), &options))
        .concat();
    assert_fits(&text, 60);
    assert!(text.is_ascii(), "{text}");
    assert_golden!("delays-ascii.txt", &text);
    for width in [40, 47, 53, 71, 80, 90, 200] {
        for table in [&nodes, &hops] {
            assert_fits(
                &written_text(
                    table,
                    sample_reports::sample_meta(),
                    &Options { width, ..Options::default() },
                ),
                width,
            );
        }
    }
}

#[test]
fn colour_changes_nothing_else() {
    let (nodes, _) = sample_reports::sample_delays();
    let plain = written_text(&nodes, sample_reports::sample_meta(), &Options::default());
    let mut coloured = written_text(
        &nodes,
        sample_reports::sample_meta(),
        &Options { color: true, ..Options::default() },
    );
    assert!(coloured.contains('\u{1b}'));
    while let Some(start) = coloured.find('\u{1b}') {
        let end = start + coloured[start..].find('m').unwrap();
        coloured.replace_range(start..=end, "");
    }
    assert_eq!(coloured, plain);
}

#[test]
fn each_key_ranks_and_unmeasured_rows_come_last() {
    let (_, hops) = sample_reports::sample_delays();
    let first = |sort| {
        let text = written_text(
            &hops,
            sample_reports::sample_meta(),
            &Options { sort, ..Options::default() },
        );
        let lines: Vec<String> =
            text.lines().skip_while(|line| !line.starts_with("hop")).map(str::to_owned).collect();
        (lines[1].clone(), lines[4].clone())
    };
    for sort in [SortKey::Total, SortKey::Mean, SortKey::P99] {
        let (first, last) = first(sort);
        assert!(
            first.starts_with("shop.py:18081 → nginx") && last.contains("10.0.0.2:53 udp"),
            "{first} {last}"
        );
    }
    assert!(
        first(SortKey::Count).0.starts_with("nginx → shop.py:18081"),
        "equal ones stay in order"
    );
}

#[test]
fn nothing_found() {
    let table = analyze::paths::DelayTable {
        rows: Vec::new(),
        instances: 0,
        expected: 0.0,
        total_time: 0.0,
    };
    let text = written_text(&DelaysBy::Node(table), TraceMeta::default(), &Options::default());
    assert!(text.contains("No path was found."), "{text}");
}
