//! A struct that is registered and no task.

use millpond_dist::portable;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

portable!(One, "one");

fn main() {}
