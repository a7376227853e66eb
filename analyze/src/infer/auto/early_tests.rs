//! Letters in a box, and a bell that announces them to a carrier.

use super::*;
use crate::fixture::Fixture;
use crate::infer::auto::tests::{MS, infer, lot, parents};

/// Counts how many of 300 letters that four clerks put into a box have their work below the clerk's
/// own request. A clerk rings once the letter has been in the box for a while. The carrier that is
/// rung for takes all letters in the box or, with `one_by_one`, only the letter of the ring.
fn count_early_work(one_by_one: bool) -> (usize, usize) {
    let mut fixture = Fixture::new();
    // Times at which a letter is put into the box, and its bell is heard.
    let mut letters: Vec<[i64; 3]> = (0..300)
        .map(|at| {
            let asked = 40 * MS * (at / 3) + at % 3 * (1 + lot(at, 12)) * MS / 4 + lot(at, 9000);
            [asked, asked + MS, asked + 4 * MS]
        })
        .collect();
    letters.sort_unstable();
    let mut sent: Vec<(i64, usize, u8)> = Vec::new();
    for (at, [asked, _, heard]) in letters.iter().enumerate() {
        sent.extend([(*asked, at, 0), (*heard - MS / 100, at, 1)]);
    }
    let mut is_done = vec![false; letters.len()];
    let mut free = 0;
    for bell in 0..letters.len() {
        let heard = letters[bell][2];
        let there = |at: usize| if one_by_one { at == bell } else { letters[at][1] <= heard };
        for at in (0..letters.len()).filter(|at| there(*at)) {
            if !std::mem::replace(&mut is_done[at], true) {
                free = heard.max(free) + MS / 10 + lot(at as i64, MS / 50);
                sent.push((free, at, 2));
                free += MS / 5;
            }
        }
    }
    sent.sort_unstable();
    for (time, at, what) in &sent {
        let (clerk, flow) = (format!("clerk#{}", at % 4), 3 * *at as i64);
        let arrives = time + MS / 100;
        let thread = |name: usize| name as i32 + 10;
        match what {
            0 => fixture.send("desk", &clerk, *time, arrives).threads(1, thread(at % 4)).on(flow),
            1 => fixture
                .send(&clerk, "carrier", *time, arrives)
                .threads(thread(at % 4), 2)
                .on(flow + 1),
            _ => {
                fixture.send("carrier", "road", *time, arrives).threads(2, 3).on(flow + 2);
                let back = fixture.send("road", "carrier", arrives + MS / 50, arrives + MS / 25);
                back.threads(3, 2).accepting().ports(80, 40_000).on(flow + 2)
            }
        };
    }
    let trace = fixture.trace();
    let found = parents(&infer(&trace));
    let letter = |row: MessageId| trace.flow(row).number() / 3;
    let work = trace.ids().filter(|row| {
        trace.flow(*row).number() % 3 == 2 && trace.direction(*row) == FROM_CONNECTING
    });
    let is_right =
        |row: &MessageId| found[row.index()].is_some_and(|parent| letter(parent) == letter(*row));
    let is_early = |row: &MessageId| {
        found[row.index()].is_some_and(|parent| trace.flow(parent).number() % 3 == 0)
    };
    let right = work.clone().filter(is_right).count();
    (right, work.filter(is_early).count())
}

#[test]
fn early_work_belongs_to_the_message_to_come() {
    let (right, early) = count_early_work(false);
    assert!(right > 285 && early > 100, "{right} right, {early} early");
}

#[test]
fn a_receiver_that_waits_for_announcements_has_no_early_work() {
    let (right, early) = count_early_work(true);
    assert!(right > 285 && early == 0, "{right} right, {early} early");
}
