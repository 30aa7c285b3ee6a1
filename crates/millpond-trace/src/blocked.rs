//! When tasks were there and could not run: what a worker that had nothing to do could have had.

use crate::idle::{Gap, Reason};
use crate::model::{Ix, Run};

/// The times in which some task waited, by what for.
#[derive(Debug)]
pub(crate) struct Blocked {
    data: Times,
    exclusion: Times,
    either: Times,
}

#[derive(Debug)]
struct Times {
    /// Apart from one another, ascending.
    spans: Vec<(u64, u64)>,
    /// How long those before each one last together.
    before: Vec<u64>,
    /// When a wait ended, and whose release did it; ascending.
    ends: Vec<(u64, Option<Ix>)>,
}

/// A gap is drawn in so many pieces at most: a program may change from one state to the other a million times, and have
/// a hundred idle workers.
const MOST_PIECES: usize = 16;

impl Blocked {
    pub(crate) fn of(run: &Run) -> Blocked {
        let granted = || {
            run.tasks().filter_map(|(_, task)| {
                let (at, by) = task.granted?;
                Some((task.spawned, at, by))
            })
        };
        let handed = || {
            run.tasks().filter_map(|(_, task)| {
                let (at, by) = task.handed?;
                Some((task.granted.map_or(task.spawned, |(at, _)| at), at, by))
            })
        };
        let either = Times::of(granted().chain(handed()));
        Blocked { data: Times::of(granted()), exclusion: Times::of(handed()), either }
    }

    /// For how long, of the time in which nothing was ready that an idle worker could have taken, the tasks that were
    /// there waited for what; the rest is that in which there were none.
    pub(crate) fn shares(&self, from: u64, to: u64) -> [(Reason, u64); 3] {
        let (excluded, either) = (self.exclusion.within(from, to), self.either.within(from, to));
        let rest = to.saturating_sub(from).saturating_sub(either);
        [(Reason::Exclusion, excluded), (Reason::Data, either.saturating_sub(excluded)), (Reason::NoWork, rest)]
    }

    /// The same as pieces, one after the other, `rest` where there were no tasks; or as one piece, of which the largest
    /// part is told.
    pub(crate) fn pieces(&self, from: u64, to: u64, rest: Option<Ix>) -> Vec<Gap> {
        let (mut pieces, mut at) = (Vec::<Gap>::new(), from);
        while at < to {
            let (excluded, waiting) = (self.exclusion.at(at), self.data.at(at));
            let (reason, until, on) = match (excluded, waiting) {
                (Ok(end), _) => (Reason::Exclusion, end, self.exclusion.next_end(at)),
                (Err(start), Ok(end)) => (Reason::Data, end.min(start), self.data.next_end(at)),
                (Err(one), Err(other)) => (Reason::NoWork, one.min(other), rest),
            };
            let (until, full) = (until.min(to), pieces.len() == MOST_PIECES);
            match pieces.last_mut() {
                Some(last) if last.reason == reason => last.to = until,
                _ if full => return vec![self.mostly(from, to)],
                _ => pieces.push(Gap { from: at, to: until, reason, on }),
            }
            at = until;
        }
        pieces
    }

    fn mostly(&self, from: u64, to: u64) -> Gap {
        let (reason, _) = self.shares(from, to).into_iter().max_by_key(|(_, time)| *time).expect("there are three");
        Gap { from, to, reason, on: None }
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
        let add = |sum: &mut u64, (from, to): &(u64, u64)| Some(std::mem::replace(sum, *sum + (to - from)));
        let before = spans.iter().scan(0, add).collect();
        let mut ends: Vec<_> = waits.into_iter().map(|(_, to, by)| (to, by)).collect();
        ends.sort_unstable();
        Times { spans, before, ends }
    }

    /// How long, of the time between these, some task waits.
    fn within(&self, from: u64, to: u64) -> u64 {
        let until = |at: u64| {
            let next = self.spans.partition_point(|(_, to)| *to <= at);
            let before =
                next.checked_sub(1).map_or(0, |last| self.before[last] + (self.spans[last].1 - self.spans[last].0));
            before + self.spans.get(next).map_or(0, |(from, _)| at.saturating_sub(*from))
        };
        until(to.max(from)) - until(from)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(data: &[(u64, u64)], exclusion: &[(u64, u64)]) -> Blocked {
        let times = |waits: &[(u64, u64)]| Times::of(waits.iter().map(|&(from, to)| (from, to, None)));
        Blocked { data: times(data), exclusion: times(exclusion), either: times(&[data, exclusion].concat()) }
    }

    /// How long the pieces of a gap last, by reason.
    fn drawn(pieces: &[Gap], reason: Reason) -> u64 {
        pieces.iter().filter(|piece| piece.reason == reason).map(|piece| piece.to - piece.from).sum()
    }

    #[test]
    fn pieces_are_the_shares() {
        let blocked = blocked(&[(2, 5), (4, 9), (20, 30)], &[(6, 7), (25, 40)]);
        for (from, to) in (0..45).flat_map(|from| (from..45).map(move |to| (from, to))) {
            let pieces = blocked.pieces(from, to, None);
            for (reason, share) in blocked.shares(from, to) {
                assert_eq!(drawn(&pieces, reason), share, "{reason} from {from} to {to}");
            }
        }
        let thirds = blocked.shares(0, 45);
        assert_eq!(thirds, [(Reason::Exclusion, 16), (Reason::Data, 11), (Reason::NoWork, 18)]);
    }

    #[test]
    fn a_gap_of_many_changes_is_one_piece() {
        let waits: Vec<_> = (0..1000).map(|n| (10 * n, 10 * n + 6)).collect();
        let pieces = blocked(&waits, &[]).pieces(0, 10_000, None);
        assert_eq!(pieces.len(), 1);
        assert_eq!((pieces[0].from, pieces[0].to, pieces[0].reason), (0, 10_000, Reason::Data));
    }
}
