//! The program agentwire.
fn main() {}
