//! The web page in a real headless Chromium, against a running `demo`, and against a server that
//! answers as a test wants it to. Left out where there is no Chromium.

mod browser;
mod demo;
mod served;

use std::process::Child;
use std::time::Duration;

/// How long the conditions of a test are waited for, all together.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that is ended when it is dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
