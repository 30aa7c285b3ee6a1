//! Checks that members of the catalogue pass.

use crate::catalogue::{Names, Registry};
use crate::memory::Named as Manager;
use crate::memory::variants::{Bs, Cgbk, Dgbkof};
use crate::pool::Named;
use crate::pool::variants::{Dq1, Dq8, Sq3};
use crate::{DefaultMemory, DefaultPool, DefaultScheme};

#[test]
fn of_pools() {
    super::pool::<DefaultPool>();
    super::pool::<Named<Dq1>>();
    super::pool::<Named<Dq8>>();
    super::pool::<Named<Sq3>>();
}

#[test]
fn of_memory_managers() {
    super::memory::<DefaultMemory>();
    super::memory::<Manager<Bs>>();
    super::memory::<Manager<Cgbk>>();
    super::memory::<Manager<Dgbkof>>();
}

#[test]
fn of_a_scheme() {
    super::scheme::<DefaultScheme>();
}

/// Includes the stack, which has no parts to call directly.
#[test]
fn of_runtimes() {
    let registry = Registry::default();
    super::runtime(&registry, Names::default());
    super::runtime(&registry, Names { scheme: "tickets", pool: "dq9", memory: "cgbk" });
    super::runtime(&registry, Names { scheme: "stack", ..Names::default() });
}
