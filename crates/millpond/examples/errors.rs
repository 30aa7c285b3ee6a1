//! Bodies that return errors. The scope runs what does not depend on the failure, and returns the
//! first error in the order of the program. The error is a value on its whole way, so this also
//! works with `panic = "abort"`.
//!
//! `cargo run -p millpond --example errors`

use std::error::Error;

use millpond::{Handle, Inline, Kind, Runtime, Scope, Spawn, StackEngine};

/// The sum of the numbers in the texts, computed by the tasks of one scope.
fn sum<E: millpond::Engine>(rt: &Runtime<E>, texts: &[&str]) -> Result<i32, millpond::Error> {
    let total = Handle::new(0);
    rt.scope(|s: &Scope<'_, '_, _, E>| {
        for text in texts {
            let number = Handle::unset();
            s.task("parse").try_spawn(number.write(), |number| text.parse::<i32>().map(|n| number.set(n)));
            s.spawn((number.read(), total.inout()), |(number, total)| *total += number);
        }
    })?;
    total.into_inner()
}

/// The same in a parent that stops at an error, and in a session.
fn half<E: millpond::Engine>(rt: &Runtime<E>, number: i32) -> Result<i32, millpond::Error> {
    let session = rt.session();
    let join = session.task("half").try_nest((), move |s, ()| {
        let even = s.try_spawn((), move |()| if number % 2 == 0 { Ok(number) } else { Err("odd") });
        s.wait(even).map(|even| even / 2)
    });
    session.wait(join)
}

fn run<E: millpond::Engine>(rt: &Runtime<E>) -> Result<(), Box<dyn Error>> {
    assert_eq!(sum(rt, &["1", "2", "39"])?, 42);
    let error = sum(rt, &["1", "two", "39"]).expect_err("`two` is no number");
    assert_eq!(error.kind(), &Kind::Failed);
    println!("{error}");
    assert_eq!(half(rt, 84)?, 42);
    println!("{}", half(rt, 85).expect_err("it is odd"));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for inline in [Inline::Always, Inline::Never] {
        run(&Runtime::builder().workers(2).inline(inline).build()?)?;
        run(&Runtime::builder().workers(2).inline(inline).build_with::<StackEngine>()?)?;
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
