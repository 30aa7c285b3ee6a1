//! Tests of whole solutions, of input files, and of pictures.

mod files;
mod physics;
mod pictures;
mod scenes;

use millpond_radiosity::{Parameters, Scene, Solution, solve_serial};

/// Solves a built-in scene.
fn solve(name: &str, change: impl FnOnce(&mut Parameters)) -> (Scene, Solution) {
    let scene = Scene::built_in(name).expect("a scene");
    let mut parameters = scene.parameters;
    change(&mut parameters);
    let solution = solve_serial(&scene, &parameters).expect("a solution");
    (scene, solution)
}
