# tier: peers
# about: the official SDKs of A2A, each client at each agent, and the transport for the one of Rust
# shellcheck shell=bash
#
# The Rust SDK brings gRPC with it and has cargo choose other features for what everything stands on,
# so these tests are built apart from the workspace's own, and only what they need.

install_peers
chosen=(-p agentwire-tests -p agentwire-tokio --no-default-features --features "agentwire-tests/a2a-client")
cargo test --locked --no-fail-fast "${chosen[@]}" --test a2a_client --test a2a_peers
cargo test --locked "${chosen[@]}" --doc a2a_client
