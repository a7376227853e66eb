//! Prints the patch sites of a program: `cargo run -p injector --example sites -- PROGRAM [-v]`.

use std::collections::BTreeMap;

use injector::patching::{ElfImage, PatchKind, UnpatchedReason, plan_patches};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: sites PROGRAM [-v]")?;
    let is_wordy = arguments.next().is_some();
    let file = std::fs::read(path)?;
    let begin = std::time::Instant::now();
    let image = ElfImage::parse(&file)?;
    let parsed = begin.elapsed();
    let plan = plan_patches(&image)?;
    let whole = begin.elapsed();
    let mut kinds = BTreeMap::new();
    for site in &plan.sites {
        *kinds.entry(format!("{:?}", site.kind)).or_insert(0) += 1;
        if is_wordy && site.kind != PatchKind::Unpatched(UnpatchedReason::Unwanted) {
            println!("{:#x} {:?} {:?} {:?}", site.address, site.kind, site.runtime, site.numbers);
        }
    }
    println!("{:?} {:?} {kinds:?}", plan.load, plan.go_version);
    println!("parsed in {parsed:?}, surveyed in {whole:?}");
    Ok(())
}
