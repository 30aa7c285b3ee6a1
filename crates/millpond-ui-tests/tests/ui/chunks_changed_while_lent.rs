//! A slice is used while a loop has its chunks.

use millpond::{each, for_each};

fn main() {
    let mut numbers = vec![1; 100];
    for_each(each::chunks_mut(&mut numbers, 10), |chunk| chunk[0] = numbers[99]);
}
