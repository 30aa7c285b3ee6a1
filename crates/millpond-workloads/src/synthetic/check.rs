//! Checks the number of tasks.

/// The total number of tasks from `k` initial ones. `A(i)` has one more than `A(i - 2)` and `A(i -
/// 1)` together.
///
/// ```
/// use millpond_workloads::synthetic::count;
///
/// // Table 4 of the paper.
/// assert_eq!((count(15), count(20), count(25)), (5149, 57_290, 635_593));
/// ```
///
/// # Panics
///
/// If the number exceeds `u64`: from `k = 90` on.
pub fn count(k: u64) -> u64 {
    // The numbers of A(i - 2) and A(i - 1), from i = 1 on. For i <= 0, A(i) is a single task.
    let (mut before, mut last, mut all) = (1_u64, 1_u64, 0_u64);
    for _ in 0..k {
        all = all.checked_add(last).expect("the tasks can be counted");
        (before, last) = (last, 1 + before + last);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::count;

    /// [TP](crate#sources) Table 4.
    #[test]
    fn as_many_as_in_the_paper() {
        let table = [
            (15, 5_149),
            (20, 57_290),
            (25, 635_593),
            (30, 7_049_122),
            (31, 11_405_739),
            (32, 18_454_894),
            (33, 29_860_667),
            (34, 48_315_596),
        ];
        table.into_iter().for_each(|(k, tasks)| assert_eq!(count(k), tasks, "k = {k}"));
        assert_eq!((count(0), count(1), count(2)), (0, 1, 4));
    }
}
