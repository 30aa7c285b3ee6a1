//! A router's table, and its computation from the neighbours' tables.

use super::Link;
use std::sync::Arc;

/// The distance of an unreachable router, and the first router on the route to it.
pub const UNREACHABLE: u32 = u32::MAX;

/// The route to a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The length of the path.
    pub distance: u32,
    /// The first router on the path.
    pub next: u32,
}

/// The table of a router after some round.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The route to each router.
    pub routes: Arc<[Route]>,
    /// Whether this round has changed them.
    pub changed: bool,
}

impl Table {
    /// The table before the first round, with only the router itself.
    pub fn first(router: u32, routers: usize) -> Self {
        let route = |to| match to {
            to if to == router => Route { distance: 0, next: router },
            _ => Route { distance: UNREACHABLE, next: UNREACHABLE },
        };
        Self { routes: (0..routers as u32).map(route).collect(), changed: true }
    }

    /// The table one round later. The router has received these tables over these links.
    pub fn later<'t>(&self, heard: impl Iterator<Item = (&'t Link, &'t Table)>) -> Self {
        let mut routes: Option<Arc<[Route]>> = None;
        let mut changed = false;
        // An unchanged table was received one round before.
        for (link, table) in heard.filter(|(_, table)| table.changed) {
            let own = Arc::make_mut(routes.get_or_insert_with(|| Arc::from(&*self.routes)));
            for (own, theirs) in own.iter_mut().zip(&*table.routes) {
                // No path is as long as the maximum: `Params` ensures that.
                let distance = theirs.distance.saturating_add(link.length);
                if distance < own.distance {
                    *own = Route { distance, next: link.to };
                    changed = true;
                }
            }
        }
        match routes {
            Some(routes) if changed => Self { routes, changed },
            _ => Self { routes: self.routes.clone(), changed: false },
        }
    }
}
