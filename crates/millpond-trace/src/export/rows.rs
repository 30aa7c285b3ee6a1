//! The drawing of each track: bars and gaps, all wide enough to be visible.
//!
//! A million tasks have more segments than a picture has pixels. Too narrow segments are merged
//! into one bar, so the width of the picture bounds the number of bars.

use std::collections::HashMap;

use crate::idle::Gap;
use crate::model::{Ix, Line, Run, Segment};
use crate::report::Window;

/// The row of a track.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// Index into [`Run::tracks`].
    pub(super) track: usize,
    pub(super) bars: Vec<Bar>,
    pub(super) gaps: Vec<Gap>,
}

/// A stretch of segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The time in bodies within the bar.
    pub(super) busy: u64,
    pub(super) segments: u32,
    /// The body of the first segment, and the label with the most time.
    pub(super) body: Ix,
    pub(super) label: u32,
}

/// The rows of all workers, then of other tracks with bodies. Segments and gaps shorter than
/// `least` are merged with their neighbours.
pub(super) fn rows(run: &Run, window: &Window, least: u64) -> Vec<Row> {
    let mut gaps: HashMap<usize, Vec<Gap>> =
        window.accounts(run).into_iter().map(|(track, account)| (track, account.gaps)).collect();
    let mut lines: Vec<_> = run.tracks.iter().enumerate().filter(|(_, line)| is_shown(line)).collect();
    lines.sort_by_key(|(_, line)| (line.track.worker.is_none(), line.track.worker, line.track.number));
    let row = |(track, line): (usize, &Line)| {
        let mut gaps = gaps.remove(&track).unwrap_or_default();
        gaps.retain(|gap| gap.to - gap.from >= least);
        Row { name: line.name.clone(), track, bars: bars(run, &line.runs, least), gaps }
    };
    lines.into_iter().map(row).collect()
}

fn is_shown(line: &Line) -> bool {
    line.track.worker.is_some() || !line.runs.is_empty()
}

/// Merges segments into bars.
fn bars(run: &Run, segments: &[Segment], least: u64) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut times = HashMap::new();
    let mut rest = segments;
    while let Some(first) = rest.first() {
        let count = together(rest, least);
        let (group, after) = rest.split_at(count);
        let to = group.iter().map(|segment| segment.to).max().unwrap_or(first.to);
        // They are consecutive on one track, so their sum does not overflow.
        let busy = group.iter().map(|segment| segment.to - segment.from).sum();
        let label = main_label(run, group, &mut times);
        bars.push(Bar { from: first.from, to, busy, segments: count as u32, body: first.body, label });
        rest = after;
    }
    bars
}

/// The number of segments in the first bar, which ends when it is as long as `least`, or has as
/// much room after it.
fn together(segments: &[Segment], least: u64) -> usize {
    let from = segments[0].from;
    let ends = |two: &[Segment]| two[0].to - from >= least || two[1].from.saturating_sub(two[0].to) >= least;
    segments.windows(2).position(ends).map_or(segments.len(), |place| place + 1)
}

/// The label with the most time.
fn main_label(run: &Run, group: &[Segment], times: &mut HashMap<u32, u64>) -> u32 {
    times.clear();
    for segment in group {
        *times.entry(run.body(segment.body).label).or_default() += segment.to - segment.from;
    }
    let most = times.iter().max_by_key(|(label, time)| (**time, std::cmp::Reverse(**label)));
    most.map_or(0, |(label, _)| *label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(times: &[(u64, u64)]) -> Vec<Segment> {
        times.iter().map(|&(from, to)| Segment { body: 0, from, to, after: None }).collect()
    }

    #[test]
    fn a_long_segment_is_alone() {
        assert_eq!(together(&segments(&[(0, 10), (10, 11), (11, 12)]), 10), 1);
    }

    #[test]
    fn short_ones_are_together_until_they_are_long_enough() {
        assert_eq!(together(&segments(&[(0, 1), (1, 5), (5, 11), (11, 12)]), 10), 3);
    }

    #[test]
    fn room_parts_them() {
        assert_eq!(together(&segments(&[(0, 1), (2, 5), (15, 16)]), 10), 2);
    }

    #[test]
    fn the_last_ones_are_together_whatever_their_length() {
        assert_eq!(together(&segments(&[(0, 1), (1, 2)]), 10), 2);
    }
}
