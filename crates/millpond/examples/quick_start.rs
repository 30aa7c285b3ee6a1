//! Tasks on shared data: the runtime orders them as the serial program would.
//!
//! Run it with `cargo run -p millpond --example quick_start`.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One runtime for the program. It has a worker for each core.
    let rt = Runtime::new()?;
    // A handle holds one datum whose accesses the runtime orders.
    let (prices, total, largest) = (Handle::new(vec![3.0, 1.0, 2.0]), Handle::new(0.0), Handle::new(0.0));

    rt.scope(|s| {
        // First the accesses, then a closure that receives exactly these data.
        s.spawn(prices.inout(), |prices| prices.push(4.0));
        // These two only read `prices`, so they run at the same time, after the first task.
        s.spawn((prices.read(), total.inout()), |(prices, total)| *total = prices.iter().sum());
        s.spawn((prices.read(), largest.inout()), |(prices, largest)| {
            *largest = prices.iter().copied().fold(f64::MIN, f64::max);
        });
    })?;

    // After the scope the program owns its data again.
    let (total, largest) = (total.into_inner()?, largest.into_inner()?);
    println!("total {total}, largest {largest}");
    assert_eq!((total, largest), (10.0, 4.0));
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
