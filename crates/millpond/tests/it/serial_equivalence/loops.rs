//! What the loops of a random program do.

use millpond::{Spawn, each};

use super::execute::{Hash, Run, expected_panic, named};
use super::program::{Loop, Over, Task, Use};
use super::slots::{OfLoop, Slots};
use super::value::{self, Element, OWNS, READS, SHARES, Value, mix};

/// Spawns a loop.
pub fn spawn<'s, S: Spawn<'s>>(
    s: &S,
    run: &'s Run,
    (task, one): (&'s Task, &'s Loop),
    slots: &Slots<S::Brand>,
    seed: Hash,
    portable: bool,
) -> S::Join<()> {
    let body = Body { run, task, one, seed };
    // As a macro: each loop has a body and items of other types.
    macro_rules! each {
        ($items:expr, |$item:pat_param| $call:expr) => {
            if task.named {
                named(s, task, portable).for_each($items, move |$item| $call)
            } else {
                s.for_each($items, move |$item| $call)
            }
        };
    }
    let OfLoop { changed, chunks, read, shared } = slots.of_loop(task, one);
    match (one.over, changed, chunks) {
        (Over::Range { from, to }, ..) => {
            each!((from..to, read, shared), |(i, read, shared)| body.item(i - from, (&mut [], &[]), read, shared))
        }
        (_, Some(changed), Some(chunks)) => {
            each!((each::indexed(each::zip(changed, chunks)), read, shared), |((i, parts), read, shared)| {
                body.item(i, parts, read, shared);
            })
        }
        (_, Some(changed), None) => {
            each!((each::indexed(changed), read, shared), |((i, part), read, shared)| {
                body.item(i, (part, &[]), read, shared);
            })
        }
        (_, None, Some(chunks)) => {
            each!((each::zip(chunks, 0..usize::MAX), read, shared), |((part, i), read, shared)| {
                body.item(i, (&mut [], part), read, shared);
            })
        }
        (_, None, None) => unreachable!("a clean program has chunks for such a loop"),
    }
}

fn is_blind(one: Option<&Use>) -> bool {
    one.is_some_and(|one| one.blind)
}

#[derive(Clone, Copy)]
struct Body<'s> {
    run: &'s Run,
    task: &'s Task,
    one: &'s Loop,
    seed: Hash,
}

impl Body<'_> {
    /// One item. It changes the first part, and reads the second.
    fn item(
        &self,
        item: usize,
        (part, other): (&mut [Element], &[Element]),
        read: Option<&Value>,
        shared: Option<&Value>,
    ) {
        let Body { run, task, one, .. } = *self;
        let panicking = one.panicking();
        if item == panicking.unwrap_or(0) {
            run.start_loop(task.id);
        }
        let uses = task.loop_uses(one);
        let kind = |one: Option<&Use>| if is_blind(one) { SHARES } else { READS };
        let (kind_of_other, kind_of_read) = (kind(uses.chunks), kind(uses.read));
        let mut alone = read.is_none_or(|value| value.enter(kind_of_read));
        alone &= shared.is_none_or(|value| value.enter(SHARES));
        part.iter().for_each(|element| alone &= element.enter(OWNS));
        other.iter().for_each(|element| alone &= element.enter(kind_of_other));
        if !alone {
            run.complain(format!("an item of t{} overlaps with what it conflicts with", task.id));
        }
        self.delay();
        if panicking.is_none() {
            self.work(item, (&mut *part, other), read, shared);
        }
        part.iter().for_each(|element| element.leave(OWNS));
        other.iter().for_each(|element| element.leave(kind_of_other));
        read.iter().for_each(|value| value.leave(kind_of_read));
        shared.iter().for_each(|value| value.leave(SHARES));
        if panicking == Some(item) {
            expected_panic(task.id);
        }
    }

    /// Other workers join a loop only if it takes some time.
    fn delay(&self) {
        if self.one.slow > 0 {
            std::thread::yield_now();
        }
        (0..u32::from(self.one.slow) * 200).for_each(|_| std::hint::spin_loop());
    }

    fn work(
        &self,
        item: usize,
        (part, other): (&mut [Element], &[Element]),
        read: Option<&Value>,
        shared: Option<&Value>,
    ) {
        let uses = self.task.loop_uses(self.one);
        let numbers = match self.one.over {
            Over::Range { from, .. } => from + item..from + item + 1,
            Over::Chunks { size } => item * size..item * size + part.len().max(other.len()),
        };
        let common = read.map_or(0, |value| if is_blind(uses.read) { 0 } else { value.plain().digest() });
        let mut hash = Hash { value: 0, ..self.seed };
        hash.tainted |= read.is_some_and(Value::is_tainted);
        hash.tainted |= part.iter().chain(other).any(|element| element.tainted);
        for (at, number) in numbers.enumerate() {
            let word = other.get(at).map_or(0, |element| if is_blind(uses.chunks) { 0 } else { element.word });
            let by = value::item(self.seed.value, number, common, word);
            let mut seen = 0;
            if let Some(element) = part.get_mut(at) {
                seen = if is_blind(uses.changed) { 0 } else { element.word };
                element.word = value::changed(element.word, by, is_blind(uses.changed));
                element.tainted |= hash.tainted;
            }
            if let Some(value) = shared {
                value.share(by);
                value.taint(hash.tainted);
            }
            hash.value = hash.value.wrapping_add(mix(by, seen));
        }
        self.run.add_to_digest(self.task.id, hash);
    }
}
