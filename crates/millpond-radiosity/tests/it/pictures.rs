//! Pictures.

use super::solve;
use millpond_radiosity::picture::{Options, Surface};
use millpond_radiosity::{Camera, Error, Picture};

const SMALL: Options = Options { width: 160, height: 120, wireframe: false };

#[test]
fn a_picture_has_the_right_size_and_is_a_valid_png() {
    let (scene, solution) = solve("test", |_| {});
    let picture = Picture::draw(&solution.mesh, &scene.camera, &SMALL).expect("a picture");
    assert_eq!((picture.width, picture.height, picture.pixels.len()), (160, 120, 160 * 120));
    let mut bytes = Vec::new();
    picture.write_png(&mut bytes).expect("a file");
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a header");
    let mut decoded = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut decoded).expect("the pixels");
    assert_eq!((info.width, info.height), (160, 120));
    assert_eq!(decoded, picture.pixels.as_flattened());
    let again = Picture::draw(&solution.mesh, &scene.camera, &SMALL).expect("a picture");
    assert_eq!(picture, again);
}

#[test]
fn the_middle_of_the_room_is_lit_and_colours_bleed() {
    let (scene, solution) = solve("test", |_| {});
    let picture = Picture::draw(&solution.mesh, &scene.camera, &SMALL).expect("a picture");
    let at = |x: usize, y: usize| picture.pixels[y * 160 + x].map(i32::from);
    // The back wall is white: near the red wall it is redder than near the green one.
    let (left, right) = (at(46, 55), at(114, 55));
    assert!(left[0] - left[1] > right[0] - right[1] + 4, "{left:?} {right:?}");
    // The shadow of the box on the floor is darker than the floor on the other side.
    let (shadow, light) = (at(50, 87), at(110, 87));
    assert!(shadow[1] + 10 < light[1], "{shadow:?} {light:?}");
    // The lamp is white.
    assert_eq!(at(80, 27), [255, 255, 255]);
}

#[test]
fn the_surface_has_no_bad_numbers_and_no_cracks() {
    let (_, solution) = solve("room", |parameters| parameters.bf_error = 1e-3);
    let surface = Surface::new(&solution.mesh);
    assert!(surface.colors.iter().all(|color| color.is_finite() && color.0.iter().all(|channel| *channel >= 0.0)));
    assert!(surface.positions.iter().all(|position| position.is_finite()));
    // No vertex is inside an edge of another facet of its group: the borders contain it.
    let lengths: f64 = surface.facets.iter().map(|facet| facet.border.len() as f64).sum();
    assert!(lengths > 4.0 * surface.facets.len() as f64, "no T-vertex was found");
}

#[test]
fn a_wireframe_is_darker_at_edges() {
    let (scene, solution) = solve("test", |_| {});
    let plain = Picture::draw(&solution.mesh, &scene.camera, &SMALL).expect("a picture");
    let wire = Picture::draw(&solution.mesh, &scene.camera, &Options { wireframe: true, ..SMALL }).expect("a picture");
    let darker = plain.pixels.iter().zip(&wire.pixels).filter(|(plain, wire)| wire[1] < plain[1]).count();
    assert!(darker > 1000, "{darker} pixels are darker");
    assert!(plain.pixels.iter().zip(&wire.pixels).all(|(plain, wire)| wire[1] <= plain[1]));
}

#[test]
fn cameras_anywhere_give_pictures() {
    let (scene, solution) = solve("test", |_| {});
    for text in ["1,1,1:1,1,0", "2,2,1.3:2,2,1.31:150", "100,100,100:0,0,0:1", "1.5,1.8,0.5:1.6,2,0.5"] {
        let camera = Camera::parse(text, &scene.camera).expect("a camera");
        let picture = Picture::draw(&solution.mesh, &camera, &SMALL).expect("a picture");
        assert_eq!(picture.pixels.len(), 160 * 120);
    }
    for text in ["", "1,2,3", "1,2,3:1,2,3", "0,0,0:1,1", "0,0,0:1,1,nan", "0,0,0:1,1,1:0", "0,0,0:1,1,1:45:3"] {
        let error = Camera::parse(text, &scene.camera).expect_err("a fault").to_string();
        assert!(error.starts_with(&format!("camera {text}: expected X,Y,Z:X,Y,Z")), "{error}");
    }
    let huge = Options { width: 10_000, ..SMALL };
    let error = Picture::draw(&solution.mesh, &scene.camera, &huge).expect_err("a fault");
    assert!(matches!(error, Error::Parameter { parameter: "width", .. }));
    assert_eq!(error.to_string(), "width 10000: expected 1 to 8192");
}
