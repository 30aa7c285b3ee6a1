//! The body of a loop changes a variable that all items would share.

use millpond::{Runtime, for_each};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, numbers, mut sum) = (Runtime::new()?, vec![1; 100], 0);
    rt.scope(|_| for_each(&numbers, |n| sum += n))?;
    assert_eq!(sum, 100);
    Ok(())
}
