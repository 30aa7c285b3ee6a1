//! The built-in scenes have the sizes of TP §7.2.

use super::solve;
use millpond_radiosity::{Counts, Scene, scene};

/// Patches, elements if known, interactions, completely or partially visible ones, and iterations.
type Sizes = (usize, Option<usize>, usize, usize, std::ops::RangeInclusive<u32>);

const LARGE: Sizes = (532, Some(21_000), 240_000, 89_000, 5..=8);
const HALL: Sizes = (1157, None, 440_000, 184_000, 4..=4);
const RAUM: Sizes = (2979, None, 1_700_000, 553_000, 4..=4);

fn is_near(value: usize, expected: usize, share: f64) -> bool {
    (value as f64 / expected as f64 - 1.0).abs() <= share
}

fn check(name: &str, (patches, elements, interactions, visible, iterations): Sizes) {
    let (_, solution) = solve(name, |_| {});
    let counts: Counts = solution.counts;
    assert!(is_near(counts.patches, patches, 0.05), "{counts:?}");
    assert!(elements.is_none_or(|elements| is_near(counts.elements, elements, 0.1)), "{counts:?}");
    assert!(is_near(counts.interactions, interactions, 0.1), "{counts:?}");
    assert!(is_near(counts.visible + counts.partial, visible, 0.1), "{counts:?}");
    assert!(iterations.contains(&counts.iterations), "{counts:?}");
    assert!(counts.energy_error < 0.01, "{counts:?}");
    assert!(solution.mesh.is_closed(), "{name} is not closed");
}

#[test]
fn large_has_the_size_of_the_paper() {
    check("large", LARGE);
}

#[test]
fn hall_has_the_size_of_the_paper() {
    check("hall", HALL);
}

/// Takes about half a minute.
#[test]
#[ignore = "long"]
fn raum_has_the_size_of_the_paper() {
    check("raum", RAUM);
}

#[test]
fn every_scene_is_read_without_warnings() {
    assert_eq!(scene::names(), ["furnace", "test", "room", "large", "hall", "raum"]);
    for name in scene::names() {
        let scene = Scene::built_in(name).expect("a scene");
        assert!(scene.warnings.is_empty(), "{name}: {:?}", scene.warnings);
        assert!(scene.parameters.check().is_ok());
    }
    assert!(is_near(Scene::built_in("raum").expect("a scene").patches.len(), RAUM.0, 0.05));
}
