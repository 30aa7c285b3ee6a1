//! The families of exchangeable parts as data: options, help, `list` and the refusals are made from the runtime's
//! catalogue.

use millpond::catalogue::{MEMORY as MEMORIES, POOLS, Row, SCHEMES};

/// A family of parts, one of which a runtime is built with.
pub struct Family {
    /// The option that chooses, without its dashes.
    pub option: &'static str,
    /// What `list` calls the whole family.
    pub plural: &'static str,
    /// What the family decides.
    pub decides: &'static str,
    /// The members; the first is the default.
    pub members: &'static [Row],
}

impl Family {
    /// The member that a runtime has unless another is named.
    pub fn default_member(&self) -> &'static str {
        self.members[0].name
    }

    /// The names of all members.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.members.iter().map(|m| m.name)
    }
}

/// When a task is ready.
pub static SCHEME: Family =
    Family { option: "scheme", plural: "schemes", decides: "when a task is ready", members: SCHEMES };

/// Where ready tasks wait.
pub static POOL: Family =
    Family { option: "pool", plural: "pools", decides: "where ready tasks wait and who finds them", members: POOLS };

/// Where task blocks come from.
pub static MEMORY: Family =
    Family { option: "memory", plural: "memory", decides: "where task blocks come from", members: MEMORIES };

/// Every family, in the order of their options.
pub static FAMILIES: [&Family; 3] = [&SCHEME, &POOL, &MEMORY];
