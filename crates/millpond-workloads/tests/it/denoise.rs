//! Rician denoising removes noise, and its check detects a wrong picture.

use millpond_workloads::denoise::{psnr, ratios, serial, synthetic, verified};

#[test]
fn pictures_get_better_whatever_their_noise() {
    for (size, noise, seed) in [(32, 1, 1), (32, 13, 2), (64, 30, 3), (64, 100, 4), (128, 13, 5), (100, 5, 6)] {
        let picture = synthetic(size, noise, seed);
        let found = serial(&picture, noise as f32 / 255.0, 100);
        let [before, after] = ratios(&picture, &found).expect("it was made");
        assert!(after > before, "size {size}, noise {noise}: {before} dB, {after} dB");
    }
}

#[test]
fn noise_has_the_deviation_that_was_asked_for() {
    // In bright areas, Rician noise is nearly Gaussian: 20 log10(255 / 13) is 25.85 dB.
    let picture = synthetic(256, 13, 1);
    let clean = picture.clean.as_ref().expect("it was made");
    assert!((psnr(clean, &picture.planes[0]) - 25.85).abs() < 0.3);
    assert_ne!(picture.planes, synthetic(256, 13, 2).planes);
}

#[test]
fn the_check_sees_a_wrong_picture() {
    let picture = synthetic(32, 13, 1);
    let expected = serial(&picture, 13.0 / 255.0, 20);
    let better = ratios(&picture, &expected);
    assert!(verified(&expected, &expected, better));
    let mut wrong = expected.clone();
    wrong[0].0[100] = wrong[0].0[100].next_up();
    assert!(!verified(&wrong, &expected, better));
    wrong = expected.clone();
    wrong[0].1 += 1;
    assert!(!verified(&wrong, &expected, better));
    assert!(!verified(&[], &expected, None));
    // The unchanged picture is no better.
    let same = vec![(picture.planes[0].clone(), 1)];
    assert!(!verified(&same, &same, ratios(&picture, &same)));
}
