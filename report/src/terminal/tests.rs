//! The terminal output as a whole, compared with reviewed files.

use analyze::paths::{CallOutcomes, PathFilter};

use super::*;
use crate::{AppliedFilter, SortKey, TraceMeta, sample_reports};
use test_support::assert_golden;
use test_support::golden::assert_fits;

fn written_text(patterns: &[PathPattern], meta: TraceMeta, options: &Options) -> String {
    let mut out = Vec::new();
    TerminalWriter.write_report(&Report::new(patterns, meta), options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn wide() {
    let text = written_text(
        &sample_reports::small_system(),
        sample_reports::sample_meta(),
        &Options { width: 120, ..Options::default() },
    );
    assert_fits(&text, 120);
    assert_golden!("wide.txt", &text);
}

#[test]
fn eighty_columns_by_count() {
    let options = Options { width: 80, sort: SortKey::Count, limit: Some(3), ..Options::default() };
    let text =
        written_text(&sample_reports::small_system(), sample_reports::sample_meta(), &options);
    assert_fits(&text, 80);
    assert_golden!("eighty.txt", &text);
}

#[test]
fn narrow_and_ascii() {
    let options = Options { width: 60, unicode: false, ..Options::default() };
    let text =
        written_text(&sample_reports::small_system()[..3], sample_reports::sample_meta(), &options);
    assert_fits(&text, 60);
    assert!(text.is_ascii(), "{text}");
    assert_golden!("ascii.txt", &text);
}

#[test]
fn noticeable_connection_times_have_columns() {
    let patterns = [sample_reports::connecting_pattern(), sample_reports::cached_pattern()];
    for width in [120, 80, 60] {
        let text = written_text(
            &patterns,
            sample_reports::sample_meta(),
            &Options { width, fold: false, ..Options::default() },
        );
        assert_fits(&text, width);
        assert!(text.lines().any(|line| line.contains("connect   in share")), "{text}");
    }
    let text = written_text(
        &patterns,
        sample_reports::sample_meta(),
        &Options { width: 120, fold: false, ..Options::default() },
    );
    assert_golden!("connecting.txt", &text);
    let mut hardly = sample_reports::connecting_pattern();
    hardly.hops[2].connect.as_mut().unwrap().share = 0.0001;
    let text = written_text(&[hardly], sample_reports::sample_meta(), &Options::default());
    assert!(!text.contains("connect"), "{text}");
}

#[test]
fn operations_have_a_table_with_the_most_errors_first() {
    for width in [100, 60, 40] {
        let options = Options { width, unicode: width > 40, ..Options::default() };
        let text = written_text(
            &sample_reports::patterns_with_operations(),
            sample_reports::sample_meta(),
            &options,
        );
        assert_fits(&text, width);
        assert!(text.is_ascii() == (width == 40), "{text}");
    }
    let text = written_text(
        &sample_reports::patterns_with_operations(),
        sample_reports::sample_meta(),
        &Options::default(),
    );
    assert_golden!("operations.txt", &text);
    let options = Options { limit: Some(1), ..Options::default() };
    let text = written_text(
        &sample_reports::patterns_with_operations(),
        sample_reports::sample_meta(),
        &options,
    );
    assert!(
        text.contains("redis-server GET ") && text.contains("3 operations not shown"),
        "{text}"
    );
    let text = written_text(
        &sample_reports::small_system(),
        sample_reports::sample_meta(),
        &Options::default(),
    );
    assert!(!text.contains("operation"), "{text}");
}

#[test]
fn coloured() {
    let options = Options { color: true, limit: Some(2), ..Options::default() };
    let text =
        written_text(&sample_reports::small_system(), sample_reports::sample_meta(), &options);
    assert_golden!("colour.txt", &text);
}

#[test]
fn colour_changes_nothing_else() {
    let plain = written_text(
        &sample_reports::small_system(),
        sample_reports::sample_meta(),
        &Options::default(),
    );
    let mut coloured = written_text(
        &sample_reports::small_system(),
        sample_reports::sample_meta(),
        &Options { color: true, ..Options::default() },
    );
    while let Some(start) = coloured.find('\u{1b}') {
        let end = start + coloured[start..].find('m').unwrap();
        coloured.replace_range(start..=end, "");
    }
    assert_eq!(coloured, plain);
}

#[test]
fn composite_metrics_are_shown_when_they_rank() {
    let written = |sort| {
        written_text(
            &sample_reports::small_system(),
            sample_reports::sample_meta(),
            &Options { sort, ..Options::default() },
        )
    };
    assert!(written(SortKey::Confidence).contains("confidence 96.2%"));
    assert!(written(SortKey::Evidence).contains("evidence 14.01"));
    assert!(!written(SortKey::Total).contains("confidence"));
}

#[test]
fn nothing_found() {
    let text = written_text(
        &[],
        TraceMeta { source: "empty.data".to_owned(), ..TraceMeta::default() },
        &Options::default(),
    );
    assert_golden!("empty.txt", &text);
}

#[test]
fn long_and_deep_patterns_fit() {
    let patterns = [sample_reports::pipeline_pattern(0, 400), sample_reports::hostile_pattern()];
    for width in [40, 60, 79, 80, 81, 100, 133, 300] {
        assert_fits(
            &written_text(
                &patterns,
                sample_reports::sample_meta(),
                &Options { width, ..Options::default() },
            ),
            width,
        );
    }
}

#[test]
fn patterns_with_the_same_hops_are_one_line() {
    let patterns = [
        sample_reports::cached_pattern(),
        sample_reports::forked_pattern(),
        sample_reports::connecting_pattern(),
    ];
    for width in [120, 80, 60] {
        let text = written_text(
            &patterns,
            sample_reports::sample_meta(),
            &Options { width, ..Options::default() },
        );
        assert_fits(&text, width);
        let heads = |line: &&str| line.starts_with('#');
        assert_eq!(text.lines().filter(heads).count(), 2, "{text}");
        assert!(text.contains("with 1 alike (--alike 0)") && text.contains("424 seen"), "{text}");
        assert!(!text.contains("not shown"), "{text}");
    }
}

#[test]
fn many_patterns() {
    let options = Options { limit: Some(20), fold: false, ..Options::default() };
    let text = written_text(
        &sample_reports::many_patterns(10_000),
        sample_reports::sample_meta(),
        &options,
    );
    assert!(text.contains("9,980 patterns not shown"));
    assert_fits(&text, 100);
}

#[test]
fn errors_have_a_column_if_there_are_any() {
    let mut patterns = sample_reports::small_system();
    let ended = |errors, error_share| Some(CallOutcomes { answers: 212, errors, error_share });
    patterns[0].hops[0].operation = Some("GET /cart/{}".to_owned());
    (patterns[0].hops[5].outcomes, patterns[0].hops[3].outcomes) = (ended(0, 0.0), ended(0, 0.0));
    let text = written_text(&patterns, sample_reports::sample_meta(), &Options::default());
    let trees = text.split("\noperation ").next().unwrap();
    assert!(text.contains("nginx:8080 GET /cart/{}") && !trees.contains("errors"), "{text}");
    patterns[0].hops[5].outcomes = ended(53, 0.25);
    let text = written_text(&patterns, sample_reports::sample_meta(), &Options::default());
    let trees = text.split("\noperation ").next().unwrap();
    assert!(trees.contains(" errors ") && trees.contains(" 25% "), "{text}");
    assert_fits(&text, 100);
}

#[test]
fn a_filtered_report_shows_its_filter_at_the_top() {
    let filter = PathFilter {
        through: vec!["app".into(), "a\u{1b}[31mb".into()],
        from: Some(2_000_000_000),
        to: Some(3_500_000_000),
        min_confidence: Some(0.5),
        ..PathFilter::default()
    };
    let filtered =
        AppliedFilter { filter, begin: 1_000_000_000, of_patterns: 1_340, of_instances: 60_000 };
    let meta = TraceMeta { filtered: Some(filtered), ..sample_reports::sample_meta() };
    let options = Options { width: 80, ..Options::default() };
    let text = written_text(&sample_reports::small_system()[..1], meta.clone(), &options);
    assert_fits(&text, 80);
    assert_golden!("filtered.txt", &text);
    let nothing = written_text(&[], meta, &options);
    assert!(nothing.contains("No path matches the filter."), "{nothing}");
}

#[test]
fn patterns_are_shown_with_their_numbers() {
    let options = Options { sort: SortKey::Count, ..Options::default() };
    let text =
        written_text(&sample_reports::small_system(), sample_reports::sample_meta(), &options);
    let numbers: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix('#')?.split(' ').next()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
    let text = written_text(
        &sample_reports::small_system(),
        sample_reports::sample_meta(),
        &Options { sort: SortKey::Mean, ..options },
    );
    assert!(text.contains("\n#1  76.0% of time"), "{text}");
}
