# tier: peers
# about: every MCP client and server together, and the public conformance suite of MCP
# shellcheck shell=bash
#
# The suite and one of the clients need Node 22, which is among the peers where npm has it for the
# system.

install_peers
run_tests_needing conformance
