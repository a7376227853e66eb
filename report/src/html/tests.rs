//! The frame of the page: self-contained, safe, and with all data in it. `report/web/test` tests
//! the appearance and behaviour of the page in a browser.

use super::*;
use crate::page::PageBuilder;
use crate::{Options, TraceMeta, sample_reports};

fn written_page(report: &Report<'_>) -> String {
    let page = PageBuilder::new(report, &Options::default()).finish().unwrap();
    let mut out = Vec::new();
    HtmlWriter.write_page(report, &page, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The page without the program.
fn without_program(page: &str) -> String {
    let (start, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (data, _) = rest.rsplit_once("<script>").unwrap();
    format!("{start}{data}")
}

#[test]
fn the_page_loads_no_resources() {
    let page =
        written_page(&Report::new(&sample_reports::small_system(), sample_reports::sample_meta()));
    for loading in ["src=", "@import", "url(", "<iframe", "//cdn"] {
        assert!(!without_program(&page).contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'") && !without_program(&page).contains("connect-src"));
    let frame = HtmlWriter
        .page_frame(&Report::new(&sample_reports::small_system(), sample_reports::sample_meta()));
    assert!(frame.contains("connect-src 'self'") && !frame.contains("id=\"overview\""));
}

#[test]
fn names_are_text() {
    let patterns = sample_reports::small_system();
    let meta = TraceMeta {
        source: "<script>alert(3)</script>".to_owned(),
        ..sample_reports::sample_meta()
    };
    let page = written_page(&Report::new(&patterns, meta));
    assert!(page.contains("&lt;script&gt;alert(3)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn the_data_is_read_back() {
    use std::io::Read;
    let patterns = sample_reports::many_patterns(150);
    let report = Report::new(&patterns, sample_reports::sample_meta());
    let page = PageBuilder::new(&report, &Options::default()).finish().unwrap();
    assert_eq!((&page.contexts, &page.workload), (&None, &None));
    // Without resources a page has no additional data.
    assert!(!String::from_utf8_lossy(&page.overview).contains("workload"));
    let (contexts, workload) = (Some(b"{}"[..].into()), Some(b"[]"[..].into()));
    let page = crate::page::PageData { contexts, workload, ..page };
    let mut out = Vec::new();
    HtmlWriter.write_page(&report, &page, &mut out).unwrap();
    let written = String::from_utf8(out).unwrap();
    let piece = |name: &str| {
        let start = format!("id=\"{name}\">");
        let (_, rest) = written.split_once(&start).unwrap_or_else(|| panic!("{name}"));
        let bytes = STANDARD.decode(rest.split_once('<').unwrap().0).unwrap();
        let mut json = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut json).unwrap();
        json
    };
    assert_eq!(piece("overview"), page.overview);
    assert_eq!((piece("contexts"), piece("workload")), (b"{}".to_vec(), b"[]".to_vec()));
    assert_eq!(page.details.len(), 3);
    for (group, details) in page.details.iter().enumerate() {
        assert_eq!(piece(&format!("details-{group}")), **details);
    }
}

#[test]
fn clocks_have_a_table_and_a_drawing_each() {
    let page =
        written_page(&Report::new(&sample_reports::small_system(), sample_reports::sample_meta()));
    let section =
        page.split("<section class=\"clocks\"").nth(1).unwrap().split("</section>").next().unwrap();
    let number = |what: &str| section.matches(what).count();
    assert_eq!(number("<th scope=\"row\">"), 5);
    // There is one plot with all clocks with messages, and each of these clocks has a plot of its
    // own.
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
    let clocks = sample_reports::sample_clocks();
    let known: Vec<_> = clocks.iter().enumerate().skip(2).take(1).collect();
    let begin = clocks[0].at;
    let drift = clock_plot::DriftPlot { clocks: &known, begin, end: begin + 12_000_000_000 };
    // 4 s at -12.5 ppm, 4 s at -12.4, 4 s at 80: -50 us, -99.6 us, 220.4 us.
    let line: Vec<i64> =
        drift.offset_line(&clocks[2]).iter().map(|(_, value)| value.round() as i64).collect();
    assert_eq!(line, [0, -50_000, -99_600, 220_400]);
}

#[test]
fn one_clock_has_no_section() {
    let one = sample_reports::sample_clocks().into_iter().take(1).collect();
    let patterns = sample_reports::small_system();
    let report = Report::new(&patterns, TraceMeta { clocks: one, ..sample_reports::sample_meta() });
    assert!(!written_page(&report).contains("class=\"clocks\""));
}

#[test]
fn a_comparison_loads_nothing_and_its_names_are_text() {
    let names = ["<script>alert(4)</script>", "after\u{1b}[2J"].map(str::to_owned);
    let details = vec![b"[1]".to_vec(), b"[2]".to_vec()];
    let page = ComparisonPage { names, mutations: 65, overview: b"{}".to_vec(), details };
    let mut out = Vec::new();
    HtmlWriter.write_comparison(&page, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let frame = without_program(&page);
    for loading in ["src=", "@import", "url(", "<iframe", "connect-src"] {
        assert!(!frame.contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("65 mutations"));
    assert!(page.contains("&lt;script&gt;alert(4)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'));
    for piece in ["comparison", "details-0", "details-1"] {
        assert_eq!(page.matches(&format!("id=\"{piece}\">")).count(), 1, "{piece}");
    }
}
