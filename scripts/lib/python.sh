# shellcheck shell=bash
# A Python that is new enough, and the virtual environment made from it.

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The system's own first: modules that come as system packages (bcc's) belong to it.
find_python() {
  local minor candidate
  new_enough /usr/bin/python3 && echo /usr/bin/python3 && return
  for minor in {29..11}; do
    candidate=$(command -v "python3.$minor") && new_enough "$candidate" &&
      echo "$candidate" && return
  done
  candidate=$(command -v python3) && new_enough "$candidate" && echo "$candidate"
}

venv_is_sound() {
  # A copied or moved tree brings an environment whose programs still name the old place.
  new_enough "$venv/bin/python" && grep -qsF -- "$venv" "$venv/bin/activate" &&
    [ -n "$(compgen -G "$venv/lib/python3*/site-packages/pip/__init__.py")" ]
}

# Debian splits Python: a python3 without ensurepip cannot make an environment.
need_python() {
  local python version
  if python=$(find_python); then
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    need "$version-venv python3-venv" "$python" -c 'import ensurepip, venv'
  elif have apt-get; then
    missing+=(python3-venv)
  fi
}

# Ubuntu 22.04's python3 is 3.10, but it packages 3.11 beside it.
install_newer_python() {
  local minor
  have apt-get && can_be_root || return 1
  for minor in {29..11}; do
    if candidate_version "python3.$minor-venv" >/dev/null; then
      quietly "installing Python 3.$minor" apt_install "python3.$minor-venv"
      return
    fi
  done
  return 1
}

# ensure_venv EXTRA: the package, editable, in $venv. EXTRA is "" or "dev".
ensure_venv() {
  local extra=$1 python stamp
  stamp=$(stamp_of "$extra")
  if venv_is_sound && grep -qsxF -- "$stamp" "$venv/.mysqlprof-setup"; then
    return
  fi
  if ! venv_is_sound; then
    python=$(find_python) || { install_newer_python && python=$(find_python); } ||
      die "mysqlprof needs Python 3.11 or newer, and none was found here" \
        "install one (python3.11 or later, with its venv module), then run this again"
    say "making .venv with $("$python" --version)"
    quietly "making .venv" "$python" -m venv --clear "$venv" ||
      die "no virtual environment could be made with $python" \
        "install its venv module (Debian: apt-get install -y python3-venv), then run this again"
  fi
  rm -f -- "$venv/.mysqlprof-setup"
  say "installing mysqlprof${extra:+ and what its tests need} into .venv"
  quietly "pip install" "$venv/bin/python" -m pip install --disable-pip-version-check \
    --editable "$root${extra:+[$extra]}" ||
    die "mysqlprof could not be installed into .venv" \
      "read the lines above; check the network and pip's own settings, then run this again"
  # "dev" brings all that "" does.
  { stamp_of ""; [ -z "$extra" ] || stamp_of "$extra"; } >"$venv/.mysqlprof-setup"
}

stamp_of() {
  printf 'extra=%s %s\n' "$1" "$(sha256sum <"$root/pyproject.toml" | cut -d' ' -f1)"
}
