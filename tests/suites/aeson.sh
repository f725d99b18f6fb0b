# tier: system
# about: the escape-aware length against the encoder that SimpleX's core uses (ghc, aeson)
# shellcheck shell=bash

need_program ghc ghc libghc-aeson-dev
ghc-pkg list --global --simple-output aeson | grep -q . ||
  { can_apt && apt_install libghc-aeson-dev; } || not_run "ghc has no aeson (Debian: libghc-aeson-dev)"

cargo test --workspace --locked --features agentwire-tests/system --test aeson
