# What went over the links, and what is up.
# shellcheck shell=bash disable=SC2154

# HOST SENT RECEIVED, a line a host: what the switch's port received is what the host sent.
read_counters() {
  ip netns exec "$(netns_of switches)" cat /proc/net/dev |
    awk '{ sub(/^ */, ""); split($0, side, ":"); split(side[2], count, " ") }
         side[1] ~ /^h[0-9]+$/ { print side[1], count[1], count[9] }' | sort -V
}

cluster_traffic() {
  local format='%-5s %14s %14s\n' heading=yes
  case ${1-} in
    '') ;;
    --json) format='{"host": "%s", "sent_bytes": %.0f, "received_bytes": %.0f}\n' heading= ;;
    *) fail "unknown argument '$1' of traffic, expected --json or none" ;;
  esac
  require_up
  read_counters >"$state/traffic.new"
  # shellcheck disable=SC2059
  if [[ -n $heading ]]; then printf "$format" host sent_bytes received_bytes; fi
  join "$state/traffic" "$state/traffic.new" |
    awk -v format="$format" '{ printf format, $1, $4 - $2, $5 - $3 }'
  mv "$state/traffic.new" "$state/traffic"
}

print_last_run() {
  local seconds busy
  seconds=$(sed -n 's/^seconds=//p' "$state/last_run")
  busy=$(sed -n 's/^busy_percent=//p' "$state/last_run")
  printf '  last run: %s s, cores %s %% busy' "$seconds" "$busy"
  if ((busy > 85)); then printf ': the cores, not the links, are what was measured'; fi
  printf '\n'
}

print_cluster() {
  if ! is_up; then
    printf '%s: not complete (its up is at work or was killed; down removes it)\n' "$name"
    return
  fi
  printf '%s: %s hosts h0..h%s at %s, burst %s bytes, subnet %s.0/24\n' "$name" "$(setting hosts)" \
    $(($(setting hosts) - 1)) "$(setting rate)" "$(setting burst_bytes)" "$(setting subnet)"
  if [[ -n $(setting rack) ]]; then
    printf '  racks of %s hosts, uplinks of %s\n' "$(setting rack)" "$(setting uplink)"
  fi
  if [[ -n $(setting slurm) ]]; then print_slurm_status; fi
  if [[ -e $state/last_run ]]; then print_last_run; fi
}

cluster_status() {
  local only=$1
  shift
  [[ $# == 0 ]] || fail "unknown argument '$1' of status, expected none"
  if [[ -n $only ]]; then
    require_up
    print_cluster
    return
  fi
  [[ -e $state_root ]] || echo "no cluster is up"
  for state in "$state_root"/*/; do
    state=${state%/}
    name=${state##*/}
    if [[ -e $state/settings ]]; then print_cluster; fi
  done
}
