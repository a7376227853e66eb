//! Prints the modules of each crate, dependencies between them, and cycles.
//!
//! `cargo run -p architecture --example dependencies -- analyze/src report/src`, with `-v` for the
//! dependencies that make each cycle.

use std::path::Path;

fn main() -> Result<(), architecture::SourceError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().any(|argument| argument == "-v");
    for src in arguments.iter().filter(|argument| *argument != "-v") {
        let sources = architecture::CrateSources::read_crate(Path::new(src))?;
        let dependencies = sources.module_dependencies();
        let mut pairs: Vec<_> =
            dependencies.iter().map(|dependency| (&dependency.from, &dependency.to)).collect();
        pairs.dedup();
        let (files, folders) = (sources.file_cycles(), sources.folder_cycles());
        let sizes = |cycles: &[Vec<Vec<String>>]| {
            cycles.iter().map(|cycle| cycle.len().to_string()).collect::<Vec<_>>().join(" ")
        };
        println!(
            "{src}: {} modules, {} dependencies; cycles of files [{}], of folders [{}]",
            sources.modules.len(),
            pairs.len(),
            sizes(&files),
            sizes(&folders)
        );
        if verbose {
            for cycle in folders.iter().chain(&files) {
                println!("  cycle of {}:", cycle.len());
                for dependency in &dependencies {
                    let in_it =
                        |path: &Vec<String>| cycle.iter().find(|folder| path.starts_with(folder));
                    if let (Some(from), Some(to)) = (in_it(&dependency.from), in_it(&dependency.to))
                        && from != to
                    {
                        println!(
                            "    {} -> {} ({})",
                            dependency.from.join("::"),
                            dependency.to.join("::"),
                            dependency.name
                        );
                    }
                }
            }
        }
    }
    Ok(())
}
