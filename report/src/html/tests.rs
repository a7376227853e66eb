//! The page as a whole: well-formed, self-contained, safe, and of a size that a browser takes.

use super::*;
use crate::{Meta, samples};

fn written(patterns: &[PathPattern], options: &Options) -> String {
    let mut out = Vec::new();
    Html.write(&Report { patterns, meta: samples::meta() }, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Every tag is closed in order, every attribute quoted, every id unique.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "input", "br"];
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut ids = HashSet::new();
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let (is_end, tag) = rest.strip_prefix('/').map_or((false, rest), |tag| (true, tag));
        let name_end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
        let name = &tag[..name_end];
        assert!(!name.is_empty(), "a bare <: {}", &rest[..rest.len().min(60)]);
        let mut attributes = &tag[name_end..];
        let mut names = HashSet::new();
        while !attributes.starts_with('>') {
            attributes = attributes.trim_start();
            let end = attributes.find(['=', '>', ' ']).unwrap();
            let attribute = &attributes[..end];
            attributes = &attributes[end..];
            assert!(names.insert(attribute), "{attribute} twice in <{name}");
            if let Some(value) = attributes.strip_prefix("=\"") {
                let end = value.find('"').unwrap();
                if attribute == "id" {
                    assert!(ids.insert(&value[..end]), "id {} twice", &value[..end]);
                }
                attributes = &value[end + 1..];
            } else {
                assert!(!attributes.starts_with('='), "unquoted: {attribute}");
            }
        }
        rest = &attributes[1..];
        if is_end {
            assert_eq!(open.pop(), Some(name));
        } else if !VOID.contains(&name) {
            open.push(name);
            if name == "script" || name == "style" {
                rest = &rest[rest.find(&format!("</{name}")).unwrap()..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn pages_are_well_formed() {
    assert_well_formed(&written(&samples::some(), &Options::default()));
    assert_well_formed(&written(&[], &Options::default()));
    assert_well_formed(&written(&samples::many(300), &Options { limit: Some(250), ..Options::default() }));
    assert_well_formed(&written(&[samples::pipeline(0, 900)], &Options::default()));
}

#[test]
fn nothing_is_loaded() {
    let page = written(&samples::some(), &Options::default());
    for loading in
        ["http:", "https:", "//cdn", "src=", "@import", "url(", "<link", "<iframe", "fetch(", "import("]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_are_text() {
    let page = written(&samples::some(), &Options::default());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains('\u{1b}'));
    // In the data, where entities mean nothing, it is escaped as JSON.
    let data = page.split("type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!data.contains(['<', '>', '&']));
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let hostile = data["rows"].as_array().unwrap().last().unwrap();
    assert!(hostile["route"].as_str().unwrap().contains("<script>alert(1)</script>"));
}

#[test]
fn each_pattern_has_a_row_a_timeline_and_a_tree() {
    let patterns = samples::some();
    let page = written(&patterns, &Options::default());
    let number = |what: &str| page.matches(what).count();
    assert_eq!(number("<svg class=\"timeline\""), 4);
    assert_eq!(number("role=\"img\" aria-labelledby=\"p"), 4);
    assert_eq!(number("<table class=\"hops\">"), 4);
    assert_eq!(number("<th class=\"path\" scope=\"row\">"), 4);
    let hops: usize = patterns.iter().map(|pattern| pattern.hops.len()).sum();
    assert_eq!(number("<th scope=\"row\"><div class=\"branch\">"), hops);
    // One delay is critical in each.
    assert_eq!(number("<span class=\"badge\">critical</span>"), 4);
    assert!(page.contains("<b>14</b> messages without a receiver"));
    assert!(!page.contains("logs with a torn tail"));
}

#[test]
fn delays_are_labelled_in_milliseconds() {
    let page = written(&[samples::lookup()], &Options::default());
    let svg = page.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(svg.contains("<tspan class=\"who\">10.0.0.2</tspan> 2.20 ms"), "the diamond, in total");
    assert!(svg.contains("<tspan class=\"who\">app.py</tspan> 0.610 ms"));
    assert!(svg.contains(">0.0520 ms<"), "a network");
    assert!(svg.contains("<polygon"));
}

#[test]
fn ten_thousand_patterns_stay_usable() {
    let patterns = samples::many(10_000);
    let page = written(&patterns, &Options::default());
    let megabytes = page.len() as f64 / 1e6;
    assert!(megabytes < 9.0, "{megabytes} MB");
    let rows = page.matches("<th class=\"path\" scope=\"row\">").count();
    let cards = page.matches("<details class=\"card\"").count();
    assert_eq!(rows, STATIC_ROWS);
    assert!((DETAILS..=DETAILS + 7 * DETAILS_BY_OTHER_KEYS).contains(&cards), "{cards} cards");
    // Whatever they are sorted by, the first have a timeline.
    let data = page.split("type=\"application/json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10_000);
    // The rows are in the order of the ranking, and equal ones stay in it when the script sorts.
    let ranked = SortKey::Total.rank(&patterns);
    for key in SortKey::ALL {
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_by(|a, b| key.compare(ranked[*a], ranked[*b]));
        for row in &order[..DETAILS_BY_OTHER_KEYS] {
            assert!(rows[*row]["card"].is_number(), "by {key}, row {row}");
        }
    }
}

#[test]
fn long_patterns_are_bounded() {
    let page = written(&[samples::pipeline(0, 20_000), samples::cached()], &Options::default());
    assert!(page.len() < 12_000_000, "{}", page.len());
}

#[test]
fn a_pattern_without_delays_is_drawn() {
    let mut pattern = samples::cached();
    for hop in &mut pattern.hops {
        (hop.node, hop.network, hop.untraced) = (None, None, None);
    }
    pattern.duration = Default::default();
    (pattern.total_time, pattern.count, pattern.expected) = (0.0, 0, 0.0);
    let page =
        written(&[pattern, PathPattern { hops: Vec::new(), ..samples::cached() }], &Options::default());
    assert_well_formed(&page);
    assert!(!page.contains("NaN"));
}

#[test]
fn clocks_have_a_table_and_a_drawing_each() {
    let page = written(&samples::some(), &Options::default());
    let section = page.split("<section class=\"clocks\"").nth(1).unwrap().split("</section>").next().unwrap();
    let number = |what: &str| section.matches(what).count();
    assert_eq!(number("<th scope=\"row\">"), 5);
    // All that have messages in one, and each of them.
    assert_eq!(number("<polyline"), 3);
    assert_eq!(number("role=\"img\" aria-labelledby=\"clock"), 3);
    assert_eq!(number("<rect class=\"band\""), 2, "no band where nobody knows how far off it is");
    for text in [
        "+3 h 0 min 0.123457 s",
        "±46.2 µs",
        "+150.04 ppm",
        "±1.44",
        "set forward by 1.500000 s after 4.00 s ± 40.0 ms",
        "runs +80.00 ppm from then on after 8.00 s",
        "unknown",
        "messages in one direction: 20",
        "&lt;script&gt;alert(2)",
    ] {
        assert!(section.contains(text), "{text}");
    }
    assert!(!section.contains("NaN") && !section.contains("inf"), "a number is none");
}

#[test]
fn drift_is_added_up_between_steps() {
    let clocks = samples::clocks();
    let known: Vec<_> = clocks.iter().enumerate().skip(2).take(1).collect();
    let begin = clocks[0].at;
    let drift = clock_plot::Drift { clocks: &known, begin, end: begin + 12_000_000_000 };
    // 4 s at -12.5 ppm, 4 s at -12.4, 4 s at 80: -50 us, -99.6 us, 220.4 us.
    let line: Vec<i64> = drift.line(&clocks[2]).iter().map(|(_, value)| value.round() as i64).collect();
    assert_eq!(line, [0, -50_000, -99_600, 220_400]);
}

#[test]
fn one_clock_is_no_section() {
    let one = samples::clocks().into_iter().take(1).collect();
    let report = Report { patterns: &samples::some(), meta: Meta { clocks: one, ..samples::meta() } };
    let mut out = Vec::new();
    Html.write(&report, &Options::default(), &mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("class=\"clocks\""));
}

/// Writes the pages to look at into the directory `REPORT_PAGES`, if that is set.
#[test]
fn pages_to_look_at() {
    let Some(directory) = std::env::var_os("REPORT_PAGES") else {
        return;
    };
    let directory = std::path::Path::new(&directory);
    let mut tiny = samples::pipeline(5, 40);
    tiny.total_time = 1e6;
    let some: Vec<PathPattern> = samples::some().into_iter().chain([tiny]).collect();
    let pages = [("some", some), ("none", Vec::new()), ("many", samples::many(10_000))];
    for (name, patterns) in pages {
        std::fs::write(directory.join(format!("{name}.html")), written(&patterns, &Options::default()))
            .unwrap();
    }
    let empty = Report { patterns: &[], meta: Meta::default() };
    let mut out = std::fs::File::create(directory.join("blank.html")).unwrap();
    Html.write(&empty, &Options::default(), &mut out).unwrap();
}
