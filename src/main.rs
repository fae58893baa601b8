//! The program: arguments to a verb, its end to an exit code.

use yardmaster::shell::pages::LargePages;

// Linked in, it is the allocator of librdkafka too, whose messages are made by one thread and freed
// by another: with the system's, a third of what a message costs is that.
#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: LargePages<tikv_jemallocator::Jemalloc> = LargePages(tikv_jemallocator::Jemalloc);

#[cfg(not(target_os = "linux"))]
#[global_allocator]
static MEMORY: LargePages<std::alloc::System> = LargePages(std::alloc::System);

fn main() -> std::process::ExitCode {
    yardmaster::shell::cli::main()
}
