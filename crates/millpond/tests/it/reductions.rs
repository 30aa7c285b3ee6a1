//! Reductions: reused storage, the tree for large values, reducers that fail, and NaN.

mod cost;
mod failures;
mod reuse;
mod tree;

use crate::common::{builder, limit};
use millpond::{Handle, Inline, Max, Min, Runtime, Spawn};

/// For every number of workers, and every way to run a leaf.
fn runtimes(deterministic: bool) -> impl Iterator<Item = Runtime> {
    let inlines = [Inline::Auto, Inline::Never, Inline::Always];
    let all = [1, 2, 8].into_iter().flat_map(move |workers| inlines.map(|inline| (workers, inline)));
    all.map(move |(workers, inline)| builder(workers).inline(inline).deterministic(deterministic).build().unwrap())
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

#[test]
fn the_smallest_and_the_largest_are_numbers_if_there_is_one() {
    limit(20, "NaN in reductions", || {
        let nan = f64::NAN;
        for workers in [1, 2, 8] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            for parts in [[1.0, nan, 3.0], [nan, 1.0, 3.0], [1.0, 3.0, nan], [nan, nan, nan]] {
                for datum in [2.0, nan] {
                    let (least, greatest) = (Handle::new(datum), Handle::new(datum));
                    rt.scope(|s| {
                        for part in parts {
                            s.spawn(least.reduce(Min), move |least| *least = part);
                            s.spawn(greatest.reduce(Max), move |greatest| *greatest = part);
                        }
                    })
                    .unwrap();
                    // Like the standard library's `min` and `max`, which ignore NaN.
                    let (least, greatest) = (least.into_inner().unwrap(), greatest.into_inner().unwrap());
                    assert!(same(least, parts.into_iter().fold(datum, f64::min)), "{least} of {parts:?} and {datum}");
                    assert!(
                        same(greatest, parts.into_iter().fold(datum, f64::max)),
                        "{greatest} of {parts:?} and {datum}"
                    );
                }
            }
        }
    });
}
