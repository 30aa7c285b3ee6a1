//! What every solution must satisfy.

use super::solve;
use millpond_radiosity::scene::{Material, SceneBuilder};
use millpond_radiosity::{Rgb, Vector, solve_serial, steps};

#[test]
fn in_a_furnace_every_patch_has_the_radiosity_of_the_series() {
    let (scene, solution) = solve("furnace", |_| {});
    let material = &scene.materials[0];
    let mesh = &solution.mesh;
    assert!(mesh.is_closed());
    for patch in 0..mesh.patches().len() {
        let radiosity = mesh.element(mesh.root(patch)).radiosity();
        for channel in 0..3 {
            let expected = material.emission.0[channel] / (1.0 - material.reflectance.0[channel]);
            let error = (radiosity.0[channel] / expected - 1.0).abs();
            assert!(error < 0.02, "patch {patch}, channel {channel}: {} is not {expected}", radiosity.0[channel]);
        }
    }
}

#[test]
fn form_factors_of_closed_scenes_sum_to_one() {
    for name in ["furnace", "test"] {
        let (_, solution) = solve(name, |_| {});
        let mesh = &solution.mesh;
        for patch in 0..mesh.patches().len() {
            // Before normalisation.
            let row = mesh.element(mesh.root(patch)).exposure();
            assert!((row - 1.0).abs() < 0.05, "{name}: the row of patch {patch} sums to {row}");
        }
        let mean = steps::balance(mesh).mean_row;
        assert!((mean - 1.0).abs() < 0.01, "{name}: {mean}");
    }
}

#[test]
fn closed_scenes_absorb_what_they_emit() {
    for name in ["furnace", "test", "room"] {
        let (_, solution) = solve(name, |_| {});
        let error = solution.counts.energy_error;
        assert!(solution.mesh.is_closed(), "{name} is not closed");
        assert!(error < 0.01, "{name}: energy error {error}");
        assert_eq!(steps::balance(&solution.mesh).escaped, Rgb::BLACK);
    }
}

/// Two parallel unit squares at a distance, the lower one emitting.
fn squares(reflectance: f64, distance: f64) -> SceneBuilder {
    let mut scene = SceneBuilder::new("squares");
    let material = |emission| Material { name: "white".into(), reflectance: Rgb::gray(reflectance), emission };
    let lamp = scene.material(material(Rgb::gray(1.0)), None).expect("a material");
    let white = scene.material(material(Rgb::BLACK), None).expect("a material");
    let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    let low = corners.map(|(x, y)| Vector::new(x, y, 0.0));
    let mut high = corners.map(|(x, y)| Vector::new(x, y, distance));
    high.reverse();
    scene.polygon(&low, lamp, None).expect("a polygon");
    scene.polygon(&high, white, None).expect("a polygon");
    scene
}

#[test]
fn two_squares_have_the_radiosities_of_the_equations() {
    let scene = squares(0.5, 1.0).build().expect("a scene");
    let solution = solve_serial(&scene, &scene.parameters).expect("a solution");
    let mesh = &solution.mesh;
    assert!(!mesh.is_closed());
    // B1 = 1 + rho F B2 and B2 = rho F B1, with the factor of unit squares at distance 1.
    let coupled = 0.5 * 0.199_825;
    let expected = [1.0 / (1.0 - coupled * coupled), coupled / (1.0 - coupled * coupled)];
    for (patch, expected) in expected.into_iter().enumerate() {
        let radiosity = mesh.element(mesh.root(patch)).radiosity().0[0];
        assert!((radiosity / expected - 1.0).abs() < 0.01, "{radiosity} is not {expected}");
    }
    // What leaves the scene counts as absorbed.
    let balance = steps::balance(mesh);
    assert!(balance.error() < 0.01, "{balance:?}");
    assert!(balance.escaped.0[0] > 0.7, "{balance:?}");
}

#[test]
fn an_obstacle_hides_the_light() {
    let mut scene = squares(0.5, 2.0);
    let black = Material { name: "black".into(), reflectance: Rgb::BLACK, emission: Rgb::BLACK };
    let black = scene.material(black, None).expect("a material");
    let corners = [(-2.0, -2.0), (3.0, -2.0), (3.0, 3.0), (-2.0, 3.0)];
    scene.polygon(&corners.map(|(x, y)| Vector::new(x, y, 1.0)), black, None).expect("a polygon");
    let scene = scene.build().expect("a scene");
    let solution = solve_serial(&scene, &scene.parameters).expect("a solution");
    let mesh = &solution.mesh;
    assert_eq!(mesh.element(mesh.root(1)).radiosity(), Rgb::BLACK);
    assert!(solution.counts.invisible > 0, "{:?}", solution.counts);
    // The lamp looks at the back of the obstacle only.
    let warnings = solution.warnings(&scene);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].to_string(), "squares: the light of this face reaches no other face");
}

#[test]
fn the_result_is_the_same_in_every_run() {
    let run = || {
        let (_, solution) = solve("room", |parameters| parameters.bf_error = 1e-3);
        let mesh = solution.mesh;
        let bits = |id| mesh.element(id).radiosity().0.map(f64::to_bits);
        (solution.counts, mesh.ids().map(bits).collect::<Vec<_>>())
    };
    let (one, other) = (run(), run());
    assert_eq!(one.0, other.0);
    assert!(one.1 == other.1, "the radiosities differ");
}

#[test]
fn the_order_of_interactions_only_rounds() {
    let (_, solution) = solve("test", |_| {});
    let mesh = &solution.mesh;
    for id in mesh.ids() {
        let element = mesh.element(id);
        let before = steps::gather(mesh, id, &element.interactions());
        element.interactions().reverse();
        steps::sort(mesh, &mut element.interactions());
        let after = steps::gather(mesh, id, &element.interactions());
        let difference = (before.irradiance - after.irradiance).map(f64::abs).max_channel();
        assert!(difference <= 1e-12 * (1.0 + before.irradiance.max_channel()), "{before:?} {after:?}");
    }
}
