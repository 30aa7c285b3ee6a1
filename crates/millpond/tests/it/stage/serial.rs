//! The results of the serial program, and which of its tasks may start.

use super::{How, Uses};

/// The value of a datum after task `who` has used it in that mode.
pub fn after(how: How, value: i64, who: usize) -> i64 {
    let number = who as i64 + 1;
    match how {
        How::Read | How::Concurrent => value,
        How::Write => 100 * number,
        How::Inout => 3 * value + number,
        How::Commutative | How::Sum => value + number,
        How::Max => value.max(number),
    }
}

/// What each task sees, according to its modes on the stage, and the last values.
pub fn run(acts: &[Uses], data: &[Option<i64>]) -> (Vec<Vec<i64>>, Vec<i64>) {
    let mut data: Vec<_> = data.iter().map(|value| value.unwrap_or(0)).collect();
    let mut saw = Vec::new();
    for (who, uses) in acts.iter().enumerate() {
        let by = |how| uses.iter().filter(move |one| one.0 == how).map(|one| data[one.1]);
        saw.push([How::Read, How::Inout, How::Concurrent].into_iter().flat_map(by).collect());
        uses.iter().for_each(|&(how, datum)| data[datum] = after(how, data[datum], who));
    }
    (saw, data)
}

/// Whether a task may start after the tasks in `done` are complete. Each access waits for all older
/// generations of its version (TG §3.2). A `write` makes a version. Without renaming, it is an
/// `inout` (§3.3). This does not apply to commutative tasks, whose exclusion it ignores.
pub fn may_start(acts: &[Uses], done: &[bool], renames: bool, who: usize) -> bool {
    acts[who].iter().all(|&(how, datum)| {
        let earlier = (0..who).rev().filter_map(|other| {
            let used = acts[other].iter().find(|one| one.1 == datum)?;
            Some((other, used.0))
        });
        let shares = !matches!(how, How::Write | How::Inout);
        let mut older = earlier.skip_while(|&(_, before)| shares && before == how);
        // Up to the `write` that made the version.
        let makes = |how| how == How::Write && renames;
        let mut version = !makes(how);
        older.all(|(other, before)| {
            let waits = version && !done[other];
            version &= !makes(before);
            !waits
        })
    })
}
