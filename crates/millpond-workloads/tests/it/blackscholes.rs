//! Prices of options: known ones, those of the whole workload, and a check that detects a wrong
//! price.

use millpond_workloads::blackscholes::{
    Contract, Portfolio, Right, THRESHOLD, exact, generate, max_abs_error, price, serial,
};
use millpond_workloads::{Options, Stopwatch, find};

const CALL: Contract = Contract { spot: 42.0, strike: 40.0, rate: 0.1, volatility: 0.2, time: 0.5, right: Right::Call };

/// J. Hull, *Options, Futures, and Other Derivatives*, has the first two with two decimals.
#[test]
fn known_prices() {
    let put = Contract { right: Right::Put, ..CALL };
    let year = Contract { spot: 100.0, strike: 100.0, rate: 0.05, volatility: 0.15, time: 1.0, right: Right::Put };
    for (contract, known) in [(CALL, 4.759_422_392_871_532), (put, 0.808_599_372_900_096)] {
        assert!((exact(&contract) - known).abs() < 1e-12, "{contract:?}: {}", exact(&contract));
    }
    // The digits in PARSEC's data: its reference prices are computed in another way than both of
    // ours.
    for (contract, known) in [(CALL, 4.759_423_036_85), (put, 0.808_600_016_88), (year, 3.714_602_051_38)] {
        assert!((price(&contract) - known).abs() < 1e-5, "{contract:?}: {}", price(&contract));
    }
}

#[test]
fn a_call_less_its_put_is_the_stock_less_the_strike() {
    for contract in generate(1000, 5) {
        let strike = contract.strike * (-contract.rate * contract.time).exp();
        let [call, put] = [Right::Call, Right::Put].map(|right| exact(&Contract { right, ..contract }));
        assert!((call - put - (contract.spot - strike)).abs() < 1e-10, "{contract:?}");
    }
}

#[test]
fn generated_options_are_of_either_kind_and_differ_by_their_seed() {
    let contracts = generate(1000, 1);
    let calls = contracts.iter().filter(|contract| contract.right == Right::Call).count();
    assert!((400..600).contains(&calls), "{calls}");
    assert_eq!(contracts[..10], generate(10, 1));
    assert_ne!(contracts[..10], generate(10, 2));
}

#[test]
fn the_check_sees_a_wrong_price() {
    let contracts = generate(100, 1);
    let right = serial(&contracts);
    let references = Some(contracts.iter().map(exact).collect());
    for portfolio in [Portfolio { contracts: contracts.clone(), references: None }, Portfolio { contracts, references }]
    {
        assert!(max_abs_error(&portfolio, &right) < THRESHOLD);
        for (nth, wrong) in [(0, right[0] + 1.2e-4), (99, right[99] - 1.2e-4), (50, f64::NAN), (50, f64::INFINITY)] {
            let mut prices = right.clone();
            prices[nth] = wrong;
            let error = max_abs_error(&portfolio, &prices);
            assert!(error >= THRESHOLD && error.is_finite(), "{nth}: {wrong}: {error}");
        }
        assert_eq!(max_abs_error(&portfolio, &right[..99]), f64::MAX);
    }
}

#[test]
fn prices_of_options_from_a_file_are_saved() {
    let dir = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) = (dir.join("options.txt"), dir.join("prices.txt"));
    let contracts = generate(77, 9);
    let line = |contract: &Contract| {
        let Contract { spot, strike, rate, volatility, time, right } = contract;
        let right = if *right == Right::Call { 'C' } else { 'P' };
        format!("{spot} {strike} {rate} 0 {volatility} {time} {right} 0.00 {}\n", exact(contract))
    };
    let text = format!("77\n{}", contracts.iter().map(line).collect::<String>());
    std::fs::write(&input, text).expect("a file");
    let options = Options::new().path("input", &input).path("output", &output).integer("granularity", 10);
    let mut job = (find("blackscholes").expect("a workload").prepare)(&options).expect("a job");
    assert_eq!(job.tasks(), 8);
    job.serial(&mut Stopwatch::default()).expect("the serial program");
    assert!(job.check().expect("a check").verified);
    job.save().expect("the prices are saved");
    let saved: Vec<f64> = std::fs::read_to_string(&output)
        .expect("the prices")
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(saved, serial(&contracts));
}
