# What the scripts share: packages, building, messages. Sourced, not run, right after cd to the checkout.

called_from=${OLDPWD:-$PWD}

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "error: $*"
  exit 1
}

# callers_path PATH: absolute; one that was given is relative to where the script was called, not to the checkout.
callers_path() { (cd "$called_from" && realpath -m -- "$1"); }

# results_folder PATH: the same, where run_steps can write; said before anything is installed.
results_folder() {
  local path
  path=$(callers_path "$1")
  check_results_path "$path"
  echo "$path"
}

check_results_path() {
  [[ $1 != *[[:space:]\|]* ]] || fail "results would lie beside '$1', expected a path without spaces and |"
}

# install_missing PACKAGE...: Debian packages that are not there yet; asks the network for nothing if all are.
install_missing() {
  local missing=() package as_root=() known
  known=$(dpkg-query -W -f ' ${Package}=${db:Status-Status} ' "$@" 2>/dev/null) || true
  for package; do
    [[ $known == *" $package=installed "* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing Debian packages: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "needs root to install ${missing[*]}, and there is no sudo"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq || say "apt-get update failed; trying the lists that are there"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}"
}

# run_tests LOG [ARGUMENT...]: by `meson test` in build/. Says what was skipped and why; the last line counts.
run_tests() {
  local log=$1 status=0 passed failed timed_out skipped
  shift
  mkdir -p "$(dirname "$log")"
  meson test -C build --print-errorlogs --no-rebuild "$@" | tee "$log" || status=$?
  python3 tests/skipped.py build/meson-logs/testlog.json
  count() { awk -v name="$1:" '$1 " " $2 ~ "^" name { print $NF }' "$log"; }
  passed=$(count Ok) failed=$(count Fail) timed_out=$(count Timeout) skipped=$(count Skipped)
  echo "${passed:-0} passed, $((${failed:-0} + ${timed_out:-0})) failed, ${skipped:-0} skipped"
  return "$status"
}

# What only some tests need: Slurm, MPICH, SimGrid, mpi4py, Fortran, CMake. Nothing that is installed is started.
laboratory_packages=(iproute2 util-linux slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge mpich libmpich-dev
  libsimgrid-dev python3-mpi4py gfortran cmake)

# install_laboratory: without them those tests are skipped, so that they can't be had is no error.
install_laboratory() (
  policy=/usr/sbin/policy-rc.d
  if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
  fi
  install_missing "${laboratory_packages[@]}"
)

# dpkg-dev: without it Meson installs to lib64, where Debian looks for nothing.
build_packages=(g++ dpkg-dev meson ninja-build pkg-config libopenmpi-dev openmpi-bin libopenblas-openmp-dev libcli11-dev
  catch2 nlohmann-json3-dev zlib1g-dev libgloo-dev python3-numpy python3-matplotlib)

# What scripts/package needs beside them.
packaging_packages=(fakeroot debhelper dh-python mpi-default-bin mpi-default-dev lintian autopkgtest)

# configure FOLDER [MESON OPTION...]: unless it is configured already.
configure() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson_setup "$folder" "$@"
}

# meson_setup FOLDER [MESON OPTION...]: its words are seen if it fails alone.
meson_setup() {
  meson setup "$@" >"$1.log" 2>&1 || {
    cat "$1.log" >&2
    fail "meson setup $* failed"
  }
  rm -f "$1.log"
}

# take_results FOLDER: makes it, and keeps every other run out of it for as long as the script lasts.
take_results() {
  mkdir -p "$1"
  exec 8<"$1"
  flock --nonblock 8 || fail "another run writes to $1"
}

# refuse_others_rows FILE...: of another commit or CPU, which a run that goes on would mix with its own.
refuse_others_rows() { bench/provenance.py "$@" || exit 1; }

# Without it ccache, where it is installed, leaves alone what has a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros

# build FOLDER [MESON OPTION...]: configures once, compiles what has changed. Of two started at once one waits.
build() (
  flock 9
  configure "$@"
  ninja -C "$1" --quiet >&2
) 9<scripts/simulate

simulated_bench=bench/simulated/dsop-bench.so

has_simulation() { grep -q "^build $simulated_bench:" build/build.ninja; }

# look_for_simgrid: again, where it may have been installed after build/ was configured.
look_for_simgrid() { has_simulation || meson_setup build --reconfigure -Dsimgrid=auto; }

# build_simulation: dsop-bench on ranks that SimGrid simulates, in build/. As `build`.
build_simulation() (
  flock 9
  configure build
  look_for_simgrid
  has_simulation || fail "meson setup found no SimGrid 3.32"
  ninja -C build --quiet "$simulated_bench" >&2
) 9<scripts/simulate

# Open MPI refuses root and more ranks than cores unless told; a waiting rank should yield a shared core. Version 5 reads the
# names with PRTE, and says of some interfaces that no other reaches them.
ranks_share_this_machine() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
  export OMPI_MCA_btl_tcp_if_include=lo
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
}

# on_emulated_hosts RATE RANKS MACHINE COMMAND ARGUMENT...: dsop-bench COMMAND (outer-product or sparse-allreduce) on RANKS
# ranks of a cluster $hosts_name of eight hosts, or more if they need more, planned for the machine file MACHINE, which is calibrated
# if it is not there. A rank a host, unless an array `where` says otherwise: --ranks-per-host Q, and then perhaps a placement.
on_emulated_hosts() {
  local cluster=(scripts/cluster --name "$hosts_name") rate=$1 ranks=$2 machine=$3 command=$4 bench=$PWD/build/bench/dsop-bench
  local per_host=${where[1]:-1}
  local hosts=$(((ranks + per_host - 1) / per_host))
  local run=("${cluster[@]}" run -n "$ranks" "${where[@]}")
  shift 4
  "${cluster[@]}" up --hosts $((hosts > 8 ? hosts : 8)) --rate "$rate" &&
    { [ -e "$machine" ] || "${run[@]}" -- "$bench" calibrate --out "$machine"; } &&
    "${run[@]}" -- "$bench" "$command" --machine "$machine" "$@" &&
    "${cluster[@]}" status && "${cluster[@]}" down
}

# end_hosts_with_this_script NAME: the emulated hosts NAME-$$, however it ends but by SIGKILL. Of two runs of a script none ends
# the other's.
end_hosts_with_this_script() {
  hosts_name=$1-$$
  trap end_emulated_hosts EXIT # by SIGHUP, SIGINT and SIGTERM, too
}

end_emulated_hosts() {
  trap '' HUP INT TERM # timeout sends SIGTERM twice
  end_children $$      # else one of them could bring hosts up after this
  scripts/cluster --name "$hosts_name" down 2>/dev/null || true
}

# end_children PROCESS: and theirs.
end_children() {
  local child children=()
  read -ra children <"/proc/$1/task/$1/children" || true
  [ "$1" = $$ ] || kill "$1" || true
  for child in "${children[@]}"; do end_children "$child"; done
} 2>/dev/null

# show_bar DONE_SECONDS ALL_SECONDS START WORDS: what is left, at the pace so far.
show_bar() {
  local filled=$(($1 * 30 / $2)) spent=$((SECONDS - $3)) left=$(($2 - $1))
  (($1 == 0)) || left=$(((spent * $2 + $1 - 1) / $1 - spent))
  local bar
  printf -v bar '%*s' "$filled" ''
  local line='[%-30s] %3d %%, about %d min left: %s\n'
  [ ! -t 2 ] || line='\r\033[K'${line%'\n'}
  # shellcheck disable=SC2059 # the format is one of the two above
  printf "$line" "${bar// /#}" $(($1 * 100 / $2)) $(((left + 59) / 60)) "$4" >&2
}

# run_steps LOG: the array steps, of "SECONDS|WORDS|COMMAND", with a bar that moves by the seconds that two quiet cores take.
run_steps() {
  local step seconds what command all=0 done_seconds=0 start=$SECONDS
  check_results_path "$1"
  for step in "${steps[@]}"; do all=$((all + ${step%%|*})); done
  for step in "${steps[@]}"; do
    IFS='|' read -r seconds what command <<<"$step"
    show_bar "$done_seconds" "$all" "$start" "$what"
    echo "== $(date -u +%FT%TZ), load average $(cut -d ' ' -f 1-3 /proc/loadavg): $what" >>"$1"
    ($command) >>"$1" 2>&1 || fail "$what: failed, see $1" # of its own, for a step may end in fail
    done_seconds=$((done_seconds + seconds))
  done
  show_bar "$all" "$all" "$start" "done"
}
