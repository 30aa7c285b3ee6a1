//! Which siblings wait for which, computed from their accesses by the runtime's own rule.

use std::collections::HashMap;

use millpond::depend::Mode;
use millpond::internals::conflicts;

use crate::program::Children;

/// If more tasks than this are to be waited for, a node between them and their successors saves
/// edges.
const MAX_DIRECT_PREDECESSORS: usize = 4;

/// The dependences among the children of one task, and how many of each child's are unmet.
/// Additional nodes connect large groups of predecessors and successors.
#[derive(Debug)]
pub(crate) struct Order {
    unmet: Vec<u32>,
    /// The index of each node's first successor, and a final end.
    first: Vec<u32>,
    successors: Vec<u32>,
    children: u32,
}

/// The youngest accesses to one datum that are not ordered among themselves.
struct Generation {
    mode: Mode,
    members: Vec<u32>,
    /// The nodes that they wait for.
    after: Vec<u32>,
}

impl Order {
    /// `None` if no child waits for another.
    pub(crate) fn of<T>(children: &Children<T>) -> Option<Order> {
        let count = children.tasks.len() as u32;
        let (mut nodes, mut edges) = (count, Vec::new());
        let mut data: HashMap<u64, Generation> = HashMap::new();
        let mut begin = 0;
        for (child, &end) in (0..).zip(&children.ends) {
            for &(datum, mode) in &children.accesses[begin..end] {
                let new = || Generation { mode, members: Vec::new(), after: Vec::new() };
                let youngest = data.entry(datum).or_insert_with(new);
                // Commutative accesses run in program order, as under `deterministic`.
                let ordered = conflicts(youngest.mode, mode) || mode == Mode::Commutative;
                if ordered && !youngest.members.is_empty() {
                    youngest.mode = mode;
                    youngest.after = between(std::mem::take(&mut youngest.members), &mut nodes, &mut edges);
                }
                youngest.members.push(child);
                edges.extend(youngest.after.iter().map(|&before| (before, child)));
            }
            begin = end;
        }
        if edges.is_empty() { None } else { Some(Order::with(count, nodes, edges)) }
    }

    fn with(children: u32, nodes: u32, mut edges: Vec<(u32, u32)>) -> Order {
        edges.sort_unstable();
        edges.dedup();
        let mut order = Order {
            unmet: vec![0; nodes as usize],
            first: vec![0; nodes as usize + 1],
            successors: Vec::with_capacity(edges.len()),
            children,
        };
        for &(from, to) in &edges {
            order.first[from as usize + 1] += 1;
            order.unmet[to as usize] += 1;
            order.successors.push(to);
        }
        for node in 1..order.first.len() {
            order.first[node] += order.first[node - 1];
        }
        order
    }

    /// Whether the child has no unfinished predecessor.
    pub(crate) fn is_met(&self, child: u32) -> bool {
        self.unmet[child as usize] == 0
    }

    /// A child is finished. Calls `met` with each child that has no more unfinished predecessors.
    pub(crate) fn finish(&mut self, child: u32, mut met: impl FnMut(u32)) {
        self.release(child, &mut met);
    }

    fn release(&mut self, node: u32, met: &mut impl FnMut(u32)) {
        let (from, to) = (self.first[node as usize], self.first[node as usize + 1]);
        for edge in from..to {
            let successor = self.successors[edge as usize];
            self.unmet[successor as usize] -= 1;
            if self.unmet[successor as usize] > 0 {
                continue;
            }
            if successor < self.children {
                met(successor);
            } else {
                // The successors of such a node are all children.
                self.release(successor, met);
            }
        }
    }
}

/// The nodes that the next generation waits for.
fn between(members: Vec<u32>, nodes: &mut u32, edges: &mut Vec<(u32, u32)>) -> Vec<u32> {
    if members.len() <= MAX_DIRECT_PREDECESSORS {
        return members;
    }
    let node = *nodes;
    *nodes += 1;
    edges.extend(members.iter().map(|&member| (member, node)));
    vec![node]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(accesses: &[&[(u64, Mode)]]) -> (Vec<u32>, Option<Order>) {
        let mut children = Children::new();
        accesses.iter().for_each(|accesses| children.spawn((), accesses.iter().copied()));
        let order = Order::of(&children);
        let ready = |child: &u32| order.as_ref().is_none_or(|order| order.is_met(*child));
        ((0..accesses.len() as u32).filter(ready).collect(), order)
    }

    #[test]
    fn a_sum_waits_for_both() {
        let (ready, order) = order(&[&[(1, Mode::Write)], &[(2, Mode::Write)], &[(1, Mode::Read), (2, Mode::Read)]]);
        assert_eq!(ready, [0, 1]);
        let (mut order, mut met) = (order.unwrap(), Vec::new());
        order.finish(1, |child| met.push(child));
        assert!(met.is_empty());
        order.finish(0, |child| met.push(child));
        assert_eq!(met, [2]);
    }

    #[test]
    fn many_wait_for_many_at_the_price_of_their_sum() {
        let read = [(1, Mode::Read)];
        let concurrent = [(1, Mode::Concurrent)];
        let accesses: Vec<&[_]> = (0..200).map(|child| if child < 100 { &read[..] } else { &concurrent[..] }).collect();
        let (ready, order) = order(&accesses);
        assert_eq!(ready.len(), 100);
        let (mut order, mut met) = (order.unwrap(), Vec::new());
        assert_eq!(order.successors.len(), 200);
        (0..100).for_each(|child| order.finish(child, |child| met.push(child)));
        assert_eq!(met.len(), 100);
    }

    #[test]
    fn readers_and_strangers_do_not_wait() {
        assert!(order(&[&[(1, Mode::Read)], &[(1, Mode::Read)], &[(2, Mode::Inout)]]).1.is_none());
    }
}
