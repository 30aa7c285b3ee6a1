//! The times in which an idle worker could have had work: tasks were ready and not started, or
//! existed and could not run.

use crate::idle::{Gap, Reason};
use crate::model::{Body, Ix, Run};

/// The times in which a task waited, by reason.
#[derive(Debug)]
pub(crate) struct Blocked {
    ready: Times,
    exclusion: Times,
    data: Times,
    ready_or_excluded: Times,
    any: Times,
}

/// A task's wait: its start, its end, and the task whose release ended it.
type Wait = (u64, u64, Option<Ix>);

#[derive(Debug)]
struct Times {
    /// Disjoint, ascending.
    spans: Vec<(u64, u64)>,
    /// The total time of the spans before each one.
    before: Vec<u64>,
    /// The end of each wait, and the task whose release ended it; ascending.
    ends: Vec<(u64, Option<Ix>)>,
}

/// The maximum number of pieces of a gap. A program may change its state a million times, and have
/// a hundred idle workers.
const MAX_PIECES: usize = 16;

impl Blocked {
    pub(crate) fn of(run: &Run) -> Blocked {
        let tasks = |wait: fn(&Body) -> Option<Wait>| run.tasks().filter_map(move |(_, task)| wait(task)).collect();
        let ready = |task: &Body| Some((task.ready(), task.started.filter(|_| !task.on_top)?, None));
        let handed = |task: &Body| {
            let (at, by) = task.handed?;
            Some((task.granted.map_or(task.spawned, |(at, _)| at), at, by))
        };
        let granted = |task: &Body| {
            let (at, by) = task.granted?;
            Some((task.spawned, at, by))
        };
        Blocked::by(tasks(ready), tasks(handed), tasks(granted))
    }

    fn by(ready: Vec<Wait>, exclusion: Vec<Wait>, data: Vec<Wait>) -> Blocked {
        let ready_or_excluded = [&ready[..], &exclusion].concat();
        let any = Times::of([&ready_or_excluded[..], &data].concat());
        let [ready, exclusion, data, ready_or_excluded] = [ready, exclusion, data, ready_or_excluded].map(Times::of);
        Blocked { ready, exclusion, data, ready_or_excluded, any }
    }

    /// Divides an idle worker's gap by reason. The next body had waited for `why`. While a task was
    /// ready, the reason is that the worker had not found it. For the rest the reason is `why`, or
    /// if `why` is `NoWork`, what the existing tasks waited for.
    pub(crate) fn shares(&self, from: u64, to: u64, why: Reason) -> [(Reason, u64); 4] {
        let gap = to.saturating_sub(from);
        let [ready, excluded, any] =
            [&self.ready, &self.ready_or_excluded, &self.any].map(|times| times.within(from, to));
        let (excluded, waiting, rest) = match why {
            Reason::NoWork => (excluded - ready, any - excluded, gap - any),
            _ => (0, 0, gap - ready),
        };
        [(Reason::Latency, ready), (Reason::Exclusion, excluded), (Reason::Data, waiting), (why, rest)]
    }

    /// The same as consecutive pieces. Pieces of `why` have `on`. Too many are merged into one,
    /// with the most frequent reason.
    pub(crate) fn pieces(&self, from: u64, to: u64, why: Reason, on: Option<Ix>) -> Vec<Gap> {
        let (mut pieces, mut at) = (Vec::<Gap>::new(), from);
        while at < to {
            let (reason, until, on) = self.piece(at, why, on);
            let (until, full) = (until.min(to), pieces.len() == MAX_PIECES);
            match pieces.last_mut() {
                Some(last) if last.reason == reason => last.to = until,
                _ if full => return vec![self.mostly(from, to, why)],
                _ => pieces.push(Gap { from: at, to: until, reason, on }),
            }
            at = until;
        }
        pieces
    }

    /// The reason at a time, and its minimum end.
    fn piece(&self, at: u64, why: Reason, on: Option<Ix>) -> (Reason, u64, Option<Ix>) {
        let ready = match self.ready.at(at) {
            Ok(end) => return (Reason::Latency, end, None),
            Err(start) => start,
        };
        let (reason, until, on) = match (why, self.exclusion.at(at), self.data.at(at)) {
            (Reason::NoWork, Ok(end), _) => (Reason::Exclusion, end, self.exclusion.next_end(at)),
            (Reason::NoWork, Err(start), Ok(end)) => (Reason::Data, end.min(start), self.data.next_end(at)),
            (Reason::NoWork, Err(one), Err(other)) => (Reason::NoWork, one.min(other), on),
            _ => (why, u64::MAX, on),
        };
        (reason, until.min(ready), on)
    }

    fn mostly(&self, from: u64, to: u64, why: Reason) -> Gap {
        let shares = self.shares(from, to, why).into_iter();
        let (reason, _) = shares.max_by_key(|(_, time)| *time).expect("there are four");
        Gap { from, to, reason, on: None }
    }
}

impl Times {
    fn of(mut waits: Vec<Wait>) -> Times {
        waits.retain(|(from, to, _)| from < to);
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

    /// The time in this range in which a task waits.
    fn within(&self, from: u64, to: u64) -> u64 {
        let until = |at: u64| {
            let next = self.spans.partition_point(|(_, to)| *to <= at);
            let before =
                next.checked_sub(1).map_or(0, |last| self.before[last] + (self.spans[last].1 - self.spans[last].0));
            before + self.spans.get(next).map_or(0, |(from, _)| at.saturating_sub(*from))
        };
        until(to.max(from)) - until(from)
    }

    /// The end of a wait at `at`, if a task waits then. Otherwise, as an error, the start of the
    /// next wait.
    fn at(&self, at: u64) -> Result<u64, u64> {
        let next = self.spans.partition_point(|(_, to)| *to <= at);
        match self.spans.get(next) {
            Some((from, to)) if *from <= at => Ok(*to),
            Some((from, _)) => Err(*from),
            None => Err(u64::MAX),
        }
    }

    /// The task that ended the first wait after `at`.
    fn next_end(&self, at: u64) -> Option<Ix> {
        self.ends.get(self.ends.partition_point(|(end, _)| *end <= at)).and_then(|(_, by)| *by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(ready: &[(u64, u64)], exclusion: &[(u64, u64)], data: &[(u64, u64)]) -> Blocked {
        let [ready, exclusion, data] =
            [ready, exclusion, data].map(|waits| waits.iter().map(|&(from, to)| (from, to, None)).collect());
        Blocked::by(ready, exclusion, data)
    }

    /// The total time of a gap's pieces with a reason.
    fn drawn(pieces: &[Gap], reason: Reason) -> u64 {
        pieces.iter().filter(|piece| piece.reason == reason).map(|piece| piece.to - piece.from).sum()
    }

    #[test]
    fn pieces_are_the_shares() {
        let blocked = blocked(&[(3, 4), (28, 33)], &[(6, 7), (25, 40)], &[(2, 5), (4, 9), (20, 30)]);
        for (from, to) in (0..45).flat_map(|from| (from..45).map(move |to| (from, to))) {
            for why in Reason::ALL {
                let pieces = blocked.pieces(from, to, why, None);
                let shares = blocked.shares(from, to, why);
                for reason in Reason::ALL {
                    let share: u64 = shares.iter().filter(|(of, _)| *of == reason).map(|(_, time)| time).sum();
                    assert_eq!(drawn(&pieces, reason), share, "{reason} from {from} to {to}, {why} at the end");
                }
            }
        }
    }

    #[test]
    fn what_is_ready_comes_first() {
        let blocked = blocked(&[(10, 20)], &[(15, 30)], &[(0, 40)]);
        let expect = |latency, exclusion, data, rest: (Reason, u64)| {
            [(Reason::Latency, latency), (Reason::Exclusion, exclusion), (Reason::Data, data), rest]
        };
        assert_eq!(blocked.shares(0, 50, Reason::NoWork), expect(10, 10, 20, (Reason::NoWork, 10)));
        assert_eq!(blocked.shares(0, 50, Reason::Window), expect(10, 0, 0, (Reason::Window, 40)));
    }

    #[test]
    fn a_gap_of_many_changes_is_one_piece() {
        let waits: Vec<_> = (0..1000).map(|n| (10 * n, 10 * n + 6)).collect();
        let pieces = blocked(&[], &[], &waits).pieces(0, 10_000, Reason::NoWork, None);
        assert_eq!(pieces.len(), 1);
        assert_eq!((pieces[0].from, pieces[0].to, pieces[0].reason), (0, 10_000, Reason::Data));
    }
}
