//! The run of median time, without all the others: the recording of a million tasks is 30 MB.

use std::collections::VecDeque;

/// Of some runs, those that can still be the one of median time; of the two in the middle of an even number, the
/// faster.
///
/// A run's place by time only rises as others come, by one with each at most. So what is beyond the middle is dropped,
/// and what is as many places before it as it cannot rise any more: half of the runs and one are held at most.
pub struct Middle<T> {
    runs: usize,
    added: usize,
    /// How many were dropped that are faster than those held.
    below: usize,
    /// With their times, the fastest first.
    held: VecDeque<(f64, T)>,
}

impl<T> Middle<T> {
    /// Of so many runs, or fewer if one goes wrong.
    pub fn of(runs: usize) -> Self {
        Middle { runs, added: 0, below: 0, held: VecDeque::new() }
    }

    pub fn add(&mut self, seconds: f64, run: T) {
        let place = self.held.partition_point(|(other, _)| *other <= seconds);
        self.held.insert(place, (seconds, run));
        self.added += 1;
        let (middle, to_come) = (place_of_median(self.runs), self.runs.saturating_sub(self.added));
        self.held.truncate(middle + 1 - self.below);
        if self.below + to_come < middle {
            self.held.pop_front();
            self.below += 1;
        }
    }

    /// The one of median time among those that were added.
    pub fn take(mut self) -> Option<T> {
        self.held.remove(place_of_median(self.added) - self.below).map(|(_, run)| run)
    }
}

fn place_of_median(count: usize) -> usize {
    count.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `digits` digits below `base`, as digits.
    fn numbers(base: usize, digits: usize) -> impl Iterator<Item = Vec<usize>> {
        let number = move |n: usize| (0..digits as u32).map(|digit| n / base.pow(digit) % base).collect();
        (0..base.pow(digits as u32)).map(number)
    }

    #[test]
    fn it_is_the_median_of_any_times_and_half_is_held() {
        for (runs, times) in (1..8).flat_map(|runs| numbers(4, runs).map(move |times| (runs, times))) {
            for added in 1..=runs {
                let mut middle = Middle::of(runs);
                for &time in &times[..added] {
                    middle.add(time as f64, time);
                    assert!(middle.held.len() <= runs / 2 + 1);
                }
                let mut sorted = times[..added].to_vec();
                sorted.sort_unstable();
                assert_eq!(middle.take(), Some(sorted[(added - 1) / 2]), "{times:?}, {added} of {runs}");
            }
        }
    }

    #[test]
    fn of_nothing_there_is_none() {
        assert_eq!(Middle::<()>::of(3).take(), None);
    }
}
