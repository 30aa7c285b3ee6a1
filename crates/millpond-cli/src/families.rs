//! The families of exchangeable parts as data. Options, help, `list` and error messages are made
//! from them and the program's registry.

use millpond::catalogue::{MEMORY as MEMORIES, POOLS, Registry, Row, SCHEMES};

/// A family of parts. A runtime has one part of each.
#[derive(Debug)]
pub struct Family {
    /// The option that chooses a member, without its dashes.
    pub option: &'static str,
    /// The name of a member in messages.
    pub noun: &'static str,
    /// The name of the whole family in `list`.
    pub plural: &'static str,
    /// What the family decides.
    pub decides: &'static str,
    /// The default member.
    pub default: &'static str,
    members: fn(&Registry) -> Vec<Row>,
}

impl Family {
    /// The members in a registry, the catalogue's first.
    pub fn members(&self, registry: &Registry) -> Vec<Row> {
        (self.members)(registry)
    }

    /// The names of these members.
    pub fn names(&self, registry: &Registry) -> impl Iterator<Item = &'static str> + use<> {
        self.members(registry).into_iter().map(|row| row.name)
    }
}

/// When a task is ready.
pub static SCHEME: Family = Family {
    option: "scheme",
    noun: "scheme",
    plural: "schemes",
    decides: "when a task is ready",
    default: SCHEMES[0].name,
    members: |registry| registry.schemes().copied().collect(),
};

/// Where ready tasks wait.
pub static POOL: Family = Family {
    option: "pool",
    noun: "pool",
    plural: "pools",
    decides: "where ready tasks wait and who finds them",
    default: POOLS[0].name,
    members: |registry| registry.pools().copied().collect(),
};

/// Where task blocks come from.
pub static MEMORY: Family = Family {
    option: "memory",
    noun: "memory manager",
    plural: "memory",
    decides: "where task blocks come from",
    default: MEMORIES[0].name,
    members: |registry| registry.memory().copied().collect(),
};

/// Every family, in the order of their options.
pub static FAMILIES: [&Family; 3] = [&SCHEME, &POOL, &MEMORY];
