//! The program: arguments to a verb, its end to an exit code.

fn main() -> std::process::ExitCode {
    yardmaster::shell::cli::main()
}
