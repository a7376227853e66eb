//! Prints of each crate: its modules, arrows between them, and circles.
//!
//! `cargo run -p house --example arrows -- analyze/src report/src`, with `-v` for what makes each
//! circle.

use std::path::Path;

fn main() -> Result<(), house::Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().any(|argument| argument == "-v");
    for src in arguments.iter().filter(|argument| *argument != "-v") {
        let house = house::Crate::read(Path::new(src))?;
        let arrows = house.arrows();
        let mut pairs: Vec<_> = arrows.iter().map(|arrow| (&arrow.from, &arrow.to)).collect();
        pairs.dedup();
        let (files, rooms) = (house.circles(), house.circles_of_rooms());
        let sizes = |circles: &[Vec<Vec<String>>]| {
            circles.iter().map(|circle| circle.len().to_string()).collect::<Vec<_>>().join(" ")
        };
        println!(
            "{src}: {} modules, {} arrows; circles of files [{}], of rooms [{}]",
            house.modules.len(),
            pairs.len(),
            sizes(&files),
            sizes(&rooms)
        );
        if verbose {
            for circle in rooms.iter().chain(&files) {
                println!("  circle of {}:", circle.len());
                for arrow in &arrows {
                    let in_it =
                        |path: &Vec<String>| circle.iter().find(|room| path.starts_with(room));
                    if let (Some(from), Some(to)) = (in_it(&arrow.from), in_it(&arrow.to))
                        && from != to
                    {
                        println!(
                            "    {} -> {} ({})",
                            arrow.from.join("::"),
                            arrow.to.join("::"),
                            arrow.name
                        );
                    }
                }
            }
        }
    }
    Ok(())
}
