//! The web page in a real headless Chromium, against a running `demo`, and against a server that
//! answers as a test wants it to. Left out where there is no Chromium.

mod browser;
mod clusters;
mod demo;
mod domains;
mod held;
mod served;
mod stage;
mod views;

use std::time::Duration;

/// How long the conditions of a test are waited for, all together.
const PATIENCE: Duration = Duration::from_secs(120);
