//! The parameters of a solution.

use crate::error::Error;

/// How finely a scene is solved.
///
/// All thresholds are relative, so that they suit scenes of any size and brightness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// An interaction is refined if its error is more than this share of the emitted power. The
    /// error is the power that it carries (radiosity of the source, times form factor, times area
    /// of the receiver), times the relative error of the form factor.
    pub bf_error: f64,
    /// The relative error of a form factor is this number, times the larger area over the squared
    /// distance, and at most 1. The error of an interaction is its power times this error. With a
    /// large number, such as 1000, the error is the whole power.
    pub falloff: f64,
    /// The factor of `bf_error` for an interaction that is partially visible. Below 1, borders of
    /// shadows get smaller elements.
    pub partial_factor: f64,
    /// No element is divided whose side is shorter than twice this share of the scene's diagonal.
    pub min_side: f64,
    /// The number of rays that decide about the visibility of an interaction.
    pub rays: u32,
    /// How often an iteration gathers, pushes and pulls.
    pub sweeps: u32,
    /// Iterations end if the total energy changes by less than this share.
    pub tolerance: f64,
    /// The maximum number of iterations.
    pub max_iterations: u32,
    /// The maximum number of elements. If it is reached, interactions are accepted as they are.
    pub max_elements: u32,
}

impl Parameters {
    /// The default.
    pub const DEFAULT: Self = Self {
        bf_error: 0.001,
        falloff: 4.0,
        partial_factor: 0.5,
        min_side: 0.005,
        rays: 16,
        sweeps: 1,
        tolerance: 0.005,
        max_iterations: 20,
        max_elements: 4_000_000,
    };

    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// If a parameter is outside its range. The message names it and the range.
    ///
    /// ```
    /// use millpond_radiosity::Parameters;
    ///
    /// let error = Parameters { rays: 0, ..Parameters::DEFAULT }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "rays 0: expected 1 to 1024");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        let real = |value: f64, least: f64, most: f64| (least..=most).contains(&value);
        let checks = [
            ("bf_error", self.bf_error.to_string(), real(self.bf_error, 1e-9, 1e3), "1e-9 to 1000"),
            ("falloff", self.falloff.to_string(), real(self.falloff, 0.01, 1e9), "0.01 to 1e9"),
            ("partial_factor", self.partial_factor.to_string(), real(self.partial_factor, 0.01, 1.0), "0.01 to 1"),
            ("min_side", self.min_side.to_string(), real(self.min_side, 1e-4, 1.0), "1e-4 to 1"),
            ("rays", self.rays.to_string(), (1..=1024).contains(&self.rays), "1 to 1024"),
            ("sweeps", self.sweeps.to_string(), (1..=1000).contains(&self.sweeps), "1 to 1000"),
            ("tolerance", self.tolerance.to_string(), real(self.tolerance, 1e-9, 1.0), "1e-9 to 1"),
            (
                "max_iterations",
                self.max_iterations.to_string(),
                (1..=100_000).contains(&self.max_iterations),
                "1 to 100000",
            ),
            (
                "max_elements",
                self.max_elements.to_string(),
                (1..=MAX_ELEMENTS).contains(&self.max_elements),
                "1 to 16000000",
            ),
        ];
        match checks.into_iter().find(|(_, _, fits, _)| !fits) {
            Some((parameter, value, _, expected)) => Err(Error::Parameter { parameter, value, expected }),
            None => Ok(()),
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The maximum of [`Parameters::max_elements`].
pub(crate) const MAX_ELEMENTS: u32 = 16_000_000;
