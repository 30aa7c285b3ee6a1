//! Keeps the run of median time without keeping all, because the recording of a million tasks has
//! 30 MB.

use std::collections::VecDeque;

/// The runs that can still be of median time. For an even number, that is the faster of the middle
/// two.
///
/// A run's rank by time only rises, by at most one for each added run. So a run is dropped if it is
/// beyond the middle, or can no longer reach it. At most half of the runs and one are held.
pub struct Middle<T> {
    runs: usize,
    added: usize,
    /// The number of dropped runs faster than the held ones.
    below: usize,
    /// Runs with their times, the fastest first.
    held: VecDeque<(f64, T)>,
}

impl<T> Middle<T> {
    /// For this number of runs, or fewer if one fails.
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

    /// The added run of median time.
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
