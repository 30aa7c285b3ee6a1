//! What the leaves of a random program do.

use millpond::Out;

use super::execute::{Hash, Run, expected_panic};
use super::program::{Fault, Leaf, Mode, Task};
use super::slots::Leafs;
use super::value::{OWNS, Plain, READS, SHARES, Value, mix};

/// Runs a leaf's body.
pub fn run(run: &Run, task: &Task, leaf: &Leaf, args: Leafs<'_>, seed: Hash) -> Hash {
    run.start(task.id, seed);
    let mut body = Body { run, task, hash: seed, args };
    body.all_enter();
    body.look();
    run.digest(task.id, body.hash);
    (0..leaf.yields).for_each(|_| std::thread::yield_now());
    if leaf.fault == Fault::PanicFirst {
        body.all_leave();
        expected_panic(task.id);
    }
    let outs = std::mem::take(&mut body.args.1);
    body.write(outs, leaf.fault);
    body.update(leaf.yields > 0);
    if leaf.cancels {
        run.cancel_root();
    }
    body.all_leave();
    if leaf.fault == Fault::PanicLast {
        expected_panic(task.id);
    }
    body.hash
}

struct Body<'a, 't> {
    run: &'a Run,
    task: &'a Task,
    hash: Hash,
    args: Leafs<'t>,
}

impl Body<'_, '_> {
    /// Each value, with the kind of its use.
    fn each(&self, mut each: impl FnMut(&Value, u64)) {
        let (read, _, inout, commutative, concurrent, add, xor, compose) = &self.args;
        for (value, one) in read.iter().zip(self.task.of(Mode::Read)) {
            // Below a `concurrent` parent, a read may run while the parent's neighbours share the
            // datum.
            each(value, if one.blind { SHARES } else { READS });
        }
        concurrent.iter().for_each(|value| each(value, SHARES));
        for values in [inout, commutative, add, xor, compose] {
            values.iter().for_each(|value| each(value, OWNS));
        }
    }

    fn all_enter(&self) {
        self.each(|value, kind| {
            if !value.enter(kind) {
                self.run.complain(format!("t{} overlaps with what it conflicts with", self.task.id));
            }
        });
    }

    fn all_leave(&self) {
        self.each(Value::leave);
    }

    fn look(&mut self) {
        let (read, _, inout, ..) = &self.args;
        for (value, one) in read.iter().zip(self.task.of(Mode::Read)) {
            self.hash.take_in(value, one.blind);
        }
        for (value, one) in inout.iter().zip(self.task.of(Mode::Inout)) {
            self.hash.take_in(value, one.blind);
        }
        let (.., add, xor, compose) = &self.args;
        let mut parts = add.iter().chain(xor).chain(compose);
        if !self.task.accumulates() && parts.any(|part| part.plain() != Plain::IDENTITY) {
            self.run.complain(format!("t{}: a private copy is not the identity", self.task.id));
        }
    }

    /// The number of an access, which makes each of a task's updates another one.
    fn by(&self, mode: Mode) -> impl Iterator<Item = u64> {
        let (hash, places) = (self.hash.value, self.task.uses.iter().enumerate());
        let places = places.filter(move |(_, one)| one.mode == mode);
        places.map(move |(arg, _)| mix(hash, arg as u64))
    }

    fn write(&self, outs: Vec<Out<'_, Value>>, fault: Fault) {
        for (which, (mut out, by)) in outs.into_iter().zip(self.by(Mode::Write)).enumerate() {
            if fault == Fault::Unwritten(which) {
                continue;
            }
            match out.recycled() {
                // The old value may be any.
                Some(mut spent) if by % 2 == 0 => {
                    spent.assign(Plain::fresh(by), self.hash.tainted);
                    out.set(spent);
                }
                _ => out.set(Value::new(Plain::fresh(by), self.hash.tainted, &self.run.live)),
            }
        }
    }

    fn update(&mut self, slowly: bool) {
        let (sums, ordered, tainted) = (self.by(Mode::Commutative), self.run.ordered, self.hash.tainted);
        let sums: Vec<_> = sums.collect();
        let [inouts, shares, adds, xors, composes] =
            [Mode::Inout, Mode::Concurrent, Mode::Add, Mode::Xor, Mode::Compose]
                .map(|mode| self.by(mode).collect::<Vec<_>>());
        let (_, _, inout, commutative, concurrent, add, xor, compose) = &mut self.args;
        let blind = self.task.of(Mode::Inout).map(|one| one.blind);
        for ((value, by), blind) in inout.iter_mut().zip(inouts).zip(blind) {
            update(value, by, blind, tainted);
        }
        for (value, by) in commutative.iter_mut().zip(sums) {
            // A lost update must show: no other task may come between the read and the write.
            let mut plain = value.plain();
            plain.commute(by, ordered);
            if slowly {
                std::thread::yield_now();
            }
            *value.words() = plain;
            value.taint(tainted);
        }
        concurrent.iter().zip(shares).for_each(|(value, by)| value.share(by));
        add.iter_mut().zip(adds).for_each(|(part, by)| part.words().add(by));
        xor.iter_mut().zip(xors).for_each(|(part, by)| part.words().xor(by));
        for (part, by) in compose.iter_mut().zip(composes) {
            part.words().compose((by | 1, mix(by, 1)));
        }
        let shared = concurrent.iter().copied();
        let parts = add.iter().chain(xor.iter()).chain(compose.iter()).map(|part| &**part);
        shared.chain(parts).for_each(|value| value.taint(tainted));
    }
}

/// An `inout` body's update.
pub fn update(value: &mut Value, by: u64, blind: bool, tainted: bool) {
    if blind {
        value.words().add(by);
        value.taint(tainted);
    } else {
        value.assign(Plain::fresh(by), tainted);
    }
}
