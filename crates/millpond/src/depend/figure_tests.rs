//! Runs the steps of `conformance::scheme` under every scheme.

use super::Scheme;
use crate::conformance::scheme::*;

fn run<D: Scheme>(test: fn()) {
    println!("scheme {}", D::NAME);
    test();
}

tests_of_every_scheme! {
    run;
    a_task_after_an_emptied_generation
    a_generation_that_empties_behind_another
    the_next_generation_is_seen
    a_task_is_guarded_until_it_is_issued
    a_release_between_issues
    a_write_never_waits
    generations_follow_one_another
    a_task_is_in_a_generation_twice
}
