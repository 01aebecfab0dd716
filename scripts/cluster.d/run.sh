# Programs on the cluster.
# shellcheck shell=bash disable=SC2154

# Busy and all ticks of all cores since boot, from the first line of /proc/stat:
# cpu user nice system idle iowait irq softirq steal
read_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8; exit }' /proc/stat; }

describe_cluster() {
  printf 'name=%s hosts=%s rate=%s' "$name" "$(setting hosts)" "$(setting rate)"
  if [[ -n $(setting rack) ]]; then printf ' rack=%s uplink=%s' "$(setting rack)" "$(setting uplink)"; fi
  if [[ -n ${ranks_per_host-} ]]; then printf ' ranks_per_host=%s placement=%s' "$ranks_per_host" "$placement"; fi
}

# place_ranks: sets hosts_used, which get the ranks, and slots, the most ranks that one of them gets.
place_ranks() {
  local hosts
  hosts=$(setting hosts)
  if [[ -z $ranks_per_host ]]; then
    ranks=${ranks:-$hosts}
    slots=$(((ranks + hosts - 1) / hosts)) hosts_used=$((ranks < hosts ? ranks : hosts))
    return
  fi
  ranks=${ranks:-$((hosts * ranks_per_host))}
  slots=$ranks_per_host hosts_used=$(((ranks + ranks_per_host - 1) / ranks_per_host))
  ((hosts_used <= hosts)) ||
    fail "-n is '$ranks', expected at most $((hosts * ranks_per_host)): --ranks-per-host $ranks_per_host on $hosts hosts"
}

# list_hosts SUFFIX: the hosts that get ranks, each with SUFFIX, with commas between.
list_hosts() {
  local number list=h0$1
  for ((number = 1; number < hosts_used; number++)); do list+=,h$number$1; done
  echo "$list"
}

# Both set the array launch: the words that start an MPI program with $ranks ranks, seen from h0. Ranks of one host send
# to each other through memory: Open MPI by vader, which is sm's name in version 5, too; MPICH by UCX's sm.
launch_with_openmpi() {
  local -A map_by=([order]=slot [turns]=node)
  launch=(mpirun.openmpi --allow-run-as-root --host "$(list_hosts ":$slots")"
    -np "$ranks" --map-by "${map_by[$placement]}" --bind-to none
    --mca plm_rsh_agent "$state/remote_shell" --mca orte_tmpdir_base "$run_folder" --mca prte_tmpdir_base "$run_folder"
    --mca btl 'vader,tcp,self' --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1)
}

launch_with_mpich() {
  local -A next_to_each_other=([order]=$slots [turns]=1)
  launch=(env UCX_TLS='tcp,sm,self' UCX_NET_DEVICES=eth0 mpiexec.hydra -launcher rsh -launcher-exec "$state/remote_shell"
    -iface eth0 -hosts "$(list_hosts '')" -ppn "${next_to_each_other[$placement]}" -n "$ranks")
}

parse_run_options() {
  ranks='' ranks_per_host='' placement='' mpi=openmpi command=()
  local known='-n RANKS, --ranks-per-host Q, --placement order|turns, --mpi openmpi|mpich'
  while (($#)); do
    [[ $1 == -- || $# -gt 1 ]] || fail "$1 has no value, or is unknown, expected $known or -- COMMAND"
    case $1 in
      -n) ranks=${2-}; check_count -n "$ranks" 100000 ;;
      --ranks-per-host) ranks_per_host=${2-}; check_count --ranks-per-host "$ranks_per_host" 1000 ;;
      --placement)
        placement=${2-}
        [[ $placement == order || $placement == turns ]] || fail "--placement is '$placement', expected order or turns"
        ;;
      --mpi) mpi=${2-} ;;
      --) shift; command=("$@"); break ;;
      *) fail "unknown argument '$1' of run, expected $known or -- COMMAND" ;;
    esac
    shift 2
  done
  ((${#command[@]})) || fail "run has no command, expected: run [OPTION...] -- COMMAND; options are $known"
  [[ -z $placement || -n $ranks_per_host ]] || fail "--placement goes with --ranks-per-host"
  if [[ -n $ranks_per_host ]]; then placement=${placement:-order}; else placement=turns; fi
  case $mpi in
    openmpi) command -v mpirun.openmpi >/dev/null || fail "no mpirun.openmpi: apt-get install openmpi-bin libopenmpi-dev" ;;
    mpich) command -v mpiexec.hydra >/dev/null || fail "no mpiexec.hydra: apt-get install mpich libmpich-dev" ;;
    *) fail "--mpi is '$mpi', expected openmpi or mpich" ;;
  esac
}

# Everything a run starts, on whatever host, lives in one PID namespace: with its first process, the child of a background
# job of this script, all the others end.
end_run() {
  trap '' HUP INT TERM
  local job first
  for job in $(jobs -p); do
    read -r first _ <"/proc/$job/task/$job/children" || true
    kill -s KILL "${first:-$job}" || true
  done 2>/dev/null
  wait 2>/dev/null
  exit "$1"
}

# write_last_run BUSY_TICKS ALL_TICKS START_SECONDS, as they were before the run: writes "SECONDS BUSY_PERCENT LINK_PERCENT".
write_last_run() {
  local busy all rate_bits uplink_bits=0
  read -r busy all < <(read_ticks)
  is_up || return 0 # it was taken down meanwhile
  rate_bits=$(bits_per_second rate "$(setting rate)")
  if [[ -n $(setting uplink) ]]; then uplink_bits=$(bits_per_second uplink "$(setting uplink)"); fi
  count_since "$run_folder/counters" | awk -v busy=$((busy - $1)) -v all=$((all - $2)) -v start="$3" -v end="${EPOCHREALTIME/,/.}" \
    -v rate="$rate_bits" -v uplink="$uplink_bits" '
    BEGIN { if (end <= start) end = start + 0.000001 }  # the clock was set back
    { share = 8 * ($2 > $3 ? $2 : $3) / (/^h/ ? rate : uplink) / (end - start)
      if (share > most) most = share }
    END { printf "%.1f %.0f %.0f\n", end - start, all ? 100 * busy / all : 0, 100 * most }' >"$state/last_run"
}

# start_run LINE: a line of shell on h0, in the background, in a PID namespace of its own; it ends with this script.
# Open MPI sometimes warns that it was too late to set its launcher's process group, which the launcher did itself.
start_run() {
  mkfifo "$run_folder/errors"
  grep --line-buffered -v 'plm:[rs]sh: Warning: setpgid' <"$run_folder/errors" >&2 &
  filter_pid=$!
  setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc \
    "$state/remote_shell" h0 "$1" <&0 2>"$run_folder/errors" &
  run_pid=$!
}

cluster_run() {
  parse_run_options "$@"
  require_up
  place_ranks
  run_folder=$(mktemp -d "$state/run.XXXXXX")
  trap 'rm -rf "$run_folder"' EXIT
  "launch_with_$mpi"
  DSOP_CLUSTER=$(describe_cluster)
  export DSOP_CLUSTER OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
  local busy all start=${EPOCHREALTIME/,/.} status=0
  read_counters >"$run_folder/counters"
  read -r busy all < <(read_ticks)
  trap 'end_run 129' HUP
  trap 'end_run 130' INT
  trap 'end_run 143' TERM
  start_run "${launch[*]@Q} ${command[*]@Q}; exit \$?"
  wait "$run_pid" || status=$?
  wait "$filter_pid" || true # 1 where it passed nothing
  trap - HUP INT TERM
  write_last_run "$busy" "$all" "$start"
  return "$status"
}
