# shellcheck shell=bash
# The running kernel's headers, which bcc compiles its programs against.

have_kernel_headers() {
  [ -d "${modules:=/lib/modules/$(uname -r)}/build/include" ] || [ -e /sys/kernel/kheaders.tar.xz ]
}

needs_of_counts() {
  local machine
  machine=$(dpkg --print-architecture)
  need python3-bpfcc have_package python3-bpfcc
  need "linux-headers-$(uname -r) linux-headers-$machine linux-headers-generic" have_kernel_headers
}

# Where the running kernel's own headers are not packaged, those of the distribution's kernel serve:
# bcc looks for them by the running kernel's release.
link_kernel_headers() {
  have_kernel_headers && return
  local sources=${kernel_sources:-/usr/src} build common
  build=$(newest "$sources"/linux-headers-*-{amd64,arm64,generic})
  common=$(newest "$sources"/linux-headers-*-common)
  [ -n "$build" ] && can_be_root || return 4
  as_root mkdir -p "$modules"
  as_root ln -sfn "$build" "$modules/build"
  [ -z "$common" ] || as_root ln -sfn "$common" "$modules/source"
}

# newest PATH...: of those that are there, the last by version.
newest() {
  local path
  for path in "$@"; do
    if [ -d "$path" ]; then printf '%s\n' "$path"; fi
  done | sort -V | tail -n 1
}
