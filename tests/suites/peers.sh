# tier: peers
# about: programs from the Python and npm registries, as the other side
# shellcheck shell=bash
#
# The programs are pinned, with hashes, by tests/peers/requirements.txt and (where there is one)
# tests/peers/package-lock.json, and installed under target/peers, without root and once for each
# content of the lock files. A test target that needs them is there with the feature `peers` alone,
# and finds them in venv/bin and node_modules of the folder that AGENTWIRE_PEERS names.

peers=$ROOT/target/peers
python3 -c "import sys; sys.exit(sys.version_info < (3, 10))" ||
  not_run "the pinned peers need Python 3.10 or newer"

need_program node nodejs
need_program npm npm

locks=tests/peers/requirements.txt
[[ -f tests/peers/package-lock.json ]] && locks+=" tests/peers/package-lock.json"
# shellcheck disable=SC2086 # two names
locks=$(cat $locks | sha256sum | cut -d ' ' -f 1)

if [[ $(cat "$peers/stamp" 2>/dev/null) != "$locks" ]]; then
  rm -rf "$peers"
  mkdir -p "$peers"
  say "installing the Python peers"
  python3 -m venv "$peers/venv"
  "$peers/venv/bin/pip" install --quiet --require-hashes --no-deps --only-binary :all: \
    -r tests/peers/requirements.txt
  if [[ -f tests/peers/package-lock.json ]]; then
    say "installing the npm peers"
    cp tests/peers/package.json tests/peers/package-lock.json "$peers/"
    (cd "$peers" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  fi
  echo "$locks" >"$peers/stamp"
fi
"$peers/venv/bin/python" -m pip check >/dev/null || fail "the pinned Python peers do not fit together"

export AGENTWIRE_PEERS=$peers
run_tests_needing peers
