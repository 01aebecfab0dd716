# What is up: one folder a cluster, and the removal of all that is written there.
#
#   made       the namespaces and links of the cluster, one a line, written before each is made: "netns NAME", "link NAME"
#   settings   what `up` was asked for, key=value
#   hosts      the hosts' /etc/hosts
#   traffic    the counters at the last `cluster traffic`
#   last_run   the last `cluster run`: seconds, percent the cores were busy, percent of its rate on the busiest link
# shellcheck shell=bash disable=SC2154

state_root=/run/dsop-cluster

fail() {
  printf 'cluster: %s\n' "$*" >&2
  exit 2
}

check_name() {
  [[ $name =~ ^[a-z0-9][a-z0-9_-]{0,30}$ ]] ||
    fail "--name is '$name', expected a to z, 0 to 9, _ and -, at most 31 of them, not starting with _ or -"
}

# check_count OPTION VALUE MOST
check_count() {
  [[ $2 =~ ^[1-9][0-9]{0,5}$ && $2 -le $3 ]] || fail "$1 is '$2', expected a whole number from 1 to $3"
}

# One up or down at a time, of whatever name: they choose subnets. The lock is on a folder that is there anyway.
take_lock() { exec 9</run && flock 9; }

netns_of() { printf 'dsop.%s.%s' "$name" "$1"; }

is_up() { grep -qs '^ready=' "$state/settings"; }

require_up() { is_up || fail "cluster '$name' is not up (see: cluster status)"; }

setting() { sed -n "s/^$1=//p" "$state/settings"; }

# make netns NAME | make link NAME ARGUMENT...: writes it down, then makes it.
make() {
  local kind=$1 made_name=$2
  case $kind in
    netns) [[ ! -e /run/netns/$made_name ]] || fail "there is a network namespace '$made_name' not made by this cluster" ;;
    link) [[ ! -e /sys/class/net/$made_name ]] || fail "there is an interface '$made_name' not made by this cluster" ;;
  esac
  printf '%s %s\n' "$kind" "$made_name" >>"$state/made"
  shift 2
  if [[ $kind == netns ]]; then ip netns add "$made_name"; else ip link add "$made_name" "$@"; fi
}

pids_in_cluster() {
  local kind made_name
  while read -r kind made_name; do
    if [[ $kind == netns && -e /run/netns/$made_name ]]; then ip netns pids "$made_name"; fi
  done <"$state/made"
}

# Ends every process inside the cluster's namespaces: first kindly, after three seconds by force.
end_processes() {
  local signal=TERM pids tries
  for ((tries = 0; tries < 100; tries++)); do
    pids=$(pids_in_cluster)
    [[ -n $pids ]] || return 0
    ((tries < 30)) || signal=KILL
    # shellcheck disable=SC2086
    if ((tries == 0 || tries >= 30)); then kill -s "$signal" $pids 2>/dev/null || true; fi
    sleep 0.1
  done
  printf 'cluster: these processes do not end: %s\n' "$(tr '\n' ' ' <<<"$pids")" >&2
}

# In a shell of its own that no signal ends half way; the script acts on a signal when this is done.
remove_cluster() (
  trap '' HUP INT TERM
  rm -f "$state/settings" # from here on it is not up
  if [[ -e $state/made ]]; then
    end_processes
    while read -r kind made_name; do
      if [[ $kind == link && -e /sys/class/net/$made_name ]]; then ip link del "$made_name"; fi
      if [[ $kind == netns && -e /run/netns/$made_name ]]; then ip netns del "$made_name"; fi
    done < <(tac "$state/made")
  fi
  rm -rf "$state"
  rmdir --ignore-fail-on-non-empty "$state_root"
)

cluster_down() {
  [[ $# == 0 ]] || fail "unknown argument '$1' of down, expected none"
  if [[ -e $state_root ]]; then take_lock; fi
  if [[ ! -e $state ]]; then
    printf "cluster: '%s' is not up\n" "$name" >&2
    return
  fi
  remove_cluster
}
