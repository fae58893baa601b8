//! What is read of xRSL.
