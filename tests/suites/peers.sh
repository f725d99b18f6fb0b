# tier: peers
# about: programs from the Python and npm registries, as the other side
# shellcheck shell=bash
#
# A test target that needs them is there with the feature `peers` alone.

# The README shows it.
need_program curl curl
install_peers
run_tests_needing peers
