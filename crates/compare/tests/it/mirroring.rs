//! Invariants: a trace compared with itself, the order of the sides, names, the order of rows, and
//! the memory budget do not matter.

use compare::{Comparison, Options, Period, compare_periods};
use proptest::prelude::*;

use crate::support::{MS, TestWorld, WorldTables, compare_worlds};

/// All findings, with names in place of numbers, so that two comparisons can be compared.
fn findings_in_words(comparison: &Comparison, prefix: &str) -> Vec<String> {
    let name = |number| comparison.names.name_of(number).trim_start_matches(prefix).to_owned();
    let mut all: Vec<String> = comparison
        .evidence
        .iter()
        .map(|of| {
            let site = [of.site.caller, of.site.calling, of.site.node, of.site.operation].map(name);
            let kind = match of.kind {
                compare::suspects::EvidenceKind::Calls(_) => "calls".to_owned(),
                ref kind => format!("{kind:?}"),
            };
            format!("{site:?} {kind} {:.3?} {:.3e} {:.3e}", of.values, of.weight, of.adjusted)
        })
        .collect();
    all.sort();
    let suspects = |list: &[compare::suspects::SuspectNode]| -> Vec<String> {
        list.iter().map(|of| format!("{} {:.6}", name(of.node), of.weight)).collect()
    };
    all.extend(suspects(&comparison.suspects));
    all.extend(suspects(&comparison.faster));
    let mut mutations: Vec<String> = comparison
        .mutations
        .iter()
        .map(|of| {
            let category = &comparison.categories[of.category];
            let places = category.structure.places.len();
            format!("{places} {:.0} {:.3e}", of.contribution, of.adjusted)
        })
        .collect();
    mutations.sort();
    all.extend(mutations);
    all
}

fn worlds() -> impl Strategy<Value = (TestWorld, TestWorld)> {
    let one = (0_u64..1_000, 30_u64..400, 1_i64..8, 20_u64..95, 0_u64..20);
    let world = one.prop_map(|(seed, requests, cart, cached, failing)| TestWorld {
        seed,
        requests,
        cart: cart * MS / 2,
        cached,
        failing,
        ..TestWorld::WELL
    });
    (world.clone(), world)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_trace_with_itself_has_no_change((world, _) in worlds()) {
        let same = compare_worlds(world, world);
        prop_assert!(!same.is_changed, "{:?}", findings_in_words(&same, ""));
        let shares = compare::shares::shares_of_mean(&same.categories, &same.kinds);
        prop_assert!(shares.total.abs() < 1e-6);
    }

    #[test]
    fn swapped_sides_mirror_the_result((before, after) in worlds()) {
        let [there, back] = [compare_worlds(before, after), compare_worlds(after, before)];
        let mut one: Vec<(String, [i64; 2])> = Vec::new();
        let mut other = one.clone();
        for (comparison, list, mirrored) in [(&there, &mut one, false), (&back, &mut other, true)] {
            for of in &comparison.evidence {
                let names = [of.site.caller, of.site.node, of.site.operation];
                let names = names.map(|name| comparison.names.name_of(name).to_owned());
                // Shares of calls belong to the heaviest pattern, which may be another.
                let values = match of.kind {
                    compare::suspects::EvidenceKind::Calls(_) => [0.0; 2],
                    _ => of.values,
                };
                let mut values = values.map(|value| (value * 1e3).round() as i64);
                if mirrored {
                    values.reverse();
                }
                list.push((format!("{names:?} {:?}", std::mem::discriminant(&of.kind)), values));
            }
            list.sort();
        }
        prop_assert_eq!(one, other);
        prop_assert_eq!(there.overall.is_changed, back.overall.is_changed);
        let names = |comparison: &Comparison, worse: bool| -> Vec<String> {
            let list = if worse { &comparison.suspects } else { &comparison.faster };
            list.iter().map(|of| comparison.names.name_of(of.node).to_owned()).collect()
        };
        prop_assert_eq!(names(&there, true), names(&back, false));
        prop_assert_eq!(names(&there, false), names(&back, true));
    }

    #[test]
    fn names_and_the_order_of_rows_do_not_matter((before, after) in worlds()) {
        let plain = findings_in_words(&compare_worlds(before, after), "");
        let renamed = |world: TestWorld| TestWorld { prefix: "zz-", ..world };
        prop_assert_eq!(&findings_in_words(&compare_worlds(renamed(before), renamed(after)), "zz-"), &plain);
        let reversed = |world: TestWorld| TestWorld { reversed: true, ..world };
        prop_assert_eq!(&findings_in_words(&compare_worlds(reversed(before), reversed(after)), ""), &plain);
    }
}

#[test]
fn memory_does_not_matter() {
    let worlds = WorldTables::new(
        TestWorld::WELL,
        TestWorld { cart: 3 * MS, cached: 40, ..TestWorld::WELL.again() },
    );
    let periods = worlds.tables.each_ref().map(Period::from_tables);
    let directory = tempfile::tempdir().unwrap();
    let with = |memory| {
        let options = Options::default();
        findings_in_words(
            &compare_periods(periods.each_ref(), &options, memory, directory.path(), &()).unwrap(),
            "",
        )
    };
    assert_eq!(with(0), with(1 << 26));
    assert!(!with(0).is_empty());
}
