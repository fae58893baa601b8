//! Measuring and reporting of the benchmarks.

use std::fs;

/// CPU time of this thread so far; ns.
pub fn cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts CPU time");
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Prints figures as one JSON object of name to value.
pub fn print_json(figures: &[(String, f64)]) {
    let fields: Vec<String> =
        figures.iter().map(|(name, figure)| format!("\"{name}\":{figure:.1}")).collect();
    println!("{{{}}}", fields.join(","));
}
