use millpond::Out;
use serde::{Deserialize, Serialize};

use super::*;
use crate::portable::{Portable, Registered, W, encode};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        r.set(1);
    }
}
crate::portable!(One, "test.one");
const LINE: u32 = line!() - 1;

fn entries(all: &[(&'static str, &'static str, u32)]) -> Vec<&'static Entry> {
    all.iter().map(|&(name, file, line)| &*Box::leak(Box::new(One::ENTRY.at(name, file, line)))).collect()
}

#[test]
fn a_name_that_is_registered_twice_is_an_error_with_both_places() {
    let error = Registry::new(entries(&[("sum", "b.rs", 7), ("fib", "a.rs", 1), ("sum", "a.rs", 12)])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "portable task `sum` is registered 2 times, at a.rs:12 and b.rs:7: register each under its own name"
    );
}

#[test]
fn of_two_such_names_the_first_is_told() {
    let all = [("x", "c.rs", 3), ("a", "b.rs", 2), ("x", "a.rs", 1), ("a", "a.rs", 9), ("a", "a.rs", 10)];
    let Error::Twice { name, places } = Registry::new(entries(&all)).unwrap_err() else { panic!("another error") };
    let places: Vec<_> = places.iter().map(ToString::to_string).collect();
    assert_eq!((name, places.join(" ").as_str()), ("a", "a.rs:9 a.rs:10 b.rs:2"));
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_names() {
    let all = [("fib", "a.rs", 1), ("fib.sum", "a.rs", 2), ("cholesky.trsm", "a.rs", 3), ("fib.leaf", "a.rs", 4)];
    let registry = Registry::new(entries(&all)).unwrap();
    let error = registry.get("Fib.summ").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no portable task is named `Fib.summ`: the nearest valid: `fib.sum`, `fib` or `fib.leaf`"
    );
    let none = Registry::new(entries(&[])).unwrap().get("fib").unwrap_err();
    assert_eq!(none.to_string(), "no portable task is named `fib`: none is registered in this program");
}

#[test]
fn the_registry_has_the_tasks_of_this_program_by_name() {
    let names: Vec<_> = registry().unwrap().iter().map(Entry::name).collect();
    assert_eq!(names, ["test.one"]);
    let task = registry().unwrap().decode("test.one", &encode(&One).unwrap().1).unwrap();
    assert_eq!(task.entry().place().to_string(), format!("{}:{LINE}", file!()));
}
