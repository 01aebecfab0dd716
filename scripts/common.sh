# What the scripts share: packages, building, words. Sourced, not run.

words() { printf '%s\n' "$*" >&2; }
fail() {
  words "error: $*"
  exit 1
}

# install_missing PACKAGE...: Debian packages that are not there yet; asks the network for nothing if all are.
install_missing() {
  local missing=() package as_root=()
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  words "installing Debian packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "needs root to install ${missing[*]}, and there is no sudo"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq || words "apt-get update failed; trying the lists that are there"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}"
}

build_packages=(g++ meson ninja-build pkg-config libopenmpi-dev openmpi-bin libopenblas-openmp-dev libcli11-dev catch2
  nlohmann-json3-dev zlib1g-dev python3-numpy python3-matplotlib iproute2)

# build FOLDER [MESON OPTION...]: configures once, compiles what has changed.
build() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    fail "meson setup $folder failed"
  }
  rm -f "$folder.log"
  ninja -C "$folder" --quiet >&2
}

# Open MPI refuses root and more ranks than cores unless told; a waiting rank should yield a shared core.
ranks_share_this_machine() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
}
