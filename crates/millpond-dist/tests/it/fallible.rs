//! Portable tasks whose bodies return errors, at their spawn and later.

use std::error::Error as _;
use std::num::ParseIntError;

use crate::common::limit;

use millpond::{Engine, Handle, Kind, Out, Runtime, Spawn, StackEngine};
use millpond_dist::{
    Handles, ParentScope, R, SpawnPortable, TaskError, TaskPortable, TryPortable, TryPortableParent, W, portable,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Parse;
impl TryPortable for Parse {
    type Access = (R<String>, W<u32>);
    fn try_run(self, (text, number): (&String, Out<u32>)) -> Result<(), TaskError> {
        number.set(text.parse()?);
        Ok(())
    }
}
portable!(Parse, "fallible.parse");

/// Parses in a child. On request, it fails itself.
#[derive(Serialize, Deserialize)]
struct Check {
    fails: bool,
}
impl TryPortableParent for Check {
    type Access = (R<String>, W<u32>);
    fn try_run<'t>(self, s: &impl ParentScope<'t>, (text, number): Handles<'t, Self>) -> Result<(), TaskError> {
        s.spawn_portable((text.read(), number.write()), Parse);
        if self.fails { Err("as it was told".into()) } else { Ok(()) }
    }
}
portable!(Check, "fallible.check");

fn everywhere<E: Engine>(rt: &Runtime<E>) {
    let texts = ["17", "x"].map(|text| Handle::new(text.to_string()));
    let results: [Handle<u32>; 6] = std::array::from_fn(|_| Handle::unset());
    let [good, bad] = [0, 1].map(|text| texts[text].read());
    let mut joins = Vec::new();
    let error = rt.scope(|s| {
        s.spawn_portable((good, results[0].write()), Parse);
        let leaf = s.task("leaf").spawn_portable((bad, results[1].write()), Parse);
        s.nest_portable((texts[0].read(), results[2].write()), Check { fails: false });
        let own = s.nest_portable((texts[0].read(), results[3].write()), Check { fails: true });
        let child = s.nest_portable((texts[1].read(), results[4].write()), Check { fails: false });
        let both = s.nest_portable((texts[1].read(), results[5].write()), Check { fails: true });
        joins.extend([leaf, own, child, both].map(|join| s.wait(join).unwrap_err()));
    });
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.task().name()), (&Kind::Failed, Some("leaf")));
    let by_child = joins.iter().map(|error| error.source().unwrap().is::<ParseIntError>());
    assert_eq!(by_child.collect::<Vec<_>>(), [true, false, true, true], "a child's failure comes first");
    assert!(joins[1].to_string().ends_with("failed: as it was told"));
    let values = results.map(|result| result.into_inner().ok());
    assert_eq!(values, [Some(17), None, Some(17), None, None, None]);
}

#[test]
fn an_err_fails_a_portable_task() {
    for workers in 1..=3 {
        limit(60, "portable tasks that fail", || {
            let builder = || Runtime::builder().workers(workers);
            (0..20).for_each(|_| everywhere(&builder().build().expect("in range")));
            (0..20).for_each(|_| everywhere(&builder().build_with::<StackEngine>().expect("in range")));
        });
    }
}
