//! A loop is given an iterator, which cannot be split.

use millpond::for_each;

fn main() {
    let numbers = [1, 2, 3];
    for_each(numbers.iter(), |n| println!("{n}"));
}
