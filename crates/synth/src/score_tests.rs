//! The whole score, of hand-written calls.

use super::*;

/// Two roots with their calls swapped, and one that is right.
fn swapped_calls() -> ScoredCalls {
    let mut scored = ScoredCalls::from_rows(&[
        ("c", "a", None, None, 1.0),
        ("c", "a", None, None, 1.0),
        ("a", "b", Some(0), Some(1), 0.55),
        ("a", "b", Some(1), Some(0), 0.55),
        ("c", "a", None, None, 1.0),
        ("a", "b", Some(4), Some(4), 0.95),
    ]);
    scored.candidates[2] = vec![(Some(1), 0.55), (Some(0), 0.45)];
    scored.candidates[3] = vec![(Some(0), 0.55), (Some(1), 0.45)];
    scored
}

#[test]
fn the_score_of_hand_written_calls() {
    let score = LinkScore::from_calls(&swapped_calls(), &());
    assert_eq!((score.population.calls, score.population.roots), (6, 3));
    assert_eq!(score.links.link_accuracy, Some(1.0 / 3.0));
    assert_eq!(score.links.trace_accuracy, Some(1.0 / 3.0));
    // Both trees become right when both calls are assigned to their second candidates, which is the
    // fourth tree.
    assert_eq!(score.top5_trace_accuracy, Some(1.0));
    // All three links are the 90% of three, rounded up.
    assert_eq!(score.confidence.precision_at_90_coverage, Some(1.0 / 3.0));
    // Two links at 0.55 that are wrong and one at 0.95 that is right.
    assert!((score.confidence.calibration_error.unwrap() - (1.1 + 0.05) / 3.0).abs() < 1e-12);
    assert_eq!(score.paths.instances.false_negatives, 0);
    assert_eq!((score.top_n_omission.len(), score.top_n_omission[0].omitted), (1, 0));
}

#[test]
fn roots_with_an_inferred_parent_are_counted() {
    let scored =
        ScoredCalls::from_rows(&[("c", "a", None, None, 1.0), ("a", "b", None, Some(0), 0.9)]);
    let score = LinkScore::from_calls(&scored, &());
    assert_eq!((score.population.roots, score.population.roots_with_a_parent), (2, 1));
    assert_eq!((score.links.links, score.links.link_accuracy), (0, None));
}

#[test]
fn the_table_and_json_have_every_measure() {
    let score = LinkScore::from_calls(&swapped_calls(), &());
    let text = score.to_string();
    for line in [
        "links                             33.33%  3 links",
        "traces, top 5",
        "precision at 90% coverage",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&score.to_json().unwrap()).unwrap();
    for name in [
        "link_accuracy",
        "ambiguous_link_accuracy",
        "request_accuracy",
        "trace_accuracy",
        "top5_trace_accuracy",
        "precision_at_90_coverage",
        "calibration_error",
    ] {
        assert!(json.get(name).is_some(), "{name}: {json}");
    }
    assert_eq!(json["paths"]["messages"]["real"], 6);
    assert_eq!(json["reliability"].as_array().map(Vec::len), Some(10));
}
