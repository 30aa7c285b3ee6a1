//! Solves a scene, prints its figures, and writes its picture. Numbers replace its parameters:
//!
//! ```sh
//! cargo run --release -p millpond-radiosity --example solve -- room room.png rays=64
//! ```

use millpond_radiosity::picture::{Options, Picture};
use millpond_radiosity::{Error, Parameters, Scene, solve_serial, steps};
use std::error;
use std::fs::File;
use std::time::Instant;

fn main() -> Result<(), Box<dyn error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (settings, names): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|argument| argument.contains('='));
    let scene = Scene::open(names.first().map_or("room", |name| name))?;
    scene.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let mut parameters = scene.parameters;
    for setting in settings {
        let (name, value) = setting.split_once('=').unwrap_or_default();
        set(&mut parameters, name, value.parse()?)?;
    }
    let start = Instant::now();
    let solution = solve_serial(&scene, &parameters)?;
    let seconds = start.elapsed().as_secs_f64();
    solution.warnings(&scene).iter().for_each(|warning| eprintln!("warning: {warning}"));
    println!("{:#?}", solution.counts);
    println!("closed: {}, {:?}", solution.mesh.is_closed(), steps::balance(&solution.mesh));
    println!("{seconds:.3} seconds");
    if let Some(file) = names.get(1) {
        let wireframe = names.iter().any(|name| *name == "wireframe");
        let options = Options { wireframe, ..Options::default() };
        let picture = Picture::draw(&solution.mesh, &scene.camera, &options)?;
        picture.write_png(&mut File::create(file)?)?;
    }
    Ok(())
}

fn set(parameters: &mut Parameters, name: &str, value: f64) -> Result<(), Error> {
    match name {
        "bf_error" => parameters.bf_error = value,
        "falloff" => parameters.falloff = value,
        "partial_factor" => parameters.partial_factor = value,
        "min_side" => parameters.min_side = value,
        "rays" => parameters.rays = value as u32,
        "sweeps" => parameters.sweeps = value as u32,
        "tolerance" => parameters.tolerance = value,
        _ => {
            let expected = "bf_error, falloff, partial_factor, min_side, rays, sweeps or tolerance";
            return Err(Error::Parameter { parameter: "the parameter", value: name.to_owned(), expected });
        }
    }
    Ok(())
}
