//! Models of how parts meet. Parts are strings, so that lost, duplicated or reordered parts show.

use loom::thread;

use super::*;
use crate::sync::Arc;

/// Acts as a member of a `Reduction`.
fn contribute(parts: &ReductionParts<String>, member: u32) {
    let mut part = match parts.spare() {
        Some(Spare::Identity(part)) => part,
        Some(Spare::Empty(_)) => unreachable!("none is left empty"),
        None => String::new(),
    };
    assert_eq!(part, "", "a spare part is the identity, and no other thread's");
    part.push_str(&member.to_string());
    let (mut mine, mut spare) = (Block::new(member, part), None);
    while let Some((mut into, mut part)) = parts.meet(mine, spare) {
        into.part = format!("({}{part})", into.part);
        part.clear();
        (mine, spare) = (into, Some(Spare::Identity(part)));
    }
}

/// Runs the members of each thread, and checks the remaining parts.
fn model(shape: Shape, threads: [&'static [u32]; 2], check: fn(&[String])) {
    loom::model(move || {
        let parts = Arc::new(ReductionParts::new(shape));
        let run = |members: &'static [u32]| {
            let parts = Arc::clone(&parts);
            thread::spawn(move || members.iter().for_each(|&member| contribute(&parts, member)))
        };
        threads.map(run).into_iter().for_each(|thread| thread.join().unwrap());
        let mut left = parts.end().0;
        left.sort();
        check(&left.into_iter().map(|(_, part)| part).collect::<Vec<_>>());
    });
}

#[test]
fn loom_a_tree_has_one_shape() {
    model(Shape::Tree, [&[0, 3], &[2, 1]], |left| assert_eq!(left, ["((01)(23))"]));
    model(Shape::Tree, [&[4, 0], &[1]], |left| assert_eq!(left, ["(01)", "4"]));
}

#[test]
fn loom_as_they_come_one_is_left_with_all() {
    model(Shape::AsTheyCome, [&[0, 1], &[2]], |left| {
        let [all] = left else { panic!("{left:?}") };
        assert!(["0", "1", "2"].iter().all(|member| all.matches(member).count() == 1), "{all}");
    });
}

#[test]
fn loom_in_order_all_are_left() {
    model(Shape::InOrder, [&[2, 0], &[1]], |left| assert_eq!(left, ["0", "1", "2"]));
}
