# shellcheck shell=bash
# What the scripts share: where they are, how they speak, how they become root.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
venv=$root/.venv
# Ordinary users of Debian lack these, and ldconfig and dockerd live there.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() { printf 'mysqlprof setup: %s\n' "$*" >&2; }

# die MESSAGE HINT: 3 is "the environment lacks something".
die() {
  say "$1"
  printf '  next: %s\n' "$2" >&2
  exit 3
}

# Everything that installers say goes to this file; it is deleted when all went well.
log=$(mktemp "${TMPDIR:-/tmp}/mysqlprof-setup.XXXXXX.log")
trap 'rm -f -- "$log"' EXIT

keep_log() { trap - EXIT; }

# quietly WHAT COMMAND...: no noise; on failure the end of what was said, and where the rest is.
quietly() {
  local what=$1 status=0
  shift
  printf '\n$ %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    keep_log
    say "$what failed (exit $status); all of it is in $log; its end:"
    tail -n 15 -- "$log" | sed 's/^/  | /' >&2
  fi
  return "$status"
}

is_root() { [ "$(id -u)" -eq 0 ]; }

# sudo may ask for a password where there is a terminal, and must not hang where there is none.
can_be_root() {
  is_root && return
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return
  [ -t 2 ] && sudo -v
}

# sudo clears the environment: hand on what package clients need to reach their registries.
# Descriptor 9 is setup's lock: a daemon started by a package must not hold it for ever.
as_root() {
  if is_root; then
    env DEBIAN_FRONTEND=noninteractive "$@" 9>&-
    return
  fi
  local kept=() name
  for name in http_proxy https_proxy ftp_proxy no_proxy all_proxy \
    HTTP_PROXY HTTPS_PROXY FTP_PROXY NO_PROXY ALL_PROXY APT_CONFIG SSL_CERT_FILE SSL_CERT_DIR; do
    [ -n "${!name:-}" ] && kept+=("$name=${!name}")
  done
  sudo env DEBIAN_FRONTEND=noninteractive "${kept[@]}" "$@" 9>&-
}
