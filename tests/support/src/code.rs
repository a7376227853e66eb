//! Code of a running process, compared with the files that it was loaded from.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Files with code that differs in the memory of this process.
#[must_use]
pub fn changed_code(process: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut changed = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.contains(" /")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
        let (start, end) = words[0].split_once('-').unwrap();
        let length = (number(end) - number(start)) as usize;
        let (mut mapped, mut file) = (vec![0; length], vec![0; length]);
        memory.read_exact_at(&mut mapped, number(start)).unwrap();
        let path = PathBuf::from(words[5]);
        let read = File::open(&path).unwrap().read_at(&mut file, number(words[2])).unwrap();
        if mapped[..read] != file[..read] {
            changed.push(path);
        }
    }
    changed
}
