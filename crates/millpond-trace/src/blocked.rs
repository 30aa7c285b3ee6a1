//! When tasks were there and could not run: what a worker that had nothing to do could have had.

use crate::idle::{Gap, Reason};
use crate::model::{Ix, Run};

/// The times in which some task waited, by what for.
#[derive(Debug)]
pub(crate) struct Blocked {
    data: Times,
    exclusion: Times,
}

#[derive(Debug)]
struct Times {
    /// Apart from one another, ascending.
    spans: Vec<(u64, u64)>,
    /// When a wait ended, and whose release did it; ascending.
    ends: Vec<(u64, Option<Ix>)>,
}

impl Blocked {
    pub(crate) fn of(run: &Run) -> Blocked {
        let granted = run.tasks().filter_map(|(_, task)| {
            let (at, by) = task.granted?;
            Some((task.spawned, at, by))
        });
        let handed = run.tasks().filter_map(|(_, task)| {
            let (at, by) = task.handed?;
            Some((task.granted.map_or(task.spawned, |(at, _)| at), at, by))
        });
        Blocked { data: Times::of(granted), exclusion: Times::of(handed) }
    }

    /// The gap in which nothing was ready that an idle worker could have taken, by what the tasks that were there waited
    /// for; `rest` where there were none.
    pub(crate) fn pieces(&self, from: u64, to: u64, rest: Option<Ix>) -> Vec<Gap> {
        let (mut pieces, mut at) = (Vec::<Gap>::new(), from);
        while at < to {
            let (excluded, waiting) = (self.exclusion.at(at), self.data.at(at));
            let (reason, until, on) = match (excluded, waiting) {
                (Ok(end), _) => (Reason::Exclusion, end, self.exclusion.next_end(at)),
                (Err(start), Ok(end)) => (Reason::Data, end.min(start), self.data.next_end(at)),
                (Err(one), Err(other)) => (Reason::NoWork, one.min(other), rest),
            };
            let until = until.min(to);
            match pieces.last_mut() {
                Some(last) if last.reason == reason => last.to = until,
                _ => pieces.push(Gap { from: at, to: until, reason, on }),
            }
            at = until;
        }
        pieces
    }
}

impl Times {
    fn of(waits: impl Iterator<Item = (u64, u64, Option<Ix>)>) -> Times {
        let mut waits: Vec<_> = waits.filter(|(from, to, _)| from < to).collect();
        waits.sort_unstable();
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for &(from, to, _) in &waits {
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => spans.push((from, to)),
            }
        }
        let mut ends: Vec<_> = waits.into_iter().map(|(_, to, by)| (to, by)).collect();
        ends.sort_unstable();
        Times { spans, ends }
    }

    /// Until when some task waits that waits at `at`; or, if none does, when the next one begins to.
    fn at(&self, at: u64) -> Result<u64, u64> {
        let next = self.spans.partition_point(|(_, to)| *to <= at);
        match self.spans.get(next) {
            Some((from, to)) if *from <= at => Ok(*to),
            Some((from, _)) => Err(*from),
            None => Err(u64::MAX),
        }
    }

    /// Who ended the first wait that ended after `at`.
    fn next_end(&self, at: u64) -> Option<Ix> {
        self.ends.get(self.ends.partition_point(|(end, _)| *end <= at)).and_then(|(_, by)| *by)
    }
}
