//! The victims that thieves draw.

use super::Thief;

/// How many victims a test draws.
const DRAWS: usize = 40_000;

/// Pearson's chi-square, for outcomes that should be equally frequent.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
}

/// A wide bound: the mean of chi-square for this many outcomes, and ten standard deviations.
fn bound(outcomes: usize) -> f64 {
    let freedom = outcomes as f64 - 1.0;
    freedom + 10.0 * (2.0 * freedom).sqrt()
}

#[track_caller]
fn assert_uniform(outcomes: usize, drawn: impl Iterator<Item = usize>) {
    let mut counts = vec![0; outcomes];
    drawn.for_each(|outcome| counts[outcome] += 1);
    assert!(chi_square(&counts) < bound(outcomes), "{counts:?}");
}

#[test]
fn every_stack_is_drawn_with_the_same_probability() {
    for seat in [0, 1, 2, 15, 100] {
        let thief = Thief::new(seat);
        for stacks in [2, 3, 7, 16, 61] {
            assert_uniform(stacks, (0..DRAWS).map(|_| thief.draw(stacks)));
        }
        assert!((0..DRAWS).all(|_| thief.draw(1) == 0));
    }
}

/// A draw does not depend on the one before it, nor on another thief's.
#[test]
fn draws_are_independent() {
    for stacks in [2, 3, 7, 16] {
        let (one, other) = (Thief::new(0), Thief::new(1));
        assert_uniform(stacks * stacks, (0..DRAWS).map(|_| one.draw(stacks) * stacks + one.draw(stacks)));
        assert_uniform(stacks * stacks, (0..DRAWS).map(|_| one.draw(stacks) * stacks + other.draw(stacks)));
    }
}

/// Thieves that all begin at the same time do not choose the same victim.
#[test]
fn the_first_draws_of_all_thieves_differ() {
    for stacks in [2, 3, 7, 16] {
        assert_uniform(stacks, (0..4096).map(|seat| Thief::new(seat).draw(stacks)));
    }
}

/// The tests above can fail: a thief that begins at a random stack, and goes on from there while
/// stacks are empty, prefers the stack behind the empty one.
#[test]
fn a_preferred_victim_is_noticed() {
    let (thief, stacks) = (Thief::new(0), 7);
    let mut counts = vec![0; stacks - 1];
    for _ in 0..DRAWS {
        // The last stack is empty.
        counts[thief.draw(stacks) % (stacks - 1)] += 1;
    }
    assert!(chi_square(&counts) > bound(stacks - 1), "{counts:?}");
}
