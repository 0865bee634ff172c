# shellcheck shell=bash
# System packages: what is needed, how to tell that it is there, which packages bring it.

missing=() # one entry a need: packages that would bring it, best first, separated by spaces

# need PACKAGES TEST...: the packages are alternatives, in the order of preference.
need() {
  local packages=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$packages")
}

have() { command -v "$1" >/dev/null; }

have_package() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1") == installed* ]]; }

# Soname as the loader knows it; Debian 13 and Ubuntu 24.04 renamed libaio's with a "t64".
have_library() {
  [ -n "${libraries:-}" ] || libraries=$(ldconfig -p)
  local soname
  for soname in "$@"; do
    [[ $libraries == *[[:space:]]"$soname "* ]] && return
  done
  return 1
}

# Ubuntu's /usr/bin/perf is a wrapper that refuses kernels without a package of their own, though
# any perf will do: only one that runs counts.
have_perf() {
  local candidate
  for candidate in "$(command -v perf)" /usr/lib/linux-tools*/perf /usr/lib/linux-tools/*/perf; do
    [ -x "$candidate" ] && "$candidate" version && return
  done
  return 1
}

have_flamegraph() { have flamegraph.pl || [ -f /usr/share/perl5/Devel/NYTProf/flamegraph.pl ]; }

# Runs in a container that holds nothing else: it must need no shared library.
have_static_busybox() {
  local busybox
  busybox=$(command -v busybox) && ! ldd "$busybox"
}

needs_of_a_run() {
  need "linux-perf linux-tools-$(uname -r) linux-tools-generic" have_perf
  need libc6-dbg have_package libc6-dbg
  need libdevel-nytprof-perl have_flamegraph
  need default-jdk-headless have javac
  need maven have mvn
  need "libaio1t64 libaio1" have_library libaio.so.1 libaio.so.1t64
  need libnuma1 have_library libnuma.so.1
  need libatomic1 have_library libatomic.so.1
  need libcrypt1 have_library libcrypt.so.1
  need libjemalloc2 have_library libjemalloc.so.2
  need libtcmalloc-minimal4 have_library libtcmalloc_minimal.so.4
  need busybox-static have_static_busybox
  need binutils have readelf
  need sysbench have sysbench
  need tcpdump have tcpdump
}

needs_of_topologies() {
  need iproute2 have tc
  need openvpn have openvpn
}

needs_of_tests() {
  need gcc have gcc
  need libc6-dev test -f /usr/include/stdio.h
  need docker-registry have docker-registry
  need chromium have chromium
  need shellcheck have shellcheck
  need golang-go have go
  need nodejs have node
}

# install_missing: one update and one installation for all of them; what cannot be had is named,
# and is no reason to do without the rest. Returns 4 when something is still missing.
install_missing() {
  [ "${#missing[@]}" -eq 0 ] && return
  if ! have apt-get; then
    say "missing, by their names on Debian: ${missing[*]%% *}"
    say "this system has no apt-get: install them with its own package manager"
    return 4
  fi
  if ! can_be_root; then
    choose_packages
    say "missing, and only root can install them; ask an administrator for:"
    chosen+=("${unknown[@]}")
    printf '    apt-get install -y --no-install-recommends %s\n' "${chosen[*]}" >&2
    return 4
  fi
  quietly "apt-get update" as_root apt-get update ||
    say "going on with the package lists that are there"
  choose_packages
  local failed=("${unknown[@]}") package
  if [ "${#chosen[@]}" -gt 0 ]; then
    say "installing ${#chosen[@]} system packages: ${chosen[*]}"
    # One that cannot be installed fails them all: then each has its own try.
    if ! apt_install "${chosen[@]}" >>"$log" 2>&1 </dev/null; then
      for package in "${chosen[@]}"; do
        quietly "installing $package" apt_install "$package" || failed+=("$package")
      done
    fi
  fi
  [ "${#failed[@]}" -eq 0 ] && return
  say "could not be installed: ${failed[*]}"
  return 4
}

# Of each need's alternatives the first that apt could install: chosen; where there is none: unknown.
choose_packages() {
  local alternatives package
  chosen=() unknown=()
  for alternatives in "${missing[@]}"; do
    for package in $alternatives; do
      if candidate_version "$package" >/dev/null; then
        chosen+=("$package")
        continue 2
      fi
    done
    unknown+=("${alternatives%% *}")
  done
}

apt_install() {
  as_root apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

candidate_version() {
  local version
  version=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')
  [ -n "$version" ] && [ "$version" != "(none)" ] && echo "$version"
}
