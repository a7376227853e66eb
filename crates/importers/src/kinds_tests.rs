//! Tests of every importer on damaged files.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

/// Mutates a file: some bytes are changed, removed or duplicated.
fn mutated(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = whole.len();
    let change = (0..length, 0..length, any::<u8>(), 0u8..6);
    proptest::collection::vec(change, 0..6).prop_map(move |changes| {
        let mut bytes = whole.clone();
        for (a, b, byte, kind) in changes {
            let (a, b) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
            match kind {
                0 => bytes.truncate(b),
                1 => drop(bytes.drain(a..b)),
                2 => bytes.extend_from_within(a..b),
                3 => bytes.insert(a, byte),
                4 => bytes.insert(a, b"\",\n\r. 9-"[usize::from(byte) % 8]),
                _ => bytes.iter_mut().skip(a).take(1).for_each(|changed| *changed = byte),
            }
        }
        bytes
    })
}

/// Runs every importer on files that `damaged` makes from its samples.
fn all<S: Strategy<Value = Vec<u8>>>(damaged: impl Fn(Vec<u8>) -> S) {
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    for kind in IMPORTERS {
        for sample in (kind.samples)() {
            let import = |bytes: Vec<u8>| {
                (kind.fuzz)(&bytes);
                Ok(())
            };
            TestRunner::new(config.clone()).run(&damaged(sample), import).unwrap();
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn registry_entries_are_complete() {
    assert_eq!(registry::registry_faults(IMPORTERS), Vec::<String>::new());
    for kind in IMPORTERS {
        assert!(!(kind.samples)().is_empty(), "{kind:?} has no sample");
        let (flags, given) = (kind.declared_flags(), kind.parse_flags(&[]).unwrap());
        assert!(flags.iter().all(|flag| flag.get_long() != Some("data")), "{kind:?}");
        assert!((kind.make)(&given).is_ok(), "{kind:?} reads flags that it does not declare");
    }
}

/// Writes the samples as fuzzing seeds of their importers, if `scripts/fuzz` asks for them.
#[test]
fn seeds_for_fuzzing() {
    for kind in IMPORTERS {
        for (number, seed) in (kind.samples)().into_iter().enumerate() {
            (kind.fuzz)(&seed);
            if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
                let directory = Path::new(&corpus).join(kind.about.name);
                std::fs::create_dir_all(&directory).unwrap();
                std::fs::write(directory.join(format!("seed-{number}")), seed).unwrap();
            }
        }
    }
}

#[test]
fn damaged_files() {
    all(mutated);
}

#[test]
fn damaged_gzip() {
    all(|sample| mutated(gzip(&sample)));
}

#[test]
fn damaged_zstd() {
    all(|sample| mutated(zstd::encode_all(sample.as_slice(), 0).unwrap()));
}

#[test]
fn damaged_xz() {
    all(|sample| mutated(xz(&sample)));
}

#[test]
fn any_bytes() {
    all(|_| proptest::collection::vec(any::<u8>(), 0..200));
}
