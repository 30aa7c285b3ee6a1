//! Places in reference order, for tasks that accumulate below a parent under
//! [`deterministic`](crate::Builder::deterministic).
//!
//! Each of these tasks has a part of its own, and the parts are combined in reference order: the
//! order in which a serial program would run the tasks. A body that also adds itself has one part,
//! which comes before those of the tasks that it spawned. So the operands of each combination
//! depend only on the program.
//!
//! The bodies of parents form a tree. A part, or a parent below, is recorded with the number of its
//! parent's body and its own number in that body. The end sorts these pairs, and visits the tree.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::sync::Spinning;

/// The body of a parent.
#[derive(Debug)]
pub(crate) struct Path {
    id: u32,
    /// Only the body's thread spawns.
    spawned: Cell<u32>,
    /// What the body itself has added, unless it adds now. Another thread may do that for it.
    part: Spinning<OwnPart>,
}

#[derive(Debug, Default)]
struct OwnPart(Option<NonNull<()>>);

// SAFETY: a part is only handed on.
unsafe impl Send for OwnPart {}

impl Path {
    /// The number of the next task that the body spawns. A spawn may ask several times: only the
    /// order of the numbers matters.
    pub(crate) fn next(&self) -> u32 {
        self.spawned.set(self.spawned.get() + 1);
        self.spawned.get()
    }

    /// Takes the part of the body itself, if it has added something.
    pub(super) fn take_part(&self) -> Option<NonNull<()>> {
        self.part.with(|part| part.0.take())
    }

    /// Keeps the part of the body for its next addition.
    pub(crate) fn put_back(&self, part: NonNull<()>) {
        self.part.with(|own| own.0 = Some(part));
    }
}

/// All bodies, and their parts.
#[derive(Debug, Default)]
pub(super) struct Paths(Spinning<State>);

#[derive(Debug, Default)]
struct State {
    /// The path with id `n` is at `n - 1`. The id 0 stands for the scope of the reduction.
    paths: Vec<NonNull<Path>>,
    children: Vec<Child>,
}

/// What is below a body: at this number, or the body's own part at 0.
#[derive(Clone, Copy, Debug)]
struct Child {
    above: u32,
    number: u32,
    is: Below,
}

#[derive(Clone, Copy, Debug)]
enum Below {
    Part(NonNull<()>),
    Path(u32),
}

// SAFETY: one body uses a path, and the scheme orders it before the end of the reduction. A part is
// only handed on.
unsafe impl Send for State {}

impl Paths {
    /// The path of a parent that is a member of the reduction.
    pub(super) fn of_member(&self, member: u32) -> NonNull<Path> {
        self.add(0, member)
    }

    /// The path of the parent that is number `number` of the body at `above`.
    pub(super) fn below(&self, above: &Path, number: u32) -> NonNull<Path> {
        self.add(above.id, number)
    }

    fn add(&self, above: u32, number: u32) -> NonNull<Path> {
        let path = Box::leak(Box::new(Path { id: 0, spawned: Cell::new(0), part: Spinning::default() }));
        self.0.with(|state| {
            path.id = state.paths.len() as u32 + 1;
            state.children.push(Child { above, number, is: Below::Path(path.id) });
            let path = NonNull::from(path);
            state.paths.push(path);
            path
        })
    }

    /// Records the part of a leaf that is number `number` of the body at `above`.
    pub(super) fn record_below(&self, above: &Path, number: u32, part: NonNull<()>) {
        let child = Child { above: above.id, number, is: Below::Part(part) };
        self.0.with(|state| state.children.push(child));
    }

    /// Records the part of the body itself.
    pub(super) fn record(&self, path: &Path, part: NonNull<()>) {
        self.record_below(path, 0, part);
    }

    /// Returns all parts in reference order. `of_members` are other parts, each with its first
    /// member. No body uses a path any more.
    pub(super) fn end(&self, of_members: Vec<(u32, NonNull<()>)>) -> Vec<NonNull<()>> {
        let State { paths, mut children } = self.0.with(std::mem::take);
        let bodies = paths.len();
        let of_member = |(number, part)| Child { above: 0, number, is: Below::Part(part) };
        children.extend(of_members.into_iter().map(of_member));
        for path in paths {
            // SAFETY: `add` leaked a box, and only this call has taken it off the list.
            drop(unsafe { Box::from_raw(path.as_ptr()) });
        }
        in_order(&children, bodies)
    }
}

/// The parts of a tree with this many bodies, depth first.
fn in_order(children: &[Child], bodies: usize) -> Vec<NonNull<()>> {
    // Sorted by index: each type that is sorted takes a user time to link (decision 31).
    let key = |(index, child): (usize, &Child)| [u64::from(child.above) << 32 | u64::from(child.number), index as u64];
    let mut order: Vec<_> = children.iter().enumerate().map(key).collect();
    order.sort_unstable();
    // Where the children of each body begin.
    let mut begins = vec![order.len(); bodies + 2];
    for (at, [key, _]) in order.iter().enumerate().rev() {
        begins[(key >> 32) as usize] = at;
    }
    for body in (0..=bodies).rev() {
        begins[body] = begins[body].min(begins[body + 1]);
    }
    let mut parts = Vec::new();
    let of = |body: usize| begins[body]..begins[body + 1];
    // The rest of the children of each open body.
    let mut open = Vec::from([of(0)]);
    while let Some(rest) = open.last_mut() {
        match rest.next().map(|at| children[order[at][1] as usize].is) {
            None => _ = open.pop(),
            Some(Below::Part(part)) => parts.push(part),
            Some(Below::Path(id)) => open.push(of(id as usize)),
        }
    }
    parts
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn part(name: usize) -> NonNull<()> {
        NonNull::new(std::ptr::without_provenance_mut(name)).expect("not 0")
    }

    fn names(paths: &Paths, of_members: &[(u32, usize)]) -> Vec<usize> {
        let of_members = of_members.iter().map(|(member, name)| (*member, part(*name))).collect();
        paths.end(of_members).into_iter().map(|part| part.addr().get()).collect()
    }

    #[test]
    fn parts_come_in_reference_order_whenever_they_were_recorded() {
        let paths = Paths::default();
        // SAFETY: paths live until the end.
        let [second, first] = [7, 2].map(|member| unsafe { paths.of_member(member).as_ref() });
        let (a, b) = (first.next(), first.next());
        paths.record_below(first, b, part(4));
        // SAFETY: as above.
        let inner = unsafe { paths.below(first, a).as_ref() };
        paths.record(second, part(6));
        paths.record_below(inner, inner.next(), part(3));
        paths.record(inner, part(2));
        paths.record(first, part(1));
        assert_eq!(names(&paths, &[(8, 7), (6, 5), (0, 9)]), [9, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(names(&paths, &[]), []);
    }

    #[test]
    fn a_body_without_parts_is_passed_over() {
        let paths = Paths::default();
        // SAFETY: paths live until the end.
        let outer = unsafe { paths.of_member(0).as_ref() };
        let (empty, full) = (outer.next(), outer.next());
        paths.below(outer, empty);
        paths.record_below(outer, full, part(9));
        assert_eq!(names(&paths, &[]), [9]);
    }
}
