//! A program for any scope takes handles of a root scope only.

use millpond::{Handle, Spawn};

fn program<'s, S: Spawn<'s>>(s: &S, a: &Handle<u32>) {
    s.spawn(a.inout(), |a| *a += 1);
}

fn main() {}
