//! The program: arguments to a verb, its end to an exit code.

#[global_allocator]
static MEMORY: yardmaster::shell::pages::LargePages = yardmaster::shell::pages::LargePages;

fn main() -> std::process::ExitCode {
    yardmaster::shell::cli::main()
}
