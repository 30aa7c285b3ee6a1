//! A struct that is registered but is not a task.

use millpond_dist::portable;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

portable!(One, "one");

fn main() {}
